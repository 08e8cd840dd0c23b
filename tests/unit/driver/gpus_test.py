"""Jobs on the emulated device with four GPUs (gpus.c): one process works on several, each is checked, and what orders their kernels does.
Arguments: gsan-launch, the program, a form; `form-modelled`: with --host-order modelled, which says nothing of one process's own host."""
import sys

CORRECT = ("wait", "late", "back", "chain", "legacy", "host", "told", "callback", "copy", "copied", "peer", "third", "relay", "row", "round", "flag", "grows", "apart")
RACY = ("none", "before", "other", "passed", "local", "shallow", "narrow", "gap", "broken")
NEEDS = {"chain": 3, "third": 3, "relay": 3, "row": 4, "round": 4, "gap": 4, "broken": 4}  # GPUs; else two
FIRST_ALONE = ("local", "shallow", "broken")  # has both kernels
OTHER = {"gap": 3}  # which has the second kernel; else the second one


def main():
    from job import run
    launch, program, form = sys.argv[1:]
    form, _, modelled = form.partition("-")
    for seed in range(1, 4 if form in RACY or form in ("apart", "relay") else 2):  # whichever of the two kernels, or of kernel and copy, comes first
        judge(form, *run(launch, program, form, options=("--seed", str(seed), *(("--host-order", modelled) if modelled else ()))))


def judge(form, job, summary, said):
    racy = form in RACY
    assert job.returncode == (66 if racy else 0), said
    assert bool(summary["findings"]) == racy, said
    for finding in summary["findings"]:
        sides = {finding["first"]["gpu"], finding["second"]["gpu"]}
        assert sides == ({0} if form in FIRST_ALONE else {0, OTHER.get(form, 1)}), said
    assert not [n for n in summary["coverage"] if "GPU" in str(n)], said
    assert form in FIRST_ALONE or set(range(NEEDS.get(form, 2))) <= set(summary["ranks"][0]["gpus"]), said


if __name__ == "__main__":
    main()
