/* weak: flags that are weak, and the pairs that race for no other reason: their own races with what is strong, and with what is weak of a flag, too. */
#ifndef GSAN_REPORT_WEAK_H
#define GSAN_REPORT_WEAK_H

#include <stdint.h>

#include "report/index.h"
#include "report/report.h"

#define WEAK_NONE UINT32_MAX

int weak_flags(const struct report *r, struct index *flags); /* its findings that lack that, by what of their flag is weak. 0 or -ENOMEM */
/* Of a pair that lacks something else, but is a race of a weak flag itself: a finding whose flag that is. WEAK_NONE: it is none. */
uint32_t weak_flag_of(const struct report *r, const struct index *flags, const struct report_finding *f);

#endif
