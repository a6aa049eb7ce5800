#!/bin/sh
# Whether the advice of a finding cures the bug.
. "$(dirname "$0")/../tap"

needs_forks schedules
planted="$BUILD/tests/planted"

# cured NAME PROGRAM KIND SAYS...: the first finding says all of these.
cured() {
	name=$1 program=$2 kind=$3
	shift 3
	try tessera check -n 3 --seeds 40 --no-slowdown "$planted/$program" "$kind"
	sed -n '/^finding: \|^warning: /,/^$/p' "$TAP_FILES/out" | sed '/^$/q' |
		tr -s ' \n' ' ' >"$TAP_FILES/first"
	for text in "$@"; do
		grep -qE -- "$text" "$TAP_FILES/first" || {
			verdict 1 "$name" "no /$text/ in: $(cat "$TAP_FILES/first")"
			return
		}
	done
	verdict 0 "$name"
}

# Who waits in a circle, though the signal was given: what was raised, and what it should have been.
misled() {
	kind=$1
	shift
	cured "a signal that is misled: $kind" progress/misled "$kind" "$@"
}
hand='tsr_signal at [^ ]*misled.c:36'
misled flag '^finding: deadlock' "raised $hand.*'other' \[0\] \(8 bytes\) of rank 0: it is 1 now" \
	"change let $hand raise ready \[0\] of rank 0, or let tsr_wait"
misled offset "'ready' \[1\] \(8 bytes\) of rank 0: it is 1 now" \
	"change let $hand raise ready \[0\] of rank 0"
misled rank "'ready' \[0\] \(8 bytes\) of rank 2" "change let $hand signal rank 0, not rank 2"
misled home "'ready' \[0\] \(8 bytes\) of rank 1" "change let $hand signal rank 0, not rank 1"
misled behind 'change let one of them signal before it waits'
misled order "$hand has raised ready \[0\] of rank 0 to 1" 'change let tsr_wait at [^ ]* wait for 1'
misled sender '^warning: misuse' 'names rank 2 as the one that is to signal' 'change name rank 1'
prints "and one that is not" '^no finding$' \
	tessera check -n 3 --seeds 100 "$planted/progress/misled" right

cured "a call of the block by one worker" progress/leaves alone '^finding: misuse' \
	'tsr_signal at [^ ]*leaves.c' 'tsr_sync at [^ ]*leaves.c' \
	'change let all workers of the block make each call with the block'

# A buffer that is used again: the wait that comes too early, and the counter.
cured "one counter for several blocks" races/counted sum '^finding: reuse' \
	'tsr_wait at [^ ]*counted.c:44 was satisfied too early: several blocks raise' \
	'the counter taken \[0\] of rank 1' 'block [0-2] of rank 0 had raised it [2-9] times' \
	'change let each block raise a flag of its own'
cured "and nobody who waits for the readers" races/counted none '^finding: reuse' \
	'change wait before tsr_put_record at [^ ]* until all is there that is added to the flag' \
	'let each have a flag of its own'
prints "and a counter for each block" '^no finding$' \
	tessera check -n 2 --seeds 200 "$planted/races/counted" each
cured "a credit that is given too early" races/credit early '^finding: reuse' \
	'change give tsr_signal at [^ ]*credit.c:[0-9]* behind tsr_get at [^ ]*credit.c:[0-9]*'

# A loop is not to blame where the program fails without what it leaves.
fails_of() {
	cured "$1" process/mistaken "$2" '^finding: program-failure' "$3"
	! grep -q "$4" "$TAP_FILES/first"
	verdict $? "and of nothing else" "$(cat "$TAP_FILES/first")"
}
fails_of "a failure of the host's own" host 'change look in the program itself' TSR_EACH
fails_of "one of a local that the passes of a loop share" local \
	'missing behind the TSR_EACH at [^ ]*mistaken.c:[0-9]* ' 'look in the program'
try tessera check -n 3 --replay 1 --shrink --no-slowdown "$planted/process/mistaken" host
! grep -q TSR_EACH "$TAP_FILES/out"
verdict $? "nor where it is shrunk" "$(cat "$TAP_FILES/out")"

# Of a count, the wait is named, and not an addition that has found another.
cured "an addition that does not release" races/flags relaxed-add 'read by tsr_wait at' \
	'change make tsr_atomic_add at [^ ]*flags.c:[0-9]* a release at system scope replay'
cured "a count whose wait does not acquire" races/flags relaxed-wait 'read by tsr_wait_word at' \
	'change make tsr_wait_word at [^ ]*flags.c:[0-9]* an acquire at system scope replay'

# What follows from a flag that nobody has cleared comes behind it.
try tessera check -n 3 --seeds 40 --no-slowdown "$planted/races/unset" flag
grep -c '^unwritten-read at .*; the cause of 2 more$' "$TAP_FILES/out" | grep -qx 1
verdict $? "a flag that is not cleared is the cause" "exit code $code"

# One missing order of two accesses, seen from either side, is one bug: the cause comes first, and
# what follows from it names it.
try tessera check -n 2 --seeds 40 --no-slowdown "$planted/memory/named" plain
[ "$(grep -c '^finding: ' "$TAP_FILES/out")" -eq 4 ] &&
	[ "$(grep '^finding: \|^  cause ' "$TAP_FILES/out" | cut -c1-18 | tr '\n' '/')" = \
	'finding: data-race/finding: data-race/  cause        lik/'\
'finding: reuse: a /  cause        lik/finding: reuse: a /  cause        lik/' ] &&
	[ "$(grep -c '^data-race at .*; the cause of 3 more$' "$TAP_FILES/out")" -eq 1 ]
verdict $? "findings of one cause are together" "exit code $code"

finish
