#!/bin/sh
# What is printed or written is there, or the command fails and says so: each
# command to a disk that is full.
. "$(dirname "$0")/tap"
hello=$BUILD/examples/hello
litmus=tests/litmus/2+2W.fsc.sameGPU-aa.litmus

# lost NAME COMMAND...: with standard output on a full disk, exit code 1 and one line of each
# process that has printed.
lost() {
	name=$1
	shift
	timeout -k 5 600 "$@" >/dev/full 2>"$TAP_FILES/err" </dev/null
	code=$?
	: >"$TAP_FILES/out"
	[ "$code" -eq 1 ] && grep -q 'what was printed is lost' "$TAP_FILES/err" &&
		[ "$(wc -l <"$TAP_FILES/err")" -le "$processes" ]
	verdict $? "$name: lost output is a failure" "exit code $code"
}

processes=1
lost --version tessera --version
lost --help tessera --help
for command in run bench perf litmus check info cc; do
	lost "$command --help" tessera $command --help
done
processes=2 # a rank tells of each backend
lost info tessera info
processes=1
lost "info settings" tessera info settings
lost litmus tessera litmus $litmus
lost perf tessera perf signal -n 2 -N 2 -m 100 -w 0
lost bench tessera bench gemm-all-scatter -n 2 --iterations 1 -w 0 --shape 16x16x16
lost "a program of tessera run" tessera run -n 1 "$hello"
lost "a program by itself" "$hello"
case ${BUILD-} in
*tsan*) ;;
*) lost check tessera check -n 2 --seeds 2 "$hello" ;;
esac

# written NAME COMMAND...: a file that cannot be written whole.
written() {
	name=$1
	shift
	try "$@"
	[ "$code" -ne 0 ] && grep -qE "/dev/full.*No space left on device" "$TAP_FILES/err"
	verdict $? "$name: a file that is lost is a failure" "exit code $code"
}

written "perf --json" tessera perf signal -n 2 -N 2 -m 100 -w 0 --json /dev/full
written "bench --json" tessera bench gemm-all-scatter \
	-n 2 --iterations 1 -w 0 --shape 16x16x16 --json /dev/full
written "litmus --json" tessera litmus $litmus --json /dev/full
case ${BUILD-} in
*tsan*) ;;
*)
	written "check --json" tessera check -n 2 --seeds 2 --json /dev/full "$hello"
	written "check --trace" tessera check -n 2 --seeds 2 --trace /dev/full "$hello"
	;;
esac

try sh -c 'exec >&- && exec "$@"' sh tessera --version
[ "$code" -eq 1 ] && grep -q 'Bad file descriptor' "$TAP_FILES/err"
verdict $? "a standard output that is closed is said to be" "exit code $code"
finish
