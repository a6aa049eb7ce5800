#!/bin/sh
# tessera cc: programs for the CPU, and for the GPUs whose toolkits are here; what it refuses, and that it leaves nothing behind.
. "$(dirname "$0")/tap"
export TMPDIR="$TAP_FILES"
variant=${BUILD##*/}
export CC="${variant%-*}"
case $variant in
*-asan) flags='-fsanitize=address,undefined' ;;
*-tsan) flags='-fsanitize=thread' ;;
*) flags='-g' ;;
esac

# made NAME FILE: the last command made FILE, said nothing, and left no folder of objects.
made() {
	[ "$code" -eq 0 ] && [ -x "$2" ] && [ ! -s "$TAP_FILES/err" ] && ! ls -d "$TAP_FILES"/tessera-cc-* >/dev/null 2>&1
	verdict $? "$1" "exit code $code"
}

# for_gpu BACKEND ARCH COMPILER: the same program with device code inside.
for_gpu() {
	command -v "$3" >/dev/null || { skip "a program with code for $2" "no $3 here"; return; }
	try tessera cc --backends "cpuemu,$1" examples/hello.c -o "$TAP_FILES/hello-$1" -- $flags
	made "a program with code for $2" "$TAP_FILES/hello-$1"
	[ "$(grep -ac "$2" "$TAP_FILES/hello-$1")" -gt 0 ]
	verdict $? "it holds code for $2" "no $2 in the program"
	prints "it runs without the toolkit's runtime" '^rank 2 of 3 received 1001' tessera run -n 3 -b cpuemu "$TAP_FILES/hello-$1"
}

try tessera cc examples/hello.c -o "$TAP_FILES/hello" -- $flags
made "a program for the CPU" "$TAP_FILES/hello"
prints "it runs" '^rank 1 of 3 received 1000' tessera run -n 3 "$TAP_FILES/hello"
PATH=$PATH:/usr/local/cuda/bin for_gpu cuda sm_90a nvcc
for_gpu hip gfx942 clang-19

echo 'int main(void) { return' >"$TAP_FILES/broken.c"
try tessera cc "$TAP_FILES/broken.c" -o "$TAP_FILES/broken"
[ "$code" -ne 0 ] && [ ! -e "$TAP_FILES/broken" ] && ! ls -d "$TAP_FILES"/tessera-cc-* >/dev/null 2>&1
verdict $? "a source that does not compile" "exit code $code, wanted another"

refuses "no file" 2 'which files' tessera cc -o x
refuses "a file that is not there" 2 "'no-such.c'" tessera cc no-such.c
refuses "a misspelt backend" 2 "did you mean 'cuda'" tessera cc --backends cpuemu,cud examples/hello.c
refuses "a misspelt option" 2 "did you mean '--backends'" tessera cc --backend= --bakends examples/hello.c
refuses "a source as the output" 2 'both a source' tessera cc examples/hello.c -o examples/hello.c
refuses "a toolkit that is missing" 1 'no clang-19 or later on PATH' \
	env PATH="$BUILD" "$BUILD/tessera" cc --backends hip examples/hello.c -o "$TAP_FILES/none"
finish
