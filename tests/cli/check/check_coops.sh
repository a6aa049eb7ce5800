#!/bin/sh
# What the threads of a block do beside each other: tessera check tells of it in
# every schedule, and shows it in some.
. "$(dirname "$0")/../tap"

needs_forks schedules
unmet="$BUILD/tests/planted/races/unmet"
report="$TAP_FILES/report.json"

# failed KIND OPTION...: schedules in which the program's verdict fails.
failed() {
	kind=$1
	shift
	tessera check -n 2 \
		--no-slowdown --json "$report" "$@" "$unmet" "$kind" >"$TAP_FILES/out" 2>&1
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["failed"])' "$report"
}

for memory in view cache; do
	for kind in moved read reused; do
		wrong=$(failed $kind --weak $memory --seeds 60)
		[ "$(grep -c '^finding: ' "$TAP_FILES/out")" -eq 1 ] &&
			grep -q '^coop-race at .*: in 60 of 60 schedules' "$TAP_FILES/out"
		verdict $? "$kind is a coop-race in every schedule, $memory memory"
		[ "$wrong" -gt 0 ] && [ "$wrong" -lt 40 ]
		verdict $? "and goes wrong in some: $kind, $memory memory" "$wrong of 60 did"
	done
	wrong=$(failed met --weak $memory --seeds 200)
	[ "$wrong" -eq 0 ] && grep -q '^no finding$' "$TAP_FILES/out"
	verdict $? "a block that meets never does, $memory memory" "$wrong of 200 did"
done

# The first seed that goes wrong does so again, alone.
seed=1
while [ "$seed" -le 60 ] && [ "$(failed moved --seeds 1 --first-seed "$seed")" -eq 0 ]; do
	seed=$((seed + 1))
done
[ "$(failed moved --replay "$seed")" -eq 1 ]
verdict $? "and replays" "seed $seed"
prints "a plain run makes all calls whole" '' tessera run -n 2 "$unmet" moved
prints "and so does a search that leaves nothing out" '; these are all there are$' \
	tessera check -n 2 --strategy exhaustive "$unmet" met
[ "$(failed moved --strategy exhaustive)" -eq 0 ] && grep -q '^finding: coop-race' "$TAP_FILES/out"
verdict $? "which tells of the race all the same"
finish
