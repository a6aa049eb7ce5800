#!/bin/sh
# tessera check: what it makes of what a program says. The program is a fake
# that speaks the protocol.
. "$(dirname "$0")/../tap"
fake=$(dirname "$0")/../../fakes/checked.py
json=$TAP_FILES/report.json

# finds NAME CODE PATTERN ARGUMENTS...: that exit code of `tessera check`, and a line of stdout that
# matches.
finds() {
	name=$1 wanted=$2 pattern=$3
	shift 3
	try tessera check "$@"
	[ "$code" -eq "$wanted" ] && {
		[ -z "$pattern" ] || grep -qE -- "$pattern" "$TAP_FILES/out"
	}
	verdict $? "$name" "exit code $code; wanted $wanted and /$pattern/ of: tessera check $*"
}

# complains NAME PATTERN: a line of the last stderr matches.
complains() {
	grep -qE -- "$2" "$TAP_FILES/err"
	verdict $? "$1" "no line of stderr matches /$2/"
}

# nobody NAME: no process of the fake is left. It is known by its path, which no other test and no
# other clone has.
nobody() {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		left=$(pgrep -f "$fake") || break
		sleep 0.1
	done
	[ -z "$left" ]
	verdict $? "$1" "still there: $left"
}

# report NAME EXPRESSION: true of the JSON report, which is `r`.
report() {
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$json" "$2"
	verdict $? "$1" "not true of the report: $2"
}

prints "a clean program" '^no finding$' tessera check -n 4 --seeds 6 "$fake" clean
seen "its counts" '^6 schedules, [1-5] distinct, in .* a second; 4 ranks, random, memory view$' 1
seen "its memory" '^memory: at most 3.0 MiB of heap touched, 1.0 MiB of shadow; at most 6 tasks$' 1
seen "what was modelled" '^fidelity: exact: the memory model' 1
seen "and nothing that the program prints" 'the program prints' 0
for memory in off cache; do
	prints "what was modelled, memory $memory" '^fidelity: exact: happens-before' \
		tessera check -n 1 --seeds 1 --weak $memory "$fake" clean
done

finds "a race" 1 '^finding: data-race: ' -n 2 --seeds 5 --json "$json" "$fake" race
seen "is printed once" '^finding:' 1
seen "with both sites" 'tsr_(get|put) at kernel.c:(40|28): ' 2
seen "with who, and the tile" 'rank 1, kernel send, launch 0, block 2, worker 0, tile \(0, 64\)' 1
seen "with the memory" "'inbox'\+4096 \(64 bytes\) of rank 1" 2
seen "with what is missing" '^  missing ' 1
seen "with what would supply it" '^  change .*tsr_put_signal' 1
seen "with the command that replays it" \
	"^  replay +tessera check -n 2 --replay 1 .*checked.py race$" 1
seen "with how often" \
	'^data-race at kernel.c:40 and kernel.c:28: in 5 of 5 schedules, first with seed 1, ' 1
report "the same as JSON" \
	'len(r["findings"]) == 1 and r["findings"][0]["schedules"] == 5 and r["findings"][0]["seed"] == 1'
report "its sites as JSON" \
	'[(a["file"], a["line"]) for a in r["findings"][0]["access"]] == [("kernel.c", 40), ("kernel.c", 28)]'
report "its advice as JSON" \
	'r["findings"][0]["missing"] and r["findings"][0]["change"] and "--replay 1" in r["findings"][0]["replay"]'
report "counts as JSON" \
	'r["schedules"] == 5 and r["exit"] == 1 and r["failure"] is None and r["complete"] and r["ranks"] == 2'

finds "a quoted command" 1 "replay .*'it'\\\\''s' ''$" -n 2 --seeds 1 "$fake" race "it's" ''
finds "two findings" 1 '^2 findings$' -n 2 --seeds 5 "$fake" two
seen "the second with its own seed" '^reuse .* in 2 of 5 schedules, first with seed 2' 1
finds "a finding of which a later schedule knows more" 1 '^  replay .* --replay 3 ' \
	-n 2 --seeds 5 --json "$json" "$fake" linked
seen "says with which seed it showed first" \
	' in 5 of 5 schedules, first with seed 1 \(shown with seed 3, which tells more\), ' 1
report "so does JSON" \
	'r["findings"][0]["first_seed"] == 1 and r["findings"][0]["seed"] == 3'
prints "a warning is no finding" '^no finding, 1 warning$' \
	tessera check -n 2 --seeds 5 --json "$json" "$fake" warning
report "and is told apart" \
	'r["findings"] == [] and r["warnings"][0]["class"] == "load-buffering" and r["exit"] == 0'
finds "a finding before the first kernel" 1 'before the first kernel, so in all schedules$' \
	-n 2 --seeds 5 "$fake" prefix
finds "a program that fails" 1 'said +its exit code is 7$' -n 2 --seeds 5 "$fake" fails
complains "its last words" '^the program complains$'
finds "a program that is killed" 1 'signal 11' -n 2 --seeds 5 "$fake" dies
seen "counts as a schedule, and others follow" '^5 schedules' 1
finds "enough findings" 1 '^3 findings$' -n 2 --seeds 50 --max-findings 3 "$fake" many
nobody "a program that was ended is gone"
prints "schedules that are left early" ', 4 left early as known, ' \
	tessera check -n 2 --seeds 5 "$fake" pruned

# Nothing new: 200 schedules in turn, and as many as there were before them.
prints "one interleaving is soon known" '^201 schedules, 1 distinct' \
	tessera check -n 2 --seeds 2000 --no-slowdown --json "$json" "$fake" same
seen "a line says so" \
	'^the last 200 schedules of 2 ranks showed nothing new, so it stopped there; --all-seeds goes on$' 1
report "as JSON" \
	'r["worlds"] == [{"ranks": 2, "schedules": 201, "distinct": 1, "saturated": True, "findings": 0, "warnings": 0}]'
prints "more of them take as long again" '^600 schedules, 300 distinct' \
	tessera check -n 2 --seeds 2000 --no-slowdown "$fake" some
prints "new ones all the time are explored" '^700 schedules, 700 distinct' \
	tessera check -n 2 --seeds 700 --no-slowdown "$fake" fresh
seen "and no line says otherwise" 'nothing new' 0
prints "all seeds, where they are wanted" '^700 schedules, 1 distinct' \
	tessera check -n 2 --seeds 700 --all-seeds --no-slowdown "$fake" same
prints "200 are not too many" '^200 schedules, 1 distinct' \
	tessera check -n 2 --seeds 200 --no-slowdown "$fake" same
seen "for all of them" 'nothing new' 0
finds "a finding is new, too" 1 '^350 schedules, 1 distinct' -n 2 --seeds 2000 "$fake" rare
finds "and one that was there is not" 1 '^201 schedules, 1 distinct' -n 2 --seeds 2000 \
	"$fake" common
prints "jobs end together" '^20[1-9] schedules, 1 distinct' \
	tessera check -n 2 --seeds 2000 --jobs 3 --no-slowdown "$fake" same
prints "a search that leaves nothing out is not ended" '^300 schedules, 1 distinct' \
	tessera check -n 2 --strategy exhaustive --seeds 300 --no-slowdown "$fake" same
prints "the slowdown is measured all the same" '^slowdown: ' \
	tessera check -n 2 --seeds 2000 "$fake" same

finds "several worlds" 1 '^90 schedules, .*; worlds of 2, 3, 4 ranks, random' \
	--worlds 2-4 --seeds 90 --json "$json" "$fake" third
seen "each with its schedules and findings" \
	'^[234] ranks: 30 schedules, 1 distinct: (no finding|1 finding)$' 3
seen "of which one world has none" '^2 ranks: 30 schedules, 1 distinct: no finding$' 1
seen "what two worlds found is one" '^1 finding$' 1
seen "is told once" '^finding: ' 1
seen "with the world in the command that replays it" '^  replay +tessera check -n 3 --replay 1 ' 1
seen "and a line for each of the two" \
	'^deadlock at kernel.c:9 and kernel.c:9: [34] ranks: in 30 of 30 schedules, first with seed 1' 2
report "as JSON" \
	'[w["findings"] for w in r["worlds"]] == [0, 1, 1] and [f["ranks"] for f in r["findings"]] == [3, 4] and r["ranks"] is None'
finds "in the order that is given" 1 'worlds of 8, 2, 3 ranks' --worlds 8,2-3 --seeds 9 \
	"$fake" third
seen "the first that has it replays it" 'check -n 8 --replay 1 ' 1
prints "what one world leaves is the next ones'" '^3 ranks: 399 schedules, ' \
	tessera check --worlds 2,3 --seeds 600 --no-slowdown "$fake" fresher
seen "of the time too" '^2 ranks: 201 schedules, 1 distinct: no finding$' 1
prints "worlds share the time" '^the time limit came before the last schedule$' \
	tessera check --worlds 2-3 --seeds 9999 --time-limit 2s "$fake" slow
seen "equally" '^[23] ranks: [1-9][0-9]* schedules' 2
finds "shrinking from the world that has it" 1 '^  replay +tessera check -n 3 ' \
	--worlds 2,5 --shrink --seeds 40 "$fake" needle --shape 8x4x1
finds "a world of which nothing can be said" 3 '^2 ranks: 10 schedules' --worlds 2,3 --seeds 20 \
	"$fake" lonely
complains "is named" \
	'^tessera check: in the world of 3: the program ended with exit code 5 before its first kernel$'

# The slowdown: a schedule of the fake takes 50 ms, and so does the kernel of its run by the
# parallel executor, behind as much before it. On a busy machine the launch is heard late, and less
# is left.
prints "the slowdown" \
	'^slowdown: [01]\.[0-9]: a schedule takes [0-9.]+ ms, the parallel executor [0-9.]+ ms on [0-9]+ processors?, ' \
	tessera check -n 2 --seeds 3 --json "$json" "$fake" slow
report "as JSON" \
	'0.02 <= r["slowdown"]["parallel_seconds"] < 5 and r["slowdown"]["schedule_seconds"] >= 0.02 and r["slowdown"]["processors"] > 0'
report "as the one over the other" \
	'abs(r["slowdown"]["factor"] * r["slowdown"]["parallel_seconds"] / r["slowdown"]["schedule_seconds"] - 1) < 1e-9'
prints "the slowdown where launches are heard late" '^slowdown: 0\.[0-9]: ' \
	tessera check -n 2 --seeds 1 --json "$json" "$fake" late
report "from the first launch on" '0.55 <= r["slowdown"]["parallel_seconds"] < 5'
for reason in 'unparallel:fails' \
	'unlaunched:launches no kernel' 'endless:takes too long' 'untimed:does not say when'; do
	prints "why there is none: ${reason%%:*}" "^slowdown: not measured: .*${reason#*:}" \
		tessera check -n 2 --seeds 1 --time-limit 3s --json "$json" "$fake" "${reason%%:*}"
	report "that as JSON" "'${reason#*:}' in r['slowdown']['not_measured'] and r['exit'] == 0"
done
nobody "a run that does not end is gone"
prints "none where it is not wanted" '^no finding$' \
	tessera check -n 2 --seeds 1 --no-slowdown --json "$json" "$fake" clean
seen "no line of it" '^slowdown' 0
report "nor in JSON" 'r["slowdown"] is None'
finds "none where there are findings" 1 '^finding: data-race' -n 2 --seeds 1 "$fake" race
seen "there is no line of it either" '^slowdown' 0

finds "jobs share the seeds" 1 '^10 schedules' \
	-n 2 --seeds 10 --first-seed 5 --jobs 3 --json "$json" "$fake" many
report "all of them, once" 'sorted(f["seed"] for f in r["findings"]) == list(range(5, 15))'
prints "an exhaustive search" '; these are all there are$' \
	tessera check -n 2 --strategy exhaustive "$fake" clean
finds "a search that breaks off" 3 \
	'^no verdict: the search broke off after 9 schedules: it is a fake$' \
	-n 2 --strategy exhaustive --json "$json" "$fake" broken
complains "says why" '^tessera check: the search broke off after 9 schedules: it is a fake$'
report "in JSON too" \
	'not r["complete"] and "after 9 schedules: it is a fake" in r["failure"] and r["exit"] == 3'
finds "a finding of one is replayed by its schedule" 1 \
	'--strategy exhaustive --replay [01]:[12][+0-9:]* ' -n 2 --strategy exhaustive "$fake" race

prints "a replay shows what the program prints" 'the program prints' \
	sh -c 'exec tessera check -n 2 --replay 3 "$1" clean 2>/dev/null' - "$fake"
seen "and is one schedule" '^1 schedule,' 1
finds "a replay by its schedule" 1 '^data-race .*, at least 2 deviations$' -n 3 --replay 12:1+40:2 \
	"$fake" needle
finds "the command says so" 1 '--replay 12:1\+40:2 ' -n 3 --replay 12:1+40:2 "$fake" needle
try tessera check -n 3 --replay 12:1+40:1 "$fake" needle
[ "$code" -eq 0 ]
verdict $? "another schedule has no finding" "exit code $code"
echo 12:1+40:2 >"$TAP_FILES/script"
finds "a schedule from a file" 1 '^data-race .*, at least 2 deviations$' \
	-n 3 --script "$TAP_FILES/script" "$fake" needle

finds "shrinking" 1 \
	"^  replay +tessera check -n 3 --resident-blocks 2 --replay 12:1\+40:2 .* --shape 8x4x1$" \
	-n 6 --shrink --seeds 40 --max-findings 1 --json "$json" "$fake" needle --shape 64x64x16
report "says the same as JSON" '"--resident-blocks 2 --replay 12:1+40:2 " in r["smaller"]'
finds "shrinking in the time there is" 1 '^shrunk in ' \
	-n 6 --shrink --time-limit 2s --max-findings 1 "$fake" needle
finds "shrinking by other seeds than the one that was asked for" 1 \
	'^  replay +tessera check -n 3 ' -n 6 --shrink --seeds 1 --first-seed 6 "$fake" moved
finds "a shape in one word" 1 "--shape=8x4x1$" -n 3 --shrink --max-findings 1 \
	"$fake" needle --shape 8x4x1 --shape=8x4x1

prints "a timeline" '^timeline: 3 events in ' \
	tessera check -n 2 --seeds 3 --trace "$TAP_FILES/trace.json" "$fake" clean
cat >"$TAP_FILES/trace.py" <<'CHECK'
import json
import sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
slices = {event["name"]: event for event in events if event["ph"] == "X"}
[begin], [end] = ([event for event in events if event["ph"] == phase] for phase in "sf")
names = {
    (event["pid"], event["tid"]): event["args"]["name"]
    for event in events
    if event["name"] == "thread_name"
}
signal, wait = slices["tsr_signal"], slices["tsr_wait"]
inside = all(
    slice["ts"] <= flow["ts"] <= slice["ts"] + slice["dur"]
    and slice["tid"] == flow["tid"]
    and slice["pid"] == flow["pid"]
    for slice, flow in ((signal, begin), (wait, end))
)
print("#", events)
sys.exit(
    not (
        inside
        and begin["id"] == end["id"] == 5
        and len(slices) == 3
        and wait["ts"] == 1
        and wait["dur"] == 5
        and {event["args"]["name"] for event in events if event["name"] == "process_name"}
        == {"rank 0", "rank 1"}
        and names[signal["pid"], signal["tid"]] == "launch 0 send, block 2, worker 0"
        and "host" in names.values()
        and wait["args"] == {"file": "kernel.c", "line": 38, "detail": "'flag' >= 1"}
    )
)
CHECK
python3 "$TAP_FILES/trace.py" "$TAP_FILES/trace.json" >>"$TAP_FILES/out"
verdict $? "is one that Perfetto reads: tracks, slices, an arrow from signal to wait"
finds "a timeline of a replay" 1 '^timeline: 3 events' \
	-n 3 --replay 12:1+40:2 --trace "$TAP_FILES/trace.json" "$fake" needle
finds "a timeline without events" 3 '^timeline: 0 events' -n 2 --trace "$TAP_FILES/trace.json" \
	"$fake" eventless
complains "says so" 'sent no events'
refuses "a timeline that cannot be written" 2 "no/where" \
	tessera check -n 2 --trace no/where "$fake" clean

finds "a program that does not speak" 3 "" -n 2 "$fake" mute
complains "is asked whether it is ours" 'without a word .* is it linked with Tessera'
finds "a program that fails before its first kernel" 3 '' -n 2 "$fake" early
complains "says so" 'ended with exit code 5 before its first kernel'
finds "lines that are no protocol" 3 '^no verdict: 3 of the program.s lines could not ' \
	-n 2 --seeds 2 "$fake" garbage
complains "are told of" '3 of the program.s lines could not be understood'
finds "another version" 3 '' -n 2 --seeds 1 "$fake" version
complains "is named" 'speaks version 2 of the protocol, and this command 1'
finds "a program that is gone" 1 '^finding: deadlock' -n 2 "$fake" gone
seen "with the schedule in which that was" 'in 1 of 3 schedules, first with seed 3' 1
complains "is told of, with the seed" 'ended by signal 9 .* in the schedule of seed 3'
seen "and its circle is drawn" '^    \+-> \[0\] the host of rank 0: waits$' 1
finds "the environment" 3 '' -n 3 "$fake" environment
complains "is that of the world" "'TESSERA_SIZE': '3'"

finds "a schedule that does not end" 3 '^2 schedules' -n 2 --quiet-limit 700ms "$fake" hangs
complains "is told of, with the seed" 'the schedule of seed 3 did not end within 0.7 s'
seen "and is the verdict" '^no verdict: the schedule of seed 3 did not end within 0.7 s$' 1
seen "which does not say that there is no finding" 'no finding' 0
finds "a program that says nothing" 3 '' -n 2 --quiet-limit 700ms "$fake" silent
complains "is told of" 'said nothing for 0.7 s.* linked with Tessera'
nobody "and is gone, with its children"
prints "a program that stays after its last word" '^no finding$' \
	tessera check -n 2 --seeds 2 --quiet-limit 700ms "$fake" lingers
prints "the time limit" '^the time limit came before the last schedule$' \
	tessera check -n 2 --seeds 9999 --time-limit 1s "$fake" slow
nobody "after it nobody is left"
try timeout -s INT 1 tessera check -n 2 --quiet-limit 100s "$fake" silent
grep -q 'ended by signal 2' "$TAP_FILES/err"
verdict $? "an interrupt ends it"
nobody "after an interrupt nobody is left"
try timeout -s KILL 1 tessera check -n 2 --quiet-limit 100s "$fake" silent
nobody "after it was killed nobody is left"

refuses "no number of ranks" 2 'how many ranks' tessera check "$fake" clean
refuses "two answers" 2 'both say how many ranks' tessera check -n 2 --worlds 2-4 "$fake" clean
for list in '' 0 257 2- -3 2-257 2,,3 2, 2-3-4 two '2 3' 2.5; do
	refuses "worlds '$list'" 2 "'$list'; it must be numbers of ranks from 1 to 256" \
		tessera check --worlds "$list" "$fake" clean
done
refuses "an empty range" 2 'say 2-4' tessera check --worlds 4-2 "$fake" clean
refuses "a world twice" 2 'names 3 ranks twice' tessera check --worlds 2-4,3 "$fake" clean
refuses "fewer schedules than worlds" 2 'at least one each' \
	tessera check --worlds 2-4 --seeds 2 "$fake" clean
refuses "a replay in several worlds" 2 'say which with -n' tessera check --worlds 2-4 --replay 3 \
	"$fake" clean
refuses "no program" 2 'which program' tessera check -n 2
refuses "a program that is not there" 2 'no-such-program' tessera check -n 2 ./no-such-program
refuses "a misspelt option" 2 "did you mean '--strategy'" \
	tessera check -n 2 --stratgy pct "$fake" clean
refuses "a misspelt strategy" 2 "did you mean 'random'" \
	tessera check -n 2 --strategy randon "$fake" clean
refuses "a memory that there is not" 2 'off, cache, view' \
	tessera check -n 2 --weak quantum "$fake" clean
for memory in view off; do
	refuses "nodes with memory $memory" 2 "--nodes is for --weak cache: with $memory" \
		tessera check -n 2 --nodes 2 --weak $memory "$fake" clean
done
refuses "no nodes" 2 "'0'" tessera check -n 2 --nodes 0 "$fake" clean
refuses "no seeds" 2 '0' tessera check -n 2 --seeds 0 "$fake" clean
refuses "a replay of many" 2 'leave --seeds away' \
	tessera check -n 2 --replay 3 --seeds 2 "$fake" clean
refuses "what is no schedule" 2 'is not a schedule' \
	tessera check -n 2 --replay 12 --strategy pct --replay 12:x "$fake" clean
refuses "a seed of an exhaustive search" 2 'has no seeds' \
	tessera check -n 2 --strategy exhaustive --replay 3 "$fake" clean
refuses "an exhaustive search in jobs" 2 'one process' \
	tessera check -n 2 --strategy exhaustive --jobs 2 "$fake" clean
refuses "a time limit that is none" 2 'such as 30s' \
	tessera check -n 2 --time-limit soon "$fake" clean
refuses "a file of a schedule that is not there" 2 'no/script' \
	tessera check -n 2 --script no/script "$fake" clean
finish
