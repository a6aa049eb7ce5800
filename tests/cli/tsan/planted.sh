#!/bin/sh
# ThreadSanitizer and planted bugs: a signal without its release is reported, and
# the right signal is not; so is a wait that is missing in a window.
. "$(dirname "$0")/../tap"
window=$BUILD/tests/planted/memory/window
program=$BUILD/tests/planted/order/missing_release
case $BUILD in
*-tsan) ;;
*)
	prints "without ThreadSanitizer the planted bug is not seen" '' \
		tessera run -n 2 --placement thread "$program" planted
	skip "a planted missing release is reported" "this is not the tsan variant"
	finish
	;;
esac

prints "the right signal raises no report" '' tessera run -n 2 --placement thread "$program" right
try tessera run -n 2 --placement thread "$program" planted
[ "$code" -ne 0 ] && grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err" &&
	grep -q 'missing_release.c' "$TAP_FILES/err"
verdict $? "a planted missing release is reported, with the kernel's line" "exit code $code"
prints "a window that is waited for raises no report" '' \
	tessera run -n 2 --placement thread "$window" right
try tessera run -n 2 --placement thread "$window" early
[ "$code" -ne 0 ] && grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err" &&
	grep -q 'window.c' "$TAP_FILES/err"
verdict $? "a race in a window is reported, with the kernel's line" "exit code $code"
try tessera run -n 2 --placement thread "$window" slept
[ "$code" -ne 0 ] && grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err" &&
	grep -q 'run_in_window' "$TAP_FILES/err" && grep -q 'keep_number' "$TAP_FILES/err"
verdict $? "so is the host's own read of it before the kernel's end" "exit code $code"
finish
