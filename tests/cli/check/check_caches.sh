#!/bin/sh
# tessera check --weak cache: right programs see right values, wrong ones really
# see old ones, and it replays.
. "$(dirname "$0")/../tap"

needs_forks schedules

gas="gemm-all-scatter --tile 16x16x16 --runs 1 --in-flight 2"
wrong="$BUILD/tests/planted/races/unsynchronised"
stale_box="$BUILD/tests/planted/order/stale"
report="$TAP_FILES/report.json"

for ranks in 1 2 3; do
	prints "all patterns on $ranks" '^no finding$' \
		tessera check --weak cache -n $ranks --seeds 20 $gas --pattern all --shape 33x29x17
done
for example in hello message_passing_load_store message_passing_put_signal; do
	prints "$example" '^no finding$' \
		tessera check --weak cache -n 3 --seeds 20 "$BUILD/examples/$example"
done
for program in pair lock one_shot_all_reduce ring_all_gather counter relay row_counts split_put; do
	prints "$program" '^no finding$' \
		tessera check --weak cache -n 3 --seeds 60 "$BUILD/tests/mutants/$program"
done
prints "a launch after another sees what that one got" '^no finding$' \
	tessera check --weak cache \
	-n 2 --seeds 60 --resident-blocks 2 "$BUILD/tests/mutants/gemm_beside_put" 16 2
prints "by priorities" '^no finding$' tessera check --weak cache -n 3 --seeds 20 --strategy pct \
	$gas --pattern fused-sequential --shape 48x48x32

# failed KIND MODE: how many of 100 schedules end with a wrong copy.
failed() {
	tessera check -n 2 \
		--seeds 100 --weak "$2" --json "$report" "$wrong" "$1" >"$TAP_FILES/out" 2>&1
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["failed"])' "$report"
}

stale=$(failed relaxed cache)
[ "$stale" -gt 0 ] && grep -q '^data-race at' "$TAP_FILES/out"
verdict $? "without a release old data is seen, beside the race" "$stale of 100 schedules"
right=$(failed none cache)
[ "$right" -eq 0 ] && grep -q '^no finding$' "$TAP_FILES/out"
verdict $? "and with it never" "$right of 100 schedules"
right=$(failed fenced cache)
[ "$right" -eq 0 ] && grep -q '^no finding$' "$TAP_FILES/out"
verdict $? "nor where fences order it" "$right of 100 schedules"

prints "a kernel sees what kernels of others did before its launch" '^no finding$' \
	tessera check --weak cache -n 2 --seeds 100 "$stale_box" launches
try tessera check --weak cache -n 2 --seeds 200 --json "$report" "$stale_box" peeks
python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
classes = {finding["class"] for finding in report["findings"]}
sys.exit(report["failed"] < 40 or classes != {"data-race", "reuse"})' "$report"
verdict $? "who sees an old flag is not ordered by the new one" "exit code $code"

# The same ten times of ten: findings, and in how many schedules the copy was wrong.
same=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	tessera check -n 2 \
		--seeds 40 --weak cache --json "$report.$i" "$wrong" relaxed >"$TAP_FILES/out" 2>&1
	python3 - "$report.1" "$report.$i" <<'CHECK' && same=$((same + 1))
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
done
[ "$same" -eq 10 ]
verdict $? "the same seeds give the same runs" "they did $same times of 10"

# The first seed that shows old data shows it again, alone.
seed=1
while [ "$seed" -le 100 ]; do
	tessera check -n 2 --seeds 1 --first-seed "$seed" \
		--weak cache --json "$report" "$wrong" relaxed >"$TAP_FILES/out" 2>&1
	grep -q '"failed": 1' "$report" && break
	seed=$((seed + 1))
done
rm -f "$report"
tessera check -n 2 \
	--weak cache --replay "$seed" --json "$report" "$wrong" relaxed >"$TAP_FILES/out" 2>&1
grep -q '"failed": 1' "$report"
verdict $? "old data replays" "seed $seed"
finish
