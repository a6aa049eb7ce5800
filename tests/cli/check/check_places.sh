#!/bin/sh
# tessera check: one flag for what several have written, and one place that
# several ranks write.
. "$(dirname "$0")/../tap"

needs_forks schedules
spoken="$BUILD/tests/planted/races/spoken"
scattered="$BUILD/tests/planted/races/scattered"
divided="$BUILD/tests/planted/races/divided"
permuted="$BUILD/tests/planted/races/permuted"

# A flag that one worker of a block raises for all, or the first.
for memory in view cache; do
	for kind in first one; do
		try tessera check -n 2 --no-slowdown --weak $memory --seeds 100 "$spoken" $kind
		[ "$code" -eq 1 ] &&
			grep -qE '^(data-race|reuse) at .*spoken.c:' "$TAP_FILES/out" &&
			! grep '^finding: ' "$TAP_FILES/out" | grep -vqE ' (data-race|reuse):'
		verdict $? "a worker speaks for all: $kind, memory $memory" "exit code $code"
	done
	for kind in all met; do
		prints "each for itself, or all by one: $kind, memory $memory" '^no finding$' \
			tessera check -n 3 --no-slowdown --weak $memory --seeds 100 "$spoken" $kind
	done
done

# The same in a block that tsr_split divides: into two workers with one seed of eight.
for memory in view cache off; do
	for kind in one first sets atomic stored retired credits; do
		try tessera check -n 2 --no-slowdown --weak $memory --seeds 100 "$divided" $kind
		[ "$code" -eq 1 ] &&
			grep -qE '^(data-race|reuse) at .*divided.c:' "$TAP_FILES/out" &&
			! grep '^finding: ' "$TAP_FILES/out" |
			grep -vqE ' (data-race|reuse|duplicate-signal):'
		verdict $? "a worker of a split block speaks for all: $kind, memory $memory" \
			"exit code $code"
	done
	for kind in met all again read; do
		prints "of a split block each for itself, or all by one: $kind, memory $memory" \
			'^no finding$' \
			tessera check -n 3 --no-slowdown --weak $memory --seeds 200 "$divided" $kind
	done
done
# cured KIND CHANGE: the first finding's change begins so.
cured() {
	try tessera check -n 3 --no-slowdown --seeds 100 "$divided" "$1"
	change=$(sed -n '/^  change /,/^  [a-z]* /p' "$TAP_FILES/out" | sed 3q | tr -s ' \n' '  ')
	case $change in " change $2"*) true ;; *) false ;; esac
	verdict $? "its first cure is the right one: $1" "$change"
}
for kind in one stored; do
	cured $kind 'let the workers meet (tsr_sync of the block) between tsr_put at '
done
for kind in retired credits; do
	cured $kind 'let the workers meet (tsr_sync of the block) between tsr_get at '
done
for kind in first atomic; do
	cured $kind 'wait before tsr_get at '
done
cured sets 'wait for what tsr_'
try tessera check -n 3 --no-slowdown --seeds 100 "$divided" first
replay=$(sed -n 's/^  replay  *tessera check //p' "$TAP_FILES/out" | head -1)
# shellcheck disable=SC2086 # words
try tessera check $replay
[ "$code" -eq 1 ] && grep -q '^data-race at .*divided.c:' "$TAP_FILES/out"
verdict $? "and a split block is replayed" "exit code $code of tessera check $replay"

# writes RANKS KIND CLASS
writes() {
	try tessera check -n "$1" --no-slowdown --seeds 50 "$scattered" "$2"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -q "^$3 at tests/planted/races/scattered.c:.*: in 50 of 50 schedules" \
		"$TAP_FILES/out"
	verdict $? "rows at another rank's place: $2, $1 ranks" "exit code $code"
}
for ranks in 2 3 5; do
	for kind in peers words signals; do
		writes $ranks $kind data-race
	done
	prints "rows at their own place, $ranks ranks" '^no finding$' \
		tessera check -n $ranks --no-slowdown --seeds 50 "$scattered" right
done
# A place has two other ranks that write it where there are three, and two have none to read.
writes 3 others data-race
writes 2 fresh unwritten-read

# Each place has one writer, the wrong one. What the ranks have said that they write, and memory
# that the host has not cleared, show it. Else nothing does: all that is read was written before.
for ranks in 2 3 5; do
	for kind in next swapped others; do
		try tessera check -n $ranks --no-slowdown --seeds 20 "$permuted" promised-$kind
		[ "$code" -eq 1 ] && head -20 "$TAP_FILES/out" | grep -q '^finding: foreign-slab:'
		verdict $? "rows at a promised place: $kind, $ranks ranks" "exit code $code"
		try tessera check -n $ranks --no-slowdown --seeds 20 "$permuted" fresh-$kind
		[ "$code" -eq 1 ] && grep -q '^finding: unwritten-read:' "$TAP_FILES/out"
		verdict $? "rows that nobody has written: $kind, $ranks ranks" "exit code $code"
	done
	for kind in right promised-right fresh-right next swapped; do
		prints "a writer for each place: $kind, $ranks ranks" '^no finding$' \
			tessera check -n $ranks --no-slowdown --seeds 20 "$permuted" $kind
	done
done
prints "a writer for each place: others, 2 ranks" '^no finding$' \
	tessera check -n 2 --no-slowdown --seeds 20 "$permuted" others
finish
