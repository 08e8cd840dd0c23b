"""What libgsan.so exports is what hooks.def has rows for, what annotate.h looks for, dlsym and NVRTC's
functions of rtc.def in both versions, and nothing else."""
import re
import subprocess
import sys

library, rows, annotate, rtc = sys.argv[1:]
suffixes = {"HOOK": [""], "HOOK_PTSZ": ["", "_ptsz"], "COPY": ["", "_ptds"], "COPY_ASYNC": ["", "_ptsz"], "COPY_TO": ["", "_ptsz"]}
text = re.sub(r"/\*.*?\*/", "", open(rows).read(), flags=re.S)
expected = {"dlsym@GLIBC_2.2.5", "dlsym@@GLIBC_2.34"}
for macro, name in re.findall(r"^(HOOK|HOOK_PTSZ|COPY|COPY_ASYNC|COPY_TO)\((\w+),", text, re.M):
    expected |= {name + suffix + "@@GSAN_1" for suffix in suffixes[macro]}
compilers = re.findall(r"^RTC\(nvrtc, (\w+),", open(rtc).read(), re.M)
expected |= {f"{name}@libnvrtc.so.{version}" for name in compilers for version in (12, 13)}
named = set(re.findall(r'"(gsan_annotate_\w+)"', open(annotate).read()))
expected |= {name + "@@GSAN_1" for name in named}

symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
found = {line.split()[2] for line in symbols.splitlines() if line.split()[1] != "A"}
for name in sorted(expected - found):
    print("not exported:", name)
for name in sorted(found - expected):
    print("exported without a row:", name)
assert len(expected) > 100 and len(named) == 5 and len(compilers) == 3 and not any("cuGetExportTable" in name for name in found)
sys.exit(expected != found)
