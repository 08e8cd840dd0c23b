/* A program for gsan-launch: `pdl FORM [racy]`. Kernels that may begin before the one before them in their stream has ended (programmatic dependent
 * launch), ordered by griddepcontrol.wait or by what does without, or with an edge left out. Each form runs in grids of several shapes. */
#include "e2e/forms.h"

enum { PART = 1 << 16 /* bytes of each of the three parts of a shape's memory */ };
static const struct { unsigned threads, ctas; } shapes[] = {{1, 1}, {33, 3}, {1024, 2}, {128, 40}};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* %rd2: this thread's element of the first part. */
#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p)\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n" \
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n\tsetp.ne.u32 %p1, %r3, 0;\n" body "\tret;\n}\n"
#define TRIGGER "\tgriddepcontrol.launch_dependents;\n"
#define WAIT "\tgriddepcontrol.wait;\n"
#define PUT "\tst.global.u32 [%rd2], %r4;\n"
#define LOAD(part) "\tld.global.u32 %r6, [%rd2+" part "];\n"
#define STORE(part) "\tst.global.u32 [%rd2+" part "], %r6;\n"
#define MOVE(from, to) LOAD(from) STORE(to)
#define FIRST_WAITS "\t@%p1 bra met;\n" WAIT "met:\n\tbar.sync 0;\n"
#define COUNT "\tred.release.gpu.global.add.u32 [%rd1+61440], 1;\n" /* so its clone keeps a clock */
/* The first four CTAs take turns by a flag that says whose it is, the first or the last one of them waits, and all but the first move; each releases more than
 * once, so that it may need a tag of its own. Or the first raises a flag when it has waited, and the others wait for that. */
#define FLAG "[%rd1+61444]"
#define FIRST "\tsetp.ne.u32 %p2, %r1, 0;\n"
#define LAST "\tmov.u32 %r7, %nctaid.x;\n\tsub.u32 %r7, %r7, 1;\n\tmin.u32 %r7, %r7, 3;\n\tsetp.ne.u32 %p2, %r1, %r7;\n"
#define TURNS(who) \
	"\tsetp.gt.u32 %p2, %r1, 3;\n\t@%p2 bra out;\n\t@%p1 bra met;\n" who "\t@%p2 bra spin;\n" WAIT \
	"spin:\n\tld.acquire.gpu.global.u32 %r5, " FLAG ";\n\tsetp.lt.u32 %p2, %r5, %r1;\n\t@%p2 bra spin;\nmet:\n\tbar.sync 0;\n" \
	FIRST "\t@!%p2 bra moved;\n" MOVE("0", "65536") \
	"moved:\n\tbar.sync 0;\n\t@%p1 bra out;\n" COUNT "\tadd.u32 %r5, %r1, 1;\n\tst.release.gpu.global.u32 " FLAG ", %r5;\nout:\n"
#define FLAGGED(load) \
	"\t@%p1 bra met;\n" FIRST "\t@%p2 bra spin;\n" WAIT "\tst.relaxed.gpu.global.u32 " FLAG ", 1;\n" \
	"spin:\n\t" load ".gpu.global.u32 %r5, " FLAG ";\n\tsetp.eq.u32 %p2, %r5, 0;\n\t@%p2 bra spin;\nmet:\n\tbar.sync 0;\n" MOVE("0", "65536")
#define RED "\tred.relaxed.gpu.global.add.u32 [%rd2], 1;\n"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	".func waits()\n{\n" WAIT "\tret;\n}\n"
	KERNEL("put", PUT)
	KERNEL("put_trigger", TRIGGER PUT)
	KERNEL("put_trigger_last", PUT TRIGGER)
	KERNEL("wait_move", TRIGGER WAIT MOVE("0", "65536"))
	KERNEL("move", TRIGGER MOVE("0", "65536"))
	KERNEL("load_wait", TRIGGER LOAD("0") WAIT STORE("65536"))
	KERNEL("wait_trigger_move", WAIT TRIGGER MOVE("0", "65536"))
	KERNEL("wait_move_on", WAIT MOVE("65536", "131072"))
	KERNEL("old_wait_move_on", LOAD("0") WAIT STORE("131072") MOVE("65536", "131072"))
	KERNEL("one_waits", FIRST_WAITS MOVE("0", "65536"))
	KERNEL("one_waits_late", LOAD("0") FIRST_WAITS STORE("65536"))
	KERNEL("warp_waits", "\tsetp.lt.u32 %p1, %r3, 32;\n\t@%p1 griddepcontrol.wait;\n\tbar.sync 0;\n" MOVE("0", "65536"))
	KERNEL("calls_wait", "\tcall waits, ();\n" MOVE("0", "65536"))
	KERNEL("wait_put", WAIT PUT)
	KERNEL("wait_move_count", TRIGGER WAIT MOVE("0", "65536") COUNT)
	KERNEL("move_count", TRIGGER MOVE("0", "65536") COUNT)
	KERNEL("one_waits_count", FIRST_WAITS MOVE("0", "65536") COUNT)
	KERNEL("load_wait_count", LOAD("0") WAIT STORE("65536") COUNT)
	KERNEL("wait_red", WAIT RED)
	KERNEL("red", RED)
	KERNEL("first_waits", TURNS(FIRST))
	KERNEL("last_waits", TURNS(LAST))
	KERNEL("flagged", FLAGGED("ld.acquire"))
	KERNEL("flagged_relaxed", FLAGGED("ld.relaxed"));

static const char *const names[] = {"put", "put_trigger", "put_trigger_last", "wait_move", "move", "load_wait", "wait_trigger_move", "wait_move_on",
				    "old_wait_move_on", "one_waits", "one_waits_late", "warp_waits", "calls_wait", "wait_put", "wait_move_count", "move_count",
				    "one_waits_count", "load_wait_count", "wait_red", "red", "first_waits", "last_waits", "flagged",
				    "flagged_relaxed"};

static CUdeviceptr at; /* of the shape under way */
static int shape;
static CUevent event;

static void load(void) { KERNELS_LOAD(ptx, names); }

static void launch_with(CUstream stream, const char *name, CUlaunchAttribute *attribute)
{
	void *params[] = {&at};
	CUlaunchConfig config = {.gridDimX = shapes[shape].ctas, .gridDimY = 1, .gridDimZ = 1, .blockDimX = shapes[shape].threads, .blockDimY = 1, .blockDimZ = 1,
				 .hStream = stream, .attrs = attribute, .numAttrs = attribute != NULL};

	MUST(cuLaunchKernelEx(&config, kernel(name), params, NULL));
}

static void launch(const char *name) { launch_with(a, name, NULL); }

/* It may begin early. */
static void depend_in(CUstream stream, const char *name)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1};

	launch_with(stream, name, &attribute);
}

static void depend(const char *name) { depend_in(a, name); }

/* One that triggers, and one that may begin early, as it is correct and as it is not. */
static void behind(const char *first, const char *correct, const char *broken)
{
	launch(first);
	depend(racy ? broken : correct);
}

static void waited(void)
{
	launch("put_trigger");
	depend(racy ? "move" : "wait_move");
	depend("wait_move_on");
}

static void waited_late(void) { behind("put_trigger", "wait_move", "load_wait"); }

static void trigger_last(void) { behind("put_trigger_last", "wait_move", "move"); }

/* It begins when the other has ended. */
static void not_triggered(void)
{
	launch(racy ? "put_trigger" : "put");
	depend("move");
}

static void not_asked(void)
{
	launch("put_trigger");
	(racy ? depend : launch)("move");
}

/* The one in between may trigger before it has waited, so that the first still runs. */
static void grandparent(void)
{
	launch("put_trigger");
	(racy ? depend : launch)("wait_move");
	depend("old_wait_move_on");
}

static void grandparent_waited(void)
{
	launch("put_trigger");
	depend(racy ? "wait_move" : "wait_trigger_move");
	depend("old_wait_move_on");
}

/* Only who waits is behind it, and who comes behind that thread. */
static void one_thread(void) { behind("put_trigger", "one_waits", "one_waits_late"); }

static void one_warp(void) { behind("put_trigger", "warp_waits", "move"); }

static void in_a_function(void) { behind("put_trigger", "calls_wait", "move"); }

static void overwritten(void) { behind("move", "wait_put", "put"); }

static void with_a_clock(void) { behind("put_trigger", "wait_move_count", "move_count"); }

static void with_a_clock_late(void) { behind("put_trigger", "one_waits_count", "load_wait_count"); }

static void reduced(void) { behind("put_trigger", "wait_red", "red"); }

/* Who comes behind a CTA that has waited is behind it, too, whatever the next one to hand that on did itself. */
static void handed_on(void) { behind("put_trigger", "first_waits", "last_waits"); }

/* What was waited for is there for all of the grid: a flag that tells so need not release it. */
static void told(void) { behind("put_trigger", "flagged", "flagged_relaxed"); }

/* What comes between them has ended when it begins. */
static void copied(void)
{
	launch("put_trigger");
	if (!racy)
		MUST(cuMemcpyDtoDAsync(at + 2 * PART, at, 64, a));
	depend("move");
}

/* That does nothing, and does not keep it from beginning early. */
static void graph_of_nothing(void)
{
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	MUST(cuGraphCreate(&graph, 0));
	MUST(cuGraphAddEmptyNode(&node, graph, NULL, 0));
	MUST(cuGraphInstantiate(&exec, graph, 0));
	launch("put_trigger");
	MUST(cuGraphLaunch(exec, a));
	if (!racy)
		MUST(cuStreamSynchronize(a));
	depend("move");
}

static void synchronised(void)
{
	launch("put_trigger");
	if (!racy)
		MUST(cuStreamSynchronize(a));
	depend("move");
}

/* For an event of the same stream nobody waits, but the host. */
static void own_event(void)
{
	launch("put_trigger");
	MUST(cuEventRecord(event, a));
	MUST(cuStreamWaitEvent(a, event, 0));
	if (!racy)
		MUST(cuEventSynchronize(event));
	depend("move");
}

static void other_stream(void)
{
	launch("put_trigger");
	MUST(cuEventRecord(event, a));
	if (!racy)
		MUST(cuStreamWaitEvent(b, event, 0));
	depend_in(b, "move");
	MUST(cuStreamSynchronize(b));
}

/* A whole launch is behind all that are before it. */
static void behind_it(void)
{
	launch("put_trigger");
	depend("wait_move");
	(racy ? depend : launch)("move");
}

/* The parameters come in a buffer, which grows by two records. */
static void in_a_buffer(void)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1};
	CUdeviceptr argument = at;
	size_t size = sizeof(argument);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};

	launch("put_trigger");
	MUST(cuLaunchKernelEx(&(CUlaunchConfig){.gridDimX = shapes[shape].ctas, .gridDimY = 1, .gridDimZ = 1, .blockDimX = shapes[shape].threads, .blockDimY = 1,
						.blockDimZ = 1, .hStream = a, .attrs = &attribute, .numAttrs = 1},
			      kernel(racy ? "load_wait" : "wait_move"), NULL, extra));
}

/* Edges of graphs are whole. */
static void captured(void)
{
	CUgraph graph;
	CUgraphExec exec;

	MUST(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch("put_trigger");
	depend("wait_move");
	depend("wait_move_on");
	MUST(cuStreamEndCapture(a, &graph));
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphLaunch(exec, a));
	MUST(cuGraphLaunch(exec, a));
	depend("move");
}

/* What an event at the trigger tells is not known. */
static void programmatic_event(void)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, .value.programmaticEvent = {.event = event}};

	launch_with(a, "put_trigger_last", &attribute);
	MUST(cuStreamWaitEvent(b, event, 0));
	depend_in(b, "move");
	MUST(cuStreamSynchronize(b));
}

static const struct form forms[] = {
	FORM(waited), FORM(waited_late), FORM(trigger_last), FORM(not_triggered), FORM(not_asked), FORM(grandparent), FORM(grandparent_waited), FORM(one_thread),
	FORM(one_warp), FORM(in_a_function), FORM(overwritten), FORM(with_a_clock), FORM(with_a_clock_late), FORM(reduced), FORM(handed_on), FORM(told),
	FORM(copied), FORM(graph_of_nothing), FORM(synchronised), FORM(own_event), FORM(other_stream), FORM(behind_it),
	FORM(in_a_buffer),
	FORM(captured), FORM(programmatic_event), {NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct form *form = form_begin(argc, argv, forms, load);
	CUdeviceptr all;

	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuMemAlloc(&all, 3 * PART * SHAPES));
	MUST(cuMemsetD8(all, 0, 3 * PART * SHAPES));
	MUST(cuCtxSynchronize());
	for (shape = 0; shape < SHAPES; shape++) {
		at = all + 3 * PART * (CUdeviceptr)shape;
		form->run();
	}
	MUST(cuCtxSynchronize());
	return 0;
}
