"""What gsan-ptxas keeps: cache_test.py GSAN_PTXAS. The ptxas behind it is a script that counts its calls and puts a line, its
options and the text into the result."""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

from real import PTX

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
FAKE = """#!/bin/sh
echo called >> "$CALLS"
[ -n "$SLOW" ] && sleep 0.2
in= out=elf.o options=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) out="$2"; shift;;
    --output-file=*) out="${1#--output-file=}";;
    -*) options="$options $1";;
    *) in="$1";;
  esac
  shift
done
grep -q BROKEN "$in" && { echo "ptxas $in, line 1; error : broken" >&2; exit 255; }
grep -q UNCHECKED "$in" && grep -q __gsan "$in" && { echo "ptxas fatal : too big" >&2; exit 1; }
grep -q NAMED "$in" && echo "ptxas $in, line 2; warning : odd" >&2
echo "ptxas info    : Compiling entry function 'k' for 'sm_90'"
echo "ptxas info    : Used 20 registers"
echo "ptxas warning : careful" >&2
{ echo "CUBIN$options"; cat "$in"; } > "$out"
"""


class Cache(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="cache-test-")
        self.home = self.place.name
        self.calls = os.path.join(self.home, "calls")
        self.fake = os.path.join(self.home, "ptxas")
        self.keep = os.path.join(self.home, "kept", "ptxas")
        self.write("ptxas", FAKE)
        os.chmod(self.fake, 0o755)
        self.env = {"PATH": "/usr/bin:/bin", "CALLS": self.calls, "GSAN_CACHE_DIR": os.path.dirname(self.keep),
                    "GSAN_REAL_PTXAS": self.fake, "GSAN_LINKER": "none", "TMPDIR": os.path.join(self.home, "tmp")}
        os.mkdir(self.env["TMPDIR"])
        self.ptx = self.write("tmp/a.ptx", PTX)

    def tearDown(self):
        self.place.cleanup()

    def write(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def entries(self):
        return sorted(os.listdir(self.keep)) if os.path.isdir(self.keep) else []

    def start(self, *options, ptx=None, out="out", preexec_fn=None, **env):
        out = os.path.join(self.home, out)
        return subprocess.Popen([GSAN_PTXAS, "-arch=sm_90", *options, ptx or self.ptx, "-o", out], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=self.home, env={**self.env, **env}, preexec_fn=preexec_fn)

    def call(self, *options, status=0, calls=None, **more):
        """(result, stdout, stderr), after so many calls of the real one."""
        before = self.count()
        job = self.start(*options, **more)
        said = job.communicate(timeout=30)
        self.assertEqual(job.returncode, status, said)
        if calls is not None:
            self.assertEqual(self.count() - before, calls, said)
        with open(os.path.join(self.home, more.get("out", "out")), encoding="utf-8") as file:
            return (file.read(), *said)

    def count(self):
        if not os.path.exists(self.calls):
            return 0
        with open(self.calls, encoding="utf-8") as file:
            return len(file.readlines())

    def test_second_call_is_the_first(self):
        first = self.call(calls=2)
        self.assertIn("k__gsan", first[0])
        self.assertIn("careful", first[2])
        other = self.write("tmp/b.ptx", PTX)  # compilers name it anew each time
        self.assertEqual(self.call(calls=0, ptx=other, out="out2"), first)
        self.assertEqual(len(self.entries()), 1)

    def test_verbose_is_asked_for(self):
        quiet = self.call(calls=2)
        self.assertNotIn("registers", quiet[1])
        loud = self.call("-v", calls=2)  # an option like others
        self.assertIn("Used 20 registers", loud[1])
        self.assertEqual(self.call("-v", calls=0), loud)
        self.assertEqual(self.call(calls=0), quiet)

    def test_whatever_decides_it(self):
        self.call(calls=2)
        self.call("-O1", calls=2)
        self.call("--maxrregcount", "32", calls=2)
        self.call(ptx=self.write("tmp/c.ptx", PTX.replace("7", "8")), calls=2)
        self.call(ptx=self.write("a.ptx", PTX), calls=2)  # a name that stays, and stands in reports
        self.call(ptx=self.write("b.ptx", PTX), calls=2)
        self.call(ptx=os.path.join(self.home, "b.ptx"), calls=0)
        os.mkdir(os.path.join(self.home, "tmp", "project"))
        self.call(ptx=self.write("tmp/project/a.ptx", PTX), calls=2)
        self.call(ptx=self.write("tmp/b.ptx", PTX), calls=0, TMPDIR=self.env["TMPDIR"] + "/")
        os.utime(self.fake, (1, 1))
        self.call(calls=2)
        again = os.path.join(self.home, "another")
        os.link(self.fake, again)
        self.call(GSAN_REAL_PTXAS=again, calls=2)
        self.assertEqual(len(self.entries()), 9)

    def test_two_options_are_not_one(self):
        self.call("-a", "-b", calls=2)
        self.call("-a-b", calls=2)

    def test_only_what_is_whole_is_kept(self):
        self.write("out", "")
        broken = self.write("tmp/broken.ptx", PTX + "// BROKEN\n")
        self.call(ptx=broken, status=255, calls=1)
        self.call(ptx=broken, status=255, calls=1)
        unchecked = self.write("tmp/unchecked.ptx", PTX + "// UNCHECKED\n")
        for _ in range(2):  # and says so each time
            self.assertIn("runs unchecked", self.call(ptx=unchecked, calls=2)[2])
        named = self.write("tmp/named.ptx", PTX + "// NAMED\n")
        for _ in range(2):
            self.assertIn("named.ptx, line 2", self.call(ptx=named, calls=2)[2])
        self.call("--no-instrument", calls=1)
        self.call("--no-instrument", calls=1)
        self.assertEqual(self.entries(), [])

    def test_damage(self):
        first = self.call(calls=2)
        path = os.path.join(self.keep, self.entries()[0])
        with open(path, "rb") as file:
            whole = file.read()
        for bad in (b"", whole[:20], whole[:-1], whole + b"x", whole[:200] + b"?" + whole[201:], whole[:-9] + b"?" + whole[-8:], whole[:30] + b"\xff" * 8 + whole[38:],
                    b"x" * len(whole)):
            with open(path, "wb") as file:
                file.write(bad)
            self.assertEqual(self.call(calls=2), first)
            self.assertEqual(self.call(calls=0), first)

    def test_a_name_is_not_a_key(self):
        first = self.call(calls=2)
        other = self.write("tmp/d.ptx", PTX.replace("7", "9"))
        second = self.call(ptx=other, calls=2)
        a, b = (os.path.join(self.keep, name) for name in self.entries())
        os.rename(a, a + ".x")
        os.rename(b, a)
        os.rename(a + ".x", b)
        self.assertEqual(self.call(calls=2), first)
        self.assertEqual(self.call(ptx=other, calls=2), second)

    def test_no_folder(self):
        self.call(calls=2, GSAN_CACHE_DIR="/proc/none")
        self.call(calls=2, GSAN_CACHE_DIR="/proc/none")
        self.call(calls=2, GSAN_CACHE_DIR="", HOME=os.path.join(self.home, "me"))
        self.call(calls=0, GSAN_CACHE_DIR="", HOME=os.path.join(self.home, "me"))
        self.call(calls=0, GSAN_CACHE_DIR="", HOME="/proc", XDG_CACHE_HOME=os.path.join(self.home, "me", ".cache"))
        self.call(calls=2, GSAN_CACHE_DIR="")
        os.makedirs(self.keep, mode=0o777)
        os.chmod(self.keep, 0o777)  # where others may have written
        self.call(calls=2)
        self.call(calls=2)
        self.assertEqual(self.entries(), [])

    def test_a_full_disk(self):
        ptx = self.write("tmp/large.ptx", PTX + "// " + "x" * 100000)
        first = self.call(ptx=ptx, calls=2)
        entry = os.path.join(self.keep, self.entries()[0])
        limit = (os.path.getsize(entry) + os.path.getsize(os.path.join(self.home, "out"))) // 2  # the result fits
        os.unlink(entry)

        def full():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        self.assertEqual(self.call(ptx=ptx, calls=2, preexec_fn=full), first)
        self.assertEqual(self.entries(), [])

    def test_two_at_once(self):
        jobs = [self.start(out=f"out{i}", SLOW="1") for i in range(8)]
        for job in jobs:
            self.assertEqual((job.communicate(timeout=30)[1], job.returncode), ("ptxas warning : careful\n", 0))
        results = set()
        for i in range(8):
            with open(os.path.join(self.home, f"out{i}"), encoding="utf-8") as file:
                results.add(file.read())
        self.assertEqual((len(results), len(self.entries())), (1, 1))
        self.call(calls=0)

    def test_bound(self):
        self.call(ptx=self.write("tmp/bare.ptx", PTX), calls=2)
        bare = os.path.join(self.keep, self.entries()[0])
        pad = (900000 - os.path.getsize(bare)) // 2  # an entry has the text twice: as a key, and in the result
        os.remove(bare)
        files = [self.write(f"tmp/{i}.ptx", PTX + f"// {i} " + "x" * pad) for i in range(4)]
        stale, fresh = (os.path.join(self.keep, name) for name in ("old.tmp", "new.tmp"))
        name_of = []
        for i in range(3):  # 0.9 MB each: one more is too much
            self.call(ptx=files[i], calls=2, GSAN_CACHE_MB="3")
            name_of += [os.path.join(self.keep, name) for name in self.entries() if os.path.join(self.keep, name) not in name_of]
            os.utime(name_of[i], (1000 + i, 1000 + i))
        self.call(ptx=files[0], calls=0, GSAN_CACHE_MB="3")  # used again
        for path in (stale, fresh):
            with open(path, "w", encoding="utf-8"):
                pass
        os.utime(stale, (1, 1))
        self.call(ptx=files[3], calls=2, GSAN_CACHE_MB="3")
        self.assertTrue(os.path.exists(fresh) and not os.path.exists(stale), self.entries())
        self.assertEqual([os.path.exists(path) for path in name_of], [True, False, False])
        size = sum(os.path.getsize(os.path.join(self.keep, name)) for name in self.entries())
        self.assertTrue(1 << 20 < size <= 9 << 18, size)
        self.call(ptx=files[3], calls=0)
        self.call(ptx=files[1], calls=2)

    def test_clear(self):
        self.call(calls=2)
        self.call("-O1", calls=2)
        mine = os.path.join(self.keep, "notes.txt")
        with open(mine, "w", encoding="utf-8"):
            pass
        clear = [GSAN_PTXAS, "--cache-clear"]
        done = subprocess.run(clear, env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "gsan-ptxas: 2 compiled modules removed\n"))
        self.assertEqual(self.entries(), ["notes.txt"])
        self.call(calls=2)
        none = subprocess.run(clear, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
        self.assertEqual(none.returncode, 1)
        self.assertIn("no cache folder", none.stderr)

    def test_emulated(self):
        self.call(calls=1, GSAN_DEVICE="emu")
        self.call(calls=1, GSAN_DEVICE="emu")
        self.assertEqual(self.entries(), [])


if __name__ == "__main__":
    unittest.main()
