"""Kernels that Python's libraries compile within the process, with NVRTC or nvJitLink: `libraries.py FORM [racy]`. CTAS x THREADS threads add
to THREADS words: by atomic adds, or, racy, without. Prints how many adds there are in the words: all, if none was lost."""
import sys

CTAS, THREADS = 16, 256
SOURCE = """%s
extern "C" __global__ void tally(float *total, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		%s
}
"""
STATEMENTS = {False: "atomicAdd(&total[threadIdx.x], 1.0f);", True: "total[threadIdx.x] += 1;"}
CALL, CALLED = "add(total);", "extern \"C\" __device__ void add(float *total)\n{\n\t%s\n}\n"


def cupy(racy):
    import cupy as cp
    total = cp.zeros(THREADS, cp.float32)
    cp.RawKernel(SOURCE % ("", STATEMENTS[racy]), "tally")((CTAS,), (THREADS,), (total, CTAS * THREADS))
    return float(cp.asnumpy(total).sum())


def numba(racy):
    import numpy
    numpy.row_stack = numpy.vstack  # which NumPy 2.5 has no more, and numba-cuda names
    from numba import cuda

    @cuda.jit(lineinfo=True)
    def correct(total, n):
        if cuda.grid(1) < n:
            cuda.atomic.add(total, cuda.threadIdx.x, 1)

    @cuda.jit(lineinfo=True)
    def wrong(total, n):
        if cuda.grid(1) < n:
            total[cuda.threadIdx.x] += 1
    total = cuda.to_device(numpy.zeros(THREADS, numpy.float32))
    (wrong if racy else correct)[CTAS, THREADS](total, CTAS * THREADS)
    return float(total.copy_to_host().sum())


def core(racy, compiled):
    """With cuda.core: compiled(text) is what is to be loaded."""
    import cuda.bindings.driver as driver
    import numpy
    from cuda.core import Device, LaunchConfig, launch
    device = Device()
    device.set_current()
    stream = device.create_stream()
    kernel = compiled("sm_" + "".join(str(n) for n in device.compute_capability)).get_kernel("tally")
    buffer = device.allocate(4 * THREADS, stream=stream)
    buffer.fill(0, stream=stream)
    launch(stream, LaunchConfig(grid=CTAS, block=THREADS), kernel, buffer, numpy.int32(CTAS * THREADS))
    stream.sync()
    host = numpy.empty(THREADS, numpy.float32)
    driver.cuMemcpyDtoH(host.ctypes.data, int(buffer.handle), host.nbytes)
    return float(host.sum())


def compiled(form, *texts, linked=None, **options):
    """What NVRTC makes of the texts: of the only one, or linked by nvJitLink with these options."""
    def make(arch):
        from cuda.core import Linker, LinkerOptions, Program, ProgramOptions
        parts = [Program(text, "c++", options=ProgramOptions(arch=arch, **options)).compile(form) for text in texts]
        return Linker(*parts, options=LinkerOptions(arch=arch, **linked)).link("cubin") if linked is not None else parts[0]
    return make


def alone(form, **options):
    return lambda racy: core(racy, compiled(form, SOURCE % ("", STATEMENTS[racy]), **options))


def several(form, linked, **options):
    return lambda racy: core(racy, compiled(form, SOURCE % ("extern \"C\" __device__ void add(float *);", CALL), CALLED % STATEMENTS[racy],
                                            linked=linked, **options))


LTO = {"link_time_optimization": True}
FORMS = {"cupy": cupy, "numba": numba, "cubin": alone("cubin"), "ptx": alone("ptx"), "linked_ptx": alone("ptx", linked={}),
         "linked_cubin": alone("cubin", linked={}, relocatable_device_code=True), "linked_lto": alone("ltoir", linked=LTO, **LTO),
         "two_lto": several("ltoir", LTO, **LTO), "two_ptx": several("ptx", {}, relocatable_device_code=True),
         "two_cubins": several("cubin", {}, relocatable_device_code=True)}

if __name__ == "__main__":
    print(FORMS[sys.argv[1]]("racy" in sys.argv[2:]))
