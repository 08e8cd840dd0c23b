"""Another user's process has the name of a job's socket, which anybody can compute: the job's launchers, started one by one as mpirun does, meet
all the same, and who squats there is told nothing. (Only root can be two users; for others the job has its name to itself.)"""
import contextlib
import os
import socket
import subprocess

import expect
import jobs

NOBODY = 65534


def launchers(scratch, program):
    """Two ranks of one job, each by a launcher of its own; their environment names it."""
    ranks = {**jobs.Job.environment(scratch), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": str(os.getpid())}
    command = [jobs.LAUNCH, "--device", "emu", "--report", os.path.join(scratch, "report"), "sh", "-c",
               f'echo "$GSAN_SOCKET" >{scratch}/name-$RANK; exec "$@"', "sh", *program]
    both = [subprocess.Popen(command, env={**ranks, "RANK": rank}, cwd=scratch, stderr=subprocess.PIPE, text=True) for rank in "01"]
    said = "".join(one.communicate(timeout=100)[1] for one in both)
    names = {open(os.path.join(scratch, f"name-{rank}")).read().strip() for rank in "01"}
    expect.need(len(names) == 1, f"{names}\n{said}")
    return [one.returncode for one in both], names.pop(), said


@contextlib.contextmanager
def squatter(names, backlog, fill):
    """A process of another user that has these names."""
    ready, other = os.pipe()
    done, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        held = []
        for name in names:
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            held[-1].bind("\0" + name)
            if backlog is not None:
                held[-1].listen(backlog)
            for _ in range(fill):
                held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                held[-1].setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    held[-1].connect("\0" + name)
        os.write(other, b"x")
        os.read(done, 1)
        os._exit(0)
    os.close(done)
    os.read(ready, 1)
    yield
    os.close(end)
    os.waitpid(child, 0)


def squatted(scratch, count=1, backlog=None, fill=0):
    racy, correct = jobs.c_form("message_passing", "--order", "relaxed"), jobs.c_form("message_passing")
    status, name, said = launchers(scratch, correct)
    expect.need(status == [0, 0] and "another user" not in said, f"{status}\n{said}")
    if os.getuid():
        return
    names = [name, *(f"{name}-{i}" for i in range(1, count))]
    with squatter(names, backlog, fill):
        for program, wanted in ((racy, jobs.FOUND), (correct, 0)):
            status, got, said = launchers(scratch, program)
            expect.need(status == [wanted] * 2 and got == f"{name}-{count}", f"{status} {got}\n{said}")
            expect.need(f"another user's process has the name '{names[-1]}'" in said, said)
            expect.need(len(expect.read(os.path.join(scratch, "report"), 2)["findings"]) == (wanted != 0), said)


def listening(scratch):
    squatted(scratch, backlog=5)


def bound(scratch):
    """It does not even listen."""
    squatted(scratch)


def full(scratch):
    """It listens, and whoever connects waits."""
    squatted(scratch, backlog=0, fill=4)


def several(scratch):
    squatted(scratch, count=3, backlog=5)


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (listening, bound, full, several)})
