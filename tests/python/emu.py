"""python -m gsan.emu: kernels over host arrays run on the emulated device and what they write comes back; what is not possible is
said in one line that names the argument."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

KERNELS = os.path.join(HERE, "kernels.py")
WELL = ("plain", "threads", "views", "empty", "read_only", "tuned", "tuned_reset", "hooked", "torch_tensor", "processes_plain")
REFUSED = {
    "read_only_written": "ValueError: argument out: the kernel wrote to a read-only array",
    "complex_numbers": "TypeError: argument x: an array of dtype('complex64'), for which Triton has no type",
    "big_endian": "TypeError: argument x: an array of dtype('>f4'), for which Triton has no type",
    "in_tuple": "TypeError: argument x: arrays in a tuple are not copied; make each an argument",
    "host_address": "emulated device: kernel through__gsan: illegal address, address 0x",
    "torch_on_gpu": "TypeError: argument out: a tensor on cuda:0; on the emulated device kernels take CPU tensors",
    "torch_without_gpu": "gsan.emu: torch has no GPU here: make tensors with device=\"cpu\", which kernels take",
}


def environment(scratch, **more):
    package = os.path.join(jobs.SOURCE, "python")
    return {**jobs.Job.environment(scratch), "PYTHONPATH": f"{package}:{os.path.join(HERE, 'stub')}",
            "PATH": f"{os.path.realpath(jobs.BIN)}:{os.environ['PATH']}", **more}


def emulated(scratch, *arguments, version="3.6", **more):
    job = jobs.Job([jobs.python(version), "-m", "gsan.emu", *arguments], scratch, environment(scratch, **more))
    job.report = os.path.join(scratch, "gsan-report")
    return job


def well(name):
    def run(scratch):
        summary = emulated(scratch, KERNELS, name).ends(0).summary(ranks=1)
        expect.clean(summary) if name != "empty" else expect.need(not summary["findings"], expect.describe(summary))
    return run


def refused(name):
    def run(scratch):
        emulated(scratch, KERNELS, name).ends(1).says(REFUSED[name])
    return run


def found(scratch):
    for version in ("3.6", "3.9"):
        for case in ("overlap", "compiled_overlap"):
            summary = emulated(scratch, KERNELS, case, version=version).ends(jobs.FOUND).summary(ranks=1)
            kinds = {finding["kind"] for finding in expect.pairs(summary)}
            expect.need("write-after-write" in kinds, expect.describe(summary))
            labels = {finding["allocation"]["label"] for finding in expect.pairs(summary)}
            expect.need(labels == {"out"}, f"{case}: labels {labels}")
        expect.clean(emulated(scratch, KERNELS, "compiled", version=version).ends(0).summary(ranks=1))


def processes_found(scratch):
    """In each process."""
    summary = emulated(scratch, KERNELS, "processes_overlap").ends(jobs.FOUND).summary(ranks=1)
    expect.need(summary["coverage"]["launches_checked"] == 5, expect.describe(summary))


def sitecustomize(scratch):
    """Of the user, in the Pythons that a program starts."""
    with open(os.path.join(scratch, "sitecustomize.py"), "w") as file:
        file.write("USERS = 'own'\n")
    path = environment(scratch)["PYTHONPATH"]
    emulated(scratch, KERNELS, "processes_users", PYTHONPATH=f"{path}:{scratch}", USERS="own").ends(67)


def own_status(scratch):
    expect.clean(emulated(scratch, KERNELS, "own_status").ends(3).summary(ranks=1))


def two_ranks(scratch):
    program = [jobs.python(), "-m", "gsan.emu", KERNELS, "plain"]
    expect.clean(jobs.launched(scratch, program, environment=environment(scratch)).ends(0).summary(ranks=2))


def in_order(scratch):
    """Arrays reach the device in the order of the arguments, whatever their addresses."""
    program = """if True:
        from types import SimpleNamespace as At
        from gsan.arrays import meeting
        one, two, three = At(low=30, high=40), At(low=0, high=10), At(low=35, high=50)
        assert meeting(iter([one, two, three])) == [[one, three], [two]]
        assert meeting([three, two, one]) == [[one, three], [two]]
        assert meeting([two, three, one]) == [[two], [one, three]]"""
    jobs.Job([jobs.python(), "-c", program], scratch, environment(scratch)).ends(0)


def usage(scratch):
    emulated(scratch).ends(2)
    need = "python -m gsan.emu PROGRAM [ARGUMENTS]"
    expect.need(need in emulated(scratch, "--help").ends(0).out, "--help does not say it")
    emulated(scratch, "missing.py").ends(2).says("gsan.emu: missing.py: no such file; usage: " + need)
    emulated(scratch, scratch).ends(2).says(f"gsan.emu: {scratch}: is a directory, not a program; usage: " + need)
    for options in (["--seed", "3", KERNELS], ["-c", "pass"], ["-m", "kernels"]):
        emulated(scratch, *options).ends(2).says(f"gsan.emu: {options[0]}: options are gsan-launch's: gsan-launch [OPTIONS] --device emu " + need)


def no_launcher(scratch):
    """A package that is no part of a checkout, and nothing in PATH."""
    shutil.copytree(os.path.join(jobs.SOURCE, "python", "gsan"), os.path.join(scratch, "python", "gsan"))
    emulated(scratch, KERNELS, "plain", PYTHONPATH=os.path.join(scratch, "python"), PATH="/usr/bin:/bin").ends(1).says(
        "gsan: gsan-launch is not in PATH")


def no_compiler(scratch):
    """Which Triton wants; or one that fails."""
    for where in ({"PATH": os.path.realpath(jobs.BIN)}, {"CC": "/bin/false"}):
        emulated(scratch, KERNELS, "plain", TRITON_CACHE_DIR=scratch, **where).ends(1).says("gsan: Triton builds its launchers with a C compiler")


def wrong_place(scratch):
    emulated(scratch, KERNELS, "plain", GSAN_SOCKET="x", GSAN_DEVICE="cuda").ends(1).says("give it --device emu")
    emulated(scratch, KERNELS, "plain", TRITON_INTERPRET="1").ends(1).says("TRITON_INTERPRET is set")


CASES = {**{name: well(name) for name in WELL}, **{name: refused(name) for name in REFUSED},
         **{case.__name__: case for case in (found, processes_found, sitecustomize, own_status, two_ranks, in_order, usage, no_launcher, no_compiler, wrong_place)}}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)
