/* gsan-ptxas: stands where a compiler expects ptxas. It runs the real one unchanged first, so that errors, warnings and
 * the exit status are its own, then once more on the instrumented text, and puts that result in the first one's place.
 * Whatever fails on the way leaves the plain result. All files between lie in memory (memfd), so that nothing remains
 * behind however it ends. */
#ifndef GSAN_LAUNCHER_PTXAS_H
#define GSAN_LAUNCHER_PTXAS_H

#include <stddef.h>

#include "base/text.h"

/* arguments.c: the command line, taken apart. */
struct ptxas_args {
	const char *real;          /* --real-ptxas, or NULL */
	int emit, plain, sites, version, help;
	int blackwell;             /* called as …ptxas-blackwell */
	int argc; char **argv;     /* for the real ptxas: argv[0], then everything that is not ours; NULL-terminated */
	int input;                 /* index in argv of the only PTX file, 0 = none, -1 = several */
	int output;                /* index of the argument that holds the output's path, 0 = none: the default name */
	size_t output_skip;        /* bytes of that argument in front of the path: "-o" or "--output-file=" */
	int verbose;               /* -v was given */
};
int ptxas_args_parse(int argc, char **argv, struct ptxas_args *args, const char **error); /* 0, -EINVAL, -ENOMEM */
void ptxas_args_help(struct text *out);
const char *ptxas_args_output(const struct ptxas_args *args);

/* find.c: path of the real ptxas, malloc'ed, or NULL. */
char *ptxas_find(const struct ptxas_args *args);

/* run.c: runs argv[0] and waits. out_fd, err_fd: where its output goes, -1 = ours. Returns its exit status (128 + signal
 * when killed), or -errno. */
int ptxas_run(char *const argv[], int out_fd, int err_fd);
int ptxas_memory(const char *name);                    /* a memfd that children inherit, or -errno */
int ptxas_memory_read(int fd, char **data, size_t *size); /* all of it; 0 or -errno */

/* compile.c: the normal call. Returns the exit status. For the emulated device (GSAN_DEVICE=emu) the result is the
 * instrumented PTX itself, and a real ptxas need not exist. */
int ptxas_emulated(void);
int ptxas_compile(const struct ptxas_args *args, const char *real);

#endif
