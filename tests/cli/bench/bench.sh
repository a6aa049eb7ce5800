#!/bin/sh
# tessera bench gemm-all-scatter: all patterns in several worlds, and what it
# refuses: one sentence, before any rank starts.
. "$(dirname "$0")/../tap"
gas='tessera bench gemm-all-scatter --iterations 2 -w 1'
odd='--shape 91x73x37 --verify'
ok=' ok$'

prints "the workloads are listed" '^  gemm-all-scatter ' tessera bench --help
# Of each pattern: its name, lines of device code, and the lines of these that communicate. None do
# in `local`, where ranks share nothing, and in one `bulk-synchronous`, where a call of the host
# between launches does.
prints "patterns with lines of communication, at most 50 of each" '^yes$' \
	sh -c "tessera bench --list | awk '/^  [a-z]/ { patterns = /patterns:/ }
		/^    / && patterns && \$2 != \"-\" {
			some += \$3 > 0; none[\$1] += \$3 == 0; silent += \$3 == 0
			bad += !(\$2 > \$3 && \$3 <= 50) }
		END { known = none[\"local\"] == 1 && none[\"bulk-synchronous\"] == 1 && silent == 2
			print (some >= 9 && known && !bad) ? \"yes\" : \"no\" }'"
prints "the workload has a help" '^usage: tessera bench gemm-all-scatter' \
	tessera bench gemm-all-scatter --help

for placement in process thread; do
	for dtype in bf16 f16 f32; do
		prints "5 ranks, $dtype, as $placement" "$ok" \
			$gas -n 5 -p $placement $odd --dtype $dtype
		seen "5 ranks, $dtype, as $placement: every pattern" "$ok" 7
	done
	for ranks in 1 2 3 8; do
		prints "$ranks ranks, integers, as $placement" "$ok" \
			$gas -n $ranks -p $placement $odd --integers
		seen "$ranks ranks, integers, as $placement: every pattern" "$ok" 7
	done
done

prints "N smaller than the world" "$ok" $gas -n 8 --shape 40x3x20 --verify --integers
seen "N smaller than the world: every pattern" "$ok" 7
prints "some of the patterns" '^fused-sequential .* ok$' \
	$gas -n 2 --pattern fused-sequential,unfused-producer-consumer $odd
seen "some of the patterns: two lines" "$ok" 2
prints "both spellings" '^fused-wave-specialized .* ok$' \
	$gas -n 2 --pattern fused-wave-specialised $odd
prints "without --verify it says so" 'not verified$' $gas -n 2 --shape 91x73x37
prints "blocks and tile as asked for" '^fused-workgroup-specialized +16x16x16 .* ok$' \
	$gas -n 3 --tile 16x16x16 --blocks 5 --comm-blocks 2 $odd
prints "the last tiles in halves" '^fused-sequential +16x16x16 .* ok$' \
	$gas -n 3 --tile 16x16x16 --blocks 5 --parts 2 --pattern fused-sequential $odd
prints "the record has a row a worker" '^ +0 +0 +[0-9]+ +0 +1 +gas_fused_wave +send ' \
	$gas -n 2 --pattern fused-wave-specialized --record $odd
prints "unfused sends after the last product" '^bulk-synchronous .* no +ok$' \
	$gas -n 4 --pattern bulk-synchronous $odd
prints "fused sends before the last product" '^fused-sequential .* yes +ok$' \
	$gas -n 2 --pattern fused-sequential --tile 16x16x16 --blocks 2 $odd

refuses "no workload" 2 'which workload' tessera bench
refuses "a misspelt workload" 2 "did you mean 'gemm-all-scatter'" tessera bench gem-all-scatter
refuses "a workload like none" 2 "workload 'foo'; there are .*, gemm-all-scatter, .*, moe, " \
	tessera bench foo
refuses "an extent of zero" 2 '0x8x8.*at least 1' \
	tessera bench gemm-all-scatter --pattern fused-sequential -n 3 --shape 0x8x8
refuses "a negative extent" 2 '-3x8x8.*at least 1' $gas --shape -3x8x8
refuses "nine parts" 2 "tiles cannot be multiplied in 9 parts|--parts is '9'" $gas --parts 9
refuses "two extents" 2 "'8x8' is not MxNxK" $gas --shape 8x8
refuses "four extents" 2 "is not MxNxK" $gas --shape 8x8x8x8
refuses "an extent that is no number" 2 "is not MxNxK" $gas --shape 8x8xeight
refuses "an empty shape" 2 "is not MxNxK" $gas --shape ''
refuses "a shape that overflows" 2 'overflows' $gas --shape 99999999999x99999999999x2
refuses "an extent that overflows" 2 'overflows' $gas --shape 99999999999999999999x1x1
refuses "a misspelt pattern" 2 "did you mean 'fused-sequential'" $gas --pattern fused-sequentail
refuses "a pattern like none" 2 "'turbo' is unknown" $gas --pattern turbo
refuses "a pattern like none of another" 2 "unknown; 'tessera bench --list' has those of moe" \
	tessera bench moe --pattern turbo
refuses "the fastest pattern where none is known" 2 'does not know which' \
	tessera bench attention --pattern fastest
refuses "an empty pattern" 2 "'' is unknown" $gas --pattern all,
refuses "a misspelt dtype" 2 'bf61.*bf16' $gas --dtype bf61
refuses "a dtype that is not built" 2 'i8.*bf16' $gas --dtype i8
agg='tessera bench all-gather-gemm --iterations 1 -w 0 --no-tuned'
prints "the fastest pattern alone" '^(push|marked) .* ok$' \
	$agg -n 3 --shape 40x20x30 --pattern fastest --verify
seen "the fastest pattern alone: no other" ' ok$' 1
refuses "columns of B" 2 'need not be gathered' $agg --operand 2 --along 2
refuses "shards that are too large for marked" 2 'up to 4 MiB.*use push' \
	$agg -n 2 --shape 2050x1x1024 --dtype f32 --pattern marked
prints "shards that are too large for marked, in all patterns: it is left out" \
	'marked is left out: .*up to 4 MiB' \
	sh -c "$agg -n 2 --shape 2050x1x1024 --dtype f32 2>&1"
prints "a tile that some patterns are not built for: which is left out" \
	'fused-wave-specialized is left out' \
	sh -c "$gas -n 2 --tile 128x256x64 --shape 40x30x64 --verify 2>&1"
seen "all others run" "$ok" 6
refuses "but not where it is named" 2 '128x256x64.*not built' \
	$gas --tile 128x256x64 --pattern fused-wave-specialized
refuses "a tile that is not built" 2 '48x48x16.*64x64x32' $gas --tile 48x48x16
refuses "a tile of zero" 2 'is no tile' $gas --tile 0x16x16
refuses "no rank" 2 '\b0\b' $gas -n 0
refuses "too many ranks" 2 '999' $gas -n 999
refuses "ranks that are no number" 2 'eight' $gas -n eight
refuses "a misspelt backend" 2 "did you mean 'cpuemu'" $gas --backend cpuem
refuses "an unknown backend" 2 'quantum' $gas --backend quantum
refuses "an unknown placement" 2 'fibre' $gas -p fibre
refuses "no iteration" 2 '\b0\b' $gas --iterations 0
refuses "no block" 2 '\b0\b' $gas --blocks 0
refuses "a block too few for the pattern" 2 'at least 2 blocks' \
	$gas --pattern producer-consumer --blocks 1
refuses "no block left to compute" 2 'none computes' $gas --blocks 4 --comm-blocks 4
refuses "a misspelt option" 2 "did you mean '--verify'" $gas --verifi
refuses "an argument that is no option" 2 "'8' is not an option" $gas 8
refuses "an option without its value" 2 'needs a value' tessera bench gemm-all-scatter --shape
refuses "a sum that integers do not hold" 2 'K may be at most' \
	$gas --shape 8x8x2000000 --verify --integers
refuses "JSON into a folder that is not there" 2 'no/such/file' \
	$gas --json "$TAP_FILES/no/such/file"
refuses "a dump into a folder that is not there" 2 'no/such/file' \
	$gas --dump "$TAP_FILES/no/such/file"

# What only the ranks can know is said by one of them for all.
refuses "a heap too small" 1 'TESSERA_HEAP_SIZE' \
	env TESSERA_HEAP_SIZE=1M $gas -n 4 --shape 2048x2048x2048
refuses "a heap too small, as threads" 1 'TESSERA_HEAP_SIZE' \
	env TESSERA_HEAP_SIZE=1M $gas -n 4 -p thread --shape 2048x2048x2048 --verify
refuses "more blocks than are resident" 1 'at one time' $gas -n 2 --blocks 100000
refuses "a corrupt variable" 1 'TESSERA_HEAP_SIZE' env TESSERA_HEAP_SIZE=lots $gas -n 2
refuses "a misspelt variable" 1 'TESSERA_HEAP_SIZE' env TESSERA_HEAP_SZIE=1M $gas -n 2
finish
