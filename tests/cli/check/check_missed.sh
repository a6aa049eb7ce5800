#!/bin/sh
# tessera check: who waits may miss what comes and goes, or give up too early. Of
# the former the report says what it was, and what to wait for instead.
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

# A loop that gives up does so while others are slow.
gives_up="$BUILD/tests/planted/progress/gives_up"
for memory in view cache off; do
	for kind in loads swaps counts; do
		try tessera check -n 2 --no-slowdown --weak $memory --seeds 200 "$gives_up" $kind
		[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
			grep -q '^lost-signal at tests/planted/progress/gives_up.c:' \
			"$TAP_FILES/out"
		verdict $? "it gives up, and nobody is answered: $kind, memory $memory" \
			"exit code $code"
	done
	for kind in answers waits; do
		prints "it gives up, and all is well: $kind, memory $memory" '^no finding$' \
			tessera check -n 2 --no-slowdown --weak $memory --seeds 300 \
			"$gives_up" $kind
	done
done
report="$TAP_FILES/report.json"
try tessera check -n 2 --no-slowdown --seeds 100 --json "$report" "$gives_up" loads
seed=$(python3 -c \
	'import json,sys; print(json.load(open(sys.argv[1]))["findings"][0]["seed"])' "$report")
try tessera check -n 2 --no-slowdown --replay "$seed" "$gives_up" loads
[ "$code" -eq 1 ] && grep -q '^lost-signal at ' "$TAP_FILES/out"
verdict $? "and replays" "seed $seed, exit code $code"
finish
