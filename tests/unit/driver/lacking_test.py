"""A kernel that the emulated device does not execute is named in the report, with the instruction and, in the form
"lines", its line of the source. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form, options=("--allow-unchecked",))
    assert job.returncode == 0, said
    reasons = [k["reason"] for k in summary["coverage"]["kernels_unchecked"] if k["kernel"] == "lacking"]
    assert len(reasons) == 1 and "vabsdiff4.u32.u32.u32" in reasons[0] and "PTX line" in reasons[0], said
    assert ("/src/differences.cu:7)" in reasons[0]) == (form == "lines"), said
    assert job.stderr.count("emulated device: kernel ") == 1, said  # not of its checked copy, too
    assert form != "lines" or "/src/differences.cu:7)" in " ".join(job.stderr.split()), said


main()
