/* A seqlock: CTA 0 writes a version of four words, odd numbers meanwhile; the others read until nothing changed. These words are
 * relaxed, for they are read while they are written. Each version names a record, which is plain: it is written once. */
#include "idiom.h"

enum { SEQUENCE, WORDS = 32, VERSIONS = 3, PARTS = 4, RECORDS = 0 };

DEVICE void publish(u32 *sequence, u32 *words, u32 version)
{
	for (u32 i = 0; i < PARTS; i++)
		ST("relaxed.gpu", &words[i], version);
	ST(M1("release.gpu", "relaxed.gpu"), sequence, 2 * version);
}

DEVICE u32 look(u32 *sequence, u32 *words)
{
	u32 from, to, word[PARTS];

	do {
		from = LD("acquire.gpu", sequence);
		for (u32 i = 0; i < PARTS; i++)
			word[i] = LD(M2("relaxed.gpu", "cg"), &words[i]);
		FENCE("acq_rel.gpu");
		to = LD("relaxed.gpu", sequence);
	} while (from != to || from % 2);
	return word[0] == word[1] && word[1] == word[2] && word[2] == word[3] && word[0] == from / 2 ? word[0] : ~0u;
}

DEVICE void write(const struct idiom &a, u32 version)
{
	if (THREAD == 0) {
		ST("relaxed.gpu", &a.flag[0][SEQUENCE], 2 * version - 1);
		FENCE("acq_rel.gpu");
	}
	__syncthreads();
	a.data[0][RECORDS + version * THREADS + THREAD] = version + THREAD;
	__syncthreads();
	if (THREAD == 0)
		publish(&a.flag[0][SEQUENCE], &a.flag[0][WORDS], version);
}

KERNEL(run)
{
	SHARED u32 version;
	const u32 first = (a.round - 1) * VERSIONS, last = a.round * VERSIONS;
	u32 *out = &a.own[CTA * THREADS + THREAD];

	if (CTA == 0) {
		for (u32 v = first + 1; v <= last; v++)
			write(a, v);
		return;
	}
	for (u32 seen = first; seen != last && seen != ~0u;) {
		if (THREAD == 0)
			version = look(&a.flag[0][SEQUENCE], &a.flag[0][WORDS]);
		__syncthreads();
		seen = version;
		*out = seen == ~0u ? ~0u : seen ? a.data[0][RECORDS + seen * THREADS + THREAD] : 0;
		__syncthreads();
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < (a.ctas - 1) * a.threads; i += THREADS)
		expect_equal(a, a.own[a.threads + i], a.rounds * VERSIONS + i % a.threads);
}
