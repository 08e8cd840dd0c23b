"""What the tests of gsan-ptxas share: the ptxas of Triton and of CUDA's wheels, kernels, and the sections of a cubin."""
import glob
import os
import struct

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PACKAGES = os.path.join(ROOT, ".venv", "triton-3.6", "lib", "python3*", "site-packages")
OLD, = glob.glob(os.path.join(PACKAGES, "triton", "backends", "nvidia", "bin", "ptxas"))
NEW, = glob.glob(os.path.join(PACKAGES, "nvidia", "cu13", "bin", "ptxas"))
DISASSEMBLER = os.path.join(os.path.dirname(OLD), "nvdisasm")
CORPUS = os.path.join(ROOT, "tests", "golden", "ptx", "triton")
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	st.global.u32 [%rd1], 7;
	ret;
}
"""
NOBITS = 8


class Cubin:
    """Sections of a 64-bit ELF file, by name."""

    def __init__(self, data):
        self.data = data
        self.type, = struct.unpack_from("<H", data, 16)
        self.phoff, self.shoff = struct.unpack_from("<QQ", data, 32)
        self.phentsize, self.phnum, size, count, names = struct.unpack_from("<HHHHH", data, 54)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, self.shoff + i * size) for i in range(count)]
        strings = data[rows[names][4]:rows[names][4] + rows[names][5]]
        self.section = {strings[row[0]:strings.index(b"\0", row[0])].decode(): row for row in rows}

    def bytes_of(self, name):
        row = self.section[name]
        return b"" if row[1] == NOBITS else self.data[row[4]:row[4] + row[5]]
