"""Jobs of libraries.py on the emulated device, with the Python of .venv/libraries: correct forms are clean, racy ones found, at the line that
races. Of CuPy there is none: its runtime does not start there."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import expect  # noqa: E402
import jobs  # noqa: E402
import libraries  # noqa: E402

PROGRAM = [os.path.join(HERE, "..", "..", ".venv", "libraries", "bin", "python"), os.path.join(HERE, "libraries.py")]
SUM = f"{float(libraries.CTAS * libraries.THREADS)}\n"


def line_of(text, statement):
    return next(n for n, line in enumerate(text.splitlines(), 1) if statement in line)


def racing(name):
    """The line of the race, in the text that was compiled, or in libraries.py."""
    statement = libraries.STATEMENTS[True]
    if name == "numba":
        with open(libraries.__file__) as file:
            return line_of(file.read(), "total[cuda.threadIdx.x] += 1")
    return line_of(libraries.CALLED % statement if name.startswith("two") else libraries.SOURCE % ("", statement), statement)


def form(scratch, name):
    job = jobs.launched(scratch, [*PROGRAM, name], ranks=1).ends(0)
    summary = job.summary(ranks=1)
    expect.need(job.out == SUM, job.out)
    expect.need(not summary["findings"] and not summary["coverage"]["launches_unchecked"], str(summary))
    expect.need(summary["coverage"]["counters"]["checked"], str(summary["coverage"]))
    racy = jobs.launched(scratch, [*PROGRAM, name, "racy"], ranks=1).ends(jobs.FOUND).summary(ranks=1)
    lines = {side["line"] for f in expect.pairs(racy) for side in (f["first"], f["second"])}
    expect.need(lines == {racing(name)}, str(racy["findings"]))
    shown = {side.get("kernel_name") for f in expect.pairs(racy) for side in (f["first"], f["second"])}
    expect.need(shown == {"__main__::numba::_3clocals_3e::wrong" if name == "numba" else None}, str(shown))


CASES = {name: lambda scratch, name=name: form(scratch, name) for name in libraries.FORMS if name != "cupy"}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)
