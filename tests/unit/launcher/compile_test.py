"""PTX that the supervisor has compiled for a rank: compile_test.py GSAN_LAUNCH. The rank is this program again, which speaks the
protocol of src/ipc/proto.h; the ptxas behind gsan-ptxas is a script before a real one, which counts its calls."""
import array
import glob
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.abspath(__file__)
ROOT = os.path.abspath(os.path.join(os.path.dirname(HERE), "..", "..", ".."))
REAL, = glob.glob(os.path.join(ROOT, ".venv", "triton-3.6", "lib", "python3*", "site-packages", "triton", "backends", "nvidia", "bin", "ptxas"))
PTX = os.path.join(ROOT, "tests", "golden", "ptx", "triton", "vadd.sm90.t36.ptx")
HEAD, SIZE = "<IIiiiiiiIIIIQQII", 3072
PROTO, ERROR, COMPILE = 13, 0, 14
MANY = os.cpu_count() + 1  # one more than are compiled at a time
SCRIPT = """#!/bin/sh
for argument; do case "$argument" in -v) echo called >>"$CALLS";; esac; done
[ -z "$SLEEP" ] || exec sleep "$SLEEP"
exec "$REAL" "$@"
"""


# ---- the rank ---------------------------------------------------------------------------------------------------------
def ask(text, gpu="sm_90a", name="a name"):
    """Sends a request on a connection of its own."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect("\0" + os.environ["GSAN_SOCKET"])
    with open(os.memfd_create("ptx"), "r+b", buffering=0) as file:
        file.write(text)
        words = f"{gpu}\t{name}".encode()
        head = struct.pack(HEAD, PROTO, COMPILE, 0, 0, 0, 0, os.getpid(), 0, 0, 0, 0, 0, 0, 0, 1, len(words))
        connection.sendmsg([(head + words).ljust(SIZE, b"\0")],
                           [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))])
    return connection


def answer(connection):
    """The cubin, or None."""
    message, control, _, _ = connection.recvmsg(SIZE, socket.CMSG_SPACE(4))
    connection.close()
    if struct.unpack_from(HEAD, message)[1] == ERROR:
        return None
    number, = array.array("i", control[0][2])
    with open(number, "rb") as file:
        file.seek(0)
        return file.read()


def own(text, i):
    return text.replace(b"vadd", b"vadd%d" % i)


def rank(case, text):
    if case == "once":
        cubin = answer(ask(text))
        assert b"gsan-info\t" in cubin and b"a name" in cubin and cubin[:4] == b"\x7fELF", cubin[:100]
    elif case == "many":
        waiting = [ask(own(text, i)) for i in range(MANY)]
        for i, connection in enumerate(waiting):
            assert b"vadd%d__gsan" % i in answer(connection)
    elif case == "bad":
        assert answer(ask(b".version 8.0\n.target sm_90\nnonsense\n")) is None
        assert answer(ask(text, gpu="sm_1")) is None
        assert answer(ask(text, gpu="g" * 40)) is None
        assert b"gsan-info\t" in answer(ask(text))
    elif case == "gone":
        ask(text).close()
        connection = ask(own(text, 1))
        while len(open(os.environ["CALLS"], encoding="utf-8").readlines()) < 1:
            time.sleep(0.01)
        connection.close()
    elif case == "never":
        assert select.select([ask(text)], [], [], 1)[0] == []


# ---- the jobs ---------------------------------------------------------------------------------------------------------
class Compile(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="compile-test-")
        home = self.place.name
        self.calls = os.path.join(home, "calls")
        script = os.path.join(home, "ptxas")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        os.chmod(script, 0o755)
        open(self.calls, "w", encoding="utf-8").close()
        self.env = {**os.environ, "GSAN_LINKER": "none", "GSAN_REAL_PTXAS": script, "REAL": REAL, "CALLS": self.calls, "XDG_CACHE_HOME": os.path.join(home, "cache"),
                    "TMPDIR": home}

    def tearDown(self):
        self.place.cleanup()

    def job(self, case, **more):
        report = os.path.join(self.place.name, "report")
        done = subprocess.run([LAUNCH, "--device", "emu", "-n", "1", "--report", report, sys.executable, HERE, "--rank", case],
                              env={**self.env, **more}, capture_output=True, text=True, timeout=250)
        self.assertIn(done.returncode, (0, 67), done.stderr)  # 67: a rank without a kernel
        with open(self.calls, encoding="utf-8") as file:
            return len(file.readlines())

    def sleepers(self):
        return [path for path in glob.glob("/proc/[0-9]*/cmdline") if self.sleeps(path)]

    @staticmethod
    def sleeps(path):
        try:
            with open(path, "rb") as file:
                return file.read() == b"sleep\x0077.25\x00"
        except OSError:
            return False

    def test_once(self):
        self.assertEqual(self.job("once"), 1)
        self.assertEqual(self.job("once"), 1)  # the second job of a user

    def test_many_at_once(self):
        self.assertEqual(self.job("many"), MANY)

    def test_what_does_not_compile(self):
        self.job("bad")

    def ends_with_who_asked(self, case):
        self.job(case, SLEEP="77.25")
        end = time.monotonic() + 10
        while self.sleepers() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.sleepers(), [])

    def test_who_asked_hangs_up(self):
        self.ends_with_who_asked("gone")

    def test_the_job_ends(self):
        self.ends_with_who_asked("never")


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        with open(PTX, "rb") as ptx:
            rank(sys.argv[2], ptx.read())
        sys.exit(0)
    LAUNCH = os.path.abspath(sys.argv.pop(1))
    unittest.main()
