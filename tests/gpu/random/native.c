#include "native.h"

#include "forms.h"
#include "player.h"

#include <inttypes.h>
#include <stdlib.h>

struct native_op native_op(uint16_t code)
{
	return (struct native_op){.code = code, .lanes = ~0u, .cta_end = NATIVE_ALL, .tid_end = NATIVE_ALL, .tid_mul = 1,
				  .tid_mask = ~0u};
}

struct native_op *native_add(struct native_launch *l, struct native_op op)
{
	if (l->list.ops == NATIVE_OPS)
		abort(); /* a test program: its author is told */
	l->list.op[l->list.ops] = op;
	return &l->list.op[l->list.ops++];
}

int native_drop(struct native *p, const char *list)
{
	int launch, place, used;

	for (; *list; list += used + (list[used] == ',')) {
		if (sscanf(list, "%d.%d%n", &launch, &place, &used) != 2 || launch < 0 || launch >= p->launches || place < 0 ||
		    (uint32_t)place >= p->launch[launch].list.ops)
			return -1;
		p->launch[launch].list.op[place].cta_first = p->launch[launch].list.op[place].cta_end = 0;
	}
	return 0;
}

static const char *const control_name[NATIVE_CONTROLS] = {"end",  "exit",  "jump",    "if",      "set",
							     "loop", "again", "awaited", "barrier", "sleep"};

static void print_op(uint32_t n, const struct native_op *o, FILE *to)
{
	char name[LIT_OPCODE];
	size_t forms = forms_count();

	if (!o->cta_end)
		return; /* dropped */
	if (o->code < forms)
		forms_name(o->code, name);
	else
		snprintf(name, sizeof(name), "%s", control_name[o->code - forms]);
	fprintf(to, "    %2u %-32s rank %u + 0x%" PRIx64 " + %u*cta + %u*tid", n, name, o->rank, o->address, o->cta_stride,
		o->tid_stride);
	if (o->rotate || o->group)
		fprintf(to, ", cta + %u %% %u", o->rotate, o->group);
	if (o->tid_mul != 1 || o->tid_add || o->tid_mask != ~0u)
		fprintf(to, ", tid*%u+%u & %x", o->tid_mul, o->tid_add, o->tid_mask);
	if (o->lanes != ~0u || o->cta_first || o->cta_end != NATIVE_ALL || o->tid_first || o->tid_end != NATIVE_ALL)
		fprintf(to, ", %sif cta %u..%u tid %u..%u lanes %x", o->flags & NATIVE_NEGATE ? "not " : "", o->cta_first, o->cta_end,
			o->tid_first, o->tid_end, o->lanes);
	fprintf(to, ", r%u value %u %u flags %x loop %u reg/step %u\n", o->reg, o->value, o->compare, o->flags, o->loop, o->value_reg);
}

void native_print(const struct native *p, FILE *to)
{
	static const char *const steps[] = {"launch", "event", "wait"};

	fprintf(to, "program %" PRIu64 ", %d ranks, %s%s\n", p->seed, p->ranks, p->broken ? "broken: " : "race-free",
		p->broken ? p->broken : "");
	for (int r = 0; r < p->ranks; r++)
		fprintf(to, "  memory of rank %d: %" PRIu64 " bytes\n", r, p->bytes[r]);
	for (int s = 0; s < p->steps; s++)
		fprintf(to, "  %s %d, rank %d stream %d\n", steps[p->step[s].op], p->step[s].what, p->step[s].rank, p->step[s].stream);
	for (int i = 0; i < p->launches; i++) {
		const struct native_launch *l = &p->launch[i];

		fprintf(to, "  launch %d: %s, rank %d stream %d, %u CTAs of %u\n", i, player_name[l->kernel], l->rank, l->stream,
			l->grid, l->block);
		for (uint32_t n = 0; n < l->list.ops; n++)
			print_op(n, &l->list.op[n], to);
	}
}
