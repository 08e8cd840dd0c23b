/* The PTX that clang made defines every function of abi.h with the parameters the rewriter will pass. */
#include <stdio.h>
#include <string.h>

#include "device/abi.h"
#include "device/runtime.h"

static int check(const char *name, const char *params, const char *result)
{
	char want[64];
	snprintf(want, sizeof want, " gsan_%s(\n", name);
	const char *at = strstr(device_runtime_ptx, want);
	if (!at) {
		printf("gsan_%s is not defined\n", name);
		return 1;
	}
	const char *end = strchr(at, ')'), *line = at;
	while (line > device_runtime_ptx && line[-1] != '\n')
		line--;
	char returns[32];
	snprintf(returns, sizeof returns, ".func  (.param .b%d", *result == 'l' ? 64 : 32);
	int bad = (*result != 0) != (strncmp(line, ".func  (", 8) == 0) || (*result && strncmp(line, returns, strlen(returns)));
	for (const char *p = params; *p; p++) {
		at = strstr(at, ".param .b");
		int wide = *p == 'l' || *p == 'L';
		if (!at || at > end || strncmp(at, wide ? ".param .b64" : ".param .b32", 11)) {
			printf("gsan_%s: parameter %d\n", name, (int)(p - params));
			return 1;
		}
		at += 5;
	}
	at = strstr(at, ".param .b");
	bad |= at && at < end;
	if (bad)
		printf("gsan_%s: other result or more parameters than abi.h says\n", name);
	return bad;
}

/* Operations of the warp have the mask of all its lanes, and no other (gpu.h); and behind each bar.warp.sync they go on as one. */
static int whole_warps(void)
{
	int bad = 0, masks = 0, joined = 0;
	for (const char *at = strstr(device_runtime_ptx, ".sync"); at; at = strstr(at + 1, ".sync")) {
		const char *end = strchr(at, ';');
		int aligned = !strncmp(at, ".sync.aligned.", 14);
		int whole = aligned || (end && end - at > 3 && !strncmp(end - 2, "-1", 2) && strchr(" \t", end[-3]));
		whole &= joined == !strncmp(at - 8, "bar.warp", 8);
		joined = aligned;
		if (!whole)
			printf("not of the whole warp, or a barrier that joins nobody: %.*s\n", (int)(end ? end - at : 5), at);
		bad += !whole;
		masks++;
	}
	return bad + (masks < 5);
}

int main(void)
{
	int bad = whole_warps();
#define X(name, params, result) bad += check(#name, params, result);
	GSAN_CALLS(X)
	if (strstr(device_runtime_ptx, ".visible") || strstr(device_runtime_ptx, ".extern"))
		bad++, puts("something has external linkage");
	puts(bad ? "failed" : "passed");
	return bad != 0;
}
