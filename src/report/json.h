/* What the formats that are JSON are built of, over cJSON, which returns NULL when out of memory: the adders note that, so that a writer
 * writes straight on, and json_end tells. One text at a time. */
#ifndef GSAN_REPORT_JSON_H
#define GSAN_REPORT_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "report/report.h"

cJSON *json_begin(void);                 /* an object */
char *json_end(cJSON *root, int indent); /* malloc'ed text that ends in a newline, or NULL; the object is gone */

void json_number(cJSON *object, const char *key, uint64_t value);
void json_integer(cJSON *object, const char *key, int value);        /* negative: null */
void json_string(cJSON *object, const char *key, const char *value); /* NULL: null */
void json_bool(cJSON *object, const char *key, int value);
cJSON *json_object(cJSON *object, const char *key); /* a new one, empty; NULL: it is the next of a list */
cJSON *json_list(cJSON *object, const char *key);
void json_item(cJSON *list, const char *value);

/* The parts of summary.json that other formats have, too, as keys of `object`. */
void json_finding(cJSON *object, const struct report *r, const struct report_finding *finding, const struct report_finding *pair); /* pair: its pairs */
void json_job(cJSON *object, const struct report_job *job);

#endif
