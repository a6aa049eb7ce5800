#!/bin/sh
# tessera check on programs of this house: right ones raise nothing, wrong ones
# what they should, and a seed means one schedule.
. "$(dirname "$0")/../tap"

needs_forks schedules

gas="gemm-all-scatter --tile 16x16x16 --runs 1 --in-flight 2"
wrong="$BUILD/tests/planted/races/unsynchronised"
report="$TAP_FILES/report.json"

for ranks in 1 2 3 5 8; do
	prints "all patterns on $ranks" '^no finding$' \
		tessera check -n $ranks --seeds 5 $gas --pattern all --shape 91x73x37
	prints "hello on $ranks" '^no finding$' \
		tessera check -n $ranks --seeds 20 "$BUILD/examples/hello"
done
for example in message_passing_load_store message_passing_put_signal; do
	prints "$example" '^no finding$' tessera check -n 3 --seeds 50 "$BUILD/examples/$example"
done
for strategy in random pct; do
	prints "a pattern by $strategy" '^no finding$' tessera check -n 3 \
		--seeds 20 --strategy $strategy $gas --pattern fused-sequential --shape 48x48x32
done
prints "memory that only interleaves" '^no finding$' tessera check -n 3 --seeds 10 --weak off \
	$gas --pattern fused-workgroup-specialized --shape 48x48x32
prints "the slowdown of a real program" \
	'^slowdown: [0-9.]+: a schedule takes [0-9.]+ ms, the parallel executor [0-9.]+ ms on ' \
	tessera check -n 3 --seeds 5 $gas --pattern all --shape 48x48x32
prints "of one that starts its ranks itself" '^slowdown: [0-9.]+: ' \
	tessera check -n 2 --seeds 5 \
	tessera bench gemm-all-scatter -n 2 --shape 32x32x32 --iterations 1 -w 0
prints "nothing is left out" '^no finding$' \
	tessera check -n 2 --strategy exhaustive "$BUILD/examples/hello"

# Code that does not come back: one line says whose it is, and where, within the limit.
hangs="$BUILD/tests/planted/progress/hangs"
ends='let that code end or call Tessera; if it is only slow, raise --quiet-limit$'
# hang WHERE LIMIT WHAT PATTERN ADVICE [OPTION...]: nothing can be said, and the one line of stderr
# says why.
hang() {
	where=$1 limit=$2 what=$3 pattern=$4 advice=$5
	shift 5
	began=$(date +%s)
	try tessera check -n 3 --quiet-limit "$limit" "$@" "$hangs" "$where"
	took=$(($(date +%s) - began))
	[ "$code" -eq 3 ] && [ "$took" -lt 30 ] &&
		! grep -q 'no finding' "$TAP_FILES/out" && [ "$(wc -l <"$TAP_FILES/err")" -eq 1 ] &&
		grep -qE "^tessera check: $what, and the program was ended: $pattern; $advice" \
		"$TAP_FILES/err"
	verdict $? "it hangs: $where $*" "exit code $code after $took s"
}
hang loop 2s 'no kernel was launched within 2 s' \
	'the host of rank 1 does not come back from its own code, after tsr_barrier at .*hangs.c:[0-9]+' \
	"$ends"
hang sleep 2s 'no kernel was launched within 2 s' \
	'the host of rank 1 does not come back from its own code, after tsr_barrier at .*hangs.c:[0-9]+' \
	"$ends"
hang kernel 2s 'the schedule of seed 1 did not end within 2 s' \
	'kernel count_up of rank 1 \(launch 0, block 0, worker 0\) does not come back from its own code, after tsr_atomic_add at .*hangs.c:[0-9]+' \
	"$ends"
hang long 300ms 'the schedule of seed 1 did not end within 0.3 s' \
	'it still goes on, last in kernel count_up of rank [0-2] .* after tsr_atomic_add at .*' \
	'--quiet-limit gives it longer$'
hang kernel 2s 'the default schedule, which pct runs first, did not end within 2 s' \
	'kernel count_up of rank [0-2] .* does not come back from its own code, after tsr_atomic_add .*' \
	"$ends" --strategy pct

try tessera check -n 3 --quiet-limit 2s "$hangs" host
[ "$code" -eq 3 ] && grep -q '^2 schedules,' "$TAP_FILES/out" &&
	grep -q '^no verdict: the schedule of seed 3 did not end within 2 s$' "$TAP_FILES/out" &&
	grep -qE \
	'the schedule of seed 3 did not .*: the host of rank 1 does not come back from its own code, after tsr_launch at .*hangs.c:[0-9]+;' \
	"$TAP_FILES/err"
verdict $? "it hangs after other schedules" "exit code $code"

# Loops without end: told as what they are, and cheap once they are known. A loop that gives up in
# the end is none.
livelock="$BUILD/tests/planted/progress/livelock"
# goes_round KIND SCHEDULES
goes_round() {
	try tessera check -n 3 --seeds "$2" --json "$report" "$livelock" "$1"
	[ "$code" -eq 1 ] && grep -qE \
		"^livelock at .*tests/planted/progress/livelock\.c:[0-9]+.*: in [0-9]+ of $2 schedules" \
		"$TAP_FILES/out" &&
		! grep '^finding: ' "$TAP_FILES/out" | grep -qv livelock
	verdict $? "it goes round: $1" "exit code $code"
}
goes_round kept 100
goes_round flag 100
goes_round counter 6
prints "it gives up in the end" '^no finding$' \
	tessera check -n 3 --seeds 20 --no-slowdown "$livelock" patient

# Loops that lock, look and unlock: they give way to who sets the word; where nobody does, all of
# them are one livelock, at the line that looks.
relocks="$BUILD/tests/planted/progress/relocks"
for kind in right swap copied few; do
	for strategy in random pct; do
		for memory in view cache; do
			prints "it gives way: $kind, $strategy, $memory" '^no finding$' \
				tessera check -n 3 --strategy $strategy --weak $memory \
				--seeds 100 --quiet-limit 20s --no-slowdown "$relocks" $kind
		done
	done
	prints "it gives way: $kind, exhaustive" '^no finding$' tessera check -n 2 --seeds 50 \
		--strategy exhaustive --quiet-limit 20s --no-slowdown "$relocks" $kind
done
# looks_for_ever RANKS SCHEDULES STRATEGY KIND
looks_for_ever() {
	try tessera check -n "$1" --seeds "$2" --strategy "$3" --quiet-limit 20s \
		--json "$report" "$relocks" "$4"
	[ "$code" -eq 1 ] && python3 - "$report" "$2" <<'CHECK'
import json
import sys
path, schedules = sys.argv[1:]
found, = json.load(open(path, encoding="utf-8"))["findings"]
access, = found["access"]
lines = open("tests/planted/progress/relocks.c", encoding="utf-8").read().splitlines()
sys.exit(
    not (
        found["class"] == "livelock"
        and found["schedules"] == int(schedules)
        and access["call"] == "tsr_atomic_load"
        and "&a->state->word, 0, TSR_RELAXED" in lines[access["line"] - 1]
        and any(node["call"] == "tsr_stream_sync" for node in found["nodes"])
    )
)
CHECK
	verdict $? "it looks for ever: $4, $3, $1 ranks" "exit code $code"
}
for kind in never forever; do
	looks_for_ever 1 1 random $kind
	looks_for_ever 3 20 random $kind
	looks_for_ever 3 20 pct $kind
	looks_for_ever 2 2 exhaustive $kind
done

# A program that is not the same twice: the search says that it broke off, and why.
fickle="$BUILD/tests/planted/process/fickle"
# broken CODE KIND PATTERN
broken() {
	try tessera check -n 2 --strategy exhaustive --json "$report" "$fickle" "$2"
	[ "$code" -eq "$1" ] && grep -qE \
		"^tessera check: the search broke off after 2 schedules: .*$3" "$TAP_FILES/err" &&
		! grep -q 'all there are' "$TAP_FILES/out" && python3 - "$report" "$3" <<'CHECK'
import json
import re
import sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(not (report["complete"] is False and re.search(sys.argv[2], report["failure"])))
CHECK
	verdict $? "a search breaks off: $2" "exit code $code"
}
broken 3 blocks 'did not do the same as those before it.* let nothing in the program hang on'
broken 1 exits 'ended before it said .* mend what ends it'
prints "of the same program every time it does not" '; these are all there are$' \
	tessera check -n 2 --strategy exhaustive "$fickle" none
prints "nor where no more was asked for" '^1 schedule, .* memory view$' \
	tessera check -n 2 --strategy exhaustive --seeds 1 "$fickle" blocks

# found KIND CLASS TEXT [OPTION...]: the planted mistake is reported as what it is, where it is.
found() {
	kind=$1 class=$2 text=$3
	shift 3
	try tessera check -n 2 --seeds 100 --json "$report" "$@" "$wrong" "$kind"
	[ "$code" -eq 1 ] && python3 - "$report" "$class" "$text" <<'CHECK'
import json
import sys
report, wanted, text = sys.argv[1:]
places = [
    access
    for found in json.load(open(report, encoding="utf-8"))["findings"]
    if found["class"] == wanted
    for access in found["access"] + found.get("nodes", [])
    if access.get("file", "").endswith("unsynchronised.c")
]
lines = open("tests/planted/races/unsynchronised.c", encoding="utf-8").read().splitlines()
sys.exit(not any(text in lines[access["line"] - 1] for access in places))
CHECK
	verdict $? "$kind is $class at its line" "exit code $code"
}

found crossed deadlock 'tsr_wait(block, &a->box->ready, 1, previous)'
found residency residency 'tsr_wait_local(block, &a->box->begun[last]' --resident-blocks 2
found reuse reuse 'tsr_put(block, &a->box->number'
found relaxed data-race 'tsr_get(block, &a->box->copies'
# Pointers into the heap that are dereferenced: the finding names who and what, and the instruction
# by its place in the program.
stray="$BUILD/tests/planted/memory/dereference"
for kind in read write library host early; do
	try tessera check -n 2 --seeds 5 --json "$report" "$stray" $kind
	[ "$code" -eq 1 ] && python3 - "$report" "$stray" $kind <<'CHECK'
import json
import re
import subprocess
import sys
report, program, kind = sys.argv[1:]
found, = json.load(open(report, encoding="utf-8"))["findings"]
access, = found["access"]
right = found["class"] == "misuse" and access["allocation"] == "cell" and access["offset"] == 40
right &= (access.get("kernel") == "use_cell") == (kind in ("read", "write", "library"))
at = re.search(r"at dereference\+(0x[0-9a-f]+)", found["message"])
if at:
    place = subprocess.run(
        ["addr2line", "-e", program, at[1]], stdout=subprocess.PIPE, text=True
    ).stdout.split()[0]
    line = (
        open("tests/planted/memory/dereference.c", encoding="utf-8")
        .read()
        .splitlines()[int(place.rsplit(":", 1)[1]) - 1]
    )
    right &= "stripped" in line
sys.exit(not right)
CHECK
	verdict $? "a pointer that is dereferenced: $kind" "exit code $code"
done
# Other faults are the failure of the program, and nothing is said of the heap.
for kind in null wild lost thread; do
	try tessera check -n 2 --seeds 5 --json "$report" "$stray" $kind
	[ "$code" -eq 1 ] && python3 - "$report" $kind "${BUILD##*/}" <<'CHECK'
import json
import sys
path, kind, build = sys.argv[1:]
SAID = {
    "null": "kernel use_cell of rank 0 read through a null pointer, at dereference+0x",
    "wild": "kernel use_cell of rank 0 read memory that is not there",
    "lost": "the host of rank ",
    "thread": "signal 11",
}
report = json.load(open(path, encoding="utf-8"))
found, = report["findings"]
right = (
    found["class"] == "program-failure"
    and not found.get("access")
    and found["schedules"] == report["schedules"] == 5
)
# where the sanitizer ends the program, with words of its own
right &= SAID[kind] in found["message"] or build.endswith("-asan")
sys.exit(not right)
CHECK
	verdict $? "another pointer, or another thread: $kind" "exit code $code"
done
prints "and none that is" '^no finding$' tessera check -n 2 --seeds 5 "$stray" none
try tessera check -n 2 --seeds 5 --weak cache "$stray" read
[ "$code" -eq 1 ] && grep -q '^misuse: in 5 of 5' "$TAP_FILES/out"
verdict $? "on caches as well" "exit code $code"

# What a call of the library's does inside is told of in its own name, at the line of the program
# that makes it.
gathered="$BUILD/tests/planted/collective/gathered"
try tessera check -n 2 --seeds 20 "$gathered" early
[ "$code" -eq 1 ] && grep -qE \
	'^  [a-z ]+ tsr_all_gather at tests/planted/collective/gathered\.c:[0-9]+: read, plain$' \
	"$TAP_FILES/out" &&
	! grep -qE 'tsr_(put_all|signal_all|wait|atomic_load) at' "$TAP_FILES/out"
verdict $? "a race inside the all-gather names the all-gather" "exit code $code"
prints "which is none behind its kernel" '^no finding$' \
	tessera check -n 2 --seeds 20 "$gathered" late

prints "a wait for the last of many flags" '^no finding$' \
	tessera check -n 2 --seeds 100 "$wrong" many
prints "and without a mistake none" '^no finding$' tessera check -n 2 --seeds 100 "$wrong" none

# The same report from the same seed, a hundred times.
try tessera check -n 2 --seeds 1 --first-seed 7 --json "$report" "$wrong" reuse
python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["findings"]
json.dump(found, open(sys.argv[2], "w"), sort_keys=True)' \
	"$report" "$report.first"
same=0
for _ in $(seq 100); do
	tessera check -n 2 \
		--seeds 1 --first-seed 7 --json "$report" "$wrong" reuse >"$TAP_FILES/out" 2>&1
	python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["findings"]
sys.exit(found != json.load(open(sys.argv[2])))' \
		"$report" "$report.first" && same=$((same + 1))
done
[ "$same" -eq 100 ]
verdict $? "a seed gives the same report 100 times of 100" "it did $same times"
finish
