/* What a program may tell GSan, from C99 and C++. Without the tool each is a look for it, and nothing else; nothing is linked (but
 * -ldl before glibc 2.34).
 *
 *     gsan_label(counters, 4096, "counters");     findings there name it
 *     gsan_ignore_begin();                        what this thread launches meanwhile is not checked, and listed as such;
 *     library_call();                             findings that it may order are withheld
 *     gsan_ignore_end();
 *
 *     cudaStreamSynchronize(stream);
 *     gsan_release("filled");                     one process tells another by means of its own, and says so (--host-order modelled):
 *     send(socket, …);                            what its host has seen the end of before the release is before what the other
 *     …                                           launches behind the acquire
 *     recv(socket, …);
 *     gsan_acquire("filled"); */
#ifndef GSAN_ANNOTATE_H
#define GSAN_ANNOTATE_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* function: a pointer to a pointer to a function. 0: the program does not run under GSan. */
static inline int gsan_annotate_find(const char *name, void *function, size_t size)
{
	void *found = dlsym(NULL, name); /* NULL: RTLD_DEFAULT, which only _GNU_SOURCE names */
	memcpy(function, &found, size);
	return found != NULL;
}

/* Device memory from `memory` on, `size` bytes of one allocation of this process, is called that (a string of 1 to 200 bytes) until
 * it is freed or called something else. 0; -ENOSYS: the program does not run under GSan; -ENOENT: that is not memory of this process
 * that is checked; -EINVAL: no such name; -ENOSPC: the job has too many. */
static inline int gsan_label(const void *memory, size_t size, const char *name)
{
	int (*label)(const void *, size_t, const char *);
	return gsan_annotate_find("gsan_annotate_label", &label, sizeof label) ? label(memory, size, name) : -ENOSYS;
}

/* They nest. An end without a beginning is none. */
static inline void gsan_ignore_begin(void)
{
	void (*begin)(void);
	if (gsan_annotate_find("gsan_annotate_ignore_begin", &begin, sizeof begin))
		begin();
}

static inline void gsan_ignore_end(void)
{
	void (*end)(void);
	if (gsan_annotate_find("gsan_annotate_ignore_end", &end, sizeof end))
		end();
}

/* By a word of 1 to 200 bytes: who acquires comes behind all who have released the same one. 0; -ENOSYS: the program does not run under
 * GSan; -EINVAL: no such word. What a process releases before it has used CUDA tells nothing. With --host-order assumed, the default, hosts are
 * taken to tell each other all that they have seen. */
static inline int gsan_release(const char *word)
{
	int (*release)(const char *);
	return gsan_annotate_find("gsan_annotate_release", &release, sizeof release) ? release(word) : -ENOSYS;
}

static inline int gsan_acquire(const char *word)
{
	int (*acquire)(const char *);
	return gsan_annotate_find("gsan_annotate_acquire", &acquire, sizeof acquire) ? acquire(word) : -ENOSYS;
}

#endif
