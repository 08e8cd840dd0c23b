/* The rows of table.h against the enumerator. usage: table_test [-v] */
#include "axioms.h"
#include "litmus/litmus.h"
#include "table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

struct text {
	FILE *to;
	int threads, warp, rank[THREADS], cta[THREADS], same_gpu;
	char name[THREADS][16]; /* as `exists` spells the thread */
};

static const char *take_prefix(struct text *t, const char *at)
{
	int n = t->threads++;

	at += strspn(at, " ");
	t->warp = *at == '+' ? t->warp + 1 : 0;
	t->rank[n] = *at == '@' || *at == '%' ? at[1] - '0' : 0;
	t->same_gpu |= *at == '%';
	t->cta[n] = t->warp ? t->cta[n - 1] : n;
	snprintf(t->name[n], sizeof(t->name[n]), t->warp ? "R%d.%d.%d" : "R%d.%d", t->rank[n], t->cta[n], 32 * t->warp);
	return at + (*at == '+' ? 1 : *at == '@' || *at == '%' ? 2 : 0);
}

static void put_thread(struct text *t, const char *at, const char *end)
{
	int n = t->threads - 1;

	if (!n || t->rank[n] != t->rank[n - 1])
		fprintf(t->to, "launch R%d rank %d grid 8 block 64\n", t->rank[n], t->rank[n]);
	fprintf(t->to, "cta %d thread %d\n", t->cta[n], 32 * t->warp);
	while (at < end) {
		size_t length = strcspn(at, ";|");

		fprintf(t->to, "  %.*s\n", (int)length, at);
		at += length + 1;
	}
}

static void put_exists(struct text *t, const char *at)
{
	fputs("exists ", t->to);
	for (; *at; at++)
		if (isdigit(*at) && at[1] == ':')
			fputs(t->name[*at - '0'], t->to);
		else
			fputc(*at, t->to);
	fputc('\n', t->to);
}

static void put_row(FILE *to, const struct row *row)
{
	struct text t = {.to = to};

	fprintf(to, "litmus %s\nranks 2\ndevices 0 %d\n", row->name, !strchr(row->threads, '%'));
	fputs("location x\nlocation y\nlocation f\nlocation w bytes 8\nlocation high bytes 2 at x + 2\n", to);
	for (const char *at = row->threads; at;) {
		const char *begin = take_prefix(&t, at), *end = strstr(begin, "||");

		put_thread(&t, begin, end ? end : begin + strlen(begin));
		at = end ? end + 2 : NULL;
	}
	if (row->exists)
		put_exists(&t, row->exists);
}

static struct ax_options options_of(const char *letters)
{
	struct ax_options o = AX_DEFAULTS;

	if (strchr(letters, 'p'))
		o.unit = AX_THREAD, o.kernel_fences = o.cluster_gpu = 0;
	if (strchr(letters, 'w'))
		o.unit = AX_WARP;
	o.observe = !strchr(letters, 'o');
	o.fence_sc = !strchr(letters, 'a');
	return o;
}

static int judged(const char *name, const char *text, const char *verdict, const char *letters, int verbose)
{
	static const char *const words[] = {[AX_FORBIDDEN] = "forbidden -", [AX_FREE] = "allowed free", [AX_RACE] = "allowed race",
					    [AX_SOME] = "allowed some", [AX_UNKNOWN] = "unknown -"};
	struct ax_options o = options_of(letters);
	struct lit_program *p;
	struct ax_verdict v;
	char error[512], got[64];
	int wrong;

	if (lit_parse(text, name, &p, error, sizeof(error))) {
		fprintf(stderr, "%s\n%s", error, text);
		return 1;
	}
	if (ax_judge(p, &o, NULL, &v))
		return 1;
	snprintf(got, sizeof(got), "%s%s", words[v.answer], v.stale_nc ? " stale-nc" : "");
	wrong = strcmp(got, verdict) != 0;
	if (verbose || wrong)
		printf("%-34s %-24s %-8llu steps%s%s\n", name, got, (unsigned long long)v.steps, wrong ? ", WRONG: expected " : "",
		       wrong ? verdict : "");
	if (wrong) {
		ax_forget(&v);
		ax_judge(p, &o, stdout, &v);
		printf("%s", text);
	}
	ax_forget(&v);
	lit_free(p);
	return wrong;
}

int main(int argc, char **argv)
{
	int verbose = argc > 1 && !strcmp(argv[1], "-v"), wrong = 0;
	size_t shapes = sizeof(rows) / sizeof(rows[0]), whole = sizeof(programs) / sizeof(programs[0]);

	for (size_t i = 0; i < shapes; i++) {
		char *text = NULL;
		size_t length;
		FILE *to = open_memstream(&text, &length);

		if (!to)
			return 1;
		put_row(to, &rows[i]);
		fclose(to);
		wrong += judged(rows[i].name, text, rows[i].verdict, rows[i].options, verbose);
		free(text);
	}
	for (size_t i = 0; i < whole; i++) {
		char text[2048];

		snprintf(text, sizeof(text), "litmus %s\n%s", programs[i].name, programs[i].text);
		wrong += judged(programs[i].name, text, programs[i].verdict, programs[i].options, verbose);
	}
	printf("%zu rows, %d wrong\n", shapes + whole, wrong);
	return wrong != 0;
}
