"""What clones keep in local memory: spills_test.py GSAN_PTXAS RANGE_PTX.

What the hot path keeps there, as linked clones have it. A call in the middle of gsan_lines to what is linked makes ptxas read more back for each
line: `add` took 2.38 times as long as plain, instead of 1.62 (docs/hot-path.md).

And the stack of the longest chain of calls. The driver reserves as much for every thread that the GPU can hold: 1,000 bytes are 270 MB of an H200.
"""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from real import CORPUS, OLD, PACKAGES, ROOT, Cubin

GSAN_PTXAS, RANGE = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
LINKER, = glob.glob(os.path.join(PACKAGES, "nvidia", "nvjitlink", "lib", "libnvJitLink.so.12"))
MOST = {"vadd": 80, "softmax": 0}  # bytes that gsan_lines reads back: of clones that may have 32 registers and 48
STACK = {"vadd": 1648, "softmax": 1560, "spin_lock": 1528}  # bytes of the longest chain of a clone
RANGE_STACK = 952  # of the kernel that checks copies, which is compiled as a whole
MIN_STACK_SIZE = 0x1204  # in .nv.info: behind it the size, the symbol's number, the bytes
VERBOSE = """#!/bin/sh
case "$*" in *--version*) exec {ptxas} "$@" ;; esac
{ptxas} -v "$@" 2>{said}
status=$?
cat {said} >>{log}
cat {said} >&2
exit $status
"""


def stack(path):
    """Bytes of the kernel of ours in a cubin that takes the most, with all that it calls."""
    with open(path, "rb") as file:
        cubin = Cubin(file.read())
    symbols, names, info = (cubin.bytes_of(name) for name in (".symtab", ".strtab", ".nv.info"))
    found, at = [], 0
    while at < len(info):
        kind, value = struct.unpack_from("<HH", info, at)
        if kind == MIN_STACK_SIZE:
            symbol, size = struct.unpack_from("<II", info, at + 4)
            name, = struct.unpack_from("<I", symbols, 24 * symbol)
            found += [size] if names[name:names.index(b"\0", name)].endswith(b"__gsan") else []
        at += 4 + (value if kind & 0xff == 4 else 0)  # of other kinds the value stands in these four bytes
    return max(found)


class Spills(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="spills-test-")
        self.addCleanup(home.cleanup)
        self.home, self.log, self.cubin = home.name, os.path.join(home.name, "log"), os.path.join(home.name, "cubin")

    def compile(self, kernel):
        """A linked module of a kernel of the corpus, into self.cubin; what ptxas says of it into self.log."""
        ptxas = os.path.join(self.home, "ptxas")
        with open(ptxas, "w", encoding="utf-8") as file:
            file.write(VERBOSE.format(ptxas=OLD, said=os.path.join(self.home, "said"), log=self.log))
        os.chmod(ptxas, 0o755)
        env = {"PATH": "/usr/bin:/bin", "GSAN_REAL_PTXAS": ptxas, "GSAN_LINKER": LINKER, "GSAN_CACHE_DIR": os.path.join(self.home, "cache")}
        open(self.log, "w", encoding="utf-8").close()
        subprocess.run([GSAN_PTXAS, "--gpu-name=sm_90a", os.path.join(CORPUS, kernel + ".sm90.t36.ptx"), "-o", self.cubin],
                       env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_lines(self):
        """Bytes of spill loads of gsan_lines, in what ptxas says of the module that is linked."""
        for kernel, most in MOST.items():
            with self.subTest(kernel=kernel):
                self.compile(kernel)
                with open(self.log, encoding="utf-8") as file:
                    said = re.findall(r"Function properties for gsan_lines\n.* (\d+) bytes spill loads", file.read())
                self.assertEqual(len(said), 1, "gsan_lines is compiled once: in the module of a clone that is linked")
                self.assertLessEqual(int(said[0]), most)

    def test_stack(self):
        for kernel, most in STACK.items():
            with self.subTest(kernel=kernel):
                self.compile(kernel)
                self.assertLessEqual(stack(self.cubin), most)

    def test_room(self):
        """What is made ready before anything runs."""
        with open(os.path.join(ROOT, "src", "driver", "room.h"), encoding="ascii") as file:
            room, = re.findall(r"^#define ROOM_BYTES (\d+)", file.read(), re.M)
        self.assertGreaterEqual(int(room), max(*STACK.values(), RANGE_STACK))

    def test_stack_of_ranges(self):
        """As embed.py has it: with what clang cannot say."""
        ptx = os.path.join(self.home, "range.ptx")
        with open(RANGE, encoding="ascii") as runtime, open(os.path.join(ROOT, "src", "device", "range.ptx"), encoding="ascii") as kernel:
            text = re.sub(r"^\.version .*", ".version 7.8", runtime.read(), flags=re.M) + kernel.read()
        with open(ptx, "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([OLD, "--gpu-name=sm_90a", ptx, "-o", self.cubin], check=True)
        self.assertLessEqual(stack(self.cubin), RANGE_STACK)


if __name__ == "__main__":
    unittest.main()
