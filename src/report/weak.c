#include "report/weak.h"

#include "report/order.h"

static enum report_class weak_class(const struct report_finding *f) { return f->missing_edge ? f->missing_edge_class : report_class(f); }

/* What is weak of a flag. */
static const struct report_flag *weak_of(const struct report_finding *f)
{
	if (weak_class(f) != REPORT_WEAK_FLAG)
		return NULL;
	const struct report_flag *weak = f->reason == GSAN_WHY_WEAK_READ ? &f->flag_read : &f->flag_write;
	return weak->at.file ? weak : NULL;
}

int weak_flags(const struct report *r, struct index *flags)
{
	int rc = 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		const struct report_flag *weak = weak_of(&r->finding[i]);
		rc = weak ? index_add(flags, report_place_hash(&weak->at), i) : 0;
	}
	return rc;
}

/* Whose flag has this side as its weak one. */
static uint32_t weak_flag_at(const struct report *r, const struct index *flags, const struct report_side *side, int formal)
{
	const uint64_t hash = report_place_hash(&side->at);
	for (uint32_t at = 0, *one; (one = index_next(flags, hash, &at));) {
		const struct report_flag *weak = weak_of(&r->finding[*one]);
		if (weak && r->finding[*one].formal == formal && !report_place_order(&weak->at, &side->at) && !report_text_order(weak->inlined_at, side->inlined_at) &&
		    !report_text_order(weak->kernel, side->kernel) && !report_text_order(weak->semantics, side->semantics))
			return *one;
	}
	return WEAK_NONE;
}

uint32_t weak_flag_of(const struct report *r, const struct index *flags, const struct report_finding *f)
{
	if (weak_class(f) == REPORT_WEAK_FLAG || f->kind == GSAN_STALE_NC)
		return WEAK_NONE;
	const uint32_t first = weak_flag_at(r, flags, &f->first, f->formal), second = weak_flag_at(r, flags, &f->second, f->formal);
	if (first != WEAK_NONE && second != WEAK_NONE)
		return first < second ? first : second;
	if (first != WEAK_NONE)
		return report_is_strong(&f->second) ? first : WEAK_NONE;
	return report_is_strong(&f->first) ? second : WEAK_NONE;
}
