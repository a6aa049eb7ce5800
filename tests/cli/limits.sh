#!/bin/sh
# Commands where the machine gives little: address space, descriptors, a pipe
# that nobody writes to, a library that is not there.
. "$(dirname "$0")/tap"

case ${BUILD-} in
*asan* | *tsan*)
	skip "commands that compute nothing take 150 MB of address space" \
		"sanitizers take terabytes"
	;;
*)
	for words in --version --help "info settings" \
		"litmus tests/litmus/2+2W.fsc.sameGPU-aa.litmus" \
		"bench --help"; do
		timeout 60 sh -c 'ulimit -v 150000; exec tessera $0' \
			"$words" >"$TAP_FILES/out" 2>"$TAP_FILES/err"
		code=$?
		[ "$code" -eq 0 ] && [ -s "$TAP_FILES/out" ] && [ ! -s "$TAP_FILES/err" ]
		verdict $? "tessera $words takes 150 MB of address space at most" "exit code $code"
	done
	;;
esac

if command -v cc >/dev/null; then
	cc -shared -o "$TAP_FILES/libopenblas.so.0" -x c /dev/null
	try env LD_LIBRARY_PATH="$TAP_FILES" \
		tessera bench gemm-all-scatter -n 1 --iterations 1 -w 0 --shape 16x16x16
	[ "$code" -eq 1 ] && [ "$(wc -l <"$TAP_FILES/err")" -eq 1 ] &&
		grep -q 'needs OpenBLAS.*install it' "$TAP_FILES/err"
	verdict $? "an OpenBLAS that is none is said to be missing" "exit code $code"
fi

for files in 6 8 10 12; do
	try sh -c "ulimit -n $files; exec tessera run -n 8 $BUILD/examples/hello"
	[ "$code" -eq 1 ] &&
		grep -qE 'no room for more open files|Too many open files' "$TAP_FILES/err"
	verdict $? "with $files descriptors, too few of them is what is said" "exit code $code"
done

case ${BUILD-} in
*asan* | *tsan*) skip "a heap that does not fit" "sanitizers take the addresses" ;;
*)
	try env TESSERA_HEAP_SIZE=60T tessera run -n 4 "$BUILD/examples/hello"
	[ "$code" -eq 1 ] &&
		grep -qE 'lower: the ranks here have memory of [0-9.]+ [A-Z]iB' "$TAP_FILES/err"
	verdict $? "a heap that does not fit: how much there is" "$(cat "$TAP_FILES/err")"
	;;
esac

# What ranks share are files in memory, for which the limit of file sizes counts too. In blocks of
# 512 bytes: less than the ranks need to agree; and enough for that, but not for a heap.
for blocks in 1000 300000; do
	for command in "tessera run -n 2" "tessera run -n 2 --placement thread" \
		"tessera run -n 4 --nodes 2" ""; do
		try sh -c "ulimit -f $blocks; exec $command $BUILD/examples/hello"
		case $command:$blocks in
		*thread:1000) wanted="giving rank .*'s heap" ;;
		*:1000) wanted="to agree and a heap of TESSERA_HEAP_SIZE" ;;
		*) wanted="giving rank .*'s heap" ;;
		esac
		wanted="$wanted.* at most"
		[ "$code" -eq 1 ] && grep -qE -- "$wanted.*\(ulimit -f unlimited\)" "$TAP_FILES/err"
		verdict $? "files of $blocks blocks: ${command:-tsr_main alone}" "exit code $code"
	done
done

pipe=$TAP_FILES/pipe
mkfifo "$pipe"
refuses "a pipe that nobody writes to, as a litmus test" 1 'No data available' \
	tessera litmus "$pipe"
try env TESSERA_TUNE_FILE="$pipe" \
	tessera bench gemm-all-scatter -n 1 --iterations 1 -w 0 --shape 16x16x16
[ "$code" -eq 0 ] && grep -q 'No data available; going on without' "$TAP_FILES/err"
verdict $? "as a tuning file" "exit code $code"
refuses "as a schedule" 2 'No data available' tessera check -n 1 --script "$pipe" true
cat tests/litmus/2+2W.fsc.sameGPU-aa.litmus >"$pipe" &
prints "a pipe that somebody writes to" '^agree 1 of 1' tessera litmus "$pipe"
wait
finish
