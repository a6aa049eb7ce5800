#!/bin/sh
# tessera bench --baseline on the emulator: what is measured beside the
# patterns, and that the parts agree with each other.
. "$(dirname "$0")/../tap"
gas='tessera bench gemm-all-scatter --iterations 3 -w 1 --no-tuned --baseline'
odd='--shape 91x73x37 --verify'
json=$TAP_FILES/bench.json

for placement in process thread; do
	for ranks in 2 3 5; do
		prints "$ranks ranks as $placement" \
			'^  the same, \+ columns to their places .* ok$' \
			$gas -n $ranks -p $placement $odd
		seen "$ranks ranks as $placement: each pattern beside it" \
			'^[a-z-]+ .* [0-9.]+x +[0-9.]+x  ok$' 7
		seen "$ranks ranks as $placement: the link" \
			'^  plain stores, (rank 0 to 1|each to each), .* GB/s out of a rank$' 2
		seen "$ranks ranks as $placement: the floor" '^  floor: [0-9.]+ ms' 1
	done
done
for dtype in f16 f32; do
	prints "$dtype, integers" '^  the same, .* ok$' \
		$gas -n 3 $odd --dtype $dtype --integers --pattern fused-sequential
done
prints "N smaller than the world" '^  the same, .* ok$' \
	$gas -n 5 --shape 40x3x20 --verify --integers --pattern fused-sequential
prints "one rank has no link" \
	'^  plain stores, rank 0 to 1, .* - +a world of one rank has no link$' $gas -n 1 $odd
seen "one rank: the floor is the product" '^  floor: [0-9.]+ ms' 1
# where the product is not the first step
agg='tessera bench all-gather-gemm -n 3 --iterations 3 -w 1 --no-tuned --baseline --dtype f32'
agg="$agg --pattern push"
prints "gathered rows: the product beside ours" \
	'^  product by Tessera, .* of the library.s$' $agg $odd
seen "gathered rows: what is compared" '^  all-gather \+ product: the baseline .* ok$' 1
seen "gathered rows: the floor is the product" \
	'^  floor: [0-9.]+ ms, the larger of the library.s product and' 1
prints "gathered columns: the product beside ours" \
	'^  product by Tessera, .* of the library.s$' $agg $odd --along 2
seen "gathered columns: what is compared" \
	'^  all-gather \+ columns to their places \+ product: the baseline .* ok$' 1
prints "without --verify it says so" '^  the same, .* not verified$' \
	$gas -n 2 --shape 91x73x37 --pattern fused-sequential
prints "a heap with little room left" '^  floor: ' \
	env TESSERA_HEAP_SIZE=512K $gas -n 2 $odd --pattern fused-sequential
refuses "a heap too small for it" 1 'TESSERA_HEAP_SIZE' \
	env TESSERA_HEAP_SIZE=16K $gas -n 2 --shape 91x73x37

prints "JSON" 'ok$' $gas -n 3 $odd --json "$json"
python3 -c "
import json, statistics
run = json.load(open('$json'))
base, steps = run['baseline'], run['baseline']['steps']
assert (
    base['name'] == 'OpenBLAS + memcpy'
    and base['verdict'] == {'ok': True}
    and run['date']
    and run['device']
)
assert set(steps) == {
    'product', 'all_gather', 'product_all_gather', 'product_all_gather_layout', 'store_one_pair',
    'store_each_to_each'
}
for step in [*steps.values(), base['own_product']]:
    assert len(step['times_ns']) == 3 and step['median_ns'] == statistics.median_low(
        step['times_ns']
    )
close = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
product, both = steps['product']['median_ns'], steps['product_all_gather']['median_ns']
assert close(base['own_product']['of_library'], product / base['own_product']['median_ns'])
assert close(
    base['store_one_pair_gbps'], base['store_bytes'] / steps['store_one_pair']['median_ns']
)
assert close(
    base['store_each_to_each_gbps'],
    2 * base['store_bytes'] / steps['store_each_to_each']['median_ns']
)
assert base['exchange_ns'] == int(2 * 91 * 25 * 2 / base['store_one_pair_gbps'])
assert base['floor_ns'] == max(product, base['exchange_ns'])
assert len(run['patterns']) == 7
for pattern in run['patterns']:
    assert close(pattern['faster_than_baseline'], both / pattern['median_ns'])
    assert close(pattern['over_floor'], pattern['median_ns'] / base['floor_ns'])
" 2>"$TAP_FILES/err"
verdict $? "the JSON holds what was measured, and its ratios"
finish
