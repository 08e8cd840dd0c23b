"""Both libraries export each function of the runtime that the header declares, in both forms, under their own version, and nothing else than
cuda* and __cuda*; each of calls.def and absent.def stands in one of the two, once; and errors.def has the header's errors.
usage: exports_test.py FOLDER_OF_RUNTIME INCLUDE_DIR_OF_CUDA LIBRARY..."""
import os
import re
import subprocess
import sys

folder, include, *libraries = sys.argv[1:]
LATER = {"cudaErrorVersionTranslation", "cudaErrorInsufficientLoaderVersion", "cudaErrorStreamDetached", "cudaErrorGraphRecaptureFailure",
         "cudaErrorFabricNotReady"}  # than CUDA 13.0, whose headers suffice


def text(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


header = text(include, "cuda_runtime_api.h")
declared = set(re.findall(r"\bCUDARTAPI\s+(cuda\w+)\s*\(", header))
declared |= {name + "_" + form.lower() for name, form in re.findall(r"#define (cuda\w+)\s+__CUDART_API_(PTSZ|PTDS)\(", header)}
assert len(declared) > 400, len(declared)
wrong = []
for library in libraries:
    version = re.search(r"libcudart\.so\.\d+", library).group(0)
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    found = [line.split()[2] for line in symbols.splitlines() if line.split()[1] != "A"]
    wrong += [f"{library}: exports {name}" for name in found if not re.fullmatch(rf"(__)?cuda\w+@@{re.escape(version)}", name)]
    wrong += [f"{library}: lacks {name}" for name in sorted(declared - {name.split("@")[0] for name in found})]

rows = re.findall(r"\b(?:ASK|CALL|CALL_NODE|CALL_PTSZ|CALL_PTDS|ABSENT|ABSENT_PTSZ|ABSENT_PTDS)\((\w+)[,)]", text(folder, "calls.def") + text(folder, "absent.def"))
wrong += [f"{name}: two rows" for name in sorted({name for name in rows if rows.count(name) > 1})]
errors = set(re.findall(r"\b(cudaError\w+|cudaSuccess)\s*=", re.search(r"enum [\w ]*cudaError\s*\{.*?\};", text(include, "driver_types.h"), re.S).group(0)))
named = set(re.findall(r"^ERROR(?:_TEXT)?\((\w+)", text(folder, "errors.def"), re.M))
wrong += [f"errors.def: {name}" for name in sorted((errors ^ named) - LATER)]
print("\n".join(wrong))
sys.exit(bool(wrong))
