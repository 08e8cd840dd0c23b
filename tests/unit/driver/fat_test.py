"""Jobs on the emulated device: kernels of fat binaries (fat.c). Each racy program is found, each correct one is clean; where there is no
PTX to make clones of, the kernel is listed with that reason. Arguments: gsan-launch, the program, a case: LOADER.PACKING.HELD[.LENGTH];
or LOADER.MODE.nvcc, nvcc and fat.cu: of what that makes, its machine code included, compressed in that mode."""
import os
import subprocess
import sys
import tempfile

from job import run

UNCHECKED = {
    "other": "its fat binary has no PTX of the architecture whose machine code runs",
    "nothing": "its fat binary has no PTX",
    "damaged": {"none": "its PTX was not understood", "lz4": "its compressed PTX is damaged", "zstd": "its compressed PTX is damaged"},
}


def why(packing, held):
    reason = UNCHECKED.get(held)
    return reason[packing] if isinstance(reason, dict) else reason


def check(launch, program, case):
    _, packing, held, *length = case.split(".")
    kernel = "both" + "x" * (int(length[0]) - 4 if length else 0)
    for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
        job, summary, said = run(launch, program, form, *case.split("."))
        unchecked = {kernel["kernel"]: kernel["reason"] for kernel in summary["coverage"]["kernels_unchecked"]}
        if held == "broken":
            refused, = (note["reason"] for note in summary["coverage"]["notes"] if note["key"] == "module")
            assert job.returncode == 67 and not summary["findings"] and "its fat binary is damaged" in refused, said
            continue
        if held in UNCHECKED:
            assert job.returncode == 67 and not summary["findings"] and unchecked == {kernel: why(packing, held)}, said
            continue
        assert job.returncode == status and len(summary["findings"]) == count, said
        assert unchecked == ({"mark": "its PTX has no such kernel"} if held == "beside" else {}), said
        for finding in summary["findings"]:
            assert finding["first"]["kernel"] == finding["second"]["kernel"] == kernel, said
            assert held != "variable" or finding["allocation"]["label"] == "words", said


def check_nvcc(launch, program, case, nvcc, source):
    loader, mode, _ = case.split(".")
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "fat.fatbin")
        subprocess.run([nvcc, "-fatbin", "-lineinfo", f"--compress-mode={mode}", "-gencode", "arch=compute_80,code=[sm_80,compute_80]",
                        "-gencode", "arch=compute_90,code=[sm_90,compute_90]", source, "-o", made], check=True)
        for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
            job, summary, said = run(launch, program, form, loader, mode, made)
            assert job.returncode == status and len(summary["findings"]) == count and summary["coverage"]["launches_unchecked"] == 0, said
            for finding in summary["findings"]:
                assert (finding["first"]["file"], finding["first"]["line"]) == (source, 4), said


(check_nvcc if len(sys.argv) > 4 else check)(*sys.argv[1:])
