#!/bin/sh
# tessera litmus: the oracle against itself, each wrong axiom against the
# oracle, what is printed, drawn and refused.
. "$(dirname "$0")/../tap"
oracle=model/memory/oracle
test=$TAP_FILES/MP.litmus

prints "the generated oracle" '^agree 2000 of 2000$' tessera litmus $oracle/litmus.jsonl
seen "and nothing else is said" '' 1
prints "the hand-shaped oracle" '^agree 477 of 477$' \
	tessera litmus $oracle/core --expect $oracle/core.csv

# Counted in instructions, which are the same on every machine, whatever else it does: three times
# what a verdict takes today, and some 5000 verdicts a second.
case ${BUILD-} in
*asan* | *tsan*)
	skip "2 million instructions a verdict at most, and 64 MiB" \
		"sanitizers cost time and memory"
	;;
*)
	python3 - $oracle/litmus.jsonl <<'CHECK'
import resource
import subprocess
import sys
subprocess.run(["tessera", "litmus", sys.argv[1]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"# {used.ru_maxrss / 1024:.1f} MiB")
sys.exit(used.ru_maxrss > 64 * 1024)
CHECK
	verdict $? "64 MiB at most"
	awk 'NR % 10 == 0' $oracle/litmus.jsonl >"$TAP_FILES/tenth.jsonl"
	if command -v valgrind >/dev/null; then
		try valgrind --tool=callgrind --callgrind-out-file=/dev/null \
			tessera litmus "$TAP_FILES/tenth.jsonl"
		counted=$(sed -n "s/.*Collected : //p" "$TAP_FILES/err")
		each=$((${counted:-0} / $(wc -l <"$TAP_FILES/tenth.jsonl")))
		echo "# $each instructions a verdict"
		[ "$code" -eq 0 ] && [ "$each" -gt 1000 ] && [ "$each" -le 2000000 ]
		verdict $? "2 million instructions a verdict at most" "$each instructions"
	else
		skip "2 million instructions a verdict at most" \
			"no valgrind (ci/install-deps installs it)"
	fi
	;;
esac

for variant in inclusion release-sequences seq-cst; do
	try tessera litmus $oracle/litmus.jsonl --axioms wrong-$variant
	[ "$code" -eq 1 ] &&
		grep -q '^differs ' "$TAP_FILES/out" && ! grep -q '^agree 2000 of' "$TAP_FILES/out"
	verdict $? "the oracle catches axioms with wrong $variant" "exit code $code"
done

cat >"$test" <<'TEST'
LISA MP
{ }
 P0                | P1                 ;
 w[na,wi] x 1      | r[acq,system] r0 y ;
 w[rel,system] y 1 | mov r9 (eq r0 0)   ;
                   | b[] r9 E           ;
                   | r[na,wi] r1 x      ;
                   | E:                 ;
scopes: (system (agent 0) (agent 1))
exists (1:r0=1 /\ 1:r1=0)
TEST
prints "a test" '^Observation MP Never 0 2$' tessera litmus "$test"
seen "its states" '^States 2$' 1
seen "each of them" '^1:r0=[01]; 1:r1=[01];$' 2
seen "its question" '^Condition exists \(1:r0=1 /\\ 1:r1=0\)$' 1
seen "and no race" '^Flag ' 0
prints "why it is forbidden" '^  cycle: [a-z] .*-sw-> .*-fr-> ' tessera litmus "$test" --why
seen "by which axiom" 'is forbidden by Coherence' 1
prints "a drawing" '^Why MP' tessera litmus "$test" "--why=$TAP_FILES/mp.svg"
python3 - "$TAP_FILES/mp.svg" <<'CHECK'
import sys
import xml.dom.minidom as dom
tree = dom.parse(sys.argv[1])
cycle = [
    path for path in tree.getElementsByTagName("path") if path.getAttribute("stroke") == "#d62828"
]
sys.exit(len(tree.getElementsByTagName("rect")) != 1 + 6 or len(cycle) != 4)
CHECK
verdict $? "is XML with a box for each event and a red arrow for each step"
prints "a graph" '^Why MP' tessera litmus "$test" "--why=$TAP_FILES/mp.dot"
[ "$(grep -c 'label="sw", color="#d62828"' "$TAP_FILES/mp.dot")" -eq 1 ]
verdict $? "has the step that synchronises in red"

sed 's/rel,system/rel,agent/; s/acq,system/acq,agent/; 1a Expect=racy' \
	"$test" >"$TAP_FILES/racy.litmus"
prints "a test's own expectation" '^agree 1 of 1$' tessera litmus "$TAP_FILES/racy.litmus"
prints "why a race is one" '^  race: [a-z] -(data|scope) race-> [a-z]$' \
	tessera litmus "$TAP_FILES/racy.litmus" --why
sed 's/Expect=.*/Expect=Never/' "$TAP_FILES/racy.litmus" >"$TAP_FILES/wrong.litmus"
try tessera litmus "$TAP_FILES/wrong.litmus" "$test"
[ "$code" -eq 1 ] && grep -qx 'differs MP: expected Never, but it is racy' "$TAP_FILES/out" &&
	grep -qx 'agree 0 of 1' "$TAP_FILES/out"
verdict $? "an expectation that is not met"
prints "JSON" '' tessera litmus "$test" --json "$TAP_FILES/mp.json"
python3 - "$TAP_FILES/mp.json" <<'CHECK'
import json
import sys
[found] = json.load(open(sys.argv[1], encoding="ascii"))["tests"]
wanted = {
    "name": "MP", "on": "axioms", "observation": "Never", "positive": 0, "negative": 2, "races": [],
    "outcomes": ["1:r0=0; 1:r1=0;", "1:r0=1; 1:r1=1;"], "counts": [1, 1]
}
sys.exit(found != wanted)
CHECK
verdict $? "says the same"

# An oracle that is wrong in one place.
sed -n '1{s/\[x\]=1; \[y\]=2;/[x]=1; [y]=1;/;p;}; 2p' $oracle/litmus.jsonl >"$TAP_FILES/wrong.jsonl"
try tessera litmus "$TAP_FILES/wrong.jsonl"
[ "$code" -eq 1 ] && grep -q '^differs RS_00000: it does not show' "$TAP_FILES/out" &&
	grep -qx 'agree 1 of 2' "$TAP_FILES/out"
verdict $? "an oracle that is wrong once"
sed -n '1s/"races": \[\]/"races": ["datarace"]/p' $oracle/litmus.jsonl >"$TAP_FILES/wrong.jsonl"
try tessera litmus "$TAP_FILES/wrong.jsonl"
[ "$code" -eq 1 ] && grep -qx 'differs RS_00000: no race, but the oracle has datarace' \
	"$TAP_FILES/out"
verdict $? "an oracle with a race too many"
printf 'test,verdict,races\nMP,Allowed,-\n' >"$TAP_FILES/wrong.csv"
try tessera litmus "$test" --expect "$TAP_FILES/wrong.csv"
[ "$code" -eq 1 ] && grep -qx 'differs MP: Forbidden, but the table has Allowed' "$TAP_FILES/out"
verdict $? "a table that is wrong"

cat >"$TAP_FILES/numbers.litmus" <<'TEST'
LISA numbers
{ x=-1; y=0xffffffff00000000; }
 P0                                     | P1                             ;
 r[rlx,system] r0 x                     | rmw[rlx,system] r0 (add r0 -1) x ;
 cas[rlx,system] r1 -4294967296 0x1f y  | mov r1 (min 1099511627776 -0x10) ;
scopes: (system (agent 0) (agent 1))
forall ((0:r0=0xffffffffffffffff \/ 0:r0=-2) /\ 0:r1=-0x100000000 /\
	y=31 /\ 1:r0=-1 /\ x=-2 /\ 1:r1=-16)
TEST
for witness in axioms views cache interleaving; do
	prints "large, negative and hexadecimal numbers by $witness" \
		'^Observation numbers Always 2 0$' \
		tessera litmus "$TAP_FILES/numbers.litmus" --on $witness
done

sed 's/acq,system/acq,sistem/' "$test" >"$TAP_FILES/bad.litmus"
refuses "a malformed test" 1 "bad.litmus:4:28: 'sistem' is not a scope; did you mean 'system'" \
	tessera litmus "$TAP_FILES/bad.litmus"
printf '{"litmus": "LISA T"}\n' >"$TAP_FILES/bad.jsonl"
refuses "a malformed test of an oracle" 1 "bad.jsonl:1:1:7: expected '\{'" \
	tessera litmus "$TAP_FILES/bad.jsonl"
printf '{"litmus": \n' >"$TAP_FILES/bad.jsonl"
refuses "an oracle that is not JSON" 1 'bad.jsonl:1:[0-9]+: ' tessera litmus "$TAP_FILES/bad.jsonl"
refuses "a file that is not there" 1 'none.litmus: No such file' \
	tessera litmus "$TAP_FILES/none.litmus"
mkdir "$TAP_FILES/empty"
refuses "a folder without tests" 1 'no file here ends in .litmus' tessera litmus "$TAP_FILES/empty"
ln -s . "$TAP_FILES/empty/itself"
refuses "a folder with a link to itself" 1 'empty: no file here' tessera litmus "$TAP_FILES/empty"
refuses "a folder for a table" 1 "empty: Is a directory" \
	tessera litmus "$test" --expect "$TAP_FILES/empty"
refuses "no test" 2 'which test' tessera litmus
refuses "a witness that there is not" 2 "unknown witness 'axiom'; did you mean 'axioms'" \
	tessera litmus "$test" --on axiom
refuses "axioms that there are not" 2 "there are no axioms 'tesera'; did you mean 'tessera'" \
	tessera litmus "$test" --axioms tesera
refuses "a drawing of another kind" 2 'ends in .dot or .svg' tessera litmus "$test" --why=mp.png
finish
