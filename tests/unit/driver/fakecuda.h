/* What the fake driver remembers for a test: found by dlsym(libcuda, "fake"). */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>

struct fake {
	int unready;           /* no event has passed yet */
	int launches;          /* kernel launches so far, and the last one: */
	const char *kernel;    /* its name */
	unsigned params;       /* parameters it got, each as an address */
	unsigned char record[1024];
	int syncs, queries, copies;
	int query_result, refuse_clone, clone_blocks, plain_blocks, capturing, required_cluster, left;
	int refuse;    /* what all launches, sets of memory and writes of values answer, if not 0 */
	int disturbed; /* calls made in a capture that might end it */
	void *context; /* of every stream, and the current one; NULL: that is not told */
	void *stream;  /* the next one that is made; NULL: a new handle */
	char last_call[64];
	/* What another thread does meanwhile: called once, in cuStreamGetFlags, cuEventRecord, cuEventQuery, a launch. */
	void (*asked_flags)(void), (*recorded)(void), (*queried)(void), (*launched)(void);
};

#endif
