#include "report/read_value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void read_wrong(struct read *x, const char *key, const char *what)
{
	if (x->rc)
		return;
	x->rc = -EINVAL;
	snprintf(x->error, x->error_size, "\"%s\" %s", key, what);
}

const cJSON *read_item(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	if (!item)
		read_wrong(x, key, "is missing");
	return item;
}

const cJSON *read_array(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = read_item(x, object, key);
	if (item && !cJSON_IsArray(item))
		read_wrong(x, key, "is not a list");
	return item;
}

const cJSON *read_object(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = read_item(x, object, key);
	if (item && !cJSON_IsObject(item))
		read_wrong(x, key, "is not an object");
	return item;
}

uint64_t read_number(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = read_item(x, object, key);
	const double value = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p63 ? item->valuedouble : -1;
	if (value >= 0 && (double)(uint64_t)value == value)
		return (uint64_t)value;
	read_wrong(x, key, "is not a whole number");
	return 0;
}

uint32_t read_small(struct read *x, const cJSON *object, const char *key)
{
	const uint64_t value = read_number(x, object, key);
	if (value > UINT32_MAX)
		read_wrong(x, key, "is too large");
	return (uint32_t)value;
}

uint64_t read_later(struct read *x, const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key) ? read_number(x, object, key) : 0;
}

int read_integer(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = read_item(x, object, key);
	if (cJSON_IsNull(item))
		return -1;
	uint64_t value = read_number(x, object, key);
	if (value > INT32_MAX)
		read_wrong(x, key, "is too large");
	return x->rc ? 0 : (int)value;
}

const char *read_string(struct read *x, const cJSON *object, const char *key)
{
	const cJSON *item = read_item(x, object, key);
	if (cJSON_IsNull(item))
		return NULL;
	if (cJSON_IsString(item))
		return report_copy(x->r, item->valuestring);
	read_wrong(x, key, "is not a text");
	return NULL;
}

void read_triple(struct read *x, const cJSON *object, const char *key, uint32_t *value, int *known)
{
	const cJSON *item = read_item(x, object, key);
	*known = !cJSON_IsNull(item);
	for (int i = 0; *known && i < 3; i++) {
		const cJSON *number = cJSON_GetArrayItem(item, i);
		if (!cJSON_IsNumber(number) || number->valuedouble < 0 || number->valuedouble > UINT32_MAX)
			read_wrong(x, key, "is not a list of three numbers");
		else
			value[i] = (uint32_t)number->valuedouble;
	}
}

/* NULL: it is not there. */
const char *read_maybe(struct read *x, const cJSON *object, const char *key)
{
	return cJSON_HasObjectItem(object, key) ? read_string(x, object, key) : NULL;
}

/* A list of texts, with a newline between. */
const char *read_lines(struct read *x, const cJSON *object, const char *key)
{
	struct text lines = {0};
	const cJSON *item, *array = read_array(x, object, key);
	cJSON_ArrayForEach(item, array) {
		const char *line = cJSON_IsString(item) ? report_copy(x->r, item->valuestring) : NULL;
		text_printf(&lines, "%s%s", item != array->child ? "\n" : "", line ? line : "");
		if (!line)
			read_wrong(x, key, "is not a list of texts");
	}
	const char *copy = lines.size ? pool_copy(&x->r->pool, lines.data, lines.size) : NULL;
	text_free(&lines);
	return copy;
}

void read_side(struct read *x, const cJSON *finding, const char *key, struct report_side *side)
{
	const cJSON *o = read_object(x, finding, key);
	int always;
	side->rank = read_integer(x, o, "rank");
	side->gpu = read_integer(x, o, "gpu");
	side->participant = cJSON_HasObjectItem(o, "participant") ? read_integer(x, o, "participant") : -1; /* older reports */
	side->pid = cJSON_HasObjectItem(o, "pid") ? read_integer(x, o, "pid") : 0;
	side->kernel = read_string(x, o, "kernel");
	side->kernel_name = read_maybe(x, o, "kernel_name");
	read_triple(x, o, "grid", side->grid, &always);
	read_triple(x, o, "cta", side->cta, &side->cta_known);
	side->launch = read_small(x, o, "launch");
	side->stream = cJSON_HasObjectItem(o, "stream") ? read_small(x, o, "stream") + 1 : 0;
	side->at.file = read_string(x, o, "file");
	side->at.line = read_small(x, o, "line");
	side->at.column = read_small(x, o, "column");
	side->in_ptx = read_bool(x, o, "in_ptx");
	side->function = read_string(x, o, "function");
	side->function_name = read_maybe(x, o, "function_name");
	side->inlined_at = read_string(x, o, "inlined_at");
	side->object = read_maybe(x, o, "object");
	side->op = read_string(x, o, "op");
	side->bytes = read_small(x, o, "bytes");
	side->semantics = read_string(x, o, "semantics");
	side->scope = read_string(x, o, "scope");
	side->source = read_maybe(x, o, "source"); /* older reports */
	if (cJSON_HasObjectItem(o, "inlined_source"))
		side->inlined_source = read_lines(x, o, "inlined_source");
}

/* 0x and digits; null, where that may be: 0. */
uint64_t read_hex(struct read *x, const cJSON *object, const char *key)
{
	const char *text = read_string(x, object, key);
	char *end = NULL;
	const uint64_t value = text && !strncmp(text, "0x", 2) ? strtoull(text, &end, 16) : 0;
	if (text && (!end || *end))
		read_wrong(x, key, "is not a hexadecimal number");
	return value;
}

static void read_memory(struct read *x, const cJSON *o, struct report_allocation *a)
{
	a->rank = read_integer(x, o, "rank");
	a->base = read_hex(x, o, "base");
	a->size = read_number(x, o, "size");
	a->offset = read_number(x, o, "offset");
	a->label = read_string(x, o, "label");
}

void read_allocation(struct read *x, const cJSON *of, struct report_allocation *a)
{
	const cJSON *o = read_item(x, of, "allocation");
	if (!cJSON_IsNull(o))
		read_memory(x, o, a);
}

void read_allocations(struct read *x, const cJSON *finding, struct report_finding *f)
{
	const cJSON *item, *array = read_array(x, finding, "allocations");
	cJSON_ArrayForEach(item, array) {
		if (f->memories == REPORT_MEMORIES) {
			read_wrong(x, "allocations", "has too many");
			return;
		}
		read_memory(x, item, &f->memory[f->memories++]);
	}
}

int read_bool(struct read *x, const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
	if (item && !cJSON_IsBool(item))
		read_wrong(x, key, "is neither true nor false");
	return cJSON_IsTrue(item);
}
