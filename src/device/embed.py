"""embed.py IN.ptx OUT.c NAME [MORE.ptx]: PTX of the runtime as the C array NAME, with more text behind it.

Linkage words go, so that nothing of the runtime can clash when modules are linked; an undefined function (a builtin
that clang could not expand) is an error here rather than at a user's ptxas. Clang names the version that its own instructions
need; gpu_warp_sync() has one of 7.8.
"""
import re
import sys

text = open(sys.argv[1], encoding="ascii").read()
if ".extern" in text:
    sys.exit("embed.py: the runtime calls something undefined: "
             + "; ".join(re.findall(r"\.extern[^;]*", text)))
text = re.sub(r"^\.(visible|weak)\s+", "", text, flags=re.M)
text = re.sub(r"^\s*//.*\n", "", text, flags=re.M)
text = re.sub(r"^\.version .*", ".version 7.8", text, flags=re.M)
name = sys.argv[3]
for more in sys.argv[4:]:
    text += open(more, encoding="ascii").read()
data = text.encode() + b"\0"
rows = (",".join(str(b) for b in data[i:i + 32]) for i in range(0, len(data), 32))
with open(sys.argv[2], "w", encoding="ascii") as out:
    out.write(f'#include "device/runtime.h"\n\nconst char {name}[] = {{\n')
    out.write(",\n".join(rows))
    out.write(f"}};\nconst unsigned long {name}_size = sizeof {name} - 1;\n")
