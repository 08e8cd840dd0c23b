"""Clones that a ptxas compiles in several threads, to be linked: threads_test.py GSAN_PTXAS. The code is that of one thread; a caller who
says how many there are, or a ptxas that cannot, has its way. A script before the real ptxas keeps its calls."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

import real
from real import NEW, OLD, PACKAGES, ROOT

sys.path.insert(0, os.path.join(ROOT, "bench"))
from compile import module  # noqa: E402  pylint: disable=wrong-import-position

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
CLONES = 3
THREADS = min(len(os.sched_getaffinity(0)), CLONES)
OPTION = "--split-compile="
COMMAND_LINE = ".note.nv.tkinfo"  # of CUDA 13
LINKERS = {OLD: os.path.join(PACKAGES, "nvidia", "nvjitlink", "lib", "libnvJitLink.so.12"),
           NEW: os.path.join(PACKAGES, "nvidia", "cu13", "bin", "nvlink")}
BEFORE = """#!/bin/sh
echo "$*" >>{calls}
case "$*" in *--split-compile=*) {then};; esac
exec {ptxas} "$@"
"""


class Threads(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="threads-test-")
        self.home = self.place.name
        self.calls = os.path.join(self.home, "calls")
        self.made = 0

    def tearDown(self):
        self.place.cleanup()

    def call(self, *options, kernels=CLONES, ptxas=OLD, then=":", cores=None):
        """(the cubin, for each call that made clones the options for threads)"""
        self.made += 1
        before, ptx, out = (os.path.join(self.home, f"{name}{self.made}") for name in ("ptxas", "ptx", "out"))
        for path, text in ((before, BEFORE.format(calls=self.calls, ptxas=ptxas, then=then)), (ptx, module("vadd.sm80.t36", kernels)),
                           (self.calls, "")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(before, 0o755)
        linker, = glob.glob(LINKERS[ptxas])
        env = {"PATH": "/usr/bin:/bin", "GSAN_REAL_PTXAS": before, "GSAN_LINKER": linker, "GSAN_LOG": "info",
               "GSAN_CACHE_DIR": os.path.join(self.home, f"cache{self.made}")}
        one = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        job = subprocess.run([GSAN_PTXAS, "--gpu-name=sm_90a", *options, "--source=vadd.ptx", ptx, "-o", out], env=env, stderr=subprocess.PIPE,
                             text=True, check=False, preexec_fn=one)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertNotIn("not linked", job.stderr)
        with open(out, "rb") as file, open(self.calls, encoding="utf-8") as calls:
            lines = [line.split() for line in calls]
            self.assertFalse([word for word in lines[0] if "split" in word and word not in options])  # the plain run
            return real.Cubin(file.read()), [[word for word in line if OPTION in word] for line in lines if "-ewp" in line]

    def plain(self, ptxas):
        """The kernels' code without GSan."""
        out = os.path.join(self.home, "plain")
        subprocess.run([ptxas, "--gpu-name=sm_90a", os.path.join(self.home, f"ptx{self.made}"), "-o", out], check=True)
        with open(out, "rb") as file:
            cubin = real.Cubin(file.read())
        return {name: cubin.bytes_of(name) for name in cubin.section if name.startswith(".text.")}

    def test_same_code(self):
        one = {min(os.sched_getaffinity(0))}
        for ptxas in (OLD, NEW):
            several, options = self.call(ptxas=ptxas)
            self.assertEqual(options, [[f"{OPTION}{THREADS}"]] if THREADS > 1 else [[]])
            alone, options = self.call(ptxas=ptxas, cores=one)
            self.assertEqual(options, [[]])
            self.assertEqual(list(several.section), list(alone.section))
            self.assertEqual([name for name in alone.section if several.bytes_of(name) != alone.bytes_of(name) and name != COMMAND_LINE], [])
            plain = self.plain(ptxas)
            self.assertEqual({name: several.bytes_of(name) for name in plain}, plain)
            self.assertEqual(len(plain), CLONES)

    def test_one_kernel(self):
        self.assertEqual(self.call(kernels=1)[1], [[]])

    def test_as_the_caller_says(self):
        self.assertEqual(self.call(f"{OPTION}3")[1], [[f"{OPTION}3"]])
        self.assertEqual(self.call("-split-compile", "1")[1], [[]])
        self.assertEqual(self.call("-jobserver", ptxas=NEW)[1], [[]])

    def test_of_no_use(self):
        alone, _ = self.call(cores={min(os.sched_getaffinity(0))})
        for then in ("echo \"ptxas fatal   : Unknown option 'split-compile'\" >&2; exit 255", "kill -SEGV $$"):
            cubin, options = self.call(then=then)
            self.assertEqual(options[-1], [])
            self.assertEqual(len(options), 1 + (THREADS > 1))
            self.assertEqual(cubin.data, alone.data)


unittest.main()
