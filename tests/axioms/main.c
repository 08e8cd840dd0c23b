/* axioms: what the PTX axioms say of litmus programs. One line a file:
 *   NAME allowed|forbidden|unknown race|free|some|- N_EXECUTIONS [stale-nc]
 * allowed: some execution has the outcome. race: all of those have a data race; free: none; some: both kinds are there;
 * - with forbidden and unknown. unknown: the search gave up, the reason is on stderr. Exit: 0; 1 --check found a file that
 * `expect`s something else; 2 bad input or usage; 3 gave up on a file. */
#include "axioms.h"
#include "litmus/litmus.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: axioms [OPTION…] FILE.litmus…\n"
	"  --kernel-fences=yes|no  kernel start and end are fence.acq_rel.sys (yes)\n"
	"  --unit=cta|warp|thread  what counts as one thread (cta)\n"
	"  --cluster-gpu=yes|no    scope .cluster is .gpu (yes)\n"
	"  --fence-sc=yes|no       no: fence.sc is fence.acq_rel (yes)\n"
	"  --observe=yes|no        no: observation alone orders nothing (yes)\n"
	"  --settled               stop once the answer is `some`; the number is then too low\n"
	"  --limit=N               steps of the search, a few microseconds each (1048576)\n"
	"  --witness               describe one racy execution on stdout\n"
	"  --pairs                 list the racing lines: pair LINE LINE all|some [stale-nc]\n"
	"  --check                 fail where the file's `expect` says otherwise\n";

static struct { struct ax_options model; int witness, pairs, check, settled; } set = {.model = AX_DEFAULTS};

static const struct { const char *name; int *to; } switches[] = {
	{"--kernel-fences", &set.model.kernel_fences},
	{"--cluster-gpu", &set.model.cluster_gpu}, {"--fence-sc", &set.model.fence_sc}, {"--observe", &set.model.observe}};
static const struct { const char *name; int *to; } flags[] = {
	{"--witness", &set.witness}, {"--pairs", &set.pairs}, {"--check", &set.check}, {"--settled", &set.settled}};

static int option(const char *text)
{
	static const char *const units[] = {[AX_THREAD] = "thread", [AX_WARP] = "warp", [AX_CTA] = "cta"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !strncmp(text, "--unit=", 7); i++)
		if (!strcmp(text + 7, units[i])) {
			set.model.unit = (enum ax_unit)i;
			return 0;
		}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(text, flags[i].name)) {
			*flags[i].to = 1;
			return 0;
		}
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		size_t length = strlen(switches[i].name);
		const char *value = text + length + 1;

		if (strncmp(text, switches[i].name, length) || text[length] != '=')
			continue;
		if (strcmp(value, "yes") && strcmp(value, "no"))
			break;
		*switches[i].to = !strcmp(value, "yes");
		return 0;
	}
	if (!strncmp(text, "--limit=", 8)) {
		char *end;

		set.model.limit = strtoull(text + 8, &end, 10);
		if (text[8] >= '0' && text[8] <= '9' && !*end && set.model.limit)
			return 0;
	}
	fprintf(stderr, "axioms: no option '%s'\n%s", text, usage);
	return 2;
}

static int agrees(const struct lit_program *p, const struct ax_verdict *v, const char *file)
{
	if (!set.check || p->expect == LIT_UNSAID || v->answer == (p->expect == LIT_RACE ? AX_RACE : AX_FREE))
		return 0;
	fprintf(stderr, "%s: the file expects %s, the axioms do not say so; look at --witness and --pairs\n", file,
		p->expect == LIT_RACE ? "race" : "free");
	return 1;
}

static void report(const struct lit_program *p, const struct ax_verdict *v)
{
	static const char *const words[] = {[AX_FORBIDDEN] = "forbidden -", [AX_FREE] = "allowed free", [AX_RACE] = "allowed race",
					    [AX_SOME] = "allowed some", [AX_UNKNOWN] = "unknown -"};

	printf("%s %s %llu%s\n", p->name, words[v->answer], (unsigned long long)v->executions, v->stale_nc ? " stale-nc" : "");
	for (size_t i = 0; set.pairs && i < v->pairs; i++)
		printf("pair %u %u %s%s\n", v->pair[i].line[0], v->pair[i].line[1],
		       v->pair[i].executions == v->executions ? "all" : "some", v->pair[i].stale_nc ? " stale-nc" : "");
}

static int judge(const char *file)
{
	struct lit_program *p;
	struct ax_verdict v;
	char error[512];
	int status;

	if (lit_load(file, &p, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 2;
	}
	if (ax_judge(p, &set.model, set.witness ? stdout : NULL, &v)) {
		fprintf(stderr, "axioms: %s: out of memory\n", file);
		lit_free(p);
		return 2;
	}
	report(p, &v);
	status = agrees(p, &v, file);
	if (v.answer == AX_UNKNOWN) {
		fprintf(stderr, "%s: gave up after %llu steps: %s; write a smaller program%s\n", file, (unsigned long long)v.steps,
			v.unknown, v.steps > set.model.limit ? ", or a greater --limit" : "");
		status = 3;
	}
	ax_forget(&v);
	lit_free(p);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0, first = 1;

	for (; first < argc && !strncmp(argv[first], "--", 2); first++)
		if (option(argv[first]))
			return 2;
	if (first == argc) {
		fputs(usage, stderr);
		return 2;
	}
	set.model.until = set.settled ? AX_SETTLED : AX_ALL;
	for (int i = first; i < argc; i++) {
		int one = judge(argv[i]);

		status = one > status ? one : status;
	}
	return status;
}
