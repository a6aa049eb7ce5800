#!/bin/sh
# tessera litmus --on views, cache, cpuemu and GPUs: the suite, the oracle, and
# that a witness which shows what is forbidden is told on.
. "$(dirname "$0")/../tap"
oracle=model/memory/oracle
test="$TAP_FILES/test.litmus"
suite=tests/litmus
tests=$(ls $suite/*.litmus | wc -l)

for witness in axioms views cache; do
	prints "the suite on $witness" "^agree $tests of $tests\$" \
		tessera litmus $suite --on $witness
done
prints "the generated oracle on the view machine" '^agree 2000 of 2000$' \
	tessera litmus $oracle/litmus.jsonl --on views
seen "all outcomes without seq_cst but load buffering" \
	'^equal to .*: ([1-9][0-9]*) of \1 race-free tests without seq_cst, ' 1
seen "and as many with it as ever: what the exploration leaves out is in the rest" \
	' 621 of 633 with it$' 1
seen "why some are missing with it" \
	'^the others show less: the machine orders seq_cst operations as it executes them' 1
try tessera litmus $oracle/core --expect $oracle/core.csv --on views
[ "$code" -eq 1 ] && grep -q '^differs LB' "$TAP_FILES/out" &&
	! grep '^differs' "$TAP_FILES/out" | grep -qv '^differs LB.*: Forbidden,'
verdict $? "of the hand-shaped oracle it misses load buffering alone" "exit code $code"

prints "the generated oracle on the cache machine" '^agree 2000 of 2000$' \
	tessera litmus $oracle/litmus.jsonl --on cache
seen "half of what is weak, and every interleaving" \
	'^of [0-9]+ weak outcomes of [0-9]+ race-free tests it shows [0-9]+ \((4[5-9]|5[0-9]) %\); of [0-9]+ outcomes of interleavings it lacks 0$' 1
prints "the suite on nodes" "^agree $tests of $tests\$" \
	tessera litmus $suite --on cache --nodes 2
prints "the hand-shaped oracle on nodes" '^agree ([1-9][0-9]*) of \1$' \
	tessera litmus $oracle/core --expect $oracle/core.csv --on cache --nodes 8
for nodes in 1 2; do
	try tessera litmus $suite/MP.add.rlx.diffGPU-ss.litmus --on cache --nodes $nodes --verbose
	sed -n 's/^Observation MP.add.rlx.diffGPU-ss //p' "$TAP_FILES/out"
done >"$TAP_FILES/seen"
[ "$(tr '\n' ' ' <"$TAP_FILES/seen")" = "Never 0 3 Sometimes 1 3 " ]
verdict $? "only between nodes an ADD is late" "$(cat "$TAP_FILES/seen")"
refuses "nodes of a witness that has none" 2 '--on cpuemu; views has no nodes' \
	tessera litmus $suite --on views --nodes 2
prints "a stale message where the acquire is wider than the release" \
	'^Observation MP.rel.acq.diffGPU-as Sometimes 1 2$' \
	tessera litmus $oracle/core/MP.rel.acq.diffGPU-as.litmus --on cache
prints "and none by interleaving" '^Observation MP.rel.acq.diffGPU-as Never 0 2$' \
	tessera litmus $oracle/core/MP.rel.acq.diffGPU-as.litmus --on interleaving
sed '/^Expect/s/=.*/=Never/' $suite/SB.rlx.diffGPU-ss.litmus >"$test"
try tessera litmus "$test" --on cache
[ "$code" -eq 1 ] && grep -qx 'differs SB.rlx.diffGPU-ss: expected Never, but it is Sometimes' \
	"$TAP_FILES/out"
verdict $? "what the cache machine shows though it were forbidden is told" "exit code $code"

case ${BUILD-} in
*tsan*)
	skip "tests on the emulator" "half of them race, as they are meant to"
	finish
	;;
esac

prints "the suite on the emulator" "^agree $tests of $tests\$" \
	tessera litmus $suite --on cpuemu --runs 2000
prints "the oracle on the emulator" '^agree 2000 of 2000$' \
	tessera litmus $oracle/litmus.jsonl --on cpuemu --runs 100
prints "a histogram" '^Observation SB.sc.diffGPU-ss Never 0 3000$' \
	tessera litmus $suite/SB.sc.diffGPU-ss.litmus \
	--on cpuemu --runs 3000 --verbose --json "$TAP_FILES/sb.json"
python3 - "$TAP_FILES/sb.json" <<'CHECK'
import json
import sys
[found] = json.load(open(sys.argv[1], encoding="ascii"))["tests"]
# which of them a run shows is chance
orders = {"0:r0=0; 1:r0=1;", "0:r0=1; 1:r0=0;", "0:r0=1; 1:r0=1;"}
sys.exit(
    found["on"] != "cpuemu" or sum(found["counts"]) != 3000 or not set(found["outcomes"]) <= orders
)
CHECK
verdict $? "and the same as JSON"

# What is allowed, declared forbidden: one outcome of several to witnesses that see all, and to all
# of them what every run shows.
declared_never() { sed '/^Expect/s/=.*/=Never/' >"$test"; }
told_on() {
	try tessera litmus "$test" --on "$1" --runs 2000
	[ "$code" -eq 1 ] && grep -qx "differs $2: expected Never, but it is $3" "$TAP_FILES/out"
	verdict $? "a forbidden outcome that is $3 is told on by $1" "exit code $code"
}
declared_never <$suite/SB.rlx.diffGPU-ss.litmus
for witness in axioms views; do
	told_on $witness SB.rlx.diffGPU-ss Sometimes
done
sed 's/^exists.*/exists (1:r0=0 \\\/ 1:r0=1)/' $suite/SB.rlx.diffGPU-ss.litmus | declared_never
for witness in axioms views cpuemu; do
	told_on $witness SB.rlx.diffGPU-ss Always
done

sed 's/,system/,wave/' $suite/CoRR.rlx.diffGPU-ss.litmus >"$test"
try tessera litmus "$test" $suite/SB.sc.diffGPU-ss.litmus --on cpuemu
[ "$code" -eq 1 ] && grep -qE \
	'^not judged by cpuemu: CoRR.rlx.diffGPU-ss: line [0-9]+: the device API has no scope narrower' \
	"$TAP_FILES/out" &&
	grep -qx 'not judged 1' "$TAP_FILES/out" && grep -qx 'agree 1 of 2' "$TAP_FILES/out"
verdict $? "what the device API has not is not judged, and that is no success" "exit code $code"
refuses "a witness without its device" 1 \
	'^tessera litmus: (hip: |cuda: |this build has no backend)' tessera litmus $suite --on hip

# What a machine with GPUs runs, run on the emulator.
prints "the table of the suite on hardware" \
	'^[1-9][0-9]* tests are Never: 0 were seen all the same; [0-9]+ count\.$' \
	ci/litmus-gpu --on cpuemu --runs 500 --out "$TAP_FILES" "$BUILD"
seen "a row for each test" \
	'^\| [^ ]+ \| (Never|Sometimes|racy) \| (Never|Sometimes|racy) \| [0-9]+ \| 500 \|' "$tests"
python3 - "$TAP_FILES/cpuemu.json" "$tests" <<'CHECK'
import json
import sys
found = json.load(open(sys.argv[1], encoding="ascii"))
sys.exit(found["runs"] != 500 or len(found["tests"]) <= int(sys.argv[2]))
CHECK
verdict $? "and the counts as JSON, of relaxed tests too"
finish
