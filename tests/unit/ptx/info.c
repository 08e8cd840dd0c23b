/* Site tables: read back with their escapes, and refused when they are not ours. */
#include "ptx/info.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "device/layout.h"

#define START "gsan-info\t26\tk\t"
_Static_assert(GSAN_ABI == 26, "as START says");

static int parse(const char *text, struct ptx_info *info) { return ptx_info_parse(text, strlen(text), info); }

int main(void)
{
	static const char text[] = START "sync\nsource\t/tmp/x.ptx\n"
				   "site\t2\t-\t12\t0\tf\\\\g\tld\tweak\t-\t16\t-\n"
				   "site\t7\t/a\\tb.py\t3\t4\tk\tatom.add\tacq_rel\tgpu\t4\t/a.py:9,/b.py:1\n"
				   "fence\t7\t/a.py\t2\t1\tk\tfence\tacq_rel\tcta\t0\t-\t7-8,11-11,\n"
				   "fence\t7\t/a.py\t3\t1\tk\tfence\tacq_rel\tgpu\t0\t-\t\n"
				   "left\t/a.py\t5\tcp.async.bulk\tbulk copy not modelled\n"
				   "late\t7\nlate\t9\nawaits\t7\t8-9,\ntakes\t7\nagain\t2\nbarrier\t8\t9-12,\napart\t1\t2\t3\nvariable\tcounter\nmanaged\tflag\nvariables\tother\ngrid\n";
	struct ptx_info info;

	CHECK(!ptx_info_parse(text, sizeof(text), &info));
	CHECK(info.abi == GSAN_ABI && info.sync && !strcmp(info.kernel, "k") && !strcmp(info.source, "/tmp/x.ptx"));
	CHECK(info.sites == 2 && info.site[0].id == 2 && info.lefts == 1 && info.left[0].line == 5);
	CHECK(!strcmp(ptx_info_site(&info, 7)->file, "/a\tb.py") && ptx_info_site(&info, 7)->bytes == 4);
	CHECK(!strcmp(ptx_info_site(&info, 2)->function, "f\\g") && !ptx_info_site(&info, 3));
	CHECK(info.aparts == 1 && info.apart[0].from == 1 && info.apart[0].to == 2 && info.apart[0].end == 3);
	CHECK(ptx_info_site(&info, 7)->late && !ptx_info_site(&info, 2)->late);
	CHECK(ptx_info_site(&info, 7)->awaits && ptx_info_site(&info, 7)->takes && !ptx_info_site(&info, 2)->awaits && !ptx_info_site(&info, 2)->takes);
	CHECK(ptx_info_site(&info, 2)->again && !ptx_info_site(&info, 7)->again && info.barriers == 1);
	CHECK(!strcmp(ptx_info_site(&info, 7)->inlined_at, "/a.py:9,/b.py:1"));
	CHECK(info.fences == 2 && info.fence[0].at.line == 2 && !strcmp(info.fence[0].at.scope, "cta") && !*info.fence[1].behind);
	static const struct ptx_site before = {.id = 3, .function = "k"}, no = {.id = 9, .function = "k"}, last = {.id = 11, .function = "k"}, other = {.id = 3, .function = "f"};
	CHECK(ptx_info_fence(&info, &before, ptx_info_site(&info, 7), NULL) == info.fence && ptx_info_fence(&info, &before, &last, NULL) == info.fence);
	CHECK(!ptx_info_fence(&info, &before, &last, info.fence) && !ptx_info_fence(&info, &before, &no, NULL) && !ptx_info_fence(&info, &other, &last, NULL));
	CHECK(ptx_info_waited(&info, ptx_info_site(&info, 7), &no) && ptx_info_waited(&info, ptx_info_site(&info, 7), &last) && !ptx_info_waited(&info, ptx_info_site(&info, 7), &before));
	CHECK(ptx_info_meets(&info, &before, ptx_info_site(&info, 7)) == 0);
	ptx_info_free(&info);
	CHECK(ptx_info_parse("gsan-info\t999\tk\t-\n", 19, &info) == -EINVAL && info.abi == 999);
	CHECK(ptx_info_parse("", 0, &info) == -EINVAL);
	CHECK(parse(START "-\nsite\t1\n", &info) == -EINVAL);
	CHECK(parse(START "-\nfence\t7\t/a.py\t3\t1\tk\tfence\tacq_rel\tgpu\t0\t-\n", &info) == -EINVAL);
	CHECK(parse(START "-\nvariable\ta\tb\n", &info) == -EINVAL);
	CHECK(parse(START "-\ngrid\tk\n", &info) == -EINVAL);
	CHECK(parse(START "-\nawaits\t7\n", &info) == -EINVAL && parse(START "-\nbarrier\t7\n", &info) == -EINVAL);
	CHECK(ptx_info_parse("hello", 5, &info) == -EINVAL);
	return 0;
}
