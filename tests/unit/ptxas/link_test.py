"""Clones that are linked to the runtime, by real ptxas and linkers: link_test.py GSAN_PTXAS. They are the same program as the whole ones: the
plain kernels to the byte, the sites, at most as many registers as a clone may have; and whatever goes wrong leaves the whole form."""
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import real
from real import CORPUS, NEW, OLD, PACKAGES

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
SMALL = "vadd.sm90.t36"  # its whole form takes a quarter of those with atomics
KERNELS = [os.path.basename(path)[:-4] for path in sorted(glob.glob(os.path.join(CORPUS, "*.sm90.t36.ptx")))]
ET_EXEC = 2


class Linked(real.Cubin):
    """What the link may change, and what not."""

    def code(self, kernel):
        return self.bytes_of(".text." + kernel)

    def registers(self, kernel):
        return self.section[".text." + kernel][7] >> 24  # the upper byte of sh_info

    def kernels(self):
        return sorted(name[6:] for name in self.section if name.startswith(".text.") and ".text." + name[6:] + "__gsan" in self.section)

    def infos(self):
        return sorted(re.findall(rb"gsan-info\t[^\0]*", self.data))


def cubin_at(path):
    with open(path, "rb") as file:
        return Linked(file.read())


class Link(unittest.TestCase):
    wholes = {}  # (kernel, ptxas): the cubin

    @classmethod
    def setUpClass(cls):
        """A cache for several tests: of the runtime's objects, and of results by the linker's path."""
        place = tempfile.TemporaryDirectory(prefix="link-test-")
        cls.addClassCleanup(place.cleanup)
        cls.common = place.name

    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="link-test-")
        self.home = self.place.name
        self.tmp = os.path.join(self.home, "tmp")
        os.mkdir(self.tmp)

    def tearDown(self):
        self.assertEqual(os.listdir(self.tmp), [])
        self.place.cleanup()

    def start(self, ptx, linker, ptxas=OLD, out="out", preexec_fn=None, cache=None):
        env = {"PATH": "/usr/bin:/bin", "TMPDIR": self.tmp, "GSAN_REAL_PTXAS": ptxas, "GSAN_LINKER": linker, "GSAN_LOG": "info",
               "GSAN_CACHE_DIR": os.path.join(self.home, cache or "cache-" + os.path.basename(linker))}
        command = [GSAN_PTXAS, "--gpu-name=sm_90a", "-lineinfo", ptx, "-o", os.path.join(self.home, out)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=preexec_fn)

    def make(self, name, linker, **more):
        """What it said, and the cubin."""
        job = self.start(os.path.join(CORPUS, name + ".ptx"), linker, **more)
        said = job.communicate(timeout=250)[1]
        self.assertEqual(job.returncode, 0, said)
        return said, cubin_at(os.path.join(self.home, more.get("out", "out")))

    def whole(self, name, ptxas=OLD):
        """The same without a linker, made once."""
        if (name, ptxas) not in self.wholes:
            self.wholes[name, ptxas] = self.make(name, "none", ptxas=ptxas, out="whole", cache=self.common)[1]
        return self.wholes[name, ptxas]

    def same(self, name, linked, whole):
        self.assertEqual((linked.type, linked.kernels()), (ET_EXEC, whole.kernels()), name)
        self.assertEqual(linked.infos(), whole.infos(), name)
        for kernel in whole.kernels():
            self.assertEqual(linked.code(kernel), whole.code(kernel), f"{name}: {kernel}")
            self.assertLessEqual(linked.registers(kernel + "__gsan"), max(32, whole.registers(kernel + "__gsan")), f"{name}: {kernel}")

    def test_same_program(self):
        done = 0
        for name in KERNELS[::3] + [name for name in KERNELS if name.startswith("matmul.")]:
            said, linked = self.make(name, "auto", cache=self.common)
            with open(os.path.join(CORPUS, name + ".ptx"), encoding="utf-8") as file:
                self.assertEqual("wgmma." in file.read(), "it has wgmma" in said, said)
            if "not linked" in said:
                self.assertTrue("would spill" in said or "it has wgmma" in said, said)
                continue
            whole = self.whole(name)
            self.same(name, linked, whole)
            self.assertLess(len(linked.data), len(whole.data) * 1.1, name)
            done += 1
        self.assertGreater(done, len(KERNELS) // 4)

    def test_newer_ptxas_with_nvlink(self):
        said, linked = self.make(SMALL, os.path.join(os.path.dirname(NEW), "nvlink"), ptxas=NEW, cache=self.common)
        self.assertNotIn("not linked", said)
        self.same(SMALL, linked, self.whole(SMALL, NEW))

    def test_barriers(self):
        with open(os.path.join(CORPUS, SMALL + ".ptx"), encoding="utf-8") as file:
            text = file.read()
        for form, whole in (("barrier.sync \t0;", False), ("barrier.cta.sync 0;", False), ("@%some barrier.sync 0;", True), ("barrier.sync 0, 64;", True),
                            ("barrier.sync.aligned 0;", False), ("bar.sync 0; // mbarrier.test_wait", False),
                            ("barrier.cta.red.popc.u32 %gone, 0, %some;", True), ("bar.sync 0; barrier.arrive 1, 64;", True)):
            path = os.path.join(self.home, "barrier.ptx")
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(\n\s*ret;)", "\n\t{.reg .b32 %gone; .reg .pred %some; setp.eq.u32 %some, 0, 0; " + form + "\n" + r"}\1", text))
            job = self.start(path, "auto", cache=self.common)
            said = job.communicate(timeout=250)[1]
            self.assertEqual((job.returncode, "a barrier that is not aligned" in said, "not linked" in said), (0, whole, whole), form + said)

    def falls_back(self, linker, words):
        said, cubin = self.make(SMALL, linker, cache=self.common)
        self.assertIn(words, said)
        self.assertIn("not linked", said)
        self.assertEqual(cubin.data, self.whole(SMALL).data)

    def program(self, text):
        path = os.path.join(self.home, "nvlink")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def test_no_linker(self):
        self.falls_back(os.path.join(self.home, "gone"), "does not link it")

    def test_linker_that_makes_nothing(self):
        self.falls_back(self.program("exit 0\n"), "does not link it")

    def test_linker_that_copies(self):
        self.falls_back(self.program('while [ "$1" != -o ]; do last=$1; shift; done; cat "$last" >"$2"\n'), "does not link it")

    def test_linker_that_fails(self):
        self.falls_back(self.program("echo no; exit 1\n"), "does not link it")

    def test_library_of_another_kind(self):
        library, = glob.glob("/lib/*-linux-gnu/libm.so.6")
        self.falls_back(library, "does not link it")

    def test_linker_of_older_objects(self):
        library, = glob.glob(os.path.join(PACKAGES, "nvidia", "nvjitlink", "lib", "libnvJitLink.so.12"))
        said, cubin = self.make(SMALL, library, ptxas=NEW, cache=self.common)
        self.assertIn("not linked", said)
        self.assertEqual(cubin.data, self.whole(SMALL, NEW).data)

    def test_nothing_can_be_kept(self):
        with open(os.path.join(self.home, "file"), "w", encoding="utf-8"):
            pass
        said, cubin = self.make(SMALL, "auto", cache="file/below")
        self.assertNotIn("not linked", said)
        self.same(SMALL, cubin, self.whole(SMALL))

    def test_no_room_for_anything(self):
        def full():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # the files in memory, too
        said, cubin = self.make(SMALL, "auto", preexec_fn=full)
        self.assertIn("runs unchecked", said)
        self.assertEqual((cubin.type, cubin.kernels()), (ET_EXEC, []))

    def test_two_at_once(self):
        jobs = [self.start(os.path.join(CORPUS, SMALL + ".ptx"), "auto", out=f"out{i}") for i in range(4)]
        for job in jobs:
            said = job.communicate(timeout=250)[1]
            self.assertEqual((job.returncode, "not linked" in said), (0, False), said)
        self.assertEqual(len({cubin_at(os.path.join(self.home, f"out{i}")).data for i in range(4)}), 1)

    def test_once(self):
        self.make(SMALL, "auto")
        kept = os.path.join(self.home, "cache-auto", "ptxas")
        self.assertEqual(len(os.listdir(kept)), 2)  # the runtime's object, and this one
        self.make("vadd_i8.sm90.t36", "auto")
        self.assertEqual(len(os.listdir(kept)), 3)


unittest.main()
