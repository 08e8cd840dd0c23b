/* A program for gsan-launch: `gpus FORM`, one process on several GPUs with peer access. A kernel on the first GPU writes to memory of it, then
 * one on the second GPU does, or on the first again. Between them:
 *   wait        the second GPU's stream waits for an event of the first
 *   late        likewise, and the event was recorded before the second GPU was used
 *   back        and the first GPU's other stream waits for that, on which the second kernel runs
 *   chain       the third GPU's stream waits for the first's, and the second's for that
 *   legacy      the second GPU's default stream waits, and its blocking stream comes behind that
 *   host        the host waits for the first GPU's stream
 *   told        the second GPU's stream waits for it, the host waits for that, and the first's other stream has the second kernel
 *   callback    the same, and the host is told by a callback
 *   copy        a copy from one GPU to the other, in the first one's default stream, for which the streams of both kernels wait
 *   copied      likewise in the second one's
 *   peer        likewise by cuMemcpyPeer, in the second one's
 *   third       likewise between the second and the first, while the third is current, which has the second kernel
 *   relay       copies from the first to the second, and from there to the third in its default stream, which has the second kernel
 *   row         the second GPU's stream waits for the first's, the third's for that, the fourth's for that, which has the second kernel
 *   round       likewise, and the first GPU's other stream waits for the fourth's, and has the second kernel
 *   flag        nothing, but the first kernel raises a flag at scope .sys, for which the second one waits
 *   grows       as `wait`, and the first GPU has its memory only then
 *   apart       the host, which copies from the one GPU while the other is current, without peer access
 * or, which is a race:
 *   none        nothing
 *   before      the second GPU's stream waits for an event that was recorded before the first kernel
 *   other       another stream of the second GPU waits
 *   passed      as `copied`, but the streams do not wait for default streams
 *   local       a copy within the first GPU, in its default stream, and its other stream has the second kernel
 *   shallow     as `back`, but the first GPU's other stream waits for an event that the second's recorded before it waited
 *   narrow      as `flag`, but its scope is .gpu
 *   gap         as `row`, but the third GPU's stream waits for nothing
 *   broken      as `round`, likewise */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS(name, scope) \
	".visible .entry raise" name "(.param .u64 p, .param .u64 q)\n{\n\t.reg .b64 %rd<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u64 %rd2, [q];\n" \
	"\tst.global.u32 [%rd1], 7;\n\tst.release." scope ".global.u32 [%rd2], 1;\n\tret;\n}\n" \
	".visible .entry await" name "(.param .u64 p, .param .u64 q)\n{\n\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u64 %rd2, [q];\n" \
	"again:\n\tld.acquire." scope ".global.u32 %r1, [%rd2];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n" \
	"\tst.global.u32 [%rd1], 8;\n\tret;\n}\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n"
	FLAGS("_wide", "sys") FLAGS("_narrow", "gpu");

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "gpus: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

enum { GPUS = 4 };
static struct gpu {
	CUcontext context;
	CUmodule module;
	CUfunction store;
	CUstream stream[2], blocking;
	CUevent event[2];
	CUdeviceptr spare;
} gpu[GPUS];
static CUdeviceptr at;
static int second = 1, other; /* where the second kernel runs, and in which of its streams */
static int peers = 1; /* may access each other's memory */
static volatile int told;

static void on(int i) { TRY(cuCtxSetCurrent(gpu[i].context)); }

static void launch(int i, CUstream stream)
{
	on(i);
	TRY(cuLaunchKernel(gpu[i].store, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&at}, NULL));
}

static void start(int i)
{
	struct gpu *g = &gpu[i];

	TRY(cuDevicePrimaryCtxRetain(&g->context, i));
	on(i);
	TRY(cuModuleLoadData(&g->module, ptx));
	TRY(cuModuleGetFunction(&g->store, g->module, "store"));
	for (int s = 0; s < 2; s++) {
		TRY(cuStreamCreate(&g->stream[s], CU_STREAM_NON_BLOCKING));
		TRY(cuEventCreate(&g->event[s], CU_EVENT_DISABLE_TIMING));
	}
	TRY(cuStreamCreate(&g->blocking, CU_STREAM_DEFAULT));
	TRY(cuMemAlloc(&g->spare, 512));
	for (int j = 0; peers && j < i; j++) {
		TRY(cuCtxEnablePeerAccess(gpu[j].context, 0));
		on(j);
		TRY(cuCtxEnablePeerAccess(g->context, 0));
		on(i);
	}
}

/* Stream `to` waits for what stream `from` has been given. */
static void follow(int i, CUstream to, int j, CUstream from)
{
	on(j);
	TRY(cuEventRecord(gpu[j].event[0], from));
	on(i);
	TRY(cuStreamWaitEvent(to, gpu[j].event[0], 0));
}

static void none(void) {}
static void wait(void) { follow(1, gpu[1].stream[0], 0, gpu[0].stream[0]); }
static void host(void) { TRY(cuStreamSynchronize(gpu[0].stream[0])); }
static void around(void) { second = 0, other = 1; }

static void late(void)
{
	TRY(cuEventRecord(gpu[0].event[0], gpu[0].stream[0]));
	start(1);
	TRY(cuStreamWaitEvent(gpu[1].stream[0], gpu[0].event[0], 0));
}

static void back(void)
{
	wait();
	follow(0, gpu[0].stream[1], 1, gpu[1].stream[0]);
	around();
}

static void chain(void)
{
	start(2);
	follow(2, gpu[2].stream[0], 0, gpu[0].stream[0]);
	follow(1, gpu[1].stream[0], 2, gpu[2].stream[0]);
}

static void through(int gap)
{
	for (int i = 1; i < GPUS; i++) {
		if (i > 1)
			start(i);
		if (i != gap)
			follow(i, gpu[i].stream[0], i - 1, gpu[i - 1].stream[0]);
	}
	second = GPUS - 1;
}

static void home(void)
{
	follow(0, gpu[0].stream[1], second, gpu[second].stream[0]);
	around();
}

static void row(void) { through(0); }
static void gap(void) { through(2); }

static void round_all(void)
{
	through(0);
	home();
}

static void broken(void)
{
	through(2);
	home();
}

static void legacy(void)
{
	follow(1, NULL, 0, gpu[0].stream[0]);
	launch(1, gpu[1].blocking);
	exit(0);
}

static void told_by_host(void)
{
	wait();
	TRY(cuStreamSynchronize(gpu[1].stream[0]));
	around();
}

static void tell(void *data)
{
	(void)data;
	told = 1;
}

static void callback(void)
{
	wait();
	TRY(cuLaunchHostFunc(gpu[1].stream[0], tell, NULL));
	while (!told)
		cuStreamQuery(gpu[1].stream[0]);
	around();
}

static void copy(void)
{
	on(0);
	TRY(cuMemcpyDtoDAsync(gpu[1].spare, gpu[0].spare, 4, NULL));
}

static void copied(void)
{
	on(1);
	TRY(cuMemcpyDtoDAsync(gpu[1].spare, gpu[0].spare, 4, NULL));
}

static void passed(void) { copied(); }

static void peer(void)
{
	on(1);
	TRY(cuMemcpyPeer(gpu[1].spare, gpu[1].context, gpu[0].spare, gpu[0].context, 4));
}

static void apart(void)
{
	unsigned value;

	on(1);
	TRY(cuMemcpyDtoD(gpu[1].spare, at, 4));
	TRY(cuCtxSynchronize());
	on(0);
	TRY(cuMemcpyDtoH(&value, gpu[1].spare, 4));
	TRY(cuMemcpyDtoD(gpu[0].spare, gpu[1].spare, 4));
	if (value != 7)
		exit(1);
	around();
}

static void third(void)
{
	on(2);
	TRY(cuMemcpyPeer(gpu[1].spare, gpu[1].context, gpu[0].spare, gpu[0].context, 4));
	second = 2;
}

static void relay(void)
{
	copy();
	on(2);
	TRY(cuMemcpyPeerAsync(gpu[2].spare, gpu[2].context, gpu[1].spare, gpu[1].context, 4, NULL));
	second = 2;
}

static void local(void)
{
	on(0);
	TRY(cuMemcpyDtoDAsync(gpu[0].spare, gpu[0].spare + 8, 4, NULL));
	around();
}

static void before(void) { TRY(cuStreamWaitEvent(gpu[1].stream[0], gpu[0].event[1], 0)); }
static void another(void) { follow(1, gpu[1].stream[1], 0, gpu[0].stream[0]); }

static void shallow(void)
{
	on(1);
	TRY(cuEventRecord(gpu[1].event[1], gpu[1].stream[0]));
	wait();
	on(0);
	TRY(cuStreamWaitEvent(gpu[0].stream[1], gpu[1].event[1], 0));
	around();
}

static const struct form {
	const char *name;
	void (*between)(void);
} forms[] = {
	{"wait", wait}, {"late", late}, {"back", back}, {"chain", chain}, {"legacy", legacy}, {"host", host}, {"told", told_by_host},
	{"callback", callback}, {"copy", copy}, {"copied", copied}, {"peer", peer}, {"third", third}, {"relay", relay}, {"flag", NULL}, {"grows", wait}, {"none", none}, {"before", before},
	{"row", row}, {"round", round_all}, {"gap", gap}, {"broken", broken},
	{"apart", apart}, {"other", another}, {"passed", passed}, {"local", local}, {"shallow", shallow}, {"narrow", NULL},
};

static void run_flags(const char *scope)
{
	static const char *const name[2] = {"raise", "await"};
	CUdeviceptr flag = gpu[0].spare;

	on(0);
	TRY(cuMemsetD32(flag, 0, 1));
	TRY(cuCtxSynchronize());
	for (int i = 1; i >= 0; i--) { /* who waits comes first */
		char kernel[32];
		CUfunction f;
		on(i);
		snprintf(kernel, sizeof(kernel), "%s%s", name[i], scope);
		TRY(cuModuleGetFunction(&f, gpu[i].module, kernel));
		TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, gpu[i].stream[0], (void *[]){&at, &flag}, NULL));
	}
}

static void run(const struct form *form)
{
	peers = form->between != apart;
	start(0);
	if (form->between != late)
		start(1);
	if (form->between == third || form->between == relay)
		start(2);
	on(0);
	TRY(cuEventRecord(gpu[0].event[1], gpu[0].stream[0]));
	TRY(cuMemAlloc(&at, strcmp(form->name, "grows") ? 512 : 64 << 20));
	TRY(cuCtxSynchronize());
	if (!form->between) {
		run_flags(!strcmp(form->name, "flag") ? "_wide" : "_narrow");
	} else {
		int blocking = form->between == copy || form->between == copied || form->between == peer || form->between == third ||
			       form->between == relay || form->between == apart;
		launch(0, blocking ? gpu[0].blocking : gpu[0].stream[0]);
		form->between();
		launch(second, blocking ? gpu[second].blocking : gpu[second].stream[other]);
	}
	for (int i = 0; i < GPUS && gpu[i].context; i++) {
		on(i);
		TRY(cuCtxSynchronize());
	}
}

int main(int argc, char **argv)
{
	TRY(cuInit(0));
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (argc > 1 && !strcmp(argv[1], forms[i].name)) {
			run(&forms[i]);
			return 0;
		}
	fprintf(stderr, "gpus: no such form\n");
	return 2;
}
