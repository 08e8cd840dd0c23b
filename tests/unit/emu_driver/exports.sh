#!/bin/sh
# What libcuda.so.1 exports is what api.def lists, both ways.  usage: exports.sh NM API_DEF LIBRARY
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -nE 's/^API\([A-Za-z0-9_]+, ([A-Za-z0-9_]+),.*/\1/p
s/^API_STREAM\([A-Za-z0-9_]+, ([A-Za-z0-9_]+), [0-9]+, (_[a-z]+),.*/\1\n\1\2/p' "$2" | sort >"$work/listed"
"$1" -D --defined-only "$3" | awk '{print $NF}' | sort >"$work/exported"
[ "$(wc -l <"$work/listed")" -gt 200 ]
[ -z "$(uniq -d "$work/listed")" ]
diff "$work/listed" "$work/exported"
# A program may have variables of these names (those that fetch the driver's functions do): the library's own calls are its own.
readelf -rW "$3" >"$work/relocations"
[ "$(grep -c R_X86_64 "$work/relocations")" -gt 200 ]
! grep -E ' cu[A-Z]' "$work/relocations"
