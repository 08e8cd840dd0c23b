"""The PTX text that ptxas leaves in a cubin for tools, without clones and runtime: trim_test.py GSAN_PTXAS. All else of the cubin stays what
the ptxas made of the instrumented text, and a cubin that is none is not touched."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import real
from real import CORPUS, NEW, NOBITS, OLD, PTX

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
VADD = os.path.join(CORPUS, "vadd.sm90.t36.ptx")
TEXT, PROGRAM_HEADER = ".nv_debug_ptx_txt", 6
KEEPS = """#!/bin/sh
"$REAL" "$@" || exit
while [ $# -gt 1 ]; do [ "$1" = -o ] && out="$2"; shift; done
cp "$out" "$KEPT"
"""
FAKE = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out="$2"; shift; done
cp "$CUBIN" "$out"
"""


class Loaded(real.Cubin):
    """Segments, too, as (type, address, bytes)."""

    def programs(self):
        return [struct.unpack_from("<IIQQQQQQ", self.data, self.phoff + i * self.phentsize) for i in range(self.phnum)]

    def segments(self):
        return [(p[0], p[3], self.data[p[2]:p[2] + p[5]]) for p in self.programs() if p[0] != PROGRAM_HEADER and p[2] != self.phoff]


class Trim(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="trim-test-")
        self.home = self.place.name

    def tearDown(self):
        self.place.cleanup()

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_it(self, ptxas, ptx, *options, **environment):
        env = {"PATH": "/usr/bin:/bin", "GSAN_LINKER": "none", "GSAN_CACHE_DIR": self.path("cache"), **environment}
        command = [GSAN_PTXAS, "--real-ptxas", ptxas, *options, ptx, "-o", self.path("out")]
        subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def made(self, ptx, ptxas, *options):
        """The cubins of a kernel as the ptxas makes it, as the ptxas makes it with clones, and by gsan-ptxas."""
        subprocess.run([ptxas, *options, ptx, "-o", self.path("plain")], check=True)
        self.run_it(self.write("ptxas", KEEPS.encode()), ptx, *options, REAL=ptxas, KEPT=self.path("full"))
        return [Loaded(self.read(name)) for name in ("plain", "full", "out")]

    def same_but_for_text(self, full, out):
        self.assertEqual(list(full.section), list(out.section))
        for name, row in full.section.items():
            got = out.section[name]
            self.assertEqual(got[:4] + got[6:], row[:4] + row[6:], name)
            self.assertEqual(got[4] % max(1, row[8]), row[4] % max(1, row[8]), name)
            if name != TEXT:
                self.assertEqual(out.bytes_of(name), full.bytes_of(name), name)
        self.assertEqual(full.segments(), out.segments())

    def test_clones_go(self):
        """Of the text the program's lines stay, with their numbers; code, symbols and what is loaded are the same."""
        for ptxas in (OLD, NEW):
            with self.subTest(ptxas=ptxas):
                plain, full, out = self.made(VADD, ptxas, "--gpu-name=sm_90a", "-lineinfo")
                self.same_but_for_text(full, out)
                before, after = full.bytes_of(TEXT).split(b"\0"), out.bytes_of(TEXT).split(b"\0")
                self.assertEqual(len(before), len(after))
                self.assertTrue(all(new in (b"", old) for old, new in zip(before, after)))
                self.assertEqual([line for line in plain.bytes_of(TEXT).split(b"\0") if line], [line for line in after if line])
                self.assertLess(len(out.data), len(full.data) * 0.6)

    def test_without_text(self):
        _, full, out = self.made(self.write("k.ptx", PTX.encode()), OLD, "--gpu-name=sm_90")
        self.assertNotIn(TEXT, full.section)
        self.assertEqual(out.data, full.data)

    def test_broken(self):
        """Numbers that cannot be: the bytes come through as they are, and nothing is read beyond them."""
        _, full, _ = self.made(VADD, OLD, "--gpu-name=sm_90a", "-lineinfo")
        at, text, huge = full.shoff + list(full.section).index(TEXT) * 64, full.section[TEXT], 2**64 - 8
        edits = {"a text beyond the end": (at + 24, "<Q", len(full.data) - 8), "a huge text": (at + 32, "<Q", huge),
                 "a text at a huge offset": (at + 24, "<Q", huge), "sections beyond the end": (40, "<Q", len(full.data) - 8),
                 "segments at a huge offset": (32, "<Q", huge), "many segments": (56, "<H", 65535), "no names": (62, "<H", 65535),
                 "a text that is loaded": (full.phoff + 56 + 8, "<Q", text[4] + 8), "a text of no bytes in the file": (at + 4, "<I", NOBITS)}
        fake = self.write("ptxas", FAKE.encode())
        for name, (offset, form, value) in edits.items():
            with self.subTest(name):
                data = bytearray(full.data)
                struct.pack_into(form, data, offset, value)
                for cubin in (bytes(data), bytes(data[:len(data) // 3])):
                    self.run_it(fake, VADD, "--gpu-name=sm_90a", CUBIN=self.write("cubin", cubin),
                                GSAN_CACHE_DIR=self.path(f"cache of {name} {len(cubin)}"))
                    self.assertEqual(self.read("out"), cubin)


if __name__ == "__main__":
    unittest.main()
