#!/bin/sh
# tessera cc: programs for the CPU, and for the GPUs whose toolkits are here;
# what it refuses, and that it leaves nothing behind.
. "$(dirname "$0")/../tap"
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
	[ "$code" -eq 0 ] && [ -x "$2" ] &&
		[ ! -s "$TAP_FILES/err" ] && ! ls -d "$TAP_FILES"/tessera-cc-* >/dev/null 2>&1
	verdict $? "$1" "exit code $code"
}

# for_gpu BACKEND ARCH COMPILER: the same program with device code inside.
for_gpu() {
	command -v "$3" >/dev/null || { skip "a program with code for $2" "no $3 here"; return; }
	try tessera cc --backends "cpuemu,$1" examples/hello.c -o "$TAP_FILES/hello-$1" -- $flags
	made "a program with code for $2" "$TAP_FILES/hello-$1"
	[ "$(grep -ac "$2" "$TAP_FILES/hello-$1")" -gt 0 ]
	verdict $? "it holds code for $2" "no $2 in the program"
	[ "$(grep -ac "examples/hello:nodes" "$TAP_FILES/hello-$1")" -eq 0 ]
	verdict $? "and none for several nodes" "it holds some"
	try tessera cc --backends "cpuemu,$1" --nodes examples/hello.c -o "$TAP_FILES/nodes-$1" -- \
		$flags
	made "a program with code for several nodes of $2" "$TAP_FILES/nodes-$1"
	[ "$(grep -ac "examples/hello:nodes" "$TAP_FILES/nodes-$1")" -gt 0 ]
	verdict $? "it holds code for several nodes of $2" "no such unit in the program"
	prints "it runs without the toolkit's runtime" '^rank 2 of 3 received 1001' \
		tessera run -n 3 --backend cpuemu "$TAP_FILES/hello-$1"
}

try tessera cc examples/hello.c -o "$TAP_FILES/hello" -- $flags
made "a program for the CPU" "$TAP_FILES/hello"
prints "it runs" '^rank 1 of 3 received 1000' tessera run -n 3 "$TAP_FILES/hello"
PATH=$PATH:/usr/local/cuda/bin for_gpu cuda sm_90a nvcc
for_gpu hip gfx942 clang-19

# Programs of many files: each workload with its kernels, if it has any of its own, and with what
# workloads share. They start nothing else.
shared=
for room in kernels/*/; do
	[ -e "$room/workload.c" ] || shared="$shared $(find "$room" -name '*.c')"
done
for folder in kernels/*/workload.c; do
	workload=$(basename "$(dirname "$folder")")
	name=$(echo "$workload" | tr _ -)
	# its first case
	options=$(tessera bench --list | awk -v name="$name" '
		$1 == name && NF == 1 { on = 1 }
		on && /^  cases:/ { getline; print; exit }')
	try tessera cc tests/mutants/workload.c \
		tools/bench/program.c tools/bench/values.c kernels/registry.c $shared \
		build/generated/kernels/choices/*.c kernels/"$workload"/*.c \
		$(find build/generated/kernels/"$workload" -name '*_16x16x16.c' 2>/dev/null) \
		-o "$TAP_FILES/$workload" -- $flags
	made "$name in a program of its own" "$TAP_FILES/$workload"
	prints "which runs it" '' tessera run \
		-n 3 "$TAP_FILES/$workload" "$name" --pattern all $options
done

# idioms BACKEND ARCH COMPILER: a host half that is no C++ goes with kernels for a GPU, and its
# compiler is asked once.
idioms() {
	command -v "$3" >/dev/null || {
		skip "C's idioms beside kernels for $2" "no $3 here"
		return
	}
	try tessera cc -v --backends "cpuemu,$1" tests/idioms/c_idioms.c \
		-o "$TAP_FILES/idioms-$1" -- $flags
	asked=$(grep -c "^+ [^ ]*$3.* -std=c++17 .*$2\|^+ [^ ]*$3.*$2.* -std=c++17 " \
		"$TAP_FILES/err")
	[ "$code" -eq 0 ] && [ -x "$TAP_FILES/idioms-$1" ] &&
		[ "$asked" -eq 1 ] && ! grep -q 'error:' "$TAP_FILES/err"
	verdict $? "C's idioms beside kernels for $2" "exit code $code; $3 was asked $asked times"
	prints "and the program runs" '^rank 2: ok' \
		tessera run -n 3 --backend cpuemu "$TAP_FILES/idioms-$1"
}
PATH=$PATH:/usr/local/cuda/bin idioms cuda sm_90a nvcc
idioms hip gfx942 clang-19
for compiler in gcc clang-19; do
	case $BUILD in
	*/$compiler-tsan) ;;
	*-tsan)
		skip "C's idioms for the CPU by $compiler" \
			"the library is built for another compiler's ThreadSanitizer" && continue
		;;
	esac
	try env CC=$compiler tessera cc tests/idioms/c_idioms.c \
		-o "$TAP_FILES/idioms" -- $flags -Wall -Wextra -Werror
	made "C's idioms for the CPU by $compiler" "$TAP_FILES/idioms"
done

# A kernel that calls what has no mark: a line of the command's own, before the compiler's, which
# names the user's file and line.
cat >"$TAP_FILES/unmarked.c" <<'END'
#include "tessera/dev.h"
#include "tessera/tessera.h"
typedef struct args { int n; } args_t;
static int helper(int n) { return n + 1; }
TSR_KERNEL(unmarked, args_t, a)
{
	(void)helper(a->n);
}
TSR_MAIN(world, argc, argv) { return 0; }
END
unmarked() {
	command -v "$2" >/dev/null || {
		skip "$1: a function without its mark" "no $2 here"
		return
	}
	try tessera cc --backends "cpuemu,$1" "$TAP_FILES/unmarked.c" \
		-o "$TAP_FILES/unmarked" -- $flags
	[ "$code" -ne 0 ] && [ ! -e "$TAP_FILES/unmarked" ] &&
		! ls -d "$TAP_FILES"/tessera-cc-* >/dev/null 2>&1 &&
		sed -n 1p "$TAP_FILES/err" | grep -q \
		"^tessera cc: .*/unmarked.c: device code for $1 .*mark functions that kernels call TSR_FN" &&
		sed 1d "$TAP_FILES/err" | grep -q 'unmarked\.c[:(]7'
	verdict $? "$1: a function without its mark" "exit code $code"
}
PATH=$PATH:/usr/local/cuda/bin unmarked cuda nvcc
unmarked hip clang-19

# What does not come apart, such as a function that a macro opens, is given to device compilers
# whole.
cat >"$TAP_FILES/whole.c" <<'END'
#include "tessera/dev.h"
#include "tessera/tessera.h"
#define BEGIN {
typedef struct args { int n; } args_t;
static inline int host(int n) BEGIN return n; }
TSR_KERNEL(whole, args_t, a) { (void)a->n; }
TSR_MAIN(world, argc, argv) { return host(0); }
END
if command -v clang-19 >/dev/null; then
	try tessera cc --backends cpuemu,hip "$TAP_FILES/whole.c" -o "$TAP_FILES/whole" -- $flags
	made "a source that does not come apart is read whole" "$TAP_FILES/whole"
	mkdir -p "$TAP_FILES/own" && echo 'enum { OWN = 3 };' >"$TAP_FILES/own/own.h"
	printf '%s\n' '#include "tessera/dev.h"' \
		'#include "own.h"' 'typedef struct args { int n[OWN]; } args_t;' \
		'TSR_KERNEL(own, args_t, a) { (void)a->n[OWN - 1]; }' '#include "tessera/main.h"' \
		'TSR_MAIN(world, argc, argv) { return 0; }' >"$TAP_FILES/folders.c"
	try tessera cc --backends cpuemu,hip "$TAP_FILES/folders.c" \
		-o "$TAP_FILES/folders" -- $flags -I "$TAP_FILES/own"
	made "a folder of headers in two words reaches device compilers" "$TAP_FILES/folders"
fi

echo 'int main(void) { return' >"$TAP_FILES/broken.c"
try tessera cc "$TAP_FILES/broken.c" -o "$TAP_FILES/broken"
[ "$code" -ne 0 ] && [ ! -e "$TAP_FILES/broken" ] &&
	! ls -d "$TAP_FILES"/tessera-cc-* >/dev/null 2>&1
verdict $? "a source that does not compile" "exit code $code, wanted another"

# A compiler that says that it runs, with a file in the folder, and takes for ever.
cat >"$TAP_FILES/slow" <<'SLOW'
#!/bin/sh
for folder in "$TMPDIR"/tessera-cc-*; do : >"$folder/made"; done
: >"$TMPDIR/runs"
exec sleep 1000
SLOW
chmod +x "$TAP_FILES/slow"
for signal in HUP INT TERM PIPE KILL; do
	mkdir "$TAP_FILES/temp"
	TMPDIR=$TAP_FILES/temp CC=$TAP_FILES/slow python3 - $signal 2>"$TAP_FILES/err" <<'INTERRUPT'
import glob, os, signal, subprocess, sys, time
folder = os.environ["TMPDIR"]
def within(seconds, happens):
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.01)
    return happens()
tool = subprocess.Popen(["tessera", "cc", "examples/hello.c", "-o", folder + "/hello"])
runs = within(60, lambda: os.path.exists(folder + "/runs"))
tool.send_signal(getattr(signal, "SIG" + sys.argv[1]))
gone = tool.wait(60) == -getattr(signal, "SIG" + sys.argv[1]) and within(
    60, lambda: os.listdir(folder) == ["runs"]
)
sys.exit(not (runs and gone))
INTERRUPT
	verdict $? "SIG$signal leaves no folder" "$(ls "$TAP_FILES/temp")"
	rm -rf "$TAP_FILES/temp"
done

# One frame that reaches beyond the page behind a stack, whatever lies there.
cat >"$TAP_FILES/frame.c" <<'FRAME'
#include "tessera/dev.h"
#include "tessera/tessera.h"

typedef struct frame_args {
	TSR_HEAP uint64_t *words;
} frame_args_t;

TSR_KERNEL(keep_one_frame, frame_args_t, a)
{
	volatile uint64_t local[(4 << 20) / sizeof(uint64_t)];
	local[0] = 1;
	tsr_signal(block, a->words, local[0], TSR_SIGNAL_ADD, tsr_rank(block));
}

TSR_MAIN(world, argc, argv)
{
	TSR_HEAP void *words;
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_TRY(tsr_heap_alloc(world, 8, 0, "words", &words));
	TSR_TRY(tsr_memset_heap(world, words, 0, 8));
	const frame_args_t args = {(TSR_HEAP uint64_t *)words};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &keep_one_frame, 1, &args));
	return tsr_stream_sync(stream) == TSR_OK ? 0 : 1;
}
FRAME
case $variant in
*-asan | *-tsan) skip "a frame of 4 MiB" "sanitizers look at stacks themselves" ;;
*)
	try tessera cc "$TAP_FILES/frame.c" -o "$TAP_FILES/frame" -- $flags
	made "a kernel with a frame of 4 MiB" "$TAP_FILES/frame"
	try tessera run -n 1 "$TAP_FILES/frame"
	[ "$code" -ne 0 ] && grep -q 'killed by signal 11' "$TAP_FILES/err"
	verdict $? "its run ends with a fault" "exit code $code: $(cat "$TAP_FILES/err")"
	try tessera check -n 1 --seeds 1 "$TAP_FILES/frame"
	seen "a check names the cause" \
		'the kernel has more locals, with those of all that it calls, than its stack has'
	cat >"$TAP_FILES/plain-cc" <<'PLAIN'
#!/bin/sh
case " $* " in *' -fstack-clash-protection '*) echo 'unknown flag' >&2; exit 1 ;; esac
exec cc "$@"
PLAIN
	chmod +x "$TAP_FILES/plain-cc"
	try env CC="$TAP_FILES/plain-cc" tessera cc examples/hello.c -o "$TAP_FILES/plain" -- $flags
	made "a compiler without the flag that probes stacks" "$TAP_FILES/plain"
	;;
esac

refuses "no file" 2 'which files' tessera cc -o x
refuses "a file that is not there" 2 "'no-such.c'" tessera cc no-such.c
refuses "a TMPDIR that is not there" 1 'No such file.*set TMPDIR' \
	env TMPDIR="$TAP_FILES/none" tessera cc examples/hello.c -o "$TAP_FILES/none.out"
refuses "a misspelt backend" 2 "did you mean 'cuda'" \
	tessera cc --backends cpuemu,cud examples/hello.c
refuses "a misspelt option" 2 "did you mean '--backends'" \
	tessera cc --backend= --bakends examples/hello.c
refuses "a source as the output" 2 'both a source' tessera cc examples/hello.c -o examples/hello.c
refuses "a toolkit that is missing" 1 'no clang-19 or later on PATH' \
	env PATH="$BUILD" "$BUILD/tessera" cc --backends hip examples/hello.c -o "$TAP_FILES/none"

# $CC may be several words; a program whose name has a blank is one.
cat >"$TAP_FILES/wrap" <<'WRAP'
#!/bin/sh
echo "$*" >>"$0.calls"
exec "$@"
WRAP
mkdir "$TAP_FILES/with blank"
printf '#!/bin/sh\nexec %s "$@"\n' "$CC" >"$TAP_FILES/with blank/cc x"
chmod +x "$TAP_FILES/wrap" "$TAP_FILES/with blank/cc x"
rm -f "$TAP_FILES/hello"
try env CC=" $TAP_FILES/wrap  $CC " tessera cc examples/hello.c -o "$TAP_FILES/hello" -- $flags
made "a compiler behind another program" "$TAP_FILES/hello"
[ "$(grep -c "^$CC " "$TAP_FILES/wrap.calls")" -ge 2 ]
verdict $? "which starts each compiler" "$(cat "$TAP_FILES/wrap.calls")"
rm -f "$TAP_FILES/hello"
try env CC="$TAP_FILES/with blank/cc x" tessera cc examples/hello.c -o "$TAP_FILES/hello" -- $flags
made "a compiler with a blank in its name" "$TAP_FILES/hello"

# Words in files, quoted as the compilers' own; a file may name another.
rm -f "$TAP_FILES/hello"
printf '%s\n' "-o '$TAP_FILES/with blank/hello'" "@$TAP_FILES/more.rsp" >"$TAP_FILES/words.rsp"
printf '%s\n' '-DTEXT=\"a\ b\"' >"$TAP_FILES/more.rsp"
cat >"$TAP_FILES/text.c" <<'TEXT'
#include <string.h>
int main(void)
{
	return strcmp(TEXT, "a b");
}
TEXT
try tessera cc "$TAP_FILES/text.c" "@$TAP_FILES/words.rsp" -- $flags
made "words in files" "$TAP_FILES/with blank/hello"
prints "are the words that were meant" '' "$TAP_FILES/with blank/hello"
printf -- '-- -DTEXT="x\n' >"$TAP_FILES/words.rsp"
try tessera cc --show "$TAP_FILES/text.c" "@$TAP_FILES/words.rsp"
[ "$code" -eq 0 ] && grep -q -- '-DTEXT=x' "$TAP_FILES/out"
verdict $? "a quote that is not closed ends with its file, as for gcc" "exit code $code"
printf '@%s\n' "$TAP_FILES/circle.rsp" >"$TAP_FILES/circle.rsp"
refuses "a file that names itself" 2 'response files name each other in a circle' \
	tessera cc "@$TAP_FILES/circle.rsp"
refuses "a file that is not there" 2 "cannot read '@$TAP_FILES/none.rsp'" \
	tessera cc "@$TAP_FILES/none.rsp"
finish
