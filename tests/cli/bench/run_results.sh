#!/bin/sh
# bench/run-results, on the emulator: its two files, rows that fail, and what it refuses.
. "$(dirname "$0")/../tap"
run="$(dirname "$0")/../../../bench/run-results"
out=$TAP_FILES/results

prints "two shapes" '^wrote .*/gemm_all_scatter-cpuemu-3-f32-[0-9-]+\.json$' \
	"$run" --backend cpuemu --ranks 3 --shape 91x73x37 --shape 40x2x20 --dtype f32 --iterations 3 --verify --out "$out" --commit abc123 "$BUILD" gemm-all-scatter
python3 -c "
import glob, json
report = json.load(open(glob.glob('$out/*.json')[0]))
table = open(glob.glob('$out/*.md')[0]).read()
assert report['commit'] == 'abc123' and report['date'] and report['machine']['cores'] > 0
assert [(run['shape'], run['code'], run['said']) for run in report['runs']] == [('91x73x37', 0, ''), ('40x2x20', 0, '')]
assert all(len(run['result']['patterns']) == 6 and run['result']['baseline']['floor_ns'] for run in report['runs'])
assert 'commit abc123' in table and 'OpenBLAS + memcpy' in table
for shape in ('91x73x37', '40x2x20'):
    assert table.count('| ' + shape + ' |') == 8 and table.count('| ' + shape + ' | **') == 1, shape
assert table.count('| ok |') == 12
" 2>"$TAP_FILES/err"
verdict $? "both are in the JSON and in the table"

# Without a name all that are registered: a pair of files for each.
rm -rf "$out"
prints "all workloads" '^wrote ' "$run" --backend cpuemu --ranks 2 --shape 40x24x16 --dtype f32 --iterations 1 --verify --out "$out" "$BUILD"
python3 -c "
import glob, json, re, subprocess
names = re.findall(r'^[a-z]\S*$', subprocess.run(['tessera', 'bench', '--list'], capture_output=True, text=True).stdout, re.MULTILINE)
assert len(names) >= 2 and len(glob.glob('$out/*')) == 2 * len(names), names
for name in names:
    path, = glob.glob('$out/' + name.replace('-', '_') + '-cpuemu-2-f32-*.json')
    run, = json.load(open(path))['runs']
    assert run['code'] == 0 and run['result']['workload'] == name
    assert all(pattern['verdict']['ok'] for pattern in run['result']['patterns'])
    assert open(path[:-4] + 'md').read().startswith('# ' + name + ', f32, 2 ranks on ')
" 2>"$TAP_FILES/err"
verdict $? "each has its files"

rm -rf "$out"
try env TESSERA_CPUEMU_RESIDENT_BLOCKS=1 "$run" --backend cpuemu --ranks 2 --shape 64x64x64 --iterations 1 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] && grep -q '^- 64x64x64: failed with code 1: .*at one time' "$out"/*.md
verdict $? "a shape that fails is a row that says why" "exit code $code"

rm -rf "$out"
try "$run" --backend cpuemu --ranks 8 --paper --seconds 0 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] && [ "$(grep -c '^- 8192x.*: there was no time left for it$' "$out"/*.md)" -eq 6 ] &&
	grep -q '^- 8192x4608x36864: ' "$out"/*-8-*.md && grep -q '^- 8192x3584x14336: ' "$out"/*.md
verdict $? "the shapes of the paper, and no time for them" "exit code $code"

rm -rf "$out"
try "$run" --backend cpuemu --ranks 8 --edges --seconds 0 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] && [ "$(grep -c '^- .*: there was no time left for it$' "$out"/*-edges-*.md)" -eq 32 ] &&
	grep -q '^- 8191x8191x8191: ' "$out"/*-edges-*.md
verdict $? "the shapes at the edges, and no time for them" "exit code $code"

try "$run" --backend cpuemu --shape 64x64 --out "$out" "$BUILD"
[ "$code" -eq 2 ] && grep -q "'64x64' is not MxNxK" "$TAP_FILES/err"
verdict $? "a shape that is none is refused" "exit code $code"
try "$run" --backend cpuemu --ranks 2 --shape 64x64x64 --out "$out" "$TAP_FILES"
[ "$code" -eq 1 ] && grep -q 'tessera cannot be started' "$TAP_FILES/err"
verdict $? "a folder without the command is refused" "exit code $code"
finish
