/* What the reference detector says of a trace, with the kernel of each edge, so that it can be told by program. */
#ifndef GSAN_RANDOM_JUDGE_H
#define GSAN_RANDOM_JUDGE_H

/* Prints `race KIND KERNEL1 LINE1 KERNEL2 LINE2 [KERNEL LINE…]` per race, and the last that stand for its first access if some
 * do for all (`second`: for its second one); `over …` per race with REF_OVER, and with copies `late …` with REF_LATE; `edge COUNT KERNEL NAME` per kind of edge that a kernel learnt by. Returns 0,
 * or 2 with a message on stderr. */
int judge_trace(const char *path, int copies);

#endif
