#!/bin/sh
# tessera check: what findings say, beside their class: memory that is not
# there, which edge is missing.
. "$(dirname "$0")/../tap"

needs_forks schedules

report="$TAP_FILES/report.json"
astray="$BUILD/tests/planted/memory/astray"

# strays KIND CLASS CALL TEXT [OPTION...]: every schedule ends with that class, at that call, and
# nothing else; a line says the text.
strays() {
	kind=$1 class=$2 call=$3 text=$4
	shift 4
	try tessera check -n 2 --seeds 50 --json "$report" "$@" "$astray" "$kind"
	[ "$code" -eq 1 ] && grep -qE -- "$text" "$TAP_FILES/out" &&
		python3 - "$report" "$class" "$call" <<'CHECK'
import json
import sys
found = json.load(open(sys.argv[1], encoding="utf-8"))["findings"]
sys.exit(
    [(each["class"], each["access"][0]["call"], each["schedules"]) for each in found]
    != [(sys.argv[2], sys.argv[3], 50)]
)
CHECK
	verdict $? "$kind is $class by $call $*" "exit code $code"
}

strays wait-freed use-after-free tsr_wait "'old flags'\+0 \(8 bytes\) of rank 1$"
strays signal-freed use-after-free tsr_signal "'old flags'\+0 \(8 bytes\) of rank 1$"
strays wait-slack out-of-bounds tsr_wait "'flags'\+24 \(8 bytes\) of rank 1, which has 24 bytes$"
strays signal-slack \
	out-of-bounds tsr_signal "'flags'\+24 \(8 bytes\) of rank 1, which has 24 bytes$"
strays wait-any out-of-bounds tsr_wait_any "'flags'\+0 \(32 bytes\) of rank 1, which has 24 bytes$"
strays wait-freed use-after-free tsr_wait "'old flags'" --weak cache
strays signal-slack out-of-bounds tsr_signal '' --weak cache
prints "flags that are there" '^no finding$' tessera check -n 2 --seeds 50 "$astray" none

prints "1 MiB of a kernel's locals" '^no finding$' \
	tessera check -n 2 --seeds 20 "$BUILD/tests/planted/memory/locals"
try tessera check -n 2 --seeds 1 "$BUILD/tests/planted/memory/locals" deep
seen "more locals than fit are a finding" \
	'the kernel has more locals, with those of all that it calls, than its stack has room for'
seen "it says what to do" \
	'keep large arrays in the heap or in shared memory, and recurse less deeply' 1
seen "it says whose they are" 'keep_too_much'

# Words that carry their own flag: what is wrong in each variant, what it is for, and what to do.
epochs="$BUILD/tests/planted/order/epochs"
prints "words by parity of the epoch" '^no finding$' \
	tessera check -n 3 --seeds 50 "$epochs" right
prints "and all schedules of two ranks" '^no finding$' \
	tessera check -n 2 --strategy exhaustive --seeds 500 "$epochs" right
# Whether the check has found something, and says all of these.
says_all() {
	[ "$code" -eq 1 ] || return 1
	for pattern in "$@"; do
		grep -qE -- "$pattern" "$TAP_FILES/out" || return 1
	done
}
try tessera check -n 2 --seeds 100 "$epochs" parity
says_all '^finding: deadlock' \
	'waits for marked word words\+[0-9]+ of epoch ([0-9]) from rank [01]; its epoch is [0-9]' \
	'^  change +let one of them put before it takes, and use two buffers by parity'
verdict $? "one buffer for all epochs is a deadlock" "exit code $code"
try tessera check -n 2 --seeds 20 "$epochs" before
says_all '^finding: lost-signal' 'of epoch 1 from rank 0; its epoch is 0' \
	'put the words with that epoch to rank'
verdict $? "words of the epoch before are lost" "exit code $code"
try tessera check -n 2 --seeds 100 "$epochs" at-least
says_all '^finding: program-failure'
verdict $? "a take of one's own by >= is a wrong result" "exit code $code"
for weak in view off cache; do
	try tessera check -n 2 --seeds 50 --weak $weak "$epochs" beside
	says_all '^finding: (data-race|reuse)' 'order themselves and nothing beside them' \
		'tsr_fence\(TSR_RELEASE'
	verdict $? "data beside the words is a race, memory $weak" "exit code $code"
done

# A lock that is kept, and two that are taken crosswise: the wait says who has it, and the advice
# what to do.
locks="$BUILD/tests/planted/progress/locks"
stuck() {
	kind=$1 class=$2 says=$3
	shift 3
	try tessera check -n 3 --seeds 200 "$@" "$locks" "$kind"
	[ "$code" -eq 1 ] &&
		grep -q "^finding: $class:" "$TAP_FILES/out" && grep -qE "$says" "$TAP_FILES/out" &&
		grep -qE '^  wait  *tsr_lock at tests/planted/progress/locks.c:' "$TAP_FILES/out"
	verdict $? "locks that are $kind are a $class $*" "exit code $code"
}
stuck kept lost-signal "waits for lock locks.0 of rank 0, which rank 0 holds"
stuck kept lost-signal '^  change  *call tsr_unlock on every path behind tsr_lock'
stuck kept lost-signal "" --weak cache
stuck crossed deadlock '^  change  *take locks in one order everywhere'
for weak in view cache; do
	try tessera check -n 3 --seeds 50 --weak $weak "$locks" twice
	[ "$code" -eq 1 ] && grep -qE '^misuse at .*: in 50 of 50 schedules' "$TAP_FILES/out" &&
		grep -qE '^  said  *of a lock that (is free|rank [12] holds); call tsr_unlock' \
		"$TAP_FILES/out"
	verdict $? "a lock that is given back twice is misuse, memory $weak" "exit code $code"
done
prints "locks that are given back" '^no finding$' tessera check -n 3 --seeds 200 "$locks" right
prints "also with caches" '^no finding$' tessera check -n 3 --seeds 200 --weak cache "$locks" right

# A worker of a block that returns, while the others meet: misuse, and no signal that is lost.
leaves="$BUILD/tests/planted/progress/leaves"
for weak in view cache; do
	for kind in 'one:tsr_sync:2 of 3 have come to this call; ended: worker 1$' \
		'two:tsr_sync:1 of 3 have come to this call; ended: worker 1, worker 2$' \
		'signal:tsr_signal:2 of 3 have come to this call; ended: worker 1$'; do
		text=${kind#*:} kind=${kind%%:*}
		call=${text%%:*} text=${text#*:}
		try tessera check -n 2 --seeds 20 --weak $weak "$leaves" "$kind"
		[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
			grep -qE '^misuse at .*: in 20 of 20 schedules' "$TAP_FILES/out" &&
			grep -qE "^  call  *$call at tests/planted/progress/leaves.c:" \
			"$TAP_FILES/out" &&
			grep -qE "^  said  *waits for the block's other workers: $text" \
			"$TAP_FILES/out" &&
			grep -qE '^  change  *let all workers of the block make each call' \
			"$TAP_FILES/out"
		verdict $? "a worker leaves before a meeting: $kind, memory $weak" \
			"exit code $code"
	done
	try tessera check -n 2 --seeds 20 --weak $weak "$leaves" waits
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE '^deadlock at .*: in 20 of 20 schedules' "$TAP_FILES/out" &&
		grep -qE '^  wait  *tsr_sync at tests/planted/progress/leaves.c:' \
		"$TAP_FILES/out" &&
		grep -qE '^  change  *let all workers of the block make each call' "$TAP_FILES/out"
	verdict $? "a worker waits for what comes behind a meeting, memory $weak" "exit code $code"
	prints "and no worker leaves, memory $weak" '^no finding$' \
		tessera check -n 2 --seeds 20 --weak $weak "$leaves" right
done

# An access keeps to the allocation that its view or pointer was made for, though another one lies
# behind that.
bounds="$BUILD/tests/planted/memory/bounds"
leaves() {
	kind=$1 call=$2 text=$3
	shift 3
	try tessera check -n 2 --seeds 20 "$@" "$bounds" "$kind"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE "^  said  *$text" "$TAP_FILES/out" &&
		grep -qE "^  access  *$call at tests/planted/memory/bounds.c:[0-9]+" \
		"$TAP_FILES/out" &&
		grep -qE "'tensor'\+[0-9]+ \([0-9]+ bytes\) of rank [01], which has 10240 bytes$" \
		"$TAP_FILES/out" &&
		grep -q '^out-of-bounds at .*: in 20 of 20 schedules' "$TAP_FILES/out"
	verdict $? "$kind leaves its allocation $*" "exit code $code"
}
leaves store tsr_store "it ends 64 bytes behind the end of 'tensor', where nothing is allocated"
leaves load tsr_load "it ends 64 bytes behind the end of 'tensor'"
leaves masked tsr_store_masked "it begins where 'tensor' ends"
leaves load-16 tsr_load "it begins where 'tensor' ends"
leaves far tsr_store "it begins 10240 bytes behind the end of 'tensor', and reaches 'behind'"
for call in put_2d get_2d copy_2d put; do
	leaves "$call" "tsr_$call" "it ends 256 bytes behind the end of 'tensor'"
done
leaves slab tsr_declare_writes "it ends 256 bytes behind the end of 'tensor'"
leaves gemm tsr_gemm_mainloop "it ends 64 bytes behind the end of 'tensor'"
leaves atomic tsr_atomic_add "it begins where 'tensor' ends, where nothing is allocated"
leaves signal tsr_signal "it begins where 'tensor' ends, where nothing is allocated"
leaves store tsr_store "it ends 64 bytes behind the end of 'tensor'" --weak cache
prints "what keeps to its allocation" '^no finding$' tessera check -n 2 --seeds 50 "$bounds" right
TESSERA_HEAP_SIZE=40K prints "and in a heap that it fills" '^no finding$' \
	tessera check -n 2 --seeds 50 "$bounds" right
TESSERA_HEAP_SIZE=40K leaves store tsr_store "it ends 64 bytes behind the end of 'tensor'"

# A fragment is nothing before something gives it values.
unset="$BUILD/tests/planted/memory/unset"
for kind in store:tsr_store dot:tsr_tile_dot; do
	try tessera check -n 2 --seeds 20 "$unset" "${kind%:*}"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE "^  call  *${kind#*:} at tests/planted/memory/unset.c:" "$TAP_FILES/out" &&
		grep -qE \
		'^  said  *of a fragment of 16 x 16 elements that nothing has given values; give' \
		"$TAP_FILES/out"
	verdict $? "a fragment without values is misuse: ${kind%:*}" "exit code $code"
done
prints "and none with values" '^no finding$' tessera check -n 2 --seeds 20 "$unset" right

# Plain writes of C beside a block's shared memory.
overrun="$BUILD/tests/planted/memory/overrun"
for kind in next:100 far:1099 before:-1 second:100; do
	try tessera check -n 2 --seeds 20 "$overrun" "${kind%:*}"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE "^  said  *has written byte ${kind#*:} of the block's shared memory" \
		"$TAP_FILES/out" && grep -q '^misuse at .*: in 20 of 20' "$TAP_FILES/out"
	verdict $? "a write beside shared memory: ${kind%:*}" "exit code $code"
done
prints "and none within it" '^no finding$' tessera check -n 2 --seeds 20 "$overrun" right

# A fragment belongs to the coop that has declared it.
borrowed="$BUILD/tests/planted/memory/borrowed"
for kind in load:tsr_load store:tsr_store map:tsr_frag_map zero:tsr_frag_zero; do
	try tessera check -n 2 --seeds 20 "$borrowed" "${kind%:*}"
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE "^  call  *${kind#*:} at tests/planted/memory/borrowed.c:" \
		"$TAP_FILES/out" &&
		grep -qE '^  said  *of a fragment of 16 x 16 elements that another coop has' \
		"$TAP_FILES/out"
	verdict $? "a worker uses its block's fragment: ${kind%:*}" "exit code $code"
done
prints "and each its own" '^no finding$' tessera check -n 2 --seeds 20 "$borrowed" right

# Collectives of kernels: all ranks, and all blocks, mean the same.
collectives="$BUILD/tests/planted/collective/collectives"
for ranks in 2 3; do
	for wrong in \
		size:tsr_all_gather:'the first has parts of [0-9]+ bytes, the second of [0-9]+' \
		blocks:tsr_all_gather:'the first has parts of [0-9]+ bytes' \
		to:tsr_all_gather:"the first reaches 'all'\\+[0-9]+ of other ranks, the second 'all'\\+[0-9]+" \
		root:tsr_broadcast:'the first has root [01], the second root [01]$' \
		call:'tsr_(broadcast|gather)':'the first is tsr_[a-z_]+, the second tsr_' \
		op:tsr_all_reduce_view:'the first has operation [0-9], the second operation' \
		dim:tsr_reduce_scatter:'the first has dimension [01], the second dimension [01]' \
		steps:'tsr_(broadcast|all_gather_view)':'each waits for the rank of the other' \
		states:tsr_barrier_ranks:'each waits for the rank of the other' \
		crossed:'tsr_(all_gather|barrier_ranks)':'each waits' \
		missing:'tsr_(all_gather|barrier_ranks)':'each waits'; do
		kind=${wrong%%:*} call=${wrong#*:}
		text=${call#*:} call=${call%%:*}
		try tessera check -n "$ranks" --seeds 20 "$collectives" "$kind"
		[ "$code" -eq 1 ] && grep -qE '^1 finding' "$TAP_FILES/out" &&
			grep -qE "^  said  *$text" "$TAP_FILES/out" &&
			grep -qE "^  call  *$call at tests/planted/collective/collectives.c:" \
			"$TAP_FILES/out" &&
			grep -qE "^  but  *$call at tests/planted/collective/collectives.c:" \
			"$TAP_FILES/out" &&
			grep -qE '^collective-mismatch at .*: in 20 of 20 schedules' \
			"$TAP_FILES/out"
		verdict $? "ranks differ: $kind, $ranks ranks" "exit code $code"
	done
	prints "ranks agree, $ranks ranks" '^no finding$' \
		tessera check -n "$ranks" --seeds 20 "$collectives" right
done
try tessera check -n 3 --seeds 20 "$collectives" behind
[ "$code" -eq 1 ] && grep -qE \
	"^  access  *tsr_all_gather at tests/planted/collective/collectives.c:" "$TAP_FILES/out" &&
	grep -qE "^  said  *it ends 1 bytes? behind the end of 'all'" "$TAP_FILES/out"
verdict $? "what is gathered does not fit" "exit code $code"

# Teams: rows and columns at the same time, whose ranks reports name by both their numbers.
teams="$BUILD/tests/planted/collective/teams"
for ranks in 1 2 3 4 6; do
	prints "teams that overlap, $ranks ranks" '^no finding$' \
		tessera check -n "$ranks" --seeds 20 "$teams" right
done
row_0="rank 0 of team 'row' \(rank 2 of the world\)" \
	row_1="rank 1 of team 'row' \(rank 3 of the world\)"
for wrong in unsent:4:"waits for flag words.16 >= 1 from $row_0" \
	lost:4:"^  change  *signal the flag of $row_1 on every path" \
	lost:4:"^  missing  *'words'.16 \(8 bytes\) of rank 3 of the world is 0 and 1 is waited for" \
	unwaited:4:"  *rank [01] of team '(row|column)' \(rank [0-3] of the world\), kernel go_round" \
	apart:4:"^  said  *$row_1 called tsr_team_broadcast\(root 0\) where $(echo "$row_0" | cut -d' ' -f1-5)" \
	unmet:2:"^  (write|races with)  *tsr_put at tests/planted/collective/teams.c"; do
	kind=${wrong%%:*} text=${wrong#*:}
	ranks=${text%%:*} text=${text#*:}
	try tessera check -n "$ranks" --seeds 20 "$teams" "$kind"
	[ "$code" -eq 1 ] && grep -qE "$text" "$TAP_FILES/out"
	verdict $? "teams, $kind" "exit code $code"
done

# What hosts do too early is a race with their kernels, and not what they say of the results; at
# their end they signal nobody.
hosts="$BUILD/tests/planted/races/hosts"
# of_host KIND CLASS CHANGE: every schedule finds that, and nothing else.
of_host() {
	try tessera check -n 3 --seeds 100 --json "$report" "$hosts" "$1"
	[ "$code" -eq 1 ] && python3 - "$report" "$2" "$3" <<'CHECK'
import json
import re
import sys
report, wanted, change = sys.argv[1:]
report = json.load(open(report, encoding="utf-8"))
found, = report["findings"]
sys.exit(
    not (
        found["class"] == wanted
        and found["schedules"] == report["schedules"]
        and re.search(change, found["change"])
    )
)
CHECK
	verdict $? "of hosts: $1" "exit code $code"
}
of_host unsynced data-race \
	'call tsr_stream_sync on the stream of that kernel before tsr_memcpy_from_heap at tests/planted/races/hosts.c:[0-9]+'
of_host early data-race \
	'call tsr_stream_sync on the stream of that kernel before tsr_memcpy_to_heap at tests/planted/races/hosts.c:[0-9]+'
of_host foreign data-race \
	'let rank 1 call tsr_stream_sync, then all ranks tsr_barrier, before tsr_memcpy_from_heap at tests/planted/races/hosts.c:[0-9]+'
of_host lost lost-signal 'signal the flag of rank 1 on every path'

# A host's call is named with its place in the program, in findings, in what they advise, and in who
# waits for whom.
# stands KIND RANKS PATTERN...: one finding, and each pattern is a line's. @ is a place in the
# program.
stands() {
	kind=$1 ranks=$2 missing=
	shift 2
	try tessera check -n "$ranks" --seeds 20 "$hosts" "$kind"
	for pattern; do
		grep -qE -- \
			"$(printf '%s' "$pattern" | sed 's,@,tests/planted/races/hosts.c:[0-9]+,g')" \
			"$TAP_FILES/out" || missing=$pattern
	done
	[ "$code" -eq 1 ] && [ -z "$missing" ] && grep -q '^1 finding$' "$TAP_FILES/out"
	verdict $? "places of hosts: $kind, $ranks ranks" "exit code $code, no line /$missing/"
}
for ranks in 2 3 5; do
	stands unsynced $ranks '^  races with  *tsr_memcpy_from_heap at @: read, plain$' \
		'^  missing  *tsr_memcpy_from_heap at @ of the host' \
		'^data-race at @ and @: in 20 of 20'
	stands tensor $ranks '^  races with  *tsr_tensor_read at @: read, plain$'
	stands pointer $ranks '^  races with  *tsr_memcpy_from_heap: read, plain$'
	stands calls $ranks '^  call  *tsr_barrier at @$' '^  but  *tsr_team_broadcast at @$' \
		'^  said  *rank 1 called tsr_barrier where rank 0 called' \
		'^collective-mismatch at @ and @: in 20 of 20'
	stands sizes $ranks '^  call  *tsr_team_broadcast at @$' '^  but  *tsr_team_broadcast at @$'
	stands ended $ranks '^  call  *tsr_finalize$' '^  but  *tsr_barrier at @$'
	stands stuck $ranks \
		'host of rank 1: waits for the kernels of a stream \(tsr_stream_sync at @\)$' \
		'host of rank 0: waits for all ranks to make this call \(tsr_barrier at @\)$'
done
line=$(grep -n 'tsr_barrier(world));' tests/planted/races/hosts.c | head -1)
try tessera check -n 3 --seeds 5 "$hosts" calls
seen "and it is the line of that rank's call" \
	"^  call  *tsr_barrier at tests/planted/races/hosts.c:${line%%:*}$"

prints "of hosts: right" '^no finding$' tessera check -n 3 --seeds 100 "$hosts" right

# A program that fails for an old value that a load saw, though nothing races.
overtaken="$BUILD/tests/planted/order/overtaken"
try tessera check -n 2 --seeds 100 "$overtaken" relaxed
[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
	grep -qE '^program-failure' "$TAP_FILES/out" &&
	grep -qE \
	'^  old value  *tsr_atomic_load at tests/planted/order/overtaken.c:[0-9]+: read, relaxed at system scope$' \
	"$TAP_FILES/out" &&
	grep -qE "^  *'box'\+0 \(8 bytes\) of rank 1: 5 was there, it saw 0$" "$TAP_FILES/out"
verdict $? "an old value that a program fails for" "exit code $code"
prints "and none where it is ordered" '^no finding$' \
	tessera check -n 2 --seeds 100 "$overtaken" released
try tessera check -n 2 --seeds 5 --json "$report" "$BUILD/tests/planted/progress/livelock" kept
[ "$code" -eq 1 ] && grep -qE '^  said  *goes round, and sees 1 in state\+0 of rank 0$' \
	"$TAP_FILES/out" &&
	grep -qE "^  *'state'\+0 \(8 bytes\) of rank 0$" "$TAP_FILES/out"
verdict $? "what a livelock sees, and where" "exit code $code"
try tessera check -n 2 --seeds 5 "$hosts" lost
[ "$code" -eq 1 ] && grep -qE "^  *'box'\+32 \(8 bytes\) of rank 1: 1 wanted, 0 there$" \
	"$TAP_FILES/out"
verdict $? "what a lost signal waits for, and what is there" "exit code $code"

# A slot that is filled in part may be copied whole: who uses what nobody has written is told, and
# who has copied it.
slots="$BUILD/tests/planted/memory/slots"
for weak in view cache; do
	prints "a slot that is filled in part, $weak" '^no finding$' \
		tessera check -n 2 --seeds 50 --weak $weak "$slots" part
	try tessera check -n 2 --seeds 50 --weak $weak "$slots" whole
	[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
		grep -qE '^  read  *tsr_memcpy_from_heap' "$TAP_FILES/out" &&
		grep -qE "^  copied by  *tsr_get at tests/planted/memory/slots.c:" \
		"$TAP_FILES/out" &&
		grep -qE "^  *'box'\+264 \(120 bytes\) of rank 1$" "$TAP_FILES/out" &&
		grep -q '^unwritten-read .*: in 50 of 50' "$TAP_FILES/out"
	verdict $? "and used whole, $weak" "exit code $code"
done

# A wait looks at its word at once, and fresh memory holds anything.
uncleared="$BUILD/tests/planted/memory/uncleared"
for weak in view cache; do
	for kind in flag:tsr_wait any:tsr_wait_any word:tsr_wait_word marked:tsr_take_marked; do
		try tessera check -n 2 --seeds 20 --weak $weak "$uncleared" "${kind%:*}"
		[ "$code" -eq 1 ] &&
			grep -q '^finding: unwritten-read: ' "$TAP_FILES/out" &&
			grep -qE "^  read  *${kind#*:} at tests/planted/memory/uncleared.c:" \
				"$TAP_FILES/out"
		verdict $? "a wait for memory that nobody has written: ${kind%:*}, $weak" \
			"exit code $code"
	done
	prints "and for a flag that was cleared, $weak" '^no finding$' \
		tessera check -n 2 --seeds 20 --weak $weak "$uncleared" right
done

# Load buffering: a compare-and-swap reads what lets it go as it went; where its failure is what may
# be overtaken, that is advised.
lockfree="$BUILD/tests/planted/order/lockfree"
for kind in trylock closed stack; do
	for ranks in 2 3; do
		prints "without a warning: $kind, $ranks ranks" '^no finding$' \
			tessera check -n $ranks --seeds 100 "$lockfree" $kind
	done
done
try tessera check -n 2 --seeds 100 "$lockfree" closing
[ "$code" -eq 0 ] && grep -q '^no finding, 1 warning$' "$TAP_FILES/out" &&
	grep -qE \
	'^  load  *tsr_atomic_cas at tests/planted/order/lockfree.c:[0-9]+: read, relaxed at system scope$' \
	"$TAP_FILES/out" &&
	grep -qE \
	'^  change  *let tsr_atomic_cas at tests/planted/order/lockfree.c:[0-9]+ acquire where it fails too' \
	"$TAP_FILES/out"
verdict $? "a failure order that is too weak is advised" "exit code $code"

# Counts of signals that nobody is told of close no circle with waits that acquire them.
rounds="$BUILD/tests/planted/order/rounds"
for ranks in 3 5; do
	for kind in each all; do
		prints "rounds that are counted: $kind, $ranks ranks" '^no finding$' \
			tessera check -n $ranks --seeds 100 "$rounds" $kind
	done
	prints "a count that is looked at without an acquire, $ranks ranks" \
		'^warning: load-buffering: ' tessera check -n $ranks --seeds 100 "$rounds" looked
done

# A credit that is given before the read that it is for: both orders of the race are one finding.
credit="$BUILD/tests/planted/races/credit"
try tessera check -n 2 --seeds 100 "$credit" early
said=$(grep -cE \
	'^  change  *give tsr_signal at tests/planted/races/credit.c:[0-9]+ behind tsr_get at' \
	"$TAP_FILES/out")
[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" && [ "$said" -eq 1 ]
verdict $? "a credit that is given too early" "exit code $code"
prints "and one that is not" '^no finding$' tessera check -n 2 --seeds 100 "$credit" late

# Memory that is allocated again is another, though a rank may be slow to leave the call that gave
# it back; until then it is nobody's.
given="$BUILD/tests/planted/memory/given_back"
for ranks in 2 3 5; do
	for weak in view cache; do
		for kind in right inside slab; do
			prints "given back and allocated again: $kind, $ranks ranks, $weak" \
				'^no finding$' \
				tessera check -n "$ranks" \
				--seeds 100 --weak "$weak" "$given" "$kind"
		done
		for kind in peer own; do
			try tessera check -n "$ranks" --seeds 100 --weak "$weak" "$given" "$kind"
			[ "$code" -eq 1 ] && grep -q '^1 finding$' "$TAP_FILES/out" &&
				grep -qE \
				'^use-after-free at tests/planted/memory/given_back.c:[0-9]+: in 100 of 100 schedules' \
				"$TAP_FILES/out"
			verdict $? "given back and used: $kind, $ranks ranks, $weak" \
				"exit code $code"
		done
	done
done

# links NAME SIGNAL WAIT CHANGE PROGRAM ARGUMENTS...: a race's report names who signals and who
# reads that, "call order scope" each, and the advice matches. '' for the link: there is none.
links() {
	name=$1 signal=$2 wait=$3 change=$4
	shift 4
	try tessera check -n 2 --seeds 20 --json "$report" "$@"
	[ "$code" -eq 1 ] && python3 - "$report" "$signal" "$wait" "$change" <<'CHECK'
import json
import re
import sys
signal, wait, change = sys.argv[2:]
found = json.load(open(sys.argv[1], encoding="utf-8"))["findings"]
races = [each for each in found if each["class"] in ("data-race", "reuse")]
told = [
    [
        " ".join((access["call"], access["order"], access["scope"]))
        for access in each["access"][2:]
        if access
    ]
    for each in races
]
wanted = [text for text in (signal, wait) if text]
sys.exit(
    not races
    or any(each != wanted for each in told)
    or not any(re.search(change, each["change"]) for each in races)
)
CHECK
	verdict $? "$name" "exit code $code; not the link $signal, $wait"
}

scopes="$BUILD/tests/planted/order/scopes"
links "a relaxed store that a wait reads" \
	"tsr_atomic_store relaxed system" "tsr_wait acquire system" \
	"make tsr_atomic_store at [a-z/_.]+:[0-9]+ a release at system scope" \
	"$BUILD/tests/planted/order/missing_release" planted
links "a release that is too narrow" \
	"tsr_atomic_store release device" "tsr_atomic_load acquire system" \
	"make tsr_atomic_store at [a-z/_.]+:[0-9]+ a release at system scope" \
	"$scopes" device_system 2
links "an acquire that is too narrow" \
	"tsr_atomic_store release system" "tsr_atomic_load acquire device" \
	"make tsr_atomic_load at [a-z/_.]+:[0-9]+ an acquire at system scope" \
	"$scopes" system_device 2
links "a fence that is too narrow" \
	"tsr_atomic_store relaxed system" "tsr_atomic_load acquire system" \
	"a release at system scope" "$scopes" fence_narrow 2
links "of three hands the second" "tsr_signal_local release block" "tsr_wait_local acquire block" \
	"a release at device scope, and tsr_wait_local" "$scopes" relay_block 2
links "a sequence that is cut: who cut it" \
	"tsr_atomic_store relaxed system" "tsr_wait acquire system" \
	"a release at system scope" "$scopes" cut 2
links "a signal that nobody reads" "tsr_signal release system" '' \
	"wait for what tsr_signal at [a-z/_.]+:[0-9]+ gives before tsr_put at [a-z/_.]+:[0-9]+" \
	"$BUILD/tests/planted/races/unsynchronised" reuse
finish
