"""Jobs on the emulated device with two GPUs (devices.c): what orders two kernels does so whichever GPU is current, and what does not is a
race. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form)
    racy = form == "own" or form.startswith("other_")
    assert job.returncode == (66 if racy else 0) and bool(summary["findings"]) == racy, said


main()
