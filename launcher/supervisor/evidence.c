/* From the ranks' rings to a struct report: findings are taken out as they come, tied to the kernels and allocations of
 * that moment, counted, and believed or not at the end, when all events are known. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "ptx/access.h"
#include "report/suppress.h"
#include "supervisor/state.h"
#include "supervisor/topology.h"

void supervisor_add_kernel(struct supervisor *s, struct kernel *k)
{
	struct kernel **bucket = &s->kernel[k->id % KERNEL_BUCKETS];
	k->next = *bucket;
	*bucket = k;
}

struct kernel *supervisor_kernel(const struct supervisor *s, uint32_t participant, uint32_t id)
{
	const struct owner *owner = participant < GSAN_PARTICIPANTS ? s->owner[participant] : NULL;
	for (struct kernel *k = s->kernel[id % KERNEL_BUCKETS]; owner && k; k = k->next) /* newest first */
		if (k->owner == owner && k->id == id)
			return k;
	return NULL;
}

const struct allocation *supervisor_allocation(const struct supervisor *s, uint64_t address)
{
	for (const struct allocation *a = s->allocations; a; a = a->next) /* newest first */
		if (address >= a->base && address - a->base < a->size)
			return a;
	return NULL;
}

static int evidence_same_side(const struct gsan_side *a, const struct gsan_side *b)
{
	return a->seq == b->seq && a->kernel == b->kernel && a->participant == b->participant && a->stream == b->stream &&
	       a->site == b->site && a->op == b->op;
}

static int evidence_same(const struct gsan_finding *a, const struct gsan_finding *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->formal == b->formal && a->overtaken == b->overtaken && a->flag_write_site == b->flag_write_site &&
	       a->flag_read_site == b->flag_read_site && evidence_same_side(&a->first, &b->first) &&
	       evidence_same_side(&a->second, &b->second);
}

static uint32_t evidence_bucket(const struct gsan_finding *f)
{
	const uint32_t word[] = {f->kind, f->first.seq, f->first.participant, f->first.site, f->second.seq,
				 f->second.participant, f->second.site};
	uint64_t hash = HASH_START;
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		hash = hash_step(hash, word[i]);
	return (uint32_t)(hash >> 8) % CANDIDATE_BUCKETS;
}

/* The first byte that both accessed: the masks are of the granule's bytes, or of the line's sectors, of which both accessed all bytes. */
static uint64_t evidence_byte(const struct gsan_finding *f)
{
	const unsigned both = f->first.mask & f->second.mask;
	return f->address + (both ? (unsigned)__builtin_ctz(both) * (f->second.whole ? GSAN_SECTOR : 1) : 0);
}

/* Which of two equal findings stands for both: by content, so that the order of arrival does not show. */
static int evidence_earlier(const struct gsan_finding *a, const struct gsan_finding *b)
{
	for (int i = 2; i >= 0; i--)
		if (a->second.ctaid[i] != b->second.ctaid[i])
			return a->second.ctaid[i] < b->second.ctaid[i];
	if (a->first.cta != b->first.cta)
		return a->first.cta < b->first.cta;
	return evidence_byte(a) < evidence_byte(b);
}

/* The ring is the program's memory too: it may have been scribbled on. */
static int evidence_is_known(const struct supervisor *s, const struct gsan_side *side)
{
	return side->participant < GSAN_PARTICIPANTS && s->owner[side->participant];
}

static int evidence_is_sound(const struct supervisor *s, const struct gsan_finding *f)
{
	return f->kind > GSAN_KIND_NONE && f->kind < GSAN_TOLD && f->reason <= GSAN_WHY_ACQUIRED_ALONE && evidence_is_known(s, &f->first) &&
	       evidence_is_known(s, &f->second);
}

static void evidence_add(struct supervisor *s, const struct gsan_finding *f)
{
	struct candidate **bucket = &s->bucket[evidence_bucket(f)], *c;
	if (!evidence_is_sound(s, f))
		return;
	for (c = *bucket; c; c = c->next)
		if (c->belief == BELIEF_OPEN && evidence_same(&c->finding, f) &&
		    c->kernel[0] == supervisor_kernel(s, f->first.participant, f->first.kernel) &&
		    c->kernel[1] == supervisor_kernel(s, f->second.participant, f->second.kernel))
			break;
	if (!c) {
		c = s->candidates < CANDIDATES_MAX ? calloc(1, sizeof *c) : NULL;
		if (!c) {
			s->candidates_lost++;
			return;
		}
		c->next = *bucket;
		*bucket = c;
		s->candidates++;
		c->launched = supervisor_given(s, f->second.participant);
	}
	c->weight += f->confidence;
	c->certain |= f->confidence >= GSAN_CERTAIN;
	c->own_flag |= f->own_flag;
	c->rivals |= !f->only;
	if (c->count++ && !evidence_earlier(f, &c->finding))
		return;
	c->finding = *f;
	c->kernel[0] = supervisor_kernel(s, f->first.participant, f->first.kernel);
	c->kernel[1] = supervisor_kernel(s, f->second.participant, f->second.kernel);
	c->owner[0] = s->owner[f->first.participant];
	c->owner[1] = s->owner[f->second.participant];
	for (int i = 0; i < 2; i++)
		c->flag[i] = supervisor_kernel(s, f->flag_participant[i], f->flag_kernel[i]);
	c->allocation = supervisor_allocation(s, evidence_byte(f));
}

static void evidence_told(struct supervisor *s, const struct gsan_side *by, uint32_t given)
{
	if (!evidence_is_known(s, by) || by->stream >= GSAN_STREAMS)
		return;
	const struct kernel *kernel = supervisor_kernel(s, by->participant, by->kernel);
	struct report_note note = {.key = "order", .name = kernel ? kernel->info.kernel : "a kernel", .reason =
		"it writes where hosts can read, or calls what is not seen: that may order what a host launches afterwards"};
	note.ranks = 1u << supervisor_owner_rank(s, s->owner[by->participant]);
	supervisor_told(s, by, given);
	report_add_note(&s->notes, &note);
}

static void evidence_drain_ring(struct supervisor *s, struct gsan_ring *ring, int last)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), tail = ring->tail;
	if (head - tail > GSAN_RING_SLOTS) /* scribbled on */
		tail = head > GSAN_RING_SLOTS ? head - GSAN_RING_SLOTS : 0;
	for (; tail != head; tail++) {
		struct gsan_finding *slot = &ring->slot[tail % GSAN_RING_SLOTS], copy;
		/* acquire: pairs with the device's st.release of `ready`, which is 32 bits of the ticket + 1 */
		int ready = __atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE) == (uint32_t)(tail + 1);
		if (!ready && !last)
			break;
		if (!ready)
			continue; /* its kernel died while it wrote */
		copy = *slot;
		if (copy.kind == GSAN_TOLD)
			evidence_told(s, &copy.second, copy.first.seq);
		else if (copy.kind == GSAN_WAITS)
			supervisor_waits(s, &copy);
		else
			evidence_add(s, &copy);
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE); /* pairs with the producer's look for room */
}

void supervisor_drain(struct supervisor *s, int last)
{
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		if (atomic_load_explicit(&s->job->rank[p].state, memory_order_acquire) != JOB_FREE)
			evidence_drain_ring(s, &s->job->rank[p].ring, last);
}

static const char *evidence_dash(const char *text) { return text && strcmp(text, "-") ? text : NULL; }

/* What a record alone tells of an operation, when its kernel's sites are unknown or it came from the host. */
static void evidence_op(struct report_side *side, uint8_t op)
{
	static const char *const weak[] = {[GSAN_OP_LD] = "ld", [GSAN_OP_ST] = "st", [GSAN_OP_LD_NC] = "ld.nc",
					   [GSAN_OP_RANGE_LD] = "memcpy", [GSAN_OP_RANGE_ST] = "memcpy",
					   [GSAN_OP_ASYNC_LD] = "cp.async", [GSAN_OP_ASYNC_ST] = "cp.async"};
	side->semantics = "weak";
	if (op >= GSAN_OP_STRONG_LD) {
		side->op = op >= GSAN_OP_RMW ? "atom" : op >= GSAN_OP_STRONG_ST ? "st" : "ld";
		side->semantics = "strong";
		side->scope = ptx_scope_name((enum gsan_scope)(op & 3));
	} else {
		side->op = op < sizeof weak / sizeof *weak && weak[op] ? weak[op] : "access";
	}
}

/* Of a copy: who called the driver. */
static void evidence_caller(struct report_side *side, struct kernel *kernel)
{
	if (!kernel->asked)
		kernel->caller = symbols_find(&kernel->info);
	kernel->asked = 1;
	if (kernel->caller.file)
		side->at = (struct report_place){kernel->caller.file, kernel->caller.line, 0};
	if (kernel->caller.function)
		side->function = kernel->caller.function;
	side->object = kernel->caller.object;
}

uint32_t supervisor_launch(const struct owner *owner, uint32_t seq) { return seq > owner->first ? seq - owner->first : seq; }

/* Many streams share the last slot. */
static uint32_t evidence_stream(const struct owner *owner, uint8_t slot)
{
	const int known = slot < GSAN_STREAMS - 1 && !(owner->branches >> slot & 1);
	return known ? slot + 1u : 0;
}

void supervisor_side(const struct supervisor *s, struct report_side *side, const struct gsan_side *from, struct kernel *kernel,
		     const struct owner *owner, char unnamed[SUPERVISOR_UNNAMED])
{
	const struct ptx_site *site = kernel ? ptx_info_site(&kernel->info, from->site) : NULL;
	snprintf(unnamed, SUPERVISOR_UNNAMED, "#%u", from->kernel);
	*side = (struct report_side){.rank = supervisor_owner_rank(s, owner), .gpu = supervisor_owner_gpu(s, owner),
				     .launch = supervisor_launch(owner, from->seq), .stream = evidence_stream(owner, from->stream), .participant = from->participant, .pid = owner->pid,
				     .kernel = kernel ? kernel->info.kernel : unnamed, .bytes = site ? site->bytes : 0};
	side->kernel_name = supervisor_name(side->kernel);
	int host = kernel && kernel->info.host; /* which has no grid: what checked it has one */
	if (!host) {
		memcpy(side->grid, from->grid, sizeof side->grid);
		memcpy(side->cta, from->ctaid, sizeof side->cta);
		side->cta_known = from->ctaid[0] != ~0u;
	}
	if (!host && !side->cta_known && from->grid[0] == 1 && from->grid[1] == 1 && from->grid[2] == 1) {
		side->cta_known = 1;
		memset(side->cta, 0, sizeof side->cta);
	}
	evidence_op(side, from->op);
	if (!site)
		return;
	side->at = (struct report_place){evidence_dash(site->file), site->line, site->column};
	side->function = evidence_dash(site->function);
	side->inlined_at = evidence_dash(site->inlined_at);
	side->op = site->op;
	side->semantics = evidence_dash(site->semantics);
	side->scope = evidence_dash(site->scope);
	if (host)
		evidence_caller(side, kernel);
	side->function_name = supervisor_name(side->function);
	if (!side->at.file) { /* no line information: the place in the PTX is better than none */
		side->at.file = evidence_dash(kernel->info.source);
		side->at.column = 0;
		side->in_ptx = side->at.file && !host;
	}
}

struct report_flag supervisor_flag(const struct ptx_site *site, const char *kernel)
{
	return (struct report_flag){{evidence_dash(site->file), site->line, site->column}, evidence_dash(site->scope),
				    evidence_dash(site->semantics), evidence_dash(site->inlined_at), kernel, site->op};
}

static struct report_flag evidence_flag(const struct kernel *kernel, uint16_t id)
{
	const struct ptx_site *site = kernel && id != 0xffff ? ptx_info_site(&kernel->info, id) : NULL;
	if (!site)
		return (struct report_flag){0};
	return supervisor_flag(site, kernel->info.kernel);
}

struct report_allocation supervisor_part(const struct supervisor *s, const struct allocation *a, uint64_t address)
{
	return (struct report_allocation){supervisor_owner_rank(s, a->owner), a->base, a->size, address - a->base, a->label};
}

/* Whichever of the two was checked first. */
static uint64_t evidence_launches(const struct gsan_finding *f)
{
	const uint64_t a = (uint64_t)f->first.participant << 32 | f->first.seq, b = (uint64_t)f->second.participant << 32 | f->second.seq;
	return hash_then(hash_then(HASH_START, a < b ? a : b), a < b ? b : a);
}

/* Of one stream, and several launches? Then they overlap. Of those that share a slot nobody knows the streams. */
static int evidence_overlap(const struct gsan_side *a, const struct gsan_side *b)
{
	return a->participant == b->participant && a->stream == b->stream && a->stream != GSAN_STREAMS - 1 && a->seq != b->seq;
}

/* In a loop the flag is raised again, and may be released then: a fence is what the report would ask for, and there is one. */
static int evidence_round(const struct candidate *c, const struct report_finding *f)
{
	const int lacks = f->reason == GSAN_WHY_RELAXED_WRITE || f->reason == GSAN_WHY_BEFORE_PAYLOAD;
	return lacks && f->first.gpu == f->second.gpu && (c->own_flag || f->reason == GSAN_WHY_BEFORE_PAYLOAD);
}

/* What one warp does at one place it does before what it does at another one: then its flag was raised before the first access. A counter there, which
 * every CTA raises as it reads it, is none for this pair, if that was only a guess. */
static void evidence_early(const struct candidate *c, struct report_finding *f)
{
	const struct ptx_info *info = c->kernel[0] ? &c->kernel[0]->info : NULL;
	const struct ptx_site *flag = info ? ptx_info_site(info, c->finding.flag_write_site) : NULL;
	const struct ptx_site *first = info ? ptx_info_site(info, c->finding.first.site) : NULL;
	if (!report_is_strong_flag(f->reason) || c->flag[0] != c->kernel[0] || !flag || !first)
		return;
	if (!ptx_info_before(info, flag, first)) {
		f->early = evidence_round(c, f) && ptx_info_early(info, flag, first);
		return;
	}
	if (c->certain || !f->both || c->flag[1] != c->flag[0] || c->finding.flag_read_site != c->finding.flag_write_site) {
		f->early = c->own_flag || f->reason == GSAN_WHY_BEFORE_PAYLOAD;
		return;
	}
	f->reason = GSAN_WHY_NONE;
	f->both = 0;
	f->flag_write = f->flag_read = (struct report_flag){0};
}

/* A place that raises the flag as it reads it is a counter's, perhaps. */
static int evidence_only(const struct candidate *c, const struct report_finding *f)
{
	const int counter = c->flag[1] == c->flag[0] && c->finding.flag_read_site == c->finding.flag_write_site;
	return !c->rivals && !counter && !f->early && f->reason;
}

/* Is it in another line than what was found so far, if anything was? */
static int evidence_elsewhere(const struct ptx_site *s, const struct ptx_site *found)
{
	return found && (s->line != found->line || strcmp(s->file, found->file));
}

/* Of a CTA of which another thread acquires, where that one waits: the only place in its kernel before the access at which anybody does. */
static void evidence_waits(const struct candidate *c, struct report_finding *f)
{
	const struct ptx_info *info = c->kernel[1] ? &c->kernel[1]->info : NULL;
	const struct ptx_site *second = info ? ptx_info_site(info, c->finding.second.site) : NULL, *found = NULL;
	if (f->reason != GSAN_WHY_ACQUIRED_ALONE || f->flag_read.at.file || !second)
		return;
	for (const struct ptx_site *s = info->site; s < info->site + info->sites; s++) {
		if (!s->awaits || !strcmp(s->semantics, "weak"))
			continue;
		if (s->id >= second->id || strcmp(s->function, second->function) || evidence_elsewhere(s, found))
			return;
		found = found ? found : s;
	}
	if (found)
		f->flag_read = supervisor_flag(found, info->kernel);
}

/* The only place of a kernel of relaxed operations at which it is strong, if that is a counter's whose value is read; NULL: there is none, or another one. */
static const struct ptx_site *evidence_counter(const struct ptx_info *info)
{
	const struct ptx_site *found = NULL;
	for (const struct ptx_site *s = info->site; s < info->site + info->sites; s++) {
		if (!strcmp(s->semantics, "weak"))
			continue;
		if (info->sync || strcmp(s->op, "atom.add") || strcmp(s->semantics, "relaxed") || evidence_elsewhere(s, found))
			return NULL;
		found = found ? found : s;
	}
	return found;
}

/* Of a ticket of relaxed operations alone the device knows a sample (src/device/red.h). Of what is written before it and read behind it that is as good a guess
 * where it was not seen. */
static void evidence_ticket(const struct candidate *c, struct report_finding *f)
{
	const struct ptx_info *info = c->kernel[0] && c->kernel[0] == c->kernel[1] ? &c->kernel[0]->info : NULL;
	const struct ptx_site *ticket = info && f->kind == GSAN_RAW && report_is_one_launch(f) ? evidence_counter(info) : NULL;
	const struct ptx_site *first = ticket ? ptx_info_site(info, c->finding.first.site) : NULL, *second = ticket ? ptx_info_site(info, c->finding.second.site) : NULL;
	if (f->reason || f->formal || !first || !second || !ptx_info_before(info, first, ticket) || !ptx_info_before(info, ticket, second))
		return;
	f->reason = GSAN_WHY_RELAXED_WRITE;
	f->both = 1;
	f->flag_write = f->flag_read = supervisor_flag(ticket, info->kernel);
}

/* Does it read there again and again until it finds something? 1, too, if that is not known. */
static int evidence_awaits(const struct kernel *kernel, uint16_t id)
{
	const struct ptx_site *site = kernel ? ptx_info_site(&kernel->info, id) : NULL;
	return !site || site->awaits || (kernel->info.host && !strcmp(site->op, "wait-value"));
}
static int evidence_unawaited(const struct candidate *c)
{
	const struct gsan_finding *f = &c->finding;
	const int read = f->flag_read_site != 0xffff && evidence_awaits(c->flag[1], f->flag_read_site);
	return !read && !evidence_awaits(c->kernel[0], f->first.site) && !evidence_awaits(c->kernel[1], f->second.site);
}

/* The second side comes first (overtaken). */
static void evidence_exchange(struct report_finding *f)
{
	const struct report_side first = f->first;
	f->first = f->second;
	f->second = first;
	f->kind = f->kind == GSAN_WAR ? GSAN_RAW : f->kind == GSAN_RAW ? GSAN_WAR : f->kind;
}

/* Who takes a lock writes, too; but what hands it on is where it is given back: the only place of the function that puts something somewhere, strongly, and
 * does not wait. */
static uint16_t evidence_given(const struct candidate *c)
{
	const struct ptx_info *info = c->flag[0] ? &c->flag[0]->info : NULL;
	const struct ptx_site *taken = info ? ptx_info_site(info, c->finding.flag_write_site) : NULL, *given = NULL;
	if (!taken || !taken->awaits || (strcmp(taken->op, "atom.exch") && strcmp(taken->op, "atom.cas")))
		return c->finding.flag_write_site;
	for (const struct ptx_site *s = info->site; s < info->site + info->sites; s++) {
		if (s->awaits || !strcmp(s->semantics, "weak") || (strcmp(s->op, "st") && strcmp(s->op, "atom.exch")) || strcmp(s->function, taken->function))
			continue;
		if (evidence_elsewhere(s, given))
			return c->finding.flag_write_site;
		given = given ? given : s;
	}
	return given ? (uint16_t)given->id : c->finding.flag_write_site;
}

static int evidence_finding(const struct supervisor *s, struct report *r, const struct candidate *heard)
{
	struct candidate given = *heard;
	const struct candidate *c = &given;
	given.finding.flag_write_site = evidence_given(heard);
	const struct gsan_finding *from = &c->finding;
	struct report_finding f = {.kind = from->kind, .reason = from->reason, .both = from->both, .count = 1,
				   .launches = evidence_launches(from), .weight = c->weight, .certain = c->certain, .formal = from->formal != 0,
				   .overlap = evidence_overlap(&from->first, &from->second)};
	char unnamed[2][SUPERVISOR_UNNAMED];
	supervisor_side(s, &f.first, &from->first, c->kernel[0], c->owner[0], unnamed[0]);
	supervisor_side(s, &f.second, &from->second, c->kernel[1], c->owner[1], unnamed[1]);
	if (!f.second.bytes)
		f.second.bytes = from->bytes;
	f.flag_write = evidence_flag(c->flag[0], from->flag_write_site);
	f.flag_read = evidence_flag(c->flag[1], from->flag_read_site);
	evidence_waits(c, &f);
	evidence_ticket(c, &f);
	f.unawaited = evidence_unawaited(c);
	supervisor_fences(c, &f);
	evidence_early(c, &f);
	supervisor_rounds(c, &f);
	f.only = evidence_only(c, &f);
	if (from->overtaken)
		evidence_exchange(&f);
	if (c->allocation)
		f.allocation = supervisor_part(s, c->allocation, evidence_byte(from));
	return report_add_finding(r, &f);
}

/* What a copy met when it was looked at, late, may have come behind it; so may what a weak access met behind which a host was told. */
static enum belief evidence_believe(const struct supervisor *s, const struct candidate *c)
{
	const struct ptx_info *info = c->kernel[1] ? &c->kernel[1]->info : NULL;
	const struct ptx_site *second = info ? ptx_info_site(info, c->finding.second.site) : NULL;
	enum belief belief = supervisor_believe(s, &c->finding, info && info->host);
	if (belief == BELIEF_RACE && second && second->late && supervisor_told_before(s, &c->finding, c->launched))
		return BELIEF_WITHHELD;
	return belief;
}

/* What its events may order, or have ordered, they do for good; without them nobody can say any more that a race of its own is none. */
void supervisor_believe_of(struct supervisor *s, uint32_t participant)
{
	for (uint32_t i = 0; i < CANDIDATE_BUCKETS; i++)
		for (struct candidate *c = s->bucket[i]; c; c = c->next) {
			enum belief now = c->belief == BELIEF_OPEN ? evidence_believe(s, c) : c->belief;
			int its = c->finding.first.participant == participant || c->finding.second.participant == participant;
			if (its || now != BELIEF_RACE)
				c->belief = now;
		}
}

static int evidence_findings(const struct supervisor *s, struct report *r)
{
	for (uint32_t i = 0; i < CANDIDATE_BUCKETS; i++)
		for (const struct candidate *c = s->bucket[i]; c; c = c->next) {
			struct report_rank *second = &r->rank[supervisor_owner_rank(s, c->owner[1])];
			switch (c->belief == BELIEF_OPEN ? evidence_believe(s, c) : c->belief) {
			case BELIEF_OPEN:
			case BELIEF_RACE:
				if (evidence_finding(s, r, c))
					return -ENOMEM;
				break;
			case BELIEF_ORDERED:
				r->ordered_late += c->count;
				second->ordered_late += c->count;
				break;
			case BELIEF_MERGED:
				r->withheld_merged += c->count;
				second->withheld_merged += c->count;
				r->withheld += c->count;
				second->withheld += c->count;
				break;
			case BELIEF_WITHHELD:
				r->withheld += c->count;
				second->withheld += c->count;
				break;
			}
		}
	return 0;
}

static void evidence_add_numbers(struct report_rank *to, const struct report_rank *from)
{
	to->launches_checked += from->launches_checked;
	to->launches_unchecked += from->launches_unchecked;
	to->launches_left_out += from->launches_left_out;
	to->copies_checked += from->copies_checked;
	to->copies_unchecked += from->copies_unchecked;
	to->launches_uncounted += from->launches_uncounted;
	to->memory_bytes += from->memory_bytes;
	to->shadow_bytes += from->shadow_bytes;
	to->tables_bytes += from->tables_bytes;
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		to->counter[i] += from->counter[i];
}

static void evidence_numbers(const struct job_rank *from, struct report_rank *to)
{
	to->launches_checked = atomic_load_explicit(&from->launches_checked, memory_order_relaxed);
	to->launches_unchecked = atomic_load_explicit(&from->launches_unchecked, memory_order_relaxed);
	to->launches_left_out = atomic_load_explicit(&from->launches_left_out, memory_order_relaxed);
	to->copies_checked = atomic_load_explicit(&from->copies_checked, memory_order_relaxed);
	to->copies_unchecked = atomic_load_explicit(&from->copies_unchecked, memory_order_relaxed);
	uint64_t counted = atomic_load_explicit(&from->launches_counted, memory_order_relaxed);
	to->launches_uncounted = to->launches_checked > counted ? to->launches_checked - counted : 0;
	to->memory_bytes = atomic_load_explicit(&from->memory_bytes, memory_order_relaxed);
	to->shadow_bytes = atomic_load_explicit(&from->shadow_bytes, memory_order_relaxed);
	to->tables_bytes = atomic_load_explicit(&from->tables_bytes, memory_order_relaxed);
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		to->counter[i] = atomic_load_explicit(&from->counter[i], memory_order_relaxed);
	to->counter[GSAN_N_DROPPED] += from->ring.dropped;
}

void supervisor_participant_leave(struct supervisor *s, uint32_t participant)
{
	struct job_rank *rank = &s->job->rank[participant];
	evidence_drain_ring(s, &rank->ring, 1);
	supervisor_waits_leave(s, participant);
	supervisor_place_left(s, participant);
}

static void evidence_rank_end(const struct supervisor *s, struct report *r)
{
	for (uint32_t i = 0; i < r->ranks; i++) {
		const struct member *m = &s->member[i];
		struct report_rank *one = &r->rank[i];
		one->gpu = -1;
		switch (m->state) {
		case MEMBER_ABSENT: one->end = REPORT_MISSING; break;
		case MEMBER_HERE:
		case MEMBER_RUNNING: one->end = REPORT_RUNNING; break;
		case MEMBER_LOST: one->end = REPORT_LOST; break;
		case MEMBER_DONE:
			one->end = WIFSIGNALED(m->status) ? REPORT_SIGNALLED : REPORT_EXITED;
			one->status = WIFSIGNALED(m->status) ? WTERMSIG(m->status) : WEXITSTATUS(m->status);
			break;
		}
	}
}

static void evidence_participants(struct supervisor *s, struct report *r)
{
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++) {
		struct report_rank now = {0};
		if (!s->owner[p])
			continue;
		supervisor_owner_look(s, p);
		evidence_numbers(&s->job->rank[p], &now);
		evidence_add_numbers(&r->rank[supervisor_owner_rank(s, s->owner[p])], &now);
	}
	for (uint32_t i = 0; i < r->ranks; i++)
		evidence_add_numbers(&r->rank[i], &s->past[i]);
	if (r->ranks)
		r->rank[0].counter[GSAN_N_DROPPED] += s->candidates_lost;
}

/* A rank is shown with its first GPU: of its lowest place, and of its processes there the first one's. */
static void evidence_gpus(const struct supervisor *s, struct report *r)
{
	uint32_t place[REPORT_RANKS_MAX];
	for (const struct owner *o = s->owners; o; o = o->next) { /* newest first */
		int rank = supervisor_owner_rank(s, o), number = supervisor_owner_gpu(s, o);
		struct report_rank *to = &r->rank[rank];
		to->gpus |= number >= 0 && number < REPORT_GPUS_MAX ? 1u << number : 0;
		if (to->gpu >= 0 && o->participant > place[rank])
			continue;
		place[rank] = o->participant;
		to->gpu = number;
		to->gpu_name = report_copy(r, o->gpu_name);
		to->gpu_bus = report_copy(r, o->gpu_bus);
	}
}

/* All GPUs of the job, by number. */
static void evidence_topology(const struct supervisor *s, struct report *r)
{
	const char *bus[REPORT_GPUS_MAX] = {NULL};
	for (const struct owner *o = s->owners; o; o = o->next) {
		int number = supervisor_owner_gpu(s, o);
		if (number >= 0 && number < REPORT_GPUS_MAX && *o->gpu_bus)
			bus[number] = o->gpu_bus;
	}
	for (int i = 0; i < REPORT_GPUS_MAX; i++)
		if (bus[i])
			r->gpu[r->gpus++] = (struct report_gpu){.number = i, .numa = -1, .bus = report_copy(r, bus[i])};
	topology_find(r, s->config.nvml, !s->config.emulated);
}

/* Counters of what nobody waited for stay on the device. */
static int evidence_uncounted(struct report *r)
{
	for (uint32_t i = 0; i < r->ranks; i++) {
		uint64_t n = r->rank[i].launches_uncounted;
		char name[64];
		snprintf(name, sizeof name, "the last %" PRIu64 " launch%s", n, n == 1 ? "" : "es");
		struct report_note note = {.key = REPORT_UNCOUNTED, .name = name, .reason = "ended without a wait", .ranks = 1u << i};
		if (n && report_add_note(r, &note))
			return -ENOMEM;
	}
	return 0;
}

/* Named only where kernels used memory that is not checked, or where that is not known. */
static int evidence_foreign(const struct supervisor *s, struct report *r)
{
	static const char *const names[] = JOB_FOREIGN_NAMES;
	uint64_t sum[REPORT_RANKS_MAX][JOB_FOREIGNS];
	memcpy(sum, s->past_foreign, sizeof sum);
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		for (int i = 0; s->owner[p] && i < JOB_FOREIGNS; i++)
			sum[supervisor_owner_rank(s, s->owner[p])][i] +=
				atomic_load_explicit(&s->job->rank[p].foreign_bytes[i], memory_order_relaxed);
	for (uint32_t rank = 0; rank < r->ranks; rank++)
		for (int i = 0; i < JOB_FOREIGNS; i++) {
			char reason[128];
			snprintf(reason, sizeof reason, "%" PRIu64 " bytes that hosts can read: accesses to it are not checked", sum[rank][i]);
			struct report_note note = {.key = REPORT_FOREIGN, .name = names[i], .reason = reason, .ranks = 1u << rank};
			if (sum[rank][i] && (r->rank[rank].counter[GSAN_N_FOREIGN] || r->rank[rank].launches_uncounted) &&
			    report_add_note(r, &note))
				return -ENOMEM;
		}
	return 0;
}

static int evidence_left(const struct supervisor *s, struct report *r, const struct kernel *k)
{
	int rc = 0;
	for (uint32_t i = 0; i < k->info.lefts && !rc; i++) {
		const struct ptx_left *from = &k->info.left[i];
		struct report_left left = {{evidence_dash(from->file), from->line, 0}, from->opcode, from->reason,
					   1u << supervisor_owner_rank(s, k->owner)};
		rc = report_add_left(r, &left);
	}
	return rc;
}

static int evidence_coverage(const struct supervisor *s, struct report *r)
{
	if (evidence_uncounted(r) || evidence_foreign(s, r) || supervisor_note_unseen(s, r))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->notes.notes; i++)
		if (report_add_note(r, &s->notes.note[i]))
			return -ENOMEM;
	for (uint32_t i = 0; i < KERNEL_BUCKETS; i++)
		for (const struct kernel *k = s->kernel[i]; k; k = k->next)
			if (evidence_left(s, r, k))
				return -ENOMEM;
	return 0;
}

int supervisor_report(struct supervisor *s, struct report *r)
{
	*r = (struct report){.ranks = s->config.size};
	evidence_rank_end(s, r);
	evidence_participants(s, r);
	evidence_gpus(s, r);
	evidence_topology(s, r);
	supervisor_waits_report(s, r);
	int rc = evidence_findings(s, r);
	if (!rc)
		rc = evidence_coverage(s, r);
	if (!rc)
		rc = report_finish(r);
	if (!rc)
		rc = report_set_job(r, s->config.job);
	if (!rc)
		rc = supervisor_timeline(s, r);
	if (!rc)
		rc = report_group(r);
	if (!rc)
		rc = report_suppress(r, s->config.suppressions);
	if (!rc)
		rc = report_regroup(r);
	report_limit(r, s->config.details);
	if (!rc)
		rc = report_add_sources(r, r->job.directory);
	if (!rc)
		rc = report_identify(r);
	if (!rc && s->config.formal == FORMAL_IGNORE)
		report_unlist_formal(r);
	return rc;
}
