"""torchrun --logs-specs gsan, as pip installs the package, under a torchrun that stands for torch's (stub/)."""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

WORKER = os.path.join(HERE, "worker.py")


def install(scratch):
    """The package in a folder of its own; {PYTHONPATH, PATH} for it."""
    source, prefix = os.path.join(scratch, "source"), os.path.join(scratch, "prefix")
    shutil.copytree(os.path.join(jobs.SOURCE, "python"), source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    done = subprocess.run([jobs.python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-build-isolation",
                           "--no-deps", "--ignore-installed", "--prefix", prefix, source], capture_output=True, text=True, timeout=120)
    expect.need(done.returncode == 0, f"pip: {done.stdout}{done.stderr}")
    site = glob.glob(os.path.join(prefix, "lib", "python3*", "site-packages"))[0]
    return {"PYTHONPATH": f"{site}:{os.path.join(HERE, 'stub')}:{jobs.EXAMPLES}",
            "PATH": f"{prefix}/bin:{os.path.realpath(jobs.BIN)}:{os.environ['PATH']}"}


def torchrun(scratch, *arguments, installed=None, **more):
    environment = {**jobs.Job.environment(scratch), **(installed or install(scratch)), "GSAN_LAUNCH": "gsan-launch --device emu", **more}
    job = jobs.Job([jobs.python(), "-m", "torch.distributed.run", "--log-dir", "logs", "--redirects", "3", "--logs-specs", "gsan", *arguments],
                   scratch, environment)
    job.report = os.path.join(scratch, "gsan-report")
    return job


def log(scratch, attempt, rank, name):
    with open(glob.glob(os.path.join(scratch, "logs", "*", f"attempt_{attempt}", str(rank), name))[0]) as file:
        return file.read()


def logged(scratch, attempts, ranks):
    """Each worker's output, and nothing else, where torchrun has it."""
    there, = glob.glob(os.path.join(scratch, "logs", "*"))
    found = {os.path.relpath(path, there) for path in glob.glob(os.path.join(there, "*", "*", "*"))}
    wanted = {f"attempt_{a}/{r}/{name}" for a in range(attempts) for r in range(ranks) for name in ("stdout.log", "stderr.log")}
    expect.need(found == wanted, f"log files {sorted(found ^ wanted)}")
    for attempt in range(attempts):
        for rank in range(ranks):
            said = log(scratch, attempt, rank, "stdout.log")
            expect.need(said == f"rank {rank} of {ranks}, attempt {attempt}, {rank}, False\n", f"attempt {attempt}, rank {rank}: {said}")
        told = [rank for rank in range(ranks) if "gsan: the report is in" in log(scratch, attempt, rank, "stderr.log")]
        expect.need(len(told) == 1, f"attempt {attempt}: the report is printed by ranks {told}")


def clean(count):
    def run(scratch):
        expect.clean(torchrun(scratch, "--nproc-per-node", str(count), WORKER).ends(0).summary(ranks=count))
        logged(scratch, 1, count)
    return run


def racy(scratch):
    """A finding is a worker's failure, where torchrun does not start it again."""
    job = torchrun(scratch, "--nproc-per-node", "2", WORKER, "--relaxed", "0").ends(1).says("a worker ended with status 66")
    source = os.path.join(jobs.EXAMPLES, "message_passing.py")
    expect.race(job.summary(ranks=2), source, ("payload-store", "payload-load"), (0, 1))
    logged(scratch, 1, 2)


def restarts(scratch):
    """Three starts, of which the second races: a report each, and a finding has torchrun start nothing again."""
    job = torchrun(scratch, "--nproc-per-node", "2", "--max-restarts", "3", WORKER, "--fail", "0", "1", "--relaxed", "1", "2").ends(0)
    reports = [job.summary(ranks=2), *(expect.read(os.path.join(job.report, f"attempt-{n}"), 2) for n in (1, 2))]
    expect.need([bool(report["findings"]) for report in reports] == [False, True, True], "findings of another attempt")
    expect.need([report["exit"] for report in reports] == [3, 3, 0], f"{[report['exit'] for report in reports]}")
    expect.need(not os.path.exists(os.path.join(job.report, "attempt-3")), "a fourth start")
    logged(scratch, 3, 2)


def two_at_once(scratch):
    installed, places = install(scratch), [os.path.join(scratch, name) for name in ("one", "other")]
    for place in places:
        os.mkdir(place)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(torchrun, place, "--nproc-per-node", "2", WORKER, installed=installed) for place in places]
        for job, place in zip(running, places):
            expect.clean(job.result().ends(0).summary(ranks=2))
            logged(place, 1, 2)


def refused(scratch):
    installed = install(scratch)
    torchrun(scratch, "--no-python", WORKER, installed=installed).ends(1).says("--no-python has it start none: leave out one of them")
    torchrun(scratch, "--run-path", WORKER, installed=installed).ends(1).says("--run-path has it start none")
    torchrun(scratch, WORKER, installed=installed, GSAN_LAUNCH="no-launcher --seed 1").ends(1).says("gsan: no-launcher is not in PATH")
    torchrun(scratch, WORKER, installed=installed, GSAN_LAUNCH="gsan-launch '--seed").ends(1).says("gsan: GSAN_LAUNCH=gsan-launch '--seed: No closing")
    nowhere = {**installed, "PATH": f"{os.path.realpath(jobs.BIN)}:/usr/bin:/bin"}
    torchrun(scratch, WORKER, installed=nowhere).ends(1).says("gsan: gsan-worker is neither in ")
    torchrun(scratch, "missing.py", installed=installed).ends(1).says("a worker ended with status 2")


def version(scratch):
    installed = install(scratch)
    python = subprocess.run([jobs.python(), "-c", "import importlib.metadata as m; print(m.version('gsan'))"], capture_output=True, text=True,
                            timeout=60, env={**os.environ, **installed}).stdout.strip()
    tool = subprocess.run([jobs.LAUNCH, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    expect.need(tool == f"gsan-launch {python}", f"the package is {python}, and {tool}")


CASES = {"clean_2": clean(2), "clean_4": clean(4), **{case.__name__: case for case in (racy, restarts, two_at_once, refused, version)}}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)
