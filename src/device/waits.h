/* Who waits: a CTA that reads one value from one location again and again says where, at each doubling of how often, so that a job that
 * hangs can say who waits for what. Of all that a CTA reads strongly one read at a time is looked out for; another one takes its place if
 * it has not come again among so many. Kernels of relaxed operations alone, whose CTAs have no state, do not say. */
#ifndef GSAN_DEVICE_WAITS_H
#define GSAN_DEVICE_WAITS_H

#include "device/desc.h"
#include "device/report.h"

#define WAITS_TOLD 4096u         /* from so often on */
#define WAITS_OTHER (1ull << 32) /* a word of dev_state.waits: how often it came; how many others since, 11 bits; the read, mixed to 21 */
#define WAITS_OTHERS (2047ull << 32)
#define WAITS_READ (~0ull << 43)

/* Once for a launch, an instruction and a number. With a full ring it is left out: findings need the room. */
NEVER void waits_tell(const struct who *w, u64 address, u32 desc, u64 value, u32 times)
{
	const struct gsan_launch *l = w->launch;
	struct gsan_ring *ring = (struct gsan_ring *)(uintptr_t)l->ring;
	struct access a = {.address = address, .op = desc_op(desc), .site = desc & 0xffff, .bytes = desc_vector(desc)};
	u64 ticket;
	if (!report_is_new(own_tables(l), mix64((u64)l->seq << 32 | a.site) + times) || !report_ticket(own_tables(l), ring, &ticket))
		return;
	struct gsan_finding *f = &ring->slot[ticket % GSAN_RING_SLOTS];
	f->kind = GSAN_WAITS;
	f->bytes = (uint16_t)a.bytes;
	f->address = address;
	f->waits.value = value;
	f->waits.known = (desc & GSAN_DESC_VALUE) != 0;
	f->waits.times = times;
	report_second(f, w, &a);
	report_send(ring, f, ticket);
}

/* Of a strong read, by one lane. `value`: what it read, 0 if that is not known. What warps that meet here lose of a count delays, and says
 * nothing wrong. */
ALWAYS void waits_read(const struct who *w, u64 address, u32 desc, u64 value)
{
	u64 was = gpu_load64(&w->state->waits), read = mix64(address + value * 0x9e3779b97f4a7c15ull) & WAITS_READ, now = was + WAITS_OTHER;
	int again = (was & WAITS_READ) == read;
	if (again)
		now = (was & ~WAITS_OTHERS) + 1;
	else if ((was & WAITS_OTHERS) == WAITS_OTHERS)
		now = read;
	gpu_store64(&w->state->waits, now);
	if (again && (u32)now >= WAITS_TOLD && !((u32)now & ((u32)now - 1)))
		waits_tell(w, address, desc, value, (u32)now);
}

#endif
