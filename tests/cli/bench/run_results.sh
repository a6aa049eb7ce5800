#!/bin/sh
# bench/run-results, on the emulator: its two files, rows that fail, and what it refuses.
. "$(dirname "$0")/../tap"
run="$(dirname "$0")/../../../bench/run-results"
out=$TAP_FILES/results

prints "two shapes" '^wrote .*/gemm_all_scatter-cpuemu-3-f32-[0-9-]+\.json$' \
	"$run" --backend cpuemu --ranks 3 --shape 91x73x37 --shape 40x2x20 \
	--dtype f32 --iterations 3 --verify --out "$out" --commit abc123 "$BUILD" gemm-all-scatter
python3 -c "
import glob, json
report = json.load(open(glob.glob('$out/*.json')[0]))
table = open(glob.glob('$out/*.md')[0]).read()
assert report['commit'] == 'abc123' and report['date'] and report['machine']['cores'] > 0
assert [(run['shape'], run['code'], run['said']) for run in report['runs']] == [
    ('91x73x37', 0, ''), ('40x2x20', 0, '')
]
patterns = len(report['runs'][0]['result']['patterns'])
assert patterns >= 7
assert all(
    len(run['result']['patterns']) == patterns and run['result']['baseline']['floor_ns']
    for run in report['runs']
)
assert 'commit abc123' in table and 'OpenBLAS + memcpy' in table
for shape in ('91x73x37', '40x2x20'):
    assert (
        table.count('| ' + shape + ' |') == patterns + 2
        and table.count('| ' + shape + ' | **') == 1
    ), shape
assert table.count('| ok |') == 2 * patterns
" 2>"$TAP_FILES/err"
verdict $? "both are in the JSON and in the table"

# Without a name all that are registered: a pair of files for each.
rm -rf "$out"
prints "all workloads" '^wrote ' "$run" --backend cpuemu \
	--ranks 2 --shape 40x24x16 --dtype f32 --iterations 1 --verify --out "$out" "$BUILD"
python3 -c "
import glob, json, subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, 'bench/python')
import workloads
names = workloads.shaped(workloads.listed(
    subprocess.run(['tessera', 'bench', '--list'], capture_output=True, text=True).stdout
))
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
try env TESSERA_CPUEMU_RESIDENT_BLOCKS=1 "$run" --backend cpuemu \
	--ranks 2 --shape 64x64x64 --iterations 1 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] && grep -q '^- 64x64x64: failed with code 1: .*at one time' "$out"/*.md
verdict $? "a shape that fails is a row that says why" "exit code $code"

rm -rf "$out"
try "$run" --backend cpuemu --ranks 8 --paper --seconds 0 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] &&
	[ "$(grep -c '^- 8192x.*: there was no time left for it$' "$out"/*.md)" -eq 6 ] &&
	grep -q '^- 8192x4608x36864: ' "$out"/*-8-*.md && grep -q '^- 8192x3584x14336: ' "$out"/*.md
verdict $? "the shapes of the paper, and no time for them" "exit code $code"

rm -rf "$out"
try "$run" --backend cpuemu --ranks 8 --edges --seconds 0 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] &&
	[ "$(grep -c '^- .*: there was no time left for it$' "$out"/*-edges-*.md)" -eq 32 ] &&
	grep -q '^- 8191x8191x8191: ' "$out"/*-edges-*.md
verdict $? "the shapes at the edges, and no time for them" "exit code $code"

try "$run" --backend cpuemu --shape 64x64 --out "$out" "$BUILD"
[ "$code" -eq 2 ] && grep -q "'64x64' is not MxNxK" "$TAP_FILES/err"
verdict $? "a shape that is none is refused" "exit code $code"
try "$run" --backend cpuemu --ranks 2 --shape 64x64x64 --out "$out" "$TAP_FILES"
[ "$code" -eq 1 ] && grep -q 'tessera cannot be started' "$TAP_FILES/err"
verdict $? "a folder without the command is refused" "exit code $code"
# What the machine has: the first program that names GPUs. Here each is one that prints what the
# vendors' print.
smi=$TAP_FILES/smi
mkdir "$smi"
printf '#!/bin/sh\nexit 9\n' >"$smi/nvidia-smi"
cat >"$smi/rocm-smi" <<'END'
#!/bin/sh
[ "$1" = --showtopo ] && echo 'GPU0 XGMI GPU1' && exit
printf 'Driver version: 6.8.5\nGPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\n'
printf 'GPU[0]\t\t: Card Model: \t\t0x74b5\n'
printf 'GPU[1]\t\t: Card Series: \t\tN/A\nGPU[1]\t\t: Card Model: \t\t0x74b5\n'
END
cat >"$smi/amd-smi" <<'END'
#!/bin/sh
[ "$1" = topology ] && echo 'GPU0 XGMI GPU1' && exit
echo '{"gpu_data": [{"gpu": 0, "asic": {"market_name": "MI300X"},'
echo ' "board": {"product_name": "AMD Instinct MI300X OAM"},'
echo ' "driver": {"name": "amdgpu", "version": "6.14.14"}},'
echo ' {"gpu": 1, "asic": {"market_name": "MI300X"}, "board": {"product_name": "N/A"}}]}'
END
chmod +x "$smi"/*
of_machine() # what it has found, in JSON
{
	rm -rf "$out"
	try env "PATH=$smi:$PATH" "$run" --backend cpuemu \
		--ranks 1 --shape 16x16x16 --iterations 1 --out "$out" "$BUILD" gemm-all-scatter
	python3 -c "
import glob, json
place = json.load(open(glob.glob('$out/*.json')[0]))['machine']
assert (place['gpus'], place['driver'], place['links']) == $1, place
" 2>"$TAP_FILES/err"
	verdict $? "$2"
}
of_machine "(['AMD Instinct MI300X OAM', 'MI300X'], '6.14.14', 'GPU0 XGMI GPU1')" \
	"amd-smi names GPUs and driver"
echo 'echo "[{\"asic\": {\"market_name\": \"MI250\"}, \"driver\": {\"driver_version\": \"6.3\"}}]"' \
	>"$smi/amd-smi.old"
sed -i '2,$d' "$smi/amd-smi" && cat "$smi/amd-smi.old" >>"$smi/amd-smi" &&
	sed -i '1a [ "$1" = topology ] \&\& exit 1' "$smi/amd-smi"
of_machine "(['MI250'], '6.3', None)" "an amd-smi of before"
printf '#!/bin/sh\necho "{ no JSON"\n' >"$smi/amd-smi"
of_machine "(['AMD Instinct MI300X', '0x74b5'], '6.8.5', 'GPU0 XGMI GPU1')" \
	"rocm-smi names them where amd-smi does not"
printf '#!/bin/sh\nexit 1\n' >"$smi/rocm-smi"
of_machine "([], None, None)" "nobody names any"
rm -rf "$out"
try env "PATH=$smi:$PATH" "$run" \
	--backend abacus --shape 16x16x16 --iterations 1 --out "$out" "$BUILD" gemm-all-scatter
[ "$code" -eq 1 ] && grep -q \
	'^run-results: neither nvidia-smi, amd-smi, rocm-smi nor tessera info names a GPU for abacus' \
	"$TAP_FILES/err"
verdict $? "a machine without GPUs is told" "exit code $code"

# By tessera info, which says a backend's first device.
mkdir "$TAP_FILES/package"
cat >"$TAP_FILES/package/tessera" <<'END'
#!/bin/sh
[ "$1" = info ] && printf 'tessera 0.1.0\nbackends:\n  cuda     no device: none\n' &&
	printf '  hip      3 devices\n    gfx942: 304 resident blocks, up to 1\n  cpuemu   1 device\n'
[ "$1" = info ]
END
chmod +x "$TAP_FILES/package/tessera"
rm -rf "$out"
try env "PATH=$smi:$PATH" \
	"$run" --backend hip --shape 16x16x16 --out "$out" "$TAP_FILES/package" gemm-all-scatter
grep -q '"gpus": \["gfx942", "gfx942", "gfx942"\]' "$out"/gemm_all_scatter-hip-3-bf16-*.json
verdict $? "tessera info names them where no other does"
finish
