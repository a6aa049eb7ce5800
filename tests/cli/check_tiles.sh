#!/bin/sh
# tessera check on what coops do with shared memory and with tiles: the contract tests raise nothing, and a wrong program what it should.
. "$(dirname "$0")/tap"

needs_forks schedules

summed="$BUILD/tests/planted/summed"
coop="$BUILD/tests/contract/test_coop.checked"

for memory in view cache; do
	prints "sums that a block meets for, $memory" '^no finding$' \
		tessera check -n 1 --seeds 50 --weak $memory --no-slowdown "$summed" right
	try tessera check -n 1 --seeds 50 --weak $memory --no-slowdown "$summed" beside
	[ "$code" -eq 1 ] && grep -q '^finding: data-race' "$TAP_FILES/out" &&
		grep -q 'races with *tsr_coop_scan at tests/planted/summed.c:' "$TAP_FILES/out"
	verdict $? "sums of what another worker lays down meanwhile are a race, $memory" "exit code $code"
	for test in blocks_are_dealt_to_roles shared_values_are_summed_up; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 2 --seeds 3 --weak $memory --no-slowdown "$coop" --filter "coop/$test"
	done
done
finish
