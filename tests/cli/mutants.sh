#!/bin/sh
# The programs that mutants are made of are right: they verify what they get, in worlds of several sizes.
. "$(dirname "$0")/tap"
export TESSERA_CPUEMU_RESIDENT_BLOCKS=4 TESSERA_HEAP_SIZE=16M
programs=$BUILD/tests/mutants

for ranks in 1 2 3 5 8; do
	for program in pair lock ticket locked one_shot_all_reduce ring_all_gather counter split_put relay row_counts gemm_beside_put pulled within added sent reduced; do
		prints "$program on $ranks" '' tessera run -n $ranks --placement thread "$programs/$program"
	done
	for pattern in bulk-synchronous producer-consumer fused-sequential fused-workgroup-specialized fused-wave-specialized banded; do
		prints "$pattern on $ranks" '' tessera run -n $ranks --placement thread "$programs/gemm_all_scatter" \
			--pattern $pattern --shape 33x50x20 --blocks 4 --comm-blocks 2 --bands 3
	done
	for pattern in producer-consumer fused-sequential fused-workgroup-specialized; do
		prints "$pattern in halves on $ranks" '' tessera run -n $ranks --placement thread "$programs/gemm_all_scatter" \
			--pattern $pattern --shape 33x50x36 --blocks 4 --comm-blocks 2 --parts 2
	done
	prints "$ranks ranks as processes" '' tessera run -n $ranks --placement process "$programs/pair"
done
refuses "a size that is none" 1 'MESSAGES' tessera run -n 2 --placement thread "$programs/pair" none
finish
