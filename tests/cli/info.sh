#!/bin/sh
# tessera info: what it says of this build.
. "$(dirname "$0")/tap"

prints "the version" '^tessera [0-9]+\.[0-9]+\.[0-9]+$' tessera info
seen "the emulator has a device" '^  cpuemu +[0-9]+ device'
seen "its properties" '[0-9]+ resident blocks'
seen "whose figures workloads choose by" \
	'^    workloads choose tiles and blocks by the figures of cpuemu$'
seen "a backend without a device says why" '^  (cuda|hip) .*(no device: .|[1-9] device)' 2
# cuda is built where its toolkit is, and says what is missing where it runs.
seen "what cuda lacks" \
	'^  cuda +([1-9] device|no device: (the backend .cuda. is not part|there is no NVIDIA|the NVIDIA driver|CUDA_VISIBLE|the GPU))'
seen "what hip lacks" \
	'^  hip +([1-9] device|no device: (the backend .hip. is not part|there is no (HIP|driver of AMD)|HIP.s NVIDIA platform|the HIP runtime|(HIP|ROCR|CUDA)_VISIBLE|the GPU))'
seen "a kernel with its variant" 'gas_fused_sequential +bf16_16x16x16 '
seen "a kernel without variants" '^  perf_put '
prints "the environment" '^TESSERA_HEAP_SIZE ' tessera info -e
prints "a secret is not printed" '^TESSERA_SECRET +\(set\)' \
	env TESSERA_SECRET=do-not-say-it tessera info -e
grep -q 'do-not-say-it' "$TAP_FILES/out"
[ $? -eq 1 ]
verdict $? "nor anywhere else"
prints "properties that were set" ' 17 resident blocks' \
	env TESSERA_CPUEMU_RESIDENT_BLOCKS=17 tessera info
refuses "an argument" 2 "unexpected argument 'x'" tessera info x
refuses "a misspelt option" 2 "did you mean '--environment'" tessera info --enviroment
finish
