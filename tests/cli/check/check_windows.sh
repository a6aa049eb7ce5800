#!/bin/sh
# tessera check on windows: it sees what kernels and calls do with the program's
# memory, and that the program reads it without a call.
. "$(dirname "$0")/../tap"

needs_forks schedules

program="$BUILD/tests/planted/memory/window"
contract="$BUILD/tests/contract/windows/test_windows.checked"

# finds CLASS TEXT WHAT: the last command's report has such a finding, and the text.
finds() {
	[ "$code" -eq 1 ] && grep -q "^finding: $1" "$TAP_FILES/out" &&
		grep -q "$2" "$TAP_FILES/out"
	verdict $? "$3" "exit code $code"
}

for memory in view cache; do
	explore="tessera check -n 2 --seeds 20 --weak $memory --no-slowdown"
	prints "numbers that are waited for, $memory" '^no finding$' $explore "$program" right
	try $explore "$program" early
	finds data-race 'tsr_put at tests/planted/memory/window.c' \
		"a number that nobody waits for is a race in the window, $memory"
	try $explore "$program" host
	finds misuse 'the host dereferenced a pointer into the memory of a window itself' \
		"the host reads a window without a call, $memory"
	grep -q 'copy with tsr_memcpy_to_heap and tsr_memcpy_from_heap as long as' "$TAP_FILES/out"
	verdict $? "and is told which calls to make, $memory" "no advice"
	try $explore "$program" kernel
	finds misuse 'the kernel dereferenced a pointer into the memory of a window itself' \
		"a kernel reads a window without a call, $memory"
	try $explore "$program" released
	finds use-after-free "'cells'" "a kernel uses a window that was released, $memory"
	for test in puts_gets main_loops teams_find collectives release_waits; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 3 --seeds 3 --weak $memory --no-slowdown "$contract" \
			--filter "windows/$test*"
	done
done
prints "and each of all schedules is right" '^no finding$' \
	tessera check -n 2 --strategy exhaustive --no-slowdown "$program" right
finish
