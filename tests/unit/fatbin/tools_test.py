"""Fat binaries of CUDA's own fatbinary: recorded ones (golden/, made by `record`), and fresh ones of the toolkit that setup has installed.
Arguments: test_fatbin_print, the folder golden, and either nothing or fatbinary and ptxas."""
import pathlib
import subprocess
import sys
import tempfile

PACKED = {"none": "plain", "speed": "lz4", "default": "zstd", "balance": "zstd", "size": "zstd"}  # PTX; machine code only in `size`


def read(tool, path, gpu):
    return subprocess.run([tool, path, str(gpu)], check=True, capture_output=True, text=True).stdout


def check(tool, path, ptx, mode):
    """sm_90: its machine code has no PTX beside it; sm_86: PTX of sm_80; sm_75: nothing."""
    for gpu, told in ((90, "its fat binary has no PTX of the architecture whose machine code runs\n"), (86, ptx + "\n"),
                      (75, "its fat binary has no PTX that runs on this GPU\n")):
        lines = read(tool, path, gpu).splitlines(True)
        packed = PACKED[mode]
        size, size_90a = (len(ptx) + 1 + n if packed != "plain" else (len(ptx) + n + 8) // 8 * 8 for n in (0, 1))  # with a NUL
        assert lines[0].startswith(f"kind 2 sm_90 step.cu {'zstd' if mode == 'size' else 'plain'} "), (path, lines)
        assert lines[1] == f"kind 1 sm_80 step.cu {packed} {size} bytes\n", (path, lines)
        assert lines[2] == f"kind 1 sm_90a step.cu {packed} {size_90a} bytes\n", (path, lines)
        assert "".join(lines[3:]) == told, (path, lines)


def fresh(tool, golden, ptx, fatbinary, ptxas):
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "90a.ptx").write_text(ptx.replace("sm_80", "sm_90a"))
        subprocess.run([ptxas, "-arch=sm_90", golden / "step.ptx", "-o", scratch / "step.cubin"], check=True)
        for mode in PACKED:
            made = scratch / f"{mode}.fatbin"
            subprocess.run([fatbinary, f"--create={made}", "--64", "--ident=step.cu", f"--compress-mode={mode}",
                            f"--image3=kind=elf,sm=90,file={scratch}/step.cubin", f"--image3=kind=ptx,sm=80,file={golden}/step.ptx",
                            f"--image3=kind=ptx,sm=90a,file={scratch}/90a.ptx"], check=True)
            check(tool, made, ptx, mode)


def main():
    tool, golden, *toolkit = sys.argv[1:]
    golden = pathlib.Path(golden)
    ptx = (golden / "step.ptx").read_text()
    recorded = sorted(golden.glob("*.fatbin"))
    assert len(recorded) == 8, recorded
    for path in [] if toolkit else recorded:
        check(tool, path, ptx, path.name.split(".")[-2])
    if toolkit:
        fresh(tool, golden, ptx, *toolkit)


main()
