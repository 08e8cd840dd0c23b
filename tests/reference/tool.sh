# The program around the detector: exit status, output, --edges, --explain, and messages for bad input.
tool=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "$*" >&2; exit 1; }
cat > "$dir/racy.trace" <<'T'
gsan-trace 1
launch 7 rank 0 device 0 stream 1 kernel writer grid 1 1 1 block 32
launch 8 rank 1 device 1 stream 2 kernel reader grid 1 1 1 block 32
begin 7
begin 8
mem 7 0 3 12 st weak - 4 64 4 - 0x2a
mem 7 0 0 14 st release gpu 4 0 4 - 0x1
mem 8 0 0 31 ld acquire gpu 4 0 4 0x1 -
mem 8 0 5 33 ld weak - 4 66 2 0x0 -
exit 7 0
done 7
done 8
T
sed 's/release gpu/release sys/; s/acquire gpu/acquire sys/' "$dir/racy.trace" > "$dir/free.trace"

"$tool" --help | grep -q '^usage: gsan-reference' || fail "--help says nothing"
out=$("$tool" "$dir/racy.trace"); [ $? = 1 ] || fail "races do not give status 1"
want='race insufficient-scope writer 14 0 reader 31 1 count 1 first 4 0 4 event 7 8
race read-after-write writer 12 0 reader 33 1 count 1 first 4 66 2 event 6 9'
[ "$(echo "$out" | sort)" = "$want" ] || fail "other races: $out"
out=$("$tool" --edges < "$dir/free.trace") || fail "a trace without races fails"
echo "$out" | grep -qx 'edge st.release 1' || fail "no edge st.release: $out"
echo "$out" | grep -qx 'edge cross-rank 1' || fail "no edge cross-rank: $out"
echo "$out" | grep -qx 'edge ordered-pair-cross-rank 1' || fail "no ordered pair: $out"
cat > "$dir/formal.trace" <<'T'
gsan-trace 1
launch 7 rank 0 device 0 stream 1 kernel last grid 2 1 1 block 64
begin 7
mem 7 0 0 12 st weak - 4 64 4 - 0x2a
mem 7 0 0 14 red release gpu 4 0 4 - 0x1
mem 7 1 0 14 atom relaxed gpu 4 0 4 0x1 0x2
arrive 7 1 0 0xffffffff 15 bar 0 sync 0
phase 7 1 bar 0
pass 7 1 0 0xffffffff 15 bar 0 sync
mem 7 1 0 16 ld weak - 4 64 4 0x2a -
done 7
T
want='race read-after-write last 12 0 last 16 0 count 1 first 4 64 4 event 4 10'
out=$("$tool" --warps "$dir/formal.trace"); [ $? = 1 ] || fail "a formal race does not give status 1"
[ "$out" = "$want formal" ] || fail "another formal race: $out"
[ "$("$tool" --ctas "$dir/formal.trace")" = "$want" ] || fail "something is formal of CTAs that are one program"
"$tool" --explain 6 9 "$dir/racy.trace" | grep -q 'a race: nothing in the list below has the first' || fail "--explain of a race"
"$tool" --explain 9 6 "$dir/free.trace" | grep -q 'up to event 7: CTA 0 of kernel writer (launch 7' || fail "--explain of an order"

refuses() { # TEXT ARGUMENT...: status 2, and the text on stderr
	text=$1; shift
	err=$("$tool" "$@" 2>&1 >/dev/null); [ $? = 2 ] || fail "$*: status is not 2"
	case $err in *"$text"*) ;; *) fail "$*: '$text' is not in: $err" ;; esac
}
sed '6s/weak/wake/' "$dir/racy.trace" > "$dir/bad.trace"
refuses "$dir/bad.trace:6: unknown semantics 'wake'; it is one of" "$dir/bad.trace"
refuses "the first line is not 'gsan-trace 1'" "$tool"
: > "$dir/empty.trace"
refuses "the trace is empty" "$dir/empty.trace"
head -n 8 "$dir/racy.trace" > "$dir/cut.trace"
refuses "ends before launch 8 is done" "$dir/cut.trace"
refuses "No such file" "$dir/none.trace"
refuses "not understood" --edge "$dir/racy.trace"
refuses "takes two line numbers" --explain 6 x "$dir/racy.trace"
refuses "are not both accesses" --explain 6 10 "$dir/racy.trace"
