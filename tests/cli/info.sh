#!/bin/sh
# tessera info: what it says of this build.
. "$(dirname "$0")/tap"

prints "the version" '^tessera [0-9]+\.[0-9]+\.[0-9]+$' tessera info
seen "the emulator has a device" '^  cpuemu +[0-9]+ device'
seen "which is marked as the one that programs take, and no other" '; programs take it: ' 1
seen "its properties" '[0-9]+ resident blocks'
seen "whose figures workloads choose by" \
	'^    workloads choose tiles and blocks by the figures of cpuemu$'
seen "a backend without a device says why" '^  (cuda|hip) .*(no device: .|[1-9] device)' 2
# cuda is built where its toolkit is, and says what is missing where it runs.
seen "what cuda lacks" \
	'^  cuda +([1-9] device|no device: (the backend .cuda. is not part|there is no NVIDIA|the NVIDIA driver|CUDA_VISIBLE|the GPU))'
seen "what hip lacks" \
	'^  hip +([1-9] device|no device: (the backend .hip. is not part|there is no (HIP|driver of AMD)|HIP.s NVIDIA platform|the HIP runtime|(HIP|ROCR|CUDA)_VISIBLE|the GPU))'
if [ -e "$BUILD/libtessera.so" ]; then
	seen "what the shared library loads, or why not" \
		'^  plug-in (cuda|hip) +([1-9] device|no device: (the backend .(cuda|hip). is a plug-in, and there is no /|there is no|the NVIDIA driver|HIP.s NVIDIA|the HIP runtime|(CUDA|HIP|ROCR)_VISIBLE|the GPU))' 2
fi
if [ -e "$BUILD/plugins/libtessera-net-ucx.so" ]; then
	seen "what carries messages between nodes" \
		'^  UCX [0-9]+\.[0-9]+\.[0-9]+, .* over .*; memory: host' 1
fi
seen "kernels are for those who ask" '^kernels|gas_' 0
prints "the emulator, where it is named" \
	'^  cpuemu +[0-9]+ device; programs take it: TESSERA_BACKEND names it$' \
	env TESSERA_BACKEND=cpuemu tessera info backends
if ! grep -qE '^  (cuda|hip) +[1-9]' "$TAP_FILES/out"; then
	prints "or is the best one that has a device" \
		'^  cpuemu +[0-9]+ device; programs take it: it is the best one' \
		env -u TESSERA_BACKEND tessera info backends
fi
prints "a backend that is named and has no device is not marked" '^  cpuemu +[0-9]+ device$' \
	env TESSERA_BACKEND=hip HIP_VISIBLE_DEVICES=none tessera info backends
prints "a kernel with its variant" 'gas_fused_sequential +bf16_16x16x16 ' tessera info kernels
seen "a kernel without variants" '^  perf_put '
prints "the environment" '^TESSERA_HEAP_SIZE ' tessera info settings
prints "a secret is not printed" '^TESSERA_SECRET +\(set\)' \
	env TESSERA_SECRET=do-not-say-it tessera info settings
grep -q 'do-not-say-it' "$TAP_FILES/out"
[ $? -eq 1 ]
verdict $? "nor anywhere else"
prints "properties that were set" ' 17 resident blocks' \
	env TESSERA_CPUEMU_RESIDENT_BLOCKS=17 tessera info

prints "what a network lacks" '^  none: a world over several nodes needs UCX: /nowhere' \
	env TESSERA_NET_PLUGIN=/nowhere tessera info network

# ---- sections, filters, and files

try tessera info build
seen "the build" '^  version +[0-9]+\.[0-9]+\.[0-9]+$' 1
seen "its commit" "^  commit +([0-9a-f]{12}(-dirty)?|unknown)$" 1
seen "its name" "^  build +${BUILD##*/}$" 1
seen "its compiler" '^  compiler +(gcc|clang) [0-9]+\.' 1
seen "where headers are" '^  prefix +/' 1
prefix=$(sed -n 's/^  prefix *//p' "$TAP_FILES/out")
[ -e "$prefix/include/tessera/tessera.h" ]
verdict $? "and they are there" "no include/tessera/tessera.h in '$prefix'"
seen "nothing of other sections" '^(backends|kernels):' 0
prints "a section alone" '^backends:$' tessera info backends
seen "without others" '^(build|kernels)' 0
prints "two sections" '^backends:$' tessera info backends build
seen "each once" '^(build|backends):$' 2
prints "rows of a word, in any case" '^  perf_put ' tessera info kernels --filter PERF_PUT
seen "and no others" '^  ' "$(grep -ci perf_put "$TAP_FILES/out")"
prints "a filter on settings" '^TESSERA_HEAP_SIZE ' tessera info settings --filter heap_size
seen "which are few" '^TESSERA_' 1
try tessera info --filter no-such-word
[ "$code" -eq 0 ] && [ ! -s "$TAP_FILES/out" ]
verdict $? "a word that is nowhere prints nothing" "$(cat "$TAP_FILES/out")"
grep -qx "tessera info: nothing has 'no-such-word' in it; 'tessera info' shows all" "$TAP_FILES/err"
verdict $? "but says so" "$(cat "$TAP_FILES/err")"
try tessera info kernels --filter no-such-word
[ "$code" -eq 0 ] && grep -q "'tessera info kernels' shows all$" "$TAP_FILES/err"
verdict $? "which it names" "$(cat "$TAP_FILES/err")"
prints "JSON" '' env TESSERA_SECRET=do-not-say-it tessera info --json - \
	build backends plugins network kernels settings
python3 - "$TAP_FILES/out" <<'END'
import json, sys
all = json.load(open(sys.argv[1]))
sections = [name for name in all if name not in ("schema", "version", "commit")]
assert sections == ["build", "backends", "plugins", "network", "kernels", "settings"], list(
    all
)
assert [row["name"] for row in all["plugins"]] in ([], ["cuda", "hip"]), all["plugins"]
cpu = next(row for row in all["backends"] if row["name"] == "cpuemu")
assert sum(row["chosen"] for row in all["backends"]) == 1, all["backends"]
assert cpu["devices"] == 1 and cpu["resident_blocks"] > 0 and cpu["figures"] == "cpuemu", cpu
put = [row for row in all["kernels"] if row["name"] == "perf_put"]
assert len(put) == 1 and put[0]["code"][0] == "cpu", put
secret = next(row for row in all["settings"] if row["name"] == "TESSERA_SECRET")
assert secret["set"] and secret["value"] == "(set)", secret
assert "do-not-say-it" not in open(sys.argv[1]).read()
END
verdict $? "holds all of it, and no secret"
prints "CSV beside the text" '^kernels: ' tessera info kernels --csv "$TAP_FILES/kernels.csv"
python3 - "$TAP_FILES/kernels.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert list(rows[0]) == ["name", "variant", "workers", "shared_bytes", "unit", "code"], rows[0]
assert [row for row in rows if row["name"] == "perf_put" and row["code"].startswith("cpu")]
END
verdict $? "is a table"
prints "what CSV would misread" '^TESSERA_SECRET,.*,"a word that .*, so that ' \
	tessera info settings --csv -

refuses "an unknown section" 2 "did you mean 'kernels'" tessera info kernel
refuses "one like none" 2 'there are build, backends' tessera info xyzzyxyzzy
refuses "a table of several sections" 2 'name one section' tessera info --csv -
refuses "a file that cannot be written" 1 "none/info.json' cannot be written: No such" \
	tessera info build --json "$TAP_FILES/none/info.json" --csv - 
refuses "a misspelt option" 2 "did you mean '--filter'" tessera info --fliter x
finish
