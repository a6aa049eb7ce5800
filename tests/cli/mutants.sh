#!/bin/sh
# The programs that mutants are made of are right: they verify what they get, in
# worlds of several sizes.
. "$(dirname "$0")/tap"
export TESSERA_CPUEMU_RESIDENT_BLOCKS=4 TESSERA_HEAP_SIZE=16M
programs=$BUILD/tests/mutants
tile="--dtype f32 --tile 16x16x16"

# A line for each case of each workload: its name, and its arguments.
cases=$(tessera bench --list | awk '
	/^[^ ]/ { name = $1 }
	/^  [a-z ]+:$/ { part = $0 }
	/^    / && part == "  cases:" { $1 = $1; print name, $0 }')
[ "$(printf '%s\n' "$cases" | wc -l)" -ge 4 ]
verdict $? "workloads have cases" "$cases"

for ranks in 1 2 3 5 8; do
	for program in pair lock ticket locked one_shot_all_reduce ring_all_gather counter \
		split_put relay row_counts gemm_beside_put attend_beside_put pulled within added \
		sent reduced marked windowed; do
		prints "$program on $ranks" '' \
			tessera run -n $ranks --placement thread "$programs/$program"
	done
	while read -r workload arguments; do
		prints "$workload $arguments on $ranks" '' \
			tessera run -n $ranks --placement thread "$programs/workload" \
			$workload --pattern all $arguments
	done <<CASES
$cases
CASES
	for pattern in bulk-synchronous producer-consumer \
		fused-sequential fused-workgroup-specialized fused-wave-specialized banded; do
		prints "$pattern on $ranks" '' tessera run \
			-n $ranks --placement thread "$programs/workload" gemm-all-scatter $tile \
			--pattern $pattern --shape 33x50x20 --blocks 4 --comm-blocks 2 --bands 3
	done
	for pattern in producer-consumer fused-sequential fused-workgroup-specialized; do
		prints "$pattern in halves on $ranks" '' tessera run \
			-n $ranks --placement thread "$programs/workload" gemm-all-scatter $tile \
			--pattern $pattern --shape 33x50x36 --blocks 4 --comm-blocks 2 --parts 2
	done
	prints "$ranks ranks as processes" '' \
		tessera run -n $ranks --placement process "$programs/pair"
done
refuses "a size that is none" 1 'MESSAGES' tessera run -n 2 --placement thread "$programs/pair" none
finish
