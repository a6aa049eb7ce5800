#!/bin/sh
# tessera perf: that it measures and verifies each operation, and what it
# refuses. Speed is judged elsewhere: this machine is busy.
. "$(dirname "$0")/tap"
json=$TAP_FILES/perf.json
few="-N 3 -w 0 -m 20"

for placement in process thread; do
	for operation in put get copy load store; do
		for ranks in 1 2 3; do
			prints "$operation on $ranks as $placement" '^# wrong elements: 0 \(ok\)$' \
				tessera perf $operation \
				-n $ranks --placement $placement -b 4 -e 4K -f 8 $few
			seen "$operation on $ranks as $placement: a line a size" \
				'^ +[0-9]+ +[0-9]+ +f32 ' 4
		done
	done
	for ranks in 2 3 8; do
		prints "put-signal on $ranks as $placement" '^# wrong elements: 0 \(ok\)$' \
			tessera perf put-signal \
			-n $ranks --placement $placement -b 4 -e 4K -f 8 $few
		seen "put-signal on $ranks as $placement: a line a size" \
			'^ +[0-9]+ +[0-9]+ +f32 .* 0 .*one way(, .*disturbed)?$' 4
		prints "marked on $ranks as $placement" '^# wrong elements: 0 \(ok\)$' \
			tessera perf marked \
			-n $ranks --placement $placement -b 4 -e 4K -f 8 $few
		seen "marked on $ranks as $placement: a line a size" \
			'^ +[0-9]+ +[0-9]+ +f32 .* 0 .*one way(, .*disturbed)?$' 4
		prints "signal on $ranks as $placement" '^ .* 0 .*one way(, .*disturbed)?$' \
			tessera perf signal -n $ranks --placement $placement $few
	done
	for ranks in 1 2 3 5 8; do
		prints "all-gather on $ranks as $placement" '^# wrong elements: 0 \(ok\)$' \
			tessera perf all-gather \
			-n $ranks --placement $placement -b 64 -e 4K -f 8 -V 2 $few
		seen "all-gather on $ranks as $placement: two lines a size" \
			'^ +[0-9]+ +[0-9]+ +f32 .* 0 .*(in|out of) place(, .*disturbed)?$' 6
	done
	for operation in all-reduce reduce-scatter all-to-all broadcast reduce gather scatter; do
		for ranks in 1 3 8; do
			prints "$operation on $ranks as $placement" '^# wrong elements: 0 \(ok\)$' \
				tessera perf $operation \
				-n $ranks --placement $placement -b 60 -e 4K -f 8 -V 2 $few
		done
		[ $operation = all-to-all ] && lines=3 || lines=6
		seen "$operation as $placement: a line a size, and one in place" \
			'^ +[0-9]+ +[0-9]+ +f32 .* 0 .*(in|out of) place(, .*disturbed)?$' $lines
	done
	for ranks in 1 3 8; do
		prints "atomic on $ranks as $placement" '^ .* 0 .*all ranks at' \
			tessera perf atomic -n $ranks --placement $placement $few
		prints "barrier on $ranks as $placement" '^ .* 0 .*all ranks(, .*disturbed)?$' \
			tessera perf barrier -n $ranks --placement $placement $few
	done
done
prints "memcpy stands beside" 'memcpy\(GB/s\) +ratio' tessera perf put -b 32K -e 32K $few
seen "and the ratio to it" \
	'^# least ratio to memcpy from 32 KiB on: [0-9]+\.[0-9]+( \(disturbed by other work: .*\))?$'
prints "steps" '^ +24 +3 +f64 ' tessera perf get -b 8 -e 31 -i 8 -d f64 $few
seen "steps end at the largest size" '^ +[0-9]+ +[0-9]+ +f64 ' 3
prints "several blocks" '0 \(ok\)' tessera perf put -b 1000 -e 1000 -d u8 --blocks 7 $few
for operation in put get copy; do
	prints "$operation by more blocks than there are lines" '0 \(ok\)' \
		tessera perf $operation -b 1 -e 301 -i 100 -d u8 -V 9 $few
	prints "$operation, each a launch" '0 \(ok\)' \
		tessera perf $operation -b 4096 -e 4096 -l 1 $few
	seen "$operation, each a launch: it says so" \
		'^# median of 3 samples, each of many launches of one operation$'
done
prints "an all-gather of odd pieces" '0 \(ok\)' \
	tessera perf all-gather -n 3 -b 1 -e 10001 -f 100 -d u8 -V 3 $few
seen "its size is cut to whole pieces" '^ +9999 +3333 +u8 ' 2
seen "and a small one is an element of each" '^ +3 +1 +u8 ' 2
prints "sizes that come to the same are one" '0 \(ok\)' tessera perf all-gather -n 8 -b 4 -e 32 $few
seen "sizes that come to the same are one line" '^ +32 +1 +f32 ' 2
try tessera perf all-gather -n 2 -b 1024 -e 1024 --json "$json.gather" $few
python3 -c "
import json
rows = json.load(open('$json.gather'))['rows']
assert [(row['what'], row['size_bytes'], row['count'], row['wrong']) for row in rows] == [
    ('out of place', 1024, 128, 0), ('in place', 1024, 128, 0)
]
assert all(abs(row['busbw_gbps'] - row['algbw_gbps'] / 2) < 1e-6 for row in rows)
" 2>"$TAP_FILES/err"
verdict $? "busbw is (n - 1) / n of algbw"
for rate in all-reduce:6/4 reduce-scatter:3/4 all-to-all:3/4 broadcast:1 reduce:1 gather:3/4 \
	scatter:3/4; do
	for type in i8 u8 f16 bf16 f64; do
		prints "${rate%%:*} of $type" '0 \(ok\)' tessera perf ${rate%%:*} -n 4 \
			-b 4008 -e 4008 -d $type --json "$json.rate" $few
	done
	python3 -c "
import json
for row in json.load(open('$json.rate'))['rows']:
    assert abs(row['busbw_gbps'] / row['algbw_gbps'] - ${rate#*:}) < 1e-3, row
" 2>"$TAP_FILES/err"
	verdict $? "busbw of ${rate%%:*} is ${rate#*:} of algbw"
done
refuses "a size of nothing" 2 '-b is 0: write at least 1 element' tessera perf put -b 0
for option in -b -e -i; do
	for size in 18446744073709551615 18446744073709551608 8388608T; do
		refuses "$option $size, which no machine has" 2 \
			"$option $size is more than any machine has" tessera perf put $option $size
	done
done
refuses "a sum that there is not" 2 'give -d i32' tessera perf all-reduce -d i64
prints "what sums move, though" '0 \(ok\)' tessera perf broadcast -d i64 -b 64 -e 64 $few
try tessera perf all-gather -V 60000 -b 8 -e 8 $few
[ "$code" -eq 1 ] && grep -q '^tessera: -V 60000: the blocks of a collective wait for each other' \
	"$TAP_FILES/err"
verdict $? "more blocks than find room are refused" "exit code $code"
for pair in 'put:rank 0 stores to rank 1' 'get:rank 0 loads from rank 1' \
	'copy:rank 0 copies from rank 1 to rank 2' 'signal:between ranks 0 and 1'; do
	prints "${pair%%:*} on 8 says which ranks" "^# ${pair#*:}; the other ranks wait\$" \
		tessera perf ${pair%%:*} -n 8 -b 8 -e 8 $few
done
for operation in put get copy atomic barrier all-reduce broadcast reduce all-gather; do
	prints "$operation on 1 says that nothing crosses a link" \
		'^# rank 0 is alone: nothing crosses a link' \
		tessera perf $operation -n 1 -b 64K -e 64K --json "$json.alone" $few
	seen "$operation on 1 has no bus bandwidth" \
		'^ +[0-9]+ +[0-9]+ +[^ ]+ +[0-9.]+ +[0-9.-]+ +- '
	python3 -c "
import json
rows = json.load(open('$json.alone'))['rows']
assert rows and all(row['link_bytes'] == 0 and row['busbw_gbps'] is None for row in rows), rows
for row in rows:
    still = '$operation' == 'barrier' or row['what'] == 'in place'
    assert (row['algbw_gbps'] is None) == still, row
" 2>"$TAP_FILES/err"
	verdict $? "$operation on 1: the JSON says so"
	rm -f "$json.alone"
done
seen "a rank that gathers in place moves nothing" \
	'^ +65536 +16384 +f32 +[0-9.]+ +- +- +0 .* in place'
prints "put-signal has nothing to be compared with" '#wrong +- +ratio ' \
	tessera perf put-signal -b 8 -e 8 $few
prints "and on 2 there are no others" '^# rank 0 stores to rank 1$' \
	tessera perf put -n 2 -b 8 -e 8 $few
prints "marked words are compared with put-signal" '#wrong put-signal\(us\) +ratio ' \
	tessera perf marked -b 16 -e 16 $few
seen "which has a time" '^ +16 +4 +f32 +[0-9.]+ +[0-9.]+ +[0-9.]+ +0 +[0-9.]+ +[0-9.]+ ' 1
prints "messages of odd sizes" '0 \(ok\)' tessera perf marked -b 1 -e 12 -i 1 -d u8 $few
seen "a line of each" '^ +[0-9]+ +[0-9]+ +u8 ' 12
prints "by default up to 64 KiB" '^ +65536 +16384 +f32 ' tessera perf marked -f 1024 -b 64 $few
prints "without verification it says so" 'not verified' tessera perf put -b 8 -e 8 -c 0 $few
prints "JSON" 'ok' tessera perf put -b 8 -e 64 --json "$json" $few
python3 -c "
import json
report = json.load(open('$json'))
assert (
    report['operation'] == 'put'
    and report['ranks'] == 2
    and report['reference'] == 'memcpy'
    and not report['each_launched']
)
assert [row['size_bytes'] for row in report['rows']] == [8, 16, 32, 64]
assert all(
    row['wrong'] == 0 and row['time_us'] > 0 and row['reference_us'] > 0 for row in report['rows']
)
" 2>"$TAP_FILES/err"
verdict $? "the JSON holds the lines"

# On a machine that other work disturbs every operation says so, of each line, and of the ratio that
# it promises.
disturbs() {
	prints "$1 on a disturbed machine" "^ .*disturbed\$" \
		env LD_PRELOAD="$BUILD/tests/fakes/libuneven_clock.so" TESSERA_DEADLINE=3000s \
		tessera perf "$@" -b 4K -e 4K -w 0 -m 1 --json "$json.uneven"
	python3 -c "
import json
rows = json.load(open('$json.uneven'))['rows']
assert rows and all(row['disturbed'] or row['reference_disturbed'] for row in rows), rows
" 2>"$TAP_FILES/err"
	verdict $? "$1 on a disturbed machine: every line of the JSON" "$(cat "$json.uneven")"
	rm -f "$json.uneven"
}
case ${BUILD-} in
*asan | *tsan) skip "a disturbed machine" "a sanitizer's runtime must be the first library" ;;
*)
	for operation in put get copy load store put-signal marked atomic signal barrier \
		all-gather all-to-all reduce; do
		disturbs $operation
	done
	disturbs signal
	seen "the ratio says so too" \
		'^# ratio to C11 atomics: [0-9.]+ \(disturbed by other work: measure again'
	;;
esac

for scope in block device system; do
	prints "signal between two of a $scope" '^# wrong elements: 0 \(ok\)$' \
		tessera perf signal --scope $scope -n 3 $few
	seen "signal of a $scope: one way" '^ +8 +1 +u64 .*one way(, .*disturbed)?$'
done
for scope in block device; do
	prints "signal of a $scope needs no other rank" "^# between two .* of rank 0\$" \
		tessera perf signal --scope $scope -n 1 --json "$json" $few
	grep -q "\"scope\": \"$scope\"" "$json"
	verdict $? "signal of a $scope: the JSON says so"
done
for operation in put get load store atomic; do
	for ranks in 1 3; do
		prints "$operation of $ranks by pairs" '^# wrong elements: 0 \(ok\)$' \
			tessera perf $operation -n $ranks --pairs -e 4K \
			--picture "$TAP_FILES/heat.svg" --json "$json" $few
		seen "$operation of $ranks: each with each" \
			' 0 .* rank [0-2] with rank [0-2](,.*)?$' $((ranks * ranks))
		seen "$operation of $ranks: all at once" '(all at once|word, each)(,.*)?$' 1
		cells=$(grep -c '%</text>' "$TAP_FILES/heat.svg")
		test "$cells" -eq $((ranks * ranks + 1))
		verdict $? "$operation of $ranks: the heat map has a cell a pair, and one for all" \
			"$cells cells"
	done
done
for ranks in 1 3; do
	prints "put on $ranks by every way" '^# wrong elements: 0 \(ok\)$' \
		tessera perf put -n $ranks --via all -b 64 -e 4K -f 8 --json "$json.via" \
		-N 2 -w 0 -m 2
	seen "put on $ranks: the emulator has no bulk copies" \
		'^# no bulk: only multiprocessors of' 1
	python3 -c "
import json
report = json.load(open('$json.via'))
assert report['reference'] == 'memcpy'
rows = report['rows']
engine = [row for row in rows if row['via'] == 'copy-engine']
assert [(row['size_bytes'], row['blocks'], row['wrong']) for row in engine] == [
    (64, 0, 0), (512, 0, 0), (4096, 0, 0)
]
threads = [row for row in rows if row['via'] == 'threads']
assert len(engine) + len(threads) == len(rows)
for size in 64, 512, 4096:
    blocks = [row['blocks'] for row in threads if row['size_bytes'] == size]
    assert blocks[:3] == [1, 2, 4] and blocks == sorted(blocks), blocks
assert all(row['ratio'] > 0 and row['wrong'] == 0 for row in threads)
" 2>"$TAP_FILES/err"
	verdict $? "put on $ranks: a row for each size and number of blocks"
done
prints "threads alone, by as many blocks as are asked for" '^ .* 0 .*threads, 3 blocks(, .*)?$' \
	tessera perf put --via threads -V 3 -b 1000 -e 1000 -d u8 -N 2 -w 0 -m 2
refuses "bulk copies where there are none" 1 'choose --via threads or copy-engine' \
	tessera perf put --via bulk
refuses "a way that is none" 2 'threads, bulk, copy-engine or all' tessera perf put --via dma
refuses "a way of what is not put" 2 'operation put' tessera perf get --via threads
refuses "a way by pairs" 2 'leave --pairs' tessera perf put --via threads --pairs
refuses "bulk copies of a part of 16 bytes" 2 'multiples of 16' tessera perf put --via bulk -b 8
prints "all at once at several sizes" '^# wrong elements: 0 \(ok\)$' \
	tessera perf store -n 3 --pairs -b 64 -e 4K -f 8 --picture "$TAP_FILES/heat.svg" $few
seen "a line of each size" '^ +(64|512|4096) .* all at once(,.*)?$' 3
seen "pairs at the largest" '^ +4096 .* rank [0-2] with rank [0-2](,.*)?$' 9
[ "$(grep -cE '>(64|512|4096) B</text>' "$TAP_FILES/heat.svg")" -eq 3 ]
verdict $? "a cell of each size in the picture"
for ranks in 1 3; do
	prints "each atomic on $ranks" '^# wrong elements: 0 \(ok\)$' \
		tessera perf atomic -n $ranks --op all --pairs --picture "$TAP_FILES/heat.svg" \
		--json "$json" $few
	python3 -c "
import json
rows = json.load(open('$json'))['rows']
names = ['add', 'and', 'or', 'xor', 'min', 'max', 'xchg', 'cas']
each = $ranks * $ranks + 1
assert [row['atomic'] for row in rows] == [name for name in names for _ in range(each)]
assert all(row['ratio'] > 0 and row['wrong'] == 0 for row in rows)
" 2>"$TAP_FILES/err"
	verdict $? "each atomic on $ranks: a row for each pair"
	titles=$(grep -Eo -- '--op [a-z]+, cpuemu' "$TAP_FILES/heat.svg" | sort -u | wc -l)
	python3 -c "
import xml.dom.minidom
xml.dom.minidom.parse('$TAP_FILES/heat.svg')" 2>"$TAP_FILES/err" && [ "$titles" -eq 8 ]
	verdict $? "each atomic on $ranks: a heat map" "$titles titles"
done
prints "one atomic" '^ .* 0 .*xchg, rank 0 alone(, .*)?$' tessera perf atomic --op xchg -n 3 $few
prints "a load of a part of a row" '^ +12 +3 +f32 .* 0 ' tessera perf load -b 12 -e 12 $few
prints "a store is cut to whole rows" '^ +1024 +256 +f32 .* 0 ' \
	tessera perf store -b 1500 -e 1500 $few
prints "tiles by several blocks" '^# wrong elements: 0 \(ok\)$' \
	tessera perf load -b 256K -e 256K -V 3 $few
refuses "an atomic that is none" 2 'xchg, cas or all' tessera perf atomic --op sub
refuses "an atomic of what is none" 2 'operation atomic' tessera perf put --op add
refuses "tiles of another type" 2 'tiles of f32' tessera perf load -d bf16
refuses "pairs of what has none" 2 'put, get, load, store and atomic' tessera perf barrier --pairs
refuses "a picture of nothing" 2 'give both' tessera perf put --picture x.svg
refuses "a picture that cannot be written" 2 'no-such-folder' \
	tessera perf put --pairs --picture /no-such-folder/x.svg
refuses "a scope that is none" 2 'system, device or block' tessera perf signal --scope grid
refuses "a scope of what does not signal" 2 'operation signal' tessera perf put --scope block
refuses "no operation" 2 'which operation' tessera perf -n 2
refuses "a misspelt operation" 2 "did you mean 'signal'" tessera perf singal -n 2
refuses "two operations" 2 "'get'" tessera perf put get
refuses "no ranks" 2 '0' tessera perf put -n 0
refuses "a message to oneself" 2 '-n 2' tessera perf put-signal -n 1
refuses "marked words to oneself" 2 '-n 2' tessera perf marked -n 1
refuses "no blocks" 2 '-V' tessera perf put -V 0
refuses "a launch and a half" 2 '-l' tessera perf put -l 2
refuses "a signal to oneself" 2 '-n 2' tessera perf signal -n 1
kib_left=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
refuses "what fits, but not what it is compared with" 2 'left: choose a smaller size' \
	tessera perf put -n 1 -e $((kib_left * 2 / 5))K
refuses "a smallest size above the largest" 2 'larger than' tessera perf put -b 64 -e 8
refuses "a part of an element" 2 'whole number' tessera perf put -b 6
refuses "a size that overflows" 2 '-e' tessera perf put -e 99999999999G
refuses "a size larger than the machine" 2 'GiB' tessera perf put -e 1000000G
refuses "a size that is none" 2 'many' tessera perf put -b many
refuses "a factor that goes nowhere" 2 '-f' tessera perf put -f 1
refuses "a step that goes nowhere" 2 '-i' tessera perf put -i 0
refuses "two ways to step" 2 'one of them' tessera perf put -i 8 -f 2
refuses "an unknown type" 2 'f31' tessera perf put -d f31
refuses "no samples" 2 '-N' tessera perf put -N 0
refuses "a file that cannot be written" 2 'no-such-folder' \
	tessera perf put --json /no-such-folder/x.json
refuses "a misspelt option" 2 "did you mean '--minbytes'" tessera perf put --minbites=8k
refuses "an unknown letter" 2 "'-z'" tessera perf put -z
finish
