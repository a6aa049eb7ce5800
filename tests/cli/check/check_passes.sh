#!/bin/sh
# Loops whose passes a coop's threads share (TSR_EACH): what is right one pass after the other and
# wrong on a GPU is told by tessera check, and shows in a plain run that spreads the passes.
. "$(dirname "$0")/../tap"

needs_forks schedules

passes="$BUILD/tests/planted/races/passes"
each="$BUILD/tests/contract/blocks/test_each"
at=' at tests/planted/races/passes\.c:[0-9]+'

# checked KIND CLASS LINE SEEDS: the last report has that class at first, in at least so many of 60
# schedules, and a line that matches.
checked() {
	count=$(sed -nE "s/^$2( at .*)?: in ([0-9]+) of 60 schedules.*/\2/p" "$TAP_FILES/out")
	[ "$code" -eq 1 ] && grep -m 1 '^finding: ' "$TAP_FILES/out" | grep -q "^finding: $2:" &&
		grep -qE -- "$3" "$TAP_FILES/out" && [ "$(echo "$count" | head -1)" -ge "$4" ]
	verdict $? "$1 is a $2, $memory memory" "exit code $code; wanted /$3/ in $4 of 60"
}

for memory in view cache; do
	prints "passes that write what is their own, $memory memory" '^no finding$' \
		tessera check -n 2 --seeds 60 --weak $memory --no-slowdown "$passes" right
	while read -r kind class seeds line; do
		try tessera check -n 1 --seeds 60 --weak $memory --no-slowdown "$passes" "$kind"
		checked "$kind" "$class" "$line" "$seeds"
	done <<-END
		counter coop-race 60 pass [0-9]+ and pass [0-9]+ write the same bytes
		sum misuse 60 call *TSR_EACH$at
		prefix coop-race 60 pass ([0-9]+) reads what pass [0-9]+ writes
		max coop-race 60 pass [0-9]+ and pass [0-9]+ write the same bytes
		append coop-race 60 pass [0-9]+ and pass [0-9]+ write the same bytes
		neighbour coop-race 60 pass [0-9]+ reads what pass [0-9]+ writes
		flag coop-race 60 pass [0-9]+ and pass [0-9]+ write the same bytes
		found program-failure 3 missing *behind the TSR_EACH$at
		best misuse 40 call *TSR_EACH$at
		pair coop-race 40 pass 9 and pass 41 write the same bytes
		got coop-race 30 change *call tsr_sync, with the coop that makes both
		loops coop-race 60 races with *TSR_EACH$at: write
		index program-failure 60 said *a pass of the TSR_EACH$at accessed memory
		call misuse 60 call *tsr_put_value$at
		left misuse 60 call *tsr_sync$at
		nested misuse 60 call *TSR_EACH$at
	END
done

# A search that leaves nothing out divides the passes of each loop as well.
try tessera check -n 1 --strategy exhaustive --no-slowdown "$passes" counter
[ "$code" -eq 1 ] && grep -q '^finding: coop-race' "$TAP_FILES/out"
verdict $? "an exhaustive search tells of a counter" "exit code $code"

# Both lines are that of the loop, and the command says which line that is.
try tessera check -n 1 --seeds 5 --no-slowdown "$passes" counter
line=$(($(grep -n 'kind == COUNTER)' tests/planted/races/passes.c | head -1 | cut -d: -f1) + 1))
grep -qE "^  access  *TSR_EACH at tests/planted/races/passes.c:$line: write" "$TAP_FILES/out" &&
	grep -qE "^  races with  *TSR_EACH at tests/planted/races/passes.c:$line: write" \
		"$TAP_FILES/out"
verdict $? "a race of passes names the loop's line twice"

# Plain runs: one thread makes all passes, unless the run is told to spread them.
for kind in right counter sum prefix max append neighbour flag found best pair index; do
	prints "one thread makes passes in order: $kind" '' tessera run -n 2 "$passes" $kind
done
for kind in counter sum prefix max append found best; do
	refuses "32 threads do not: $kind" 1 '^wrong: ' \
		env TESSERA_SPREAD_PASSES=32 tessera run -n 1 "$passes" $kind
done
for threads in 2 7 1024; do
	prints "what is right is so on $threads threads" '' \
		env TESSERA_SPREAD_PASSES=$threads tessera run -n 2 "$passes" right
	try env TESSERA_SPREAD_PASSES=$threads "$each"
	verdict "$code" "the contract holds on $threads threads" "exit code $code"
done
finish
