"""What must hold around a job: the same seed gives the same findings, nothing is left behind however it ends, a plain
run afterwards is plain, and each kind of bad input is a clear message and a non-zero status."""
import json
import os
import re
import signal
import subprocess
import time

import expect
import jobs

RACY = ("message_passing", "--order", "relaxed")


def same_seed(scratch):
    """Ten runs, byte-identical findings."""
    seen = set()
    for i in range(10):
        there = os.path.join(scratch, str(i))
        os.mkdir(there)
        job = jobs.launched(there, jobs.c_form(*RACY), options=["--seed", "7"]).ends(jobs.FOUND)
        seen.add(json.dumps(job.summary(ranks=2)["findings"]))
    expect.need(len(seen) == 1, "\n".join(seen))


def topology(scratch):
    """Each report says where the job's GPUs are: all reports alike, and only the long text."""
    job = jobs.launched(scratch, jobs.c_form(*RACY)).ends(jobs.FOUND)
    wanted = [{"gpu": gpu, "bus": f"0000:{gpu + 1:02}:00.0", "numa": None, "nvlinks": [4 * (gpu != to) for to in range(2)]} for gpu in range(2)]
    for name in ("summary", "rank-0", "rank-1"):
        with open(os.path.join(job.report, name + ".json")) as file:
            got = json.load(file)["gpus"]
        expect.need(got == wanted, f"{name}: {got}")
    said = subprocess.run([jobs.REPORT, "--verbose", job.report], capture_output=True, text=True, timeout=60).stdout
    expect.need("gsan: GPU 1: PCI 0000:02:00.0, 4 NVLinks to GPU 0\n" in said and "PCI" not in job.err, said + job.err)


# ---- leftovers --------------------------------------------------------------------------------------------------
def processes(scratch):
    """{pid: command} of what the jobs of this test started: their environment names its scratch directory. Other jobs may
    run on the machine meanwhile."""
    found, mark = {}, f"E2E_SCRATCH={scratch}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found[pid] = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def marked(scratch):
    """The environment of such a job. All its temporary files belong into a folder of its own."""
    os.makedirs(os.path.join(scratch, "tmp"), exist_ok=True)
    return {**jobs.Job.environment(scratch), "E2E_SCRATCH": scratch, "TMPDIR": os.path.join(scratch, "tmp")}


def telling(scratch, program):
    """The program, which first writes the name of its job's socket to a file."""
    return ["sh", "-c", f'echo "$GSAN_SOCKET" >>{scratch}/sockets; exec "$@"', "sh", *program]


def sockets(scratch):
    with open(os.path.join(scratch, "sockets")) as file:
        names = {"@" + line.strip() for line in file}
    expect.need(names and all(len(name) > 5 for name in names), f"no socket was named: {names}")
    with open("/proc/net/unix") as file:
        return {line.split()[7] for line in file if len(line.split()) > 7} & names


def files(scratch):
    """In the job's folder for temporary files, and what it may have put beside it (tests have longer names for theirs)."""
    found = {os.path.join(place, name) for place in ("/dev/shm", "/tmp") for name in os.listdir(place)
             if place == "/dev/shm" or re.fullmatch("(gsan|emu)[^-]*(-[^-]*)?", name)}
    found |= {os.path.join(root, name) for root, _, names in os.walk(os.path.join(scratch, "tmp")) for name in names}
    return {name for name in found if "ompi" not in name and "openmpi" not in name}


def nothing_left(scratch, before, job):
    for _ in range(100):
        left = {"process": processes(scratch), "socket": sockets(scratch), "file": files(scratch) - before}
        if not any(left.values()):
            return
        time.sleep(0.1)
    raise expect.Unexpected(f"left behind: { {kind: sorted(map(str, things)) for kind, things in left.items() if things} }\n{job}")


def tidy(case):
    """A case that leaves no process to the next one, if it fails."""
    def run(scratch):
        try:
            case(scratch)
        finally:
            for pid in processes(scratch):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
    return run


def leaves_nothing(scratch):
    environment, before = marked(scratch), files(scratch)
    for launcher in (jobs.launched, jobs.mpirun):
        job = launcher(scratch, telling(scratch, jobs.c_form(*RACY)), environment=environment).ends(jobs.FOUND)
        nothing_left(scratch, before, job)
    for program, status in ((jobs.python_form(*RACY), jobs.FOUND), (["sh", "-c", "exit 3"], 3)):
        job = jobs.launched(scratch, telling(scratch, program), environment=environment).ends(status)
        nothing_left(scratch, before, job)


def killed_leaves_nothing(scratch):
    """Killed from outside while the ranks wait: by SIGTERM, and by SIGKILL, which no launcher can see coming."""
    environment, before = marked(scratch), files(scratch)
    for number in (signal.SIGTERM, signal.SIGKILL):
        waiting = ["sh", "-c", f"touch {scratch}/here-$RANK; {' '.join(jobs.c_form(*RACY))}; sleep 100"]
        process = subprocess.Popen([jobs.LAUNCH, "-n", "2", "--device", "emu", "--report", os.path.join(scratch, "report"),
                                    *telling(scratch, waiting)], env=environment, cwd=scratch,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not all(os.path.exists(os.path.join(scratch, f"here-{rank}")) for rank in (0, 1)):
            time.sleep(0.05)
        expect.need(len(processes(scratch)) >= 4, "the job's processes are not known by their environment")
        expect.need(sockets(scratch), "the job's socket is not known by its name")
        time.sleep(0.5)
        process.send_signal(number)
        process.wait(timeout=60)
        nothing_left(scratch, before, f"killed by {number}")
        expect.need(process.returncode != 0, f"status 0 after {number}")
        for rank in (0, 1):
            os.unlink(os.path.join(scratch, f"here-{rank}"))


def rank_killed(scratch):
    """A rank that is killed in the middle still leaves valid reports, and no other rank hangs."""
    program = f'if [ "$RANK" = 1 ]; then kill -9 $$; fi; exec {" ".join(jobs.c_form(*RACY))}'
    job = jobs.launched(scratch, ["sh", "-c", program], options=["--timeout", "5"])
    expect.need(job.status != 0, f"status 0\n{job}")
    job.summary(ranks=2)


# ---- plain afterwards -------------------------------------------------------------------------------------------
def plain_is_plain(scratch):
    """Triton's cache of a plain run holds no instrumented code, though a checked run came before it."""
    jobs.launched(scratch, jobs.python_form("neighbours"), ranks=1).ends(0)
    home = os.path.join(scratch, "home")
    environment = {"TRITON_CACHE_DIR": home}
    emulated_ptxas = os.path.join(scratch, "ptxas")
    with open(emulated_ptxas, "w") as file:  # the emulated device executes PTX: its assembler copies
        file.write('#!/bin/sh\n[ "$1" = --version ] && { echo "release 13.0, V13.0.0"; exit; }\n'
                   'while [ $# -gt 0 ]; do case $1 in *.ptx) in=$1;; -o) out=$2; shift;; esac; shift; done\ncp "$in" "$out"\n')
    os.chmod(emulated_ptxas, 0o755)
    environment.update(TRITON_PTXAS_PATH=emulated_ptxas, TRITON_PTXAS_BLACKWELL_PATH=emulated_ptxas)
    jobs.plain(scratch, jobs.python_form("neighbours"), environment).ends(0)
    cubins = [os.path.join(root, name) for root, _, names in os.walk(home) for name in names if name.endswith(".cubin")]
    expect.need(cubins, "the plain run compiled nothing")
    for cubin in cubins:
        with open(cubin, "rb") as file:
            expect.need(b"__gsan" not in file.read(), f"{cubin} is instrumented")


def no_launcher(scratch):
    """libgsan without a launcher says so in one line, and the program runs unchecked."""
    library = os.path.join(os.path.dirname(os.path.realpath(jobs.BIN)), "lib", "libgsan.so")
    job = jobs.plain(scratch, jobs.c_form("neighbours"), {"LD_PRELOAD": library}).ends(0)
    said = [line for line in job.err.splitlines() if line.startswith("gsan")]
    expect.need(len(said) == 1 and "gsan-launch" in said[0], f"not one line that names gsan-launch\n{job}")
    expect.need("as expected" in job.out, str(job))


# ---- bad input --------------------------------------------------------------------------------------------------
def refused(job, *texts):
    expect.need(job.status not in (0, jobs.FOUND), f"status {job.status}\n{job}")
    return job.says(*texts)


def bad_program(scratch):
    refused(jobs.launched(scratch, ["./no-such-program"]), "no-such-program")


def bad_ptx(scratch):
    path = os.path.join(scratch, "words.ptx")
    with open(path, "w") as file:
        file.write("these are no instructions\n")
    job = jobs.Job([os.path.join(jobs.BIN, "gsan-ptxas"), "--emit-ptx", path, "-o", os.path.join(scratch, "out.ptx")], scratch)
    refused(job, "words.ptx")


def bad_report(scratch):
    path = os.path.join(scratch, "file")
    with open(path, "w"):
        pass
    refused(jobs.Job([jobs.LAUNCH, "--device", "emu", "--report", os.path.join(path, "inside"), "true"], scratch), "file")
    refused(jobs.Job([jobs.REPORT, os.path.join(scratch, "nothing-here")], scratch), "nothing-here")
    with open(os.path.join(scratch, "summary.json"), "w") as file:
        file.write("{")
    refused(jobs.Job([jobs.REPORT, scratch], scratch), "summary.json")


def bad_range(scratch):
    """With little address space to be had, the arena cannot be reserved: the job fails early and says why."""
    limited = ["sh", "-c", f"ulimit -v 8000000; exec {' '.join(jobs.c_form('neighbours'))}"]
    refused(jobs.launched(scratch, limited, ranks=1), "reserve")


def missing_rank(scratch):
    """One rank of two never comes: the other is told which, within the time limit."""
    environment = {**jobs.Job.environment(scratch), "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29555", "TORCHELASTIC_RUN_ID": "e2e"}
    job = jobs.Job([jobs.LAUNCH, "--timeout", "3", "--device", "emu", "--report", os.path.join(scratch, "report"),
                    *jobs.c_form(*RACY)], scratch, environment=environment, limit=60)
    refused(job, "rank 1")


def nested(scratch):
    refused(jobs.launched(scratch, [jobs.LAUNCH, "--device", "emu", "true"], ranks=1), "nested")


def no_driver(scratch):
    """Where there is no libcuda.so.1, --device cuda says so."""
    job = jobs.Job([jobs.LAUNCH, "--device", "cuda", "--report", os.path.join(scratch, "report"), *jobs.c_form("neighbours")],
                   scratch)
    refused(job, "libcuda")


def help_and_version(scratch):
    for program in ("gsan-launch", "gsan-ptxas", "gsan-report"):
        for option in ("--help", "--version"):
            job = jobs.Job([os.path.join(jobs.BIN, program), option], scratch).ends(0)
            expect.need(program in job.out or "release" in job.out, str(job))
    for program in ("message_passing", "counter_lock", "neighbours"):
        job = jobs.plain(scratch, jobs.c_form(program, "--help")).ends(0)
        expect.need("usage:" in job.out and "--iterations" in job.out, str(job))
        jobs.plain(scratch, jobs.c_form(program, "--ordr", "relaxed")).ends(2).says("usage:")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (
        same_seed, topology, leaves_nothing, killed_leaves_nothing, rank_killed, plain_is_plain, no_launcher, bad_program, bad_ptx,
        bad_report, bad_range, missing_rank, nested, no_driver, help_and_version)})
