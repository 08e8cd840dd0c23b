/* Copies and sets, as accesses of their stream: a kernel of ours goes over their bytes when they are over (driver/late.c), with a launch record that
 * has their number and their order. To all others a copy is one CTA, which does nothing else. */
#ifndef GSAN_DEVICE_RANGE_H
#define GSAN_DEVICE_RANGE_H

#include "device/lines.h"
#include "device/looks.h"
#include "device/publish.h"
#include "device/sync.h"

#define RANGE_READS 1u /* the site; of what it writes 0 */

/* Bytes [from, to) of a line, as access `a` says. What stood there before comes first: `a` is made for it. */
NEVER void range_line(struct who *w, struct access *a, u64 line, u32 from, u32 to)
{
	u64 canonical = shadow_canonical(w->launch, line + from);
	if (canonical == NO_ADDRESS)
		return;
	canonical -= from;
	aside_check(w, a, canonical, from, to);
	if (!from && to == GSAN_LINE)
		line_fast((u64)(uintptr_t)w->launch, w->self, w->launch->quick, canonical | GSAN_LINES_WHOLE,
			  a->op << GSAN_DESC_OP_SHIFT | a->site, 0);
	else
		warp_line(w, a, canonical, (int)from, (int)to, 1, 1u << gpu_lane(), 0);
	report_reasons(w);
}

/* A word that is copied is read strongly, and its stream goes on behind a fence: what was released there is before the launches that come next.
 * Which of the versions was read nothing says any more. What cannot be known counts as everything. */
NEVER void range_learns(const struct who *w, const struct gsan_box *b)
{
	const struct gsan_launch *l = w->launch;
	const struct gsan_look *own = look_own(l);
	struct looked k = {l, shadow_canonical(l, b->at), 0, (u32)b->width, GSAN_WAIT_NOTHING};
	if (own)
		k = looked_of(own);
	if (!gsan_is_hosts(k.at) && !look_learns(l, &k)) /* what has no shadow has none, either */
		acquired_everything(l);
}

/* This thread's share of a box: every `threads`-th line, row by row. */
NEVER void range_box(struct who *w, const struct gsan_box *b, int written, u64 thread, u64 threads)
{
	u64 lines = (b->width + 2 * GSAN_LINE - 2) / GSAN_LINE; /* of a row, at most */
	struct access a = {.op = written ? GSAN_OP_RANGE_ST : GSAN_OP_RANGE_LD, .site = written ? 0 : RANGE_READS,
			   .bytes = b->width < 0xffff ? (u32)b->width : 0xffff};
	if (gsan_box_is_word(b)) {
		a.op = (written ? GSAN_OP_STRONG_ST : GSAN_OP_STRONG_LD) + GSAN_SYS;
		a.element = a.bytes;
		if (!written && !thread)
			range_learns(w, b);
	}
	for (u64 i = thread; b->width && i < lines * b->rows; i += threads) {
		u64 row = b->rows == 1 ? 0 : i / lines;
		u64 first = b->at + (b->height ? row / b->height * b->slice + row % b->height * b->pitch : 0), end = first + b->width;
		u64 line = (first & ~(u64)(GSAN_LINE - 1)) + (i - row * lines) * GSAN_LINE;
		u64 from = line < first ? first - line : 0, to = end - line < GSAN_LINE ? end - line : GSAN_LINE;
		if (line < end)
			range_line(w, &a, line, (u32)from, (u32)to);
	}
}

void gsan_range(u64 launch, u64 boxes)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	const struct gsan_boxes *b = (const struct gsan_boxes *)(uintptr_t)boxes;
	struct who w = {.launch = l, .self = (u64)l->tag << GSAN_REC_TAG_SHIFT};
	u64 thread = gpu_cta() * gpu_threads() + gpu_thread(), threads = (u64)gpu_nctaid_x() * gpu_threads();
	w.base = w.self | 1ull << GSAN_REC_EPOCH_SHIFT;
	if (!l->abi) /* nothing: for the driver to make room for it */
		return;
	if (gpu_lane() == 0) {
		gpu_store32(&own_launch(l)->range, l->seq);
		launch_publish(l);
	}
	gpu_warp_sync();
	range_box(&w, &b->read, 0, thread, threads);
	range_box(&w, &b->written, 1, thread, threads);
	gpu_fence_sys();
	gpu_warp_sync();
	if (gpu_lane() == 0)
		gpu_add32(&own_tables(l)->looked, 1);
}

#endif
