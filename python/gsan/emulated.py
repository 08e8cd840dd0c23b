"""Triton in a process that runs on the emulated device: once it has been imported, its kernels take arrays of the host, and the device is
taken when the first thing is asked of it, as CUDA does, so that a program may fork before."""
import functools
import importlib
import os
import sys

LAUNCH_ARGUMENTS = 9  # of CompiledKernel.run before those of the kernel: grid, stream, function, what is known of it, hooks


def enter():
    """The driver's libcuda, whose context is current for this thread."""
    import triton
    cuda = triton.runtime.driver.active.cuda
    cuda.enter()
    return cuda


def copying(run):
    """JITFunction.run, which takes host arrays."""

    @functools.wraps(run)
    def launch(kernel, *args, grid, warmup, **more):
        from gsan.arrays import on_device
        for hook in getattr(kernel, "host_hooks", ()):
            hook(*args, **more)
        names = kernel.arg_names[:len(args)]
        with on_device(enter(), {**dict(zip(names, args)), **more}) as given:
            first = [given.pop(name) for name in names]
            return run(kernel, *first, *args[len(names):], grid=grid, warmup=warmup, **given)

    return launch


def copying_compiled(run):
    """CompiledKernel.run, a property, whose function takes host arrays, and which kernel[grid](...) calls."""

    def launch(kernel):
        names = kernel.src.fn.arg_names if hasattr(kernel.src, "fn") else []

        def of_arrays(*args):
            from gsan.arrays import on_device
            how, args = args[:LAUNCH_ARGUMENTS], args[LAUNCH_ARGUMENTS:]
            values = {names[i] if i < len(names) else str(i): value for i, value in enumerate(args)}
            with on_device(enter(), values) as given:
                return run.fget(kernel)(*how, *given.values())

        return of_arrays

    return property(launch)


def add_pre_run_hook(kernel, hook):
    """JITFunction's; the hook gets the host's arrays, before they are copied."""
    kernel.host_hooks = [*getattr(kernel, "host_hooks", ()), hook]


def prepare_tuning(tuner):
    """Autotuner takes its first configuration, for times mean nothing here, and sets arrays of the host to zero."""

    def zero(tuner, values, reset_only=False):
        from gsan.arrays import is_array
        for value in (values[name] for name in tuner.reset_to_zero):
            if is_array(value):
                value[...] = 0
            elif value is not None:
                value.zero_()

    initialise = tuner.__init__

    @functools.wraps(initialise)
    def initialised(self, *args, **more):
        initialise(self, *args, **more)
        if not self.user_defined_pre_hook:
            self.pre_hook = functools.partial(zero, self)

    tuner.__init__ = initialised
    tuner._bench = lambda self, *args, **more: [0.0] * 3


def prepare(triton):
    """Triton's kernels on the emulated device, and their arguments on the host."""
    if triton.knobs.runtime.interpret:
        sys.exit("gsan.emu: TRITON_INTERPRET is set, and what Triton's interpreter runs is not checked: unset it")
    from gsan.driver import Cuda, Driver

    class EmulatedDriver(Driver):
        def __init__(self):
            cuda = Cuda()
            cuda.take(int(os.environ.get("LOCAL_RANK", "0")))
            super().__init__(cuda)

        def get_active_torch_device(self):
            import torch
            return torch.device("cpu")

    importlib.import_module("triton.runtime.driver")._create_driver = EmulatedDriver  # which would ask torch for GPUs
    function = triton.runtime.jit.JITFunction
    function.run, function.add_pre_run_hook = copying(function.run), add_pre_run_hook
    prepare_tuning(triton.runtime.autotuner.Autotuner)
    compiled = triton.compiler.CompiledKernel
    compiled.run = copying_compiled(compiled.run)


class Finder:
    """Finds Triton where the others find it, and prepares it when it has been imported."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "triton":
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not cls)
        spec = next(filter(None, found), None)
        if spec and spec.loader:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                prepare(module)

            spec.loader.exec_module = exec_module
        return spec


def await_triton():
    """In this process; and once, for gsan.emu may have been started by a program under gsan.emu."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


def follow_children():
    """In the Pythons that this process starts, as far as they heed PYTHONPATH."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")
    path = os.environ.get("PYTHONPATH")
    if not path or folder not in path.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, path)))
