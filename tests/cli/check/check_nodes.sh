#!/bin/sh
# tessera check --nodes: ranks on several nodes. Right programs see right values,
# and what goes wrong only between nodes is seen.
. "$(dirname "$0")/../tap"

needs_forks schedules

gas="gemm-all-scatter --tile 16x16x16 --runs 1 --in-flight 2"
agg="all-gather-gemm --tile 16x16x16 --runs 1 --in-flight 2"
nodes="$BUILD/tests/planted/order/nodes"
wrong="$BUILD/tests/planted/races/unsynchronised"
report="$TAP_FILES/report.json"

for ranks in 2 3 5; do
	prints "gemm-all-scatter on $ranks" '^no finding$' \
		tessera check --nodes 2 -n $ranks --seeds 20 $gas --pattern all --shape 33x29x17
	for pattern in bulk-synchronous pull staged-pull push marked; do
		prints "all-gather-gemm, $pattern, on $ranks" '^no finding$' \
			tessera check --nodes 2 -n $ranks --seeds 10 $agg --pattern $pattern \
			--shape 33x29x17
	done
done
for example in hello message_passing_load_store message_passing_put_signal; do
	prints "$example" '^no finding$' \
		tessera check --nodes 3 -n 3 --seeds 20 "$BUILD/examples/$example"
done
for program in pair lock one_shot_all_reduce ring_all_gather counter relay row_counts split_put; do
	prints "$program" '^no finding$' \
		tessera check --nodes 2 -n 3 --seeds 60 "$BUILD/tests/mutants/$program"
done
prints "by priorities" '^no finding$' tessera check --nodes 3 -n 3 --seeds 20 --strategy pct \
	$gas --pattern fused-sequential --shape 48x48x32

for kind in transitive bystander own; do
	for several in 2 3; do
		prints "$kind on $several nodes" '^no finding$' \
			tessera check --nodes $several -n 3 --seeds 200 "$nodes" $kind
	done
done

# count FIELD: of the last report.
count() {
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$report" "$1"
}

try tessera check --nodes 3 -n 3 --seeds 200 --json "$report" "$nodes" unreleased
[ "$code" -eq 1 ] && grep -q '^data-race at' "$TAP_FILES/out" && [ "$(count failed)" -gt 0 ]
verdict $? "without a release old data is seen, beside the race" "exit code $code"

# Nothing races, and caches alone do not show it.
prints "a late signal is none of caches" '^no finding$' \
	tessera check --weak cache -n 3 --seeds 400 --all-seeds "$nodes" hands
try tessera check --nodes 3 -n 3 --seeds 400 --all-seeds --max-findings 1 \
	--json "$report" "$nodes" hands
[ "$code" -eq 1 ] && grep -q '^program-failure' "$TAP_FILES/out" &&
	[ "$(count nodes)" -eq 3 ]
verdict $? "it is seen between nodes" "exit code $code"
seen "which memory it was" '; 3 ranks, random, memory cache on 3 nodes$' 1
replay=$(sed -n 's/^ *replay *tessera //p' "$TAP_FILES/out" | head -n 1)
case $replay in
"check -n 3 --weak cache --nodes 3 --replay "*) true ;;
*) false ;;
esac
verdict $? "the command to replay it names the nodes" "$replay"
try sh -c "tessera $replay"
[ "$code" -eq 1 ] && grep -q '^program-failure' "$TAP_FILES/out"
verdict $? "and replays it" "exit code $code"
try tessera check --nodes 3 -n 3 --seeds 200 --shrink --max-findings 1 "$nodes" unreleased
[ "$code" -eq 1 ] && grep -q '^ *replay *.* --nodes 3 ' "$TAP_FILES/out" &&
	sed -n '/^shrunk/,$s/^ *replay *//p' "$TAP_FILES/out" |
	grep '^tessera check -n 3 --weak cache ' | grep -vq -- '--nodes'
verdict $? "shrinking finds that one node is enough" "exit code $code"

# The queue between two ranks keeps its order: a flag behind its data is behind it without a
# release too. The race is told all the same.
try tessera check --nodes 2 -n 2 --seeds 100 --json "$report" "$wrong" relaxed
[ "$code" -eq 1 ] && grep -q '^data-race at' "$TAP_FILES/out" && [ "$(count failed)" -eq 0 ]
verdict $? "what happens to be in order is a race all the same" "exit code $code"

prints "more nodes than ranks" '^no finding$' \
	tessera check --nodes 8 -n 2 --seeds 20 "$BUILD/examples/hello"
prints "one rank" '^no finding$' tessera check --nodes 2 -n 1 --seeds 5 "$BUILD/examples/hello"

# The same seeds, the same runs.
for i in 1 2; do
	tessera check --nodes 2 -n 3 --seeds 40 --json "$report.$i" "$nodes" unreleased \
		>"$TAP_FILES/out" 2>&1
done
python3 - "$report.1" "$report.2" <<'CHECK'
import json
import sys
first, other = (
    {
        key: json.load(open(name, encoding="utf-8"))[key]
        for key in ("findings", "failed", "distinct", "choices", "steps")
    }
    for name in sys.argv[1:]
)
sys.exit(first != other)
CHECK
verdict $? "the same seeds give the same runs"
finish
