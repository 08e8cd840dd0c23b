"""No part of a warp reads a uniform register that the other part may have written meanwhile: uniform_test.py GSAN_PTXAS. Clones of real
kernels, by real ptxas, disassembled."""
import os
import subprocess
import sys
import tempfile
import unittest

import uniform
from real import CORPUS, DISASSEMBLER, NEW, OLD

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
# Of these the whole warp is there, or waits for the lane that runs: a kernel's start, lines and batches.
WHOLE = ("gsan_enter", "gsan__access_batch", "gsan_lines")

TAKE = """
$k__gsan$gsan__lock_take:
        /*0000*/                   IMAD.MOV.U32 R24, RZ, RZ, 0x10000 ;
        /*0010*/                   YIELD ;
{between}
        /*0040*/                   ATOMG.E.ADD.STRONG.SYS PT, R24, desc[UR4][R12.64], R24 ;
        /*0050*/                   RET.REL.NODEC R12 `(k__gsan) ;
$k__gsan$gsan__votes:
        /*0060*/                   UMOV UR4, 0xffffffff ;
        /*0070*/                   BRA.DIV UR4, `(.L_x_1) ;
        /*0080*/                   VOTE.ANY R0, PT, P0 ;
.L_x_1:
        /*0090*/                   RET.REL.NODEC R12 `(k__gsan) ;
"""
WRITTEN = """
        /*0020*/                   R2UR UR4, R10 ;
        /*0030*/                   R2UR UR5, R11 ;
"""
ON_ONE_WAY = """
        /*0020*/              @!P0 BRA `(.L_x_2) ;
        /*0028*/                   R2UR UR4, R10 ;
.L_x_2:
"""


def ours(name):
    return "$gsan_" in name


def whole(name):
    return name.rpartition("$")[2] in WHOLE


def stale(text):
    return list(uniform.stale(text, ours, whole))


class Uniform(unittest.TestCase):
    def test_text(self):
        """What a callee takes from its callers across a YIELD is found; its twin, which writes it there, is not."""
        self.assertEqual([(register, read.split()[0]) for _, register, read in stale(TAKE.format(between=""))], [(4, "ATOMG.E.ADD.STRONG.SYS")])
        self.assertEqual(len(stale(TAKE.format(between=ON_ONE_WAY))), 1)
        self.assertEqual(stale(TAKE.format(between=WRITTEN)), [])

    def clone(self, kernel, ptxas):
        with tempfile.TemporaryDirectory(prefix="uniform-test-") as home:
            cubin = os.path.join(home, "cubin")
            env = {"PATH": "/usr/bin:/bin", "GSAN_REAL_PTXAS": ptxas, "GSAN_LINKER": "none", "GSAN_CACHE_DIR": os.path.join(home, "cache")}
            subprocess.run([GSAN_PTXAS, "--gpu-name=sm_90a", "-lineinfo", os.path.join(CORPUS, kernel + ".ptx"), "-o", cubin], env=env,
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            return subprocess.run([DISASSEMBLER, "-c", cubin], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout

    def kernels(self, ptxas, *names):
        for name in names:
            with self.subTest(kernel=name):
                text = self.clone(name + ".sm90.t36", ptxas)
                self.assertGreater(len({name for name, _ in uniform.functions(text) if ours(name)}), 20)
                self.assertEqual(stale(text), [])

    def test_old(self):
        self.kernels(OLD, "message_passing", "scan_rows")

    def test_new(self):
        self.kernels(NEW, "spin_lock")


if __name__ == "__main__":
    unittest.main()
