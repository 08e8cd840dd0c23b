/* Very many racy pairs, of very many kernels, from the ranks' rings to what is printed: in seconds, and in no more memory than a job has to
 * spare. Nothing on the way may take the square of their number. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../check.h"
#include "report/suppress.h"
#include "supervisor/state.h"

#define KERNELS 2000u
#define SITES 100u
#define PAIRS 1000000u
#define LAUNCHES 200000u /* pairs of launches in which they were */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SECONDS_MAX 100
#define MEMORY_MAX LONG_MAX /* theirs counts, too */
#else
#define SECONDS_MAX 10
#define MEMORY_MAX (500l << 10) /* KiB */
#endif

static struct supervisor *s;

static void make_kernel(uint32_t id)
{
	struct kernel *k = calloc(1, sizeof *k);
	struct text info = {0};
	text_printf(&info, "gsan-info\t%u\tkernel_number_%u_of_a_library\tsync\nsource\tx.ptx\n", GSAN_ABI, id);
	for (uint32_t site = 0; site < SITES; site++)
		text_printf(&info, "site\t%u\t/home/user/library/part%u.cu\t%u\t3\tf%u\t%s\tweak\t-\t4\t-\n", site, id, site + 1, site,
			    site & 1 ? "ld" : "st");
	CHECK(k && !info.failed && !ptx_info_parse(info.data, info.size, &k->info));
	k->owner = s->owner[0];
	k->id = id;
	supervisor_add_kernel(s, k);
	text_free(&info);
}

static void make(void)
{
	static struct report_job job = {.device = "emu"};
	static struct suppressions none;
	s = calloc(1, sizeof *s);
	CHECK(s);
	s->config = (struct supervisor_config){.size = 1, .job = &job, .exit_code = 66, .details = 1000, .suppressions = &none};
	s->job = calloc(1, sizeof *s->job);
	CHECK(s->job);
	s->job->participants = 1;
	s->member[0].state = MEMBER_DONE;
	CHECK(!supervisor_owner_join(s, 0, 0, 1, "0000:01:00.0"));
	atomic_store(&s->job->rank[0].state, JOB_RUNNING);
	for (uint32_t id = 1; id <= KERNELS; id++)
		make_kernel(id);
}

static void put(struct gsan_ring *ring, uint32_t pair)
{
	struct gsan_finding *slot = &ring->slot[ring->head % GSAN_RING_SLOTS];
	const uint32_t kernel = pair % KERNELS + 1, site = pair / KERNELS % (SITES / 2) * 2, launch = pair % LAUNCHES;
	*slot = (struct gsan_finding){.ready = (uint32_t)ring->head + 1, .kind = GSAN_RAW, .bytes = 4, .flag_write_site = 0xffff,
				      .flag_read_site = 0xffff};
	slot->first = (struct gsan_side){.seq = launch + 1, .kernel = kernel, .site = (uint16_t)site, .op = GSAN_OP_ST, .grid = {64, 1, 1}};
	slot->second = slot->first;
	slot->second.seq = launch + 2;
	slot->second.site = (uint16_t)(site + 1);
	slot->second.op = GSAN_OP_LD;
	slot->second.ctaid[0] = pair % 64;
	ring->head++;
}

int main(void)
{
	struct report r;
	struct text text = {0}, why = {0};
	struct rusage usage;
	uint64_t count = 0, pairs = 0;
	make();
	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		put(&s->job->rank[0].ring, pair);
		if (pair % (GSAN_RING_SLOTS / 2) == 0 || pair + 1 == PAIRS)
			supervisor_drain(s, 0);
	}
	CHECK(!supervisor_report(s, &r));
	CHECK(supervisor_status(s, &r, &why) == 66);
	char *json = report_json(&r, -1);
	report_text(&text, &r, NULL, &(struct report_style){.width = 100});
	CHECK(json && !text.failed && !getrusage(RUSAGE_SELF, &usage));
	for (uint32_t i = 0; i < r.findings; i++) {
		count += r.finding[i].count;
		pairs += (r.finding[i].pairs ? r.finding[i].pairs - 1 : 0);
	}
	/* one per kernel: a stream that orders its launches orders all of their accesses */
	CHECK(r.findings == 1000 && r.unlisted[GSAN_RAW].findings == KERNELS - 1000 && count + r.unlisted[GSAN_RAW].count == LAUNCHES);
	CHECK(pairs == 1000 && r.finding[0].pairs == SITES / 2 && r.finding[999].pairs_unlisted == SITES / 2 - 1);
	CHECK(strstr(text.data, "gsan: 2000 findings, 1000 of them not listed"));
	const long seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec; /* of this process, whatever else the machine does */
	if (seconds >= SECONDS_MAX || usage.ru_maxrss > MEMORY_MAX)
		fprintf(stderr, "%ld s, %ld KiB\n", seconds, usage.ru_maxrss);
	CHECK(usage.ru_maxrss <= MEMORY_MAX && seconds < SECONDS_MAX);
	free(json);
	text_free(&text);
	report_free(&r);
	return 0;
}
