"""What the hot path keeps in memory, as linked clones have it: spills_test.py GSAN_PTXAS. A call in the middle of gsan_lines to what is linked
makes ptxas read more back for each line: `add` took 2.38 times as long as plain, instead of 1.62 (docs/hot-path.md)."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

from real import CORPUS, OLD, PACKAGES

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
LINKER, = glob.glob(os.path.join(PACKAGES, "nvidia", "nvjitlink", "lib", "libnvJitLink.so.12"))
MOST = {"vadd": 80, "softmax": 0}  # bytes that gsan_lines reads back: of clones that may have 32 registers and 48
VERBOSE = """#!/bin/sh
case "$*" in *--version*) exec {ptxas} "$@" ;; esac
{ptxas} -v "$@" 2>{said}
status=$?
cat {said} >>{log}
cat {said} >&2
exit $status
"""


class Spills(unittest.TestCase):
    def reloads(self, kernel):
        """Bytes of spill loads of gsan_lines, in what ptxas says of the module that is linked."""
        with tempfile.TemporaryDirectory(prefix="spills-test-") as home:
            log, ptxas = os.path.join(home, "log"), os.path.join(home, "ptxas")
            with open(ptxas, "w", encoding="utf-8") as file:
                file.write(VERBOSE.format(ptxas=OLD, said=os.path.join(home, "said"), log=log))
            os.chmod(ptxas, 0o755)
            env = {"PATH": "/usr/bin:/bin", "GSAN_REAL_PTXAS": ptxas, "GSAN_LINKER": LINKER, "GSAN_CACHE_DIR": os.path.join(home, "cache")}
            subprocess.run([GSAN_PTXAS, "--gpu-name=sm_90a", os.path.join(CORPUS, kernel + ".sm90.t36.ptx"), "-o", os.path.join(home, "cubin")],
                           env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with open(log, encoding="utf-8") as file:
                said = re.findall(r"Function properties for gsan_lines\n.* (\d+) bytes spill loads", file.read())
        self.assertEqual(len(said), 1, "gsan_lines is compiled once: in the module of a clone that is linked")
        return int(said[0])

    def test_lines(self):
        for kernel, most in MOST.items():
            with self.subTest(kernel=kernel):
                self.assertLessEqual(self.reloads(kernel), most)


if __name__ == "__main__":
    unittest.main()
