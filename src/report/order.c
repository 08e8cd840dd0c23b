#include "report/order.h"

#include <string.h>

#include "base/hash.h"

int report_text_order(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

int report_number_order(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

int report_place_order(const struct report_place *a, const struct report_place *b)
{
	ORDER(report_text_order(a->file, b->file));
	ORDER(report_number_order(a->line, b->line));
	return report_number_order(a->column, b->column);
}

int report_side_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_place_order(&a->at, &b->at));
	ORDER(report_number_order((uint32_t)(a->rank + 1), (uint32_t)(b->rank + 1)));
	ORDER(report_text_order(a->kernel, b->kernel));
	ORDER(report_text_order(a->op, b->op));
	ORDER(report_text_order(a->object, b->object));
	return report_text_order(a->inlined_at, b->inlined_at);
}

int report_site_order(const struct report_side *a, const struct report_side *b)
{
	struct report_side one = *a, other = *b;
	one.rank = other.rank = 0;
	return report_side_order(&one, &other);
}

int report_sites_order(const struct report_finding *a, const struct report_finding *b)
{
	const int crossed = report_site_order(&a->first, &a->second) > 0, others = report_site_order(&b->first, &b->second) > 0;
	ORDER(report_site_order(crossed ? &a->second : &a->first, others ? &b->second : &b->first));
	return report_site_order(crossed ? &a->first : &a->second, others ? &b->first : &b->second);
}

/* Operations are what is written there, in the user's own line. */
int report_op_order(const struct report_op *a, const struct report_op *b)
{
	ORDER(report_place_order(&a->at, &b->at));
	ORDER(report_text_order(a->inlined_at, b->inlined_at));
	ORDER(report_text_order(a->scope, b->scope));
	ORDER(report_text_order(a->semantics, b->semantics));
	return report_text_order(a->kernel, b->kernel);
}

/* Findings that compare equal here are of one pair of lines: the same sites, kind, ranks, kernels, and what the program calls the memory. */
int report_finding_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_side_order(&a->first, &b->first));
	ORDER(report_side_order(&a->second, &b->second));
	ORDER(report_number_order(a->kind, b->kind));
	return report_text_order(report_label(a), report_label(b));
}

/* What is said of why: findings of the same sites whose instances differ in it are kept apart until those are elected that are to stay. Where nothing
 * is, two launches lack another edge than two CTAs of one. */
int report_reason_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order(a->reason, b->reason));
	ORDER(report_number_order((uint64_t)a->both, (uint64_t)b->both));
	ORDER(report_place_order(&a->flag_write.at, &b->flag_write.at));
	ORDER(report_place_order(&a->flag_read.at, &b->flag_read.at));
	ORDER(report_text_order(a->missing_edge, b->missing_edge));
	return a->reason || a->missing_edge ? 0 : report_number_order(report_class(a), report_class(b));
}

/* By what a file has of it, if there is that. */
int report_edge_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order(a->missing_edge_class, b->missing_edge_class));
	ORDER(report_text_order(a->missing_edge, b->missing_edge));
	ORDER(report_number_order(a->edge.ops, b->edge.ops));
	for (uint32_t i = 0; i < a->edge.ops; i++)
		ORDER(report_op_order(&a->edge.op[i], &b->edge.op[i]));
	return report_reason_order(a, b);
}

static int report_cta_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_number_order(!a->cta_known, !b->cta_known));
	for (int i = 2; i >= 0; i--)
		ORDER(report_number_order(a->cta[i], b->cta[i]));
	return 0;
}

static int report_process_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_number_order((uint32_t)(a->participant + 1), (uint32_t)(b->participant + 1)));
	return report_number_order((uint32_t)a->pid, (uint32_t)b->pid);
}

/* Which of two equal findings stands for both: one that is not formal, then the earliest, so that arrival does not matter. The process
 * decides last: who it was changes from run to run, and parts no findings (report_side_order). */
int report_instance_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order((uint64_t)a->formal, (uint64_t)b->formal));
	ORDER(report_number_order(a->first.launch, b->first.launch));
	ORDER(report_number_order(a->second.launch, b->second.launch));
	ORDER(report_number_order(!a->reason, !b->reason)); /* one that says what is missing goes before one that does not */
	ORDER(report_cta_order(&a->first, &b->first));
	ORDER(report_cta_order(&a->second, &b->second));
	ORDER(report_number_order(a->allocation.base + a->allocation.offset, b->allocation.base + b->allocation.offset));
	ORDER(report_number_order(a->reason, b->reason));
	ORDER(report_process_order(&a->first, &b->first));
	return report_process_order(&a->second, &b->second);
}

int report_note_order(const struct report_note *a, const struct report_note *b)
{
	ORDER(report_text_order(a->key, b->key));
	ORDER(report_text_order(a->name, b->name));
	return report_text_order(a->reason, b->reason);
}

int report_wait_order(const struct report_wait *a, const struct report_wait *b)
{
	ORDER(report_number_order((uint32_t)(a->side.rank + 1), (uint32_t)(b->side.rank + 1)));
	ORDER(report_process_order(&a->side, &b->side));
	ORDER(report_number_order(a->side.launch, b->side.launch));
	ORDER(report_side_order(&a->side, &b->side));
	return report_number_order(a->address, b->address);
}

int report_left_order(const struct report_left *a, const struct report_left *b)
{
	ORDER(report_place_order(&a->at, &b->at));
	ORDER(report_text_order(a->opcode, b->opcode));
	return report_text_order(a->reason, b->reason);
}

/* NULL is another text than "". */
static uint64_t order_text(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash_step(hash, 0x100);
}

uint64_t report_place_hash(const struct report_place *at)
{
	return hash_step(hash_step(order_text(HASH_START, at->file), at->line), at->column);
}

uint64_t report_side_hash(const struct report_side *side)
{
	uint64_t hash = hash_step(report_place_hash(&side->at), (uint32_t)(side->rank + 1));
	return order_text(order_text(order_text(order_text(hash, side->kernel), side->op), side->object), side->inlined_at);
}

uint64_t report_op_hash(const struct report_op *op)
{
	uint64_t hash = order_text(report_place_hash(&op->at), op->kernel);
	return order_text(order_text(order_text(hash, op->scope), op->semantics), op->inlined_at);
}

uint64_t report_sides_hash(const struct report_finding *f)
{
	return order_text(report_side_hash(&f->first) + report_side_hash(&f->second), report_label(f));
}

uint64_t report_kernels_hash(const struct report_finding *f)
{
	return order_text(HASH_START, f->first.kernel) + order_text(HASH_START, f->second.kernel);
}

uint64_t report_reason_hash(const struct report_finding *f)
{
	uint64_t hash = hash_then(report_place_hash(&f->flag_write.at), report_place_hash(&f->flag_read.at));
	return order_text(hash_step(hash_step(hash, f->reason), (uint64_t)f->both), f->missing_edge);
}

uint64_t report_note_hash(const struct report_note *note)
{
	return order_text(order_text(order_text(HASH_START, note->key), note->name), note->reason);
}

uint64_t report_left_hash(const struct report_left *left)
{
	return order_text(order_text(report_place_hash(&left->at), left->opcode), left->reason);
}
