/* read_value: what the reader of reports is made of: values out of cJSON's objects. A key that is missing or of another type is an error that names
 * it. */
#ifndef GSAN_REPORT_READ_VALUE_H
#define GSAN_REPORT_READ_VALUE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

/* The first error stays; after it every reader returns zeros, so that callers read straight on and look once. findings: how many were read. */
struct read { struct report *r; char *error; size_t error_size; int rc; uint32_t findings; int unidentified; }; /* unidentified: no finding says by what it is known */

void read_wrong(struct read *x, const char *key, const char *what);
const cJSON *read_item(struct read *x, const cJSON *object, const char *key);
const cJSON *read_array(struct read *x, const cJSON *object, const char *key);
const cJSON *read_object(struct read *x, const cJSON *object, const char *key);
uint64_t read_number(struct read *x, const cJSON *object, const char *key);
uint32_t read_small(struct read *x, const cJSON *object, const char *key);
uint64_t read_later(struct read *x, const cJSON *object, const char *key); /* a key that older reports lack: 0 */
int read_integer(struct read *x, const cJSON *object, const char *key); /* null: -1 */
const char *read_string(struct read *x, const cJSON *object, const char *key);
const char *read_lines(struct read *x, const cJSON *object, const char *key); /* a list of texts, with a newline between; NULL: of none */
void read_triple(struct read *x, const cJSON *object, const char *key, uint32_t *value, int *known);
const char *read_maybe(struct read *x, const cJSON *object, const char *key);
void read_side(struct read *x, const cJSON *finding, const char *key, struct report_side *side);
uint64_t read_hex(struct read *x, const cJSON *object, const char *key);
void read_allocation(struct read *x, const cJSON *of, struct report_allocation *a);
void read_allocations(struct read *x, const cJSON *finding, struct report_finding *f);
int read_bool(struct read *x, const cJSON *o, const char *key); /* older reports have none: false */

#endif
