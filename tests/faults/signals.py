"""Jobs that are ended from outside: the report is kept, and nothing that was started stays."""
import glob
import json
import os
import pty
import random
import signal
import subprocess
import time

import expect
import jobs
import runs

KERNELS = os.path.join(jobs.BIN, "faults_kernels")
WORKS = "r" + "s" * 30  # a race, then a minute of waiting
SECONDS = 20            # within which everything has ended


def command(scratch, program, ranks=1, options=()):
    return [jobs.LAUNCH, "-n", str(ranks), "--device", "emu", "--report", os.path.join(scratch, "report"), *options,
            *runs.telling(scratch, program)]


def start(scratch, arguments, **more):
    environment = {**runs.marked(scratch), "EMU_JOIN_SECONDS": "3"}
    return subprocess.Popen(arguments, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=open(os.path.join(scratch, "err"), "w"), start_new_session=True, **more)


def working(scratch, ranks=1):
    """A program that says when it has come to its wait."""
    return ["sh", "-c", f'sleep 1005 & {KERNELS} {WORKS} & echo $! >{scratch}/pid-$RANK; wait $!; exit $?'], \
        [os.path.join(scratch, f"pid-{rank}") for rank in range(ranks)]


def until(condition, what, seconds=SECONDS):
    for _ in range(int(seconds * 20)):
        if condition():
            return
        time.sleep(0.05)
    raise expect.Unexpected(f"not within {seconds} s: {what}")


def there(paths):
    until(lambda: all(os.path.exists(path) and os.path.getsize(path) for path in paths), f"{paths}")
    time.sleep(1)


def ended(scratch, process, before, status=None):
    process.wait(timeout=SECONDS)
    said = open(os.path.join(scratch, "err")).read()
    runs.nothing_left(scratch, before, said)
    expect.need(status is None or process.returncode in (status, -status + 128), f"status {process.returncode}, not {status}\n{said}")
    return said


def found(scratch, ranks=1):
    summary = expect.read(os.path.join(scratch, "report"), ranks)
    expect.need(summary["findings"], f"the race is not in the report: {summary['ranks']}")
    return summary


def everybody(scratch, number, seed):
    pids = [int(pid) for pid in runs.processes(scratch)]
    random.Random(seed).shuffle(pids)
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def all_processes(scratch):
    """SIGTERM to each process of the job, supervisor included, in any order: what scancel and systemd do."""
    before = runs.files(scratch)
    for seed in range(4):
        program, pids = working(scratch, ranks=2)
        process = start(scratch, command(scratch, program, ranks=2))
        there(pids)
        expect.need(len(runs.processes(scratch)) >= 6, "not all processes are known")
        everybody(scratch, signal.SIGTERM, seed)
        said = ended(scratch, process, before, 143)
        expect.need("gsan: finding 1 of" in said and "killed by signal 15" in said, said)
        found(scratch, 2)
        for path in pids:
            os.unlink(path)


def all_processes_mpirun(scratch):
    before = runs.files(scratch)
    program, pids = working(scratch, ranks=2)
    process = start(scratch, ["mpirun", "--oversubscribe", "-np", "2", jobs.LAUNCH, "--device", "emu", "--report",
                              os.path.join(scratch, "report"), *runs.telling(scratch, program)])
    there(pids)
    everybody(scratch, signal.SIGTERM, 1)
    ended(scratch, process, before)
    found(scratch, 2)


def at_the_end(scratch):
    """SIGTERM when the only rank here has ended, and the report is about to be written: it is waited for, but not for ever."""
    before = runs.files(scratch)
    ranks = {**runs.marked(scratch), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": str(os.getpid())}
    report = ["--device", "emu", "--allow-unchecked", "--report", os.path.join(scratch, "report")]
    for stays, status in ((2, 0), (30, 143)):
        both = [subprocess.Popen([jobs.LAUNCH, *report, *runs.telling(scratch, ["sh", "-c", f"touch {scratch}/{rank}; sleep {seconds}"])],
                                 env={**ranks, "RANK": rank}, cwd=scratch, stderr=subprocess.DEVNULL)
                for rank, seconds in (("0", 0), ("1", stays))]
        there_ = [os.path.join(scratch, rank) for rank in "01"]
        until(lambda: all(map(os.path.exists, there_)), "ranks")
        time.sleep(0.5)
        begun = time.monotonic()
        both[0].send_signal(signal.SIGTERM)
        both[0].wait(timeout=SECONDS)
        expect.need(both[0].returncode == status and time.monotonic() - begun < 10, f"status {both[0].returncode}")
        both[1].send_signal(signal.SIGTERM)
        both[1].wait(timeout=SECONDS)
        runs.nothing_left(scratch, before, "at the end")
        for path in there_:
            os.unlink(path)


# ---- on a terminal ----------------------------------------------------------------------------------------------
class Terminal:
    """A command as the leader of a session on a terminal of its own, or started there by a shell."""

    def __init__(self, scratch, arguments, shell=False):
        self.scratch, self.text = scratch, b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(scratch)
            environment = {**runs.marked(scratch), "EMU_JOIN_SECONDS": "3"}
            if shell:
                arguments = ["bash", "--norc", "-ic", '"$@"; echo status $?', "bash", *arguments]
            os.execvpe(arguments[0], arguments, environment)
        os.set_blocking(self.fd, False)

    def read(self):
        try:
            while True:
                block = os.read(self.fd, 65536)
                if not block:
                    return
                self.text += block
        except OSError:  # nothing more, for now or for ever
            return

    def keys(self, text):
        os.write(self.fd, text)

    def status(self):
        """When it has ended."""
        def over():
            self.read()
            pid, self.raw = os.waitpid(self.pid, os.WNOHANG)
            return pid == self.pid
        until(over, f"the end of the command on the terminal: {self.text}")
        return os.waitstatus_to_exitcode(self.raw)


def hang_up(scratch):
    """The terminal goes away: the ranks get SIGHUP, whoever leads the session; the report is there."""
    before = runs.files(scratch)
    for shell in (False, True):
        for redirected in (False, True):
            program, pids = working(scratch, ranks=2)
            arguments = command(scratch, program, ranks=2)
            if redirected:
                arguments = ["sh", "-c", 'exec "$@" </dev/null >/dev/null 2>&1', "sh", *arguments]
            terminal = Terminal(scratch, arguments, shell)
            there(pids)
            os.close(terminal.fd)
            until(lambda: os.waitpid(terminal.pid, os.WNOHANG)[0], "the end of the session")
            runs.nothing_left(scratch, before, f"hang-up, shell {shell}, redirected {redirected}")
            found(scratch, 2)
            for path in pids:
                os.unlink(path)


# It says so, and goes on.
DEAF = ["bash", "-c", 'trap "echo deaf" INT; touch ready; bash -c "trap : INT; while :; do sleep 0.1; done" & while :; do sleep 0.1; done']


def interrupted(scratch):
    """Ctrl-C twice, soon one after the other: the ranks are killed, and what they have started; whether they are in the terminal's
    process group, or gsan-launch has to tell them, because it writes elsewhere."""
    before = runs.files(scratch)
    for redirected in (False, True):
        arguments = command(scratch, DEAF, ranks=2)
        if redirected:
            arguments = ["sh", "-c", f'exec "$@" </dev/null >{scratch}/said 2>&1', "sh", *arguments]
        terminal = Terminal(scratch, arguments, shell=True)
        until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
        time.sleep(1)

        def said():
            terminal.read()
            return open(os.path.join(scratch, "said"), "rb").read() if redirected else terminal.text
        terminal.keys(b"\x03")
        time.sleep(1)
        expect.need(said().count(b"deaf") == 2 and len(runs.processes(scratch)) >= 6, f"not once, or once was enough: {said()}")
        until(lambda: b"Ctrl-C twice within 5 s kills it" in said(), "what to do", 3)
        terminal.keys(b"\x03")
        until(lambda: (terminal.read(), b"status 137" in terminal.text)[1], "status 137", 10)
        expect.need(b"interrupted twice: the ranks are killed" in said(), f"{said()}")
        terminal.status()
        runs.nothing_left(scratch, before, "interrupted")
        expect.read(os.path.join(scratch, "report"), 2)
        os.unlink(os.path.join(scratch, "ready"))


def interrupted_once(scratch):
    """The twins: Ctrl-C once, now and then, or what another process sends, is the program's own matter."""
    before = runs.files(scratch)
    script = 'trap "exit 7" INT; touch ready; while :; do sleep 0.1; done'
    terminal = Terminal(scratch, command(scratch, ["bash", "-c", script]), shell=True)
    until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
    time.sleep(1)
    terminal.keys(b"\x03")
    until(lambda: (terminal.read(), b"status 7" in terminal.text)[1], "status 7", 10)
    terminal.status()
    os.unlink(os.path.join(scratch, "ready"))
    terminal = Terminal(scratch, command(scratch, DEAF), shell=True)
    until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
    time.sleep(1)
    for wait in (6, 1):
        terminal.keys(b"\x03")
        time.sleep(wait)
        if wait == 6:
            launcher = next(int(pid) for pid, line in runs.processes(scratch).items() if line.startswith(jobs.LAUNCH))
            for _ in range(2):
                os.kill(launcher, signal.SIGINT)
                time.sleep(0.2)
    terminal.read()
    expect.need(terminal.text.count(b"deaf") >= 2 and b"status" not in terminal.text, f"it was killed: {terminal.text}")
    everybody(scratch, signal.SIGTERM, 0)
    terminal.status()
    runs.nothing_left(scratch, before, "interrupted once")


# ---- killed -----------------------------------------------------------------------------------------------------
def launcher_killed(scratch):
    """SIGKILL to gsan-launch, on a terminal, where its ranks are in a process group with others: these live, the ranks do not."""
    before = runs.files(scratch)
    program, pids = working(scratch, ranks=2)
    bystander = os.path.join(scratch, "bystander")
    shell = ["sh", "-c", f'sleep 1003 & echo $! >{bystander}; "$@"; wait', "sh", *command(scratch, program, ranks=2)]
    terminal = Terminal(scratch, shell, shell=True)
    there([*pids, bystander])
    number = int(open(bystander).read())
    launcher = next(int(pid) for pid, line in runs.processes(scratch).items() if line.startswith(jobs.LAUNCH) and os.getsid(int(pid)) != int(pid))
    expect.need(os.getpgid(number) == os.getpgid(int(open(pids[0]).read())), "not of one group")
    os.kill(launcher, signal.SIGKILL)
    until(lambda: not any(line.startswith((KERNELS, "sleep 1005")) for line in runs.processes(scratch).values()), "the ranks' end")
    time.sleep(1)
    expect.need(open(f"/proc/{number}/cmdline").read().startswith("sleep"), "what is not of the job was killed")
    os.kill(number, signal.SIGKILL)
    terminal.status()
    runs.nothing_left(scratch, before, "launcher killed")
    expect.need([rank["end"] for rank in found(scratch, 2)["ranks"]] == ["lost", "lost"], "the ranks are not lost")


def launcher_killed_detached(scratch):
    """What went into a session of its own: on the GPU it does not stay; else it does, as in a plain run."""
    before = runs.files(scratch)
    away = os.path.join(scratch, "away")
    program = ["sh", "-c", f"setsid sleep 1004 & echo $! >{away}; setsid {KERNELS} {WORKS} & sleep 3; touch {scratch}/ready; sleep 1000"]
    process = start(scratch, command(scratch, program))
    until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
    expect.need(any(line.startswith(KERNELS) for line in runs.processes(scratch).values()), "it does not work")
    process.kill()
    until(lambda: not any(line.startswith(KERNELS) for line in runs.processes(scratch).values()), "its end")
    os.kill(int(open(away).read()), signal.SIGKILL)
    ended(scratch, process, before)
    found(scratch)


def explorer_killed(scratch):
    before = runs.files(scratch)
    for number in (signal.SIGKILL, signal.SIGTERM):
        program = ["sh", "-c", f"trap '' TERM; touch {scratch}/ready; sleep 1000 & while :; do wait; sleep 1; done"]
        process = start(scratch, command(scratch, program, options=["--explore", "3"]))
        until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
        process.send_signal(number)
        ended(scratch, process, before)
        os.unlink(os.path.join(scratch, "ready"))


def explorer_interrupted(scratch):
    """What the runs before the signal found is merged; an earlier report is not left for this one's."""
    before, report = runs.files(scratch), os.path.join(scratch, "report")
    program = ["sh", "-c", f'[ "$EMU_SEED" -lt 2 ] || {{ touch {scratch}/ready; exec sleep 1000; }}; exec {KERNELS} r']
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        os.makedirs(report, exist_ok=True)
        open(os.path.join(report, "summary.json"), "w").write("an earlier one")
        process = start(scratch, command(scratch, program, options=["--explore", "9"]))
        until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
        expect.need(not os.path.exists(os.path.join(report, "summary.json")), "an earlier summary.json is there meanwhile")
        process.send_signal(number)
        said = ended(scratch, process, before, status)
        expect.need("after 2 of 9 runs: the report is about those" in said and "explored 2 of 9 schedules" in said, said)
        expect.need("finding 1 of 1" in said and "in 2 of 2 schedules" in said, said)
        summary = json.load(open(os.path.join(report, "summary.json")))
        expect.check_shape(summary, "summary.json")
        expect.need(summary["exit"] == status and summary["explored"]["unexplored"] == 7, f"{summary['exit']} {summary['explored']}")
        os.unlink(os.path.join(scratch, "ready"))


def explorer_interrupted_at_once(scratch):
    before = runs.files(scratch)
    process = start(scratch, command(scratch, ["sh", "-c", f"touch {scratch}/ready; exec sleep 1000"], options=["--explore", "3"]))
    until(lambda: os.path.exists(os.path.join(scratch, "ready")), "ready")
    process.send_signal(signal.SIGHUP)
    said = ended(scratch, process, before, 129)
    expect.need("after 0 of 3 runs: there is no report" in said, said)
    expect.need(not os.path.exists(os.path.join(scratch, "report", "summary.json")), "a report of nothing")


def kind(pid, line):
    if not line.startswith(jobs.LAUNCH):
        return "rank"
    return "supervisor" if os.getsid(pid) == pid else "launcher"


def any_killed(scratch):
    """SIGKILL to any process of the job at any time: all ends, and what there is of a report is whole."""
    before, seed = runs.files(scratch), random.Random(1)
    for who in ("launcher", "supervisor", "rank") * 5:
        process = start(scratch, ["sh", "-c", '"$@"; exit $?', "sh", *command(scratch, [KERNELS, "rs"], ranks=2, options=["--timeout", "5"])])
        time.sleep(seed.uniform(0, 1.5))
        for pid, line in runs.processes(scratch).items():
            try:
                if kind(int(pid), line) == who and "sh -c" not in line[:6]:
                    os.kill(int(pid), signal.SIGKILL)
                    break
            except ProcessLookupError:
                continue
        process.wait(timeout=30)
        if not os.path.exists(os.path.join(scratch, "sockets")):
            open(os.path.join(scratch, "sockets"), "w").write("gsan-none\n")
        runs.nothing_left(scratch, before, f"{who} killed")
        for path in glob.glob(os.path.join(scratch, "report", "*.json")):
            expect.check_shape(json.load(open(path)), path)


if __name__ == "__main__":
    jobs.main({case.__name__: runs.tidy(case) for case in (
        all_processes, all_processes_mpirun, at_the_end, hang_up, interrupted, interrupted_once, launcher_killed, launcher_killed_detached,
        explorer_killed, explorer_interrupted, explorer_interrupted_at_once, any_killed)})
