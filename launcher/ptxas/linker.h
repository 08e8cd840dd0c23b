/* The runtime is compiled once, and linked to the clones of each module (FACTS H): the module has the hot path and prototypes of the
 * rest, `ptxas -ewp` compiles it as a whole program that may call what it lacks, and libnvJitLink, or nvlink, joins the two. Whatever
 * fails on the way leaves the whole-program form, in which each module has all of the runtime. */
#ifndef GSAN_LAUNCHER_PTXAS_LINKER_H
#define GSAN_LAUNCHER_PTXAS_LINKER_H

#include "ptxas.h"

/* find_linker.c: what may link what this ptxas makes, best first. GSAN_LINKER says it: one by its path; `none`: none; unset or `auto`: each
 * that is found beside the ptxas, in the wheels beside it or the calling process, in the toolkit, or by the loader. Those of the ptxas's
 * own CUDA version go first. */
struct linker { char *path; int is_program; /* nvlink */ int major; /* CUDA's, of a library; 0 = unknown */ };
struct linkers { struct linker *linker; size_t count; };
void linkers_find(const char *real, struct linkers *to);
void linkers_free(struct linkers *l);

/* linker.c: joins objects of one architecture, with the first that can. Returns 0; -ENOENT: none can be run; -EIO: one refused, or what it made
 * is not what it should be. `functions`: what has to be in the result, NULL-terminated. */
int linkers_run(const struct linkers *l, const char *arch, const struct ptxas_bytes *object, const struct ptxas_bytes *runtime,
		const char *const *functions, struct ptxas_bytes *cubin);

/* object.c: what a linked module lacks. `registers`: of each of its functions, at most. malloc'ed; 0 or -errno. */
int runtime_object(const char *real, const char *arch, unsigned registers, struct ptxas_bytes *to);

/* elf.c, of a cubin or an object */
int elf_abi(const struct ptxas_bytes *b);                        /* 7: of CUDA 12, 8: of 13; -1: it is none */
void elf_set_relocatable(struct ptxas_bytes *b);                 /* nvlink drops others without a word */
int elf_has(const struct ptxas_bytes *b, const char *function);  /* is it defined? */
int elf_is_linked(const struct ptxas_bytes *b);                  /* a cubin to be loaded, that lacks nothing of the runtime */
void elf_trim_text(struct ptxas_bytes *b);                       /* takes clones and runtime out of the PTX text for tools, half of a module */

#endif
