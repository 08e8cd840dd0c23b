#!/bin/sh
# Programs that never start CUDA behave under libgsan as without it: same output, same exit status, one thread.
set -u
library=$1
failed=0
same() {
	"$@" >plain.out 2>plain.err; plain=$?
	for socket in "" "GSAN_SOCKET=gsan-test-nobody-listens"; do
		env $socket LD_PRELOAD="$library" "$@" >gsan.out 2>gsan.err; checked=$?
		if [ $plain -ne $checked ] || ! cmp plain.out gsan.out || ! cmp plain.err gsan.err; then
			echo "differs under libgsan: $*"; cat gsan.err; failed=1
		fi
	done
}
dir=$(mktemp -d) && cd "$dir" || exit 1
same true
same false
same ls /
same python3 -c 'import ctypes; print(ctypes.CDLL(None).no_such)'
same python3 -c 'import os; print(len(os.listdir("/proc/self/task"))); os._exit(3 if os.fork() else 0)'
same sh -c 'kill -9 $$'
rm -r "$dir"
exit $failed
