#!/bin/sh
# tessera check: who waits may miss what comes and goes. The report says what it
# was, and what to wait for instead.
. "$(dirname "$0")/../tap"

needs_forks schedules
passing="$BUILD/tests/planted/progress/passing"

# misses KIND CLASS WAIT OPTION...: the one finding, which says that the value was there
misses() {
	kind=$1 class=$2 wait=$3
	shift 3
	try tessera check -n 2 --no-slowdown "$@" "$passing" "$kind"
	tr -s ' \n' ' ' <"$TAP_FILES/out" >"$TAP_FILES/words"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -q "^$class at tests/planted/progress/passing.c:" "$TAP_FILES/out" &&
		grep -qE "^  (wait|access)  *$wait at tests/planted/progress/passing.c:" \
		"$TAP_FILES/out" &&
		grep -q 'given by tsr_atomic_store at [^ ]*passing.c:[0-9]* had come and gone' \
		"$TAP_FILES/words" &&
		grep -q 'wait for at least a value (tsr_wait, TSR_CMP_GE) of a word that only' \
		"$TAP_FILES/words"
	verdict $? "$kind misses what has gone $*" "exit code $code"
}

for memory in view cache off; do
	misses exact lost-signal tsr_wait_word --weak $memory --seeds 100
	misses bit lost-signal tsr_wait_word --weak $memory --seeds 100
	misses held deadlock tsr_wait_word --weak $memory --seeds 100
	misses store lost-signal tsr_wait --weak $memory --seeds 100
	misses swap lost-signal tsr_wait --weak $memory --seeds 100
	misses any lost-signal tsr_wait_any --weak $memory --seeds 100
	for kind in one answered rising; do
		prints "nothing to miss: $kind, memory $memory" '^no finding$' tessera check \
			-n 2 --no-slowdown --weak $memory --seeds 300 "$passing" $kind
	done
done
for strategy in pct exhaustive; do
	misses exact lost-signal tsr_wait_word --strategy $strategy
	misses store lost-signal tsr_wait --strategy $strategy
done
misses loop livelock tsr_atomic_load --seeds 50
misses looped livelock tsr_atomic_load --seeds 50
for kind in one answered rising; do
	prints "nothing to miss in all schedules: $kind" '; these are all there are$' \
		tessera check -n 2 --no-slowdown --strategy exhaustive "$passing" $kind
done
finish
