"""One report directory, two jobs: they do not mix."""
import fcntl
import json
import os
import subprocess
import threading
import time

import expect
import jobs
import runs

KERNELS = os.path.join(jobs.BIN, "faults_kernels")
TAKEN = "another job that runs writes its report there; give one of them a --report of its own"


def first(scratch, script, options=(), launcher=()):
    """A job that says when it runs, and ends once `go` is there."""
    script = f"touch {scratch}/ready; {script}; until [ -e {scratch}/go ]; do sleep 0.05; done"
    process = subprocess.Popen([*launcher, jobs.LAUNCH, "--device", "emu", "--report", os.path.join(scratch, "report"), *options,
                                *runs.telling(scratch, ["sh", "-c", script])], env=runs.marked(scratch), cwd=scratch,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until(lambda: os.path.exists(os.path.join(scratch, "ready")))
    return process


def until(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise expect.Unexpected("not within 20 s")


def go(scratch, process, status):
    open(os.path.join(scratch, "go"), "w").close()
    said = process.communicate(timeout=60)[1]
    expect.need(process.returncode == status, f"status {process.returncode}, not {status}\n{said}")
    for name in ("ready", "go"):
        os.unlink(os.path.join(scratch, name))
    return said


def reports(scratch):
    folder = os.path.join(scratch, "report")
    return {name: open(os.path.join(folder, name)).read() for name in os.listdir(folder) if name.endswith(".json")}


def one_at_a_time(scratch):
    """The second one does not start, and says why and what to do; the first one has its own report. Under another name both run."""
    before = runs.files(scratch)
    process = first(scratch, f"{KERNELS} r")
    other = os.path.join(scratch, "same")
    os.symlink("report", other)
    for name in ("report", other):
        ran = os.path.join(scratch, "ran")
        job = jobs.Job([jobs.LAUNCH, "-n", "3", "--device", "emu", "--report", name, "touch", ran], scratch).ends(1)
        job.says(f"--report {scratch}/report: {TAKEN}")
        expect.need(not os.path.exists(ran) and not reports(scratch), "it ran, or has written")
    jobs.Job([jobs.LAUNCH, "--device", "emu", "--report", os.path.join(scratch, "report", "below"), KERNELS, "c"], scratch).ends(0)
    go(scratch, process, jobs.FOUND)
    summary = expect.read(os.path.join(scratch, "report"), 1)
    expect.need(summary["findings"] and len(reports(scratch)) == 2, "not the first one's report")
    runs.nothing_left(scratch, before, "two jobs")


def of_several_ranks(scratch):
    """Each launcher of the second job is told, at once."""
    process = first(scratch, f"{KERNELS} c", ["-n", "2"])
    environment = {**jobs.Job.environment(scratch), "WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": str(os.getpid())}
    begun = time.monotonic()
    both = [subprocess.Popen([jobs.LAUNCH, "--device", "emu", "--report", os.path.join(scratch, "report"), "true"],
                             env={**environment, "RANK": rank}, stderr=subprocess.PIPE, text=True) for rank in "01"]
    for one in both:
        said = one.communicate(timeout=60)[1]
        expect.need(one.returncode == 1 and TAKEN in said, f"status {one.returncode}: {said}")
    expect.need(time.monotonic() - begun < 15, "it took long")
    go(scratch, process, 0)
    expect.read(os.path.join(scratch, "report"), 2)


def one_after_the_other(scratch):
    """The twin: whoever comes when the first one's status is known never waits, nor is refused."""
    for _ in range(20):
        job = jobs.launched(scratch, ["true"], ranks=2, options=["--allow-unchecked"]).ends(0)
        expect.need("another job" not in job.err and job.summary(ranks=2)["exit"] == 0, str(job))


def explored(scratch):
    process = first(scratch, "true", ["--explore", "1", "--allow-unchecked"])
    options = ["--device", "emu", "--report", os.path.join(scratch, "report"), "--allow-unchecked"]
    jobs.Job([jobs.LAUNCH, *options, "--explore", "1", "true"], scratch).ends(1).says(TAKEN)
    jobs.Job([jobs.LAUNCH, *options, "true"], scratch).ends(1).says(TAKEN)
    go(scratch, process, 0)
    jobs.Job([jobs.LAUNCH, *options, "--explore", "2", "true"], scratch).ends(0)
    with open(os.path.join(scratch, "report", "summary.json")) as file:
        expect.need(json.load(file)["exit"] == 0, "not its report")


def lost_launcher(scratch):
    """A job whose launcher was killed is about to end: the next one waits for that."""
    process = first(scratch, f"{KERNELS} c; sleep 1000")
    process.kill()
    process.communicate()
    jobs.launched(scratch, [KERNELS, "r"], ranks=1).ends(jobs.FOUND)
    expect.need([rank["end"] for rank in expect.read(os.path.join(scratch, "report"), 1)["ranks"]] == ["exited"], "the first one's report")
    lock = os.open(os.path.join(scratch, "report"), os.O_RDONLY)  # as a job has it that takes two seconds to end
    fcntl.flock(lock, fcntl.LOCK_EX)
    threading.Timer(2, os.close, [lock]).start()
    jobs.launched(scratch, [KERNELS, "c"], ranks=1).ends(0)


def gone(scratch):
    """A directory that the program has removed: that is said, and the job has failed; nobody is sent there."""
    for form, status in (("c", 1), ("r", jobs.FOUND)):
        job = jobs.launched(scratch, ["sh", "-c", f"rm -r {scratch}/report; exec {KERNELS} {form}"], ranks=1).ends(status)
        job.says(f"the report in {scratch}/report is incomplete: No such file or directory")
        expect.need("the report is in" not in job.err and "gsan-report" not in job.err, str(job))
        expect.need(f"{int(form == 'r')} finding" in job.err, str(job))


if __name__ == "__main__":
    jobs.main({case.__name__: runs.tidy(case) for case in (one_at_a_time, of_several_ranks, one_after_the_other, explored, lost_launcher, gone)})
