/* gsan-ptxas: stands where a compiler expects ptxas. It runs the real one unchanged first, so that errors, warnings and
 * the exit status are its own, then once more on the instrumented text, and puts that result in the first one's place.
 * Whatever fails on the way leaves the plain result. All files between lie in memory (memfd), so that nothing remains
 * behind however it ends. */
#ifndef GSAN_LAUNCHER_PTXAS_H
#define GSAN_LAUNCHER_PTXAS_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

/* main.c: a hash of this program, which holds rewriter and runtime: what another build has made is not reused. */
unsigned long long ptxas_build(void);

/* arguments.c: the command line, taken apart. */
struct ptxas_args {
	const char *real;          /* --real-ptxas, or NULL */
	const char *source;        /* --source, or NULL */
	int emit, plain, sites, clear, version, help;
	int blackwell;             /* called as …ptxas-blackwell */
	int argc; char **argv;     /* for the real ptxas: argv[0], then everything that is not ours; NULL-terminated */
	int input;                 /* index in argv of the only PTX file, 0 = none, -1 = several */
	int output;                /* index of the argument that holds the output's path, 0 = none: the default name */
	size_t output_skip;        /* bytes of that argument in front of the path: "-o" or "--output-file=" */
	int verbose;               /* -v was given */
	const char *arch;          /* --gpu-name, or NULL */
	int whole;                 /* an option was given with which nothing is linked: the result is no cubin to be loaded, or for a debugger */
	int threads;               /* an option says how many threads the real ptxas may have */
};
int ptxas_args_parse(int argc, char **argv, struct ptxas_args *args, const char **error); /* 0, -EINVAL, -ENOMEM */
void ptxas_args_help(struct text *out);
const char *ptxas_args_source(const struct ptxas_args *args); /* what reports call the input */
const char *ptxas_args_output(const struct ptxas_args *args);

/* find.c: the process for which this one is called. */
int ptxas_caller(void);
/* Path of the real ptxas, malloc'ed, or NULL. */
char *ptxas_find(const struct ptxas_args *args);

/* run.c: runs argv[0] and waits. out_fd, err_fd: where its output goes, -1 = ours. Returns its exit status (128 + signal
 * when killed), or -errno. */
int ptxas_run(char *const argv[], int out_fd, int err_fd);
int ptxas_wait(pid_t pid);                             /* the same of a child */
int ptxas_memory(const char *name);                    /* a memfd that children inherit, or -errno */
int ptxas_memory_read(int fd, char **data, size_t *size); /* all of it; 0 or -errno */

unsigned ptxas_threads(unsigned kernels);              /* how many a ptxas should have for so many clones */

/* One call of a compiler with its files in memory: what it reads, what it writes, and what it says. argv names the two paths. */
struct ptxas_bytes { char *data; size_t size; };
struct ptxas_call { int in, out, said; char in_path[32], out_path[32]; };
int ptxas_call_open(struct ptxas_call *call, const char *in_name); /* 0 or -errno; has to be closed in any case */
int ptxas_call_run(const struct ptxas_call *call, char *const argv[], const struct text *in, struct ptxas_bytes *out); /* as ptxas_run() */
void ptxas_call_close(const struct ptxas_call *call);

/* What a call has made: the result's bytes, and what the plain run said to stdout and stderr, with -v. All malloc'ed. */
struct ptxas_result { char *cubin, *said[2]; size_t cubin_size; };
void ptxas_result_free(struct ptxas_result *result);

/* cache.c: results of this user's earlier calls. Each is found by all that decides it: the PTX, the options, this build, the real
 * ptxas. Entries are whole or not there, and one that is damaged counts as not there; beyond a bound those used longest ago go. */
struct ptxas_cache { char folder[PATH_MAX], path[PATH_MAX]; struct text key; }; /* path "": nothing is kept */
struct linkers;
void ptxas_cache_open(struct ptxas_cache *cache, const struct ptxas_args *args, const char *real, const struct linkers *linkers);
void ptxas_cache_open_runtime(struct ptxas_cache *cache, const char *real, const char *arch, unsigned registers); /* of object.c */
int ptxas_cache_take(const struct ptxas_cache *cache, struct ptxas_result *result); /* 1: there was one */
void ptxas_cache_keep(const struct ptxas_cache *cache, const struct ptxas_result *result);
void ptxas_cache_close(struct ptxas_cache *cache);
int ptxas_cache_clear(void); /* the exit status */

/* compile.c: the normal call. Returns the exit status. For the emulated device (GSAN_DEVICE=emu) the result is the
 * instrumented PTX itself, and a real ptxas need not exist. */
int ptxas_emulated(void);
int ptxas_compile(const struct ptxas_args *args, const char *real);

#endif
