#!/bin/sh
# tessera cc takes what a C compiler takes: flags in any place, sources in C and
# C++, objects and archives; and says what it would run.
. "$(dirname "$0")/../tap"
export TMPDIR="$TAP_FILES"
root=$(pwd)
variant=${BUILD##*/}
export CC="${variant%-*}"
case $CC in
clang*) export CXX="clang++${CC#clang}" ;;
*) export CXX=g++ ;;
esac
case $variant in
*-asan) flags='-fsanitize=address,undefined' ;;
*-tsan) flags='-fsanitize=thread' ;;
*) flags= ;;
esac
PATH=$PATH:/usr/local/cuda/bin
case $BUILD in
/*) ;;
*) BUILD=$root/$BUILD ;;
esac
PATH=$BUILD:$PATH
cd "$TAP_FILES" || exit 1

# made NAME FILE...: the last command made the files, said nothing, and left no folder of objects.
made() {
	name=$1
	shift
	missing=
	for file in "$@"; do [ -s "$file" ] || missing="$missing $file"; done
	[ "$code" -eq 0 ] && [ -z "$missing" ] && [ ! -s err ] &&
		! ls -d tessera-cc-* >&2 2>/dev/null
	verdict $? "$name" "exit code $code; missing:$missing"
}

mkdir -p own sub lib
echo '#define OWN 40' >own/own.h
cat >part.c <<'END'
#include "own.h"
int part(void) { return OWN + TWO; }
END
cat >sub/kernel.c <<'END'
#include "tessera/dev.h"
typedef struct args { TSR_HEAP uint64_t *seen; } args_t;
TSR_KERNEL(sees, args_t, a) { tsr_signal(block, a->seen, 7, TSR_SIGNAL_SET, tsr_rank(block)); }
END
cat >main.c <<'END'
#include <stdio.h>
#include "tessera/tessera.h"
int part(void);
int more(void);
TSR_MAIN(world, argc, argv)
{
	printf("rank %d has %d and %d\n", tsr_world_rank(world), part(), more());
	return 0;
}
END
echo 'extern "C" int more(void) { auto x = [] { return 7; }; return x(); }' >more.cpp

# ---- objects, archives, flags before and behind

try tessera cc -O3 -c $flags -DTWO=2 part.c -Iown -Wall -Werror
made "-c makes an object in this folder" part.o
try tessera cc -c sub/kernel.c more.cpp $flags
made "of each of several sources" kernel.o more.o
try ar rc lib/libmore.a more.o
try tessera cc -o program main.c $flags part.o -Llib -lmore -lstdc++ -Wl,-Map=program.map
made "objects and archives are linked, -l where it stands" program program.map
prints "the program runs" '^rank 1 has 42 and 7$' tessera run -n 2 ./program
try tessera cc $flags main.c -DTWO=2 -I own part.c more.cpp -std=c11 -std=c++20 -oboth
made "C and C++ in one command, each with its standard" both
prints "that one runs" '^rank 0 has 42 and 7$' tessera run -n 1 ./both
try readelf -S both
seen "there is debug information" ' \.debug_line '
try tessera cc $flags -g0 -c main.c -o plain.o
try readelf -S plain.o
seen "unless it is declined" ' \.debug_line ' 0
try tessera cc -c part.c -DTWO=2 -MMD -MF part.d -Iown
made "-MMD writes what make reads" part.d
grep -q 'part.o: part.c own/own.h' part.d
verdict $? "and names the object that is made" "$(cat part.d)"
prints "-E preprocesses" '^int part\(void\) \{ return 40 \+ 2; \}$' \
	tessera cc -E -DTWO=2 -Iown part.c
prints "-fsyntax-only makes nothing" '' tessera cc -fsyntax-only -DTWO=2 -Iown part.c -o none.o
cp part.c part.text
try tessera cc -x c -DTWO=2 -Iown -c part.text -o text.o
made "-x says what a source is" text.o

# ---- a shared library with kernels

if [ -e "$BUILD/libtessera.so" ]; then
	try tessera cc $flags -shared -fPIC sub/kernel.c -o lib/libkernel.so
	made "-shared makes a library" lib/libkernel.so
	cat >count.c <<'END'
#include <stdio.h>
#include "tessera/tessera.h"
TSR_MAIN(world, argc, argv)
{
	for (int i = 0; tsr_kernel_at(i); i++)
		puts(tsr_kernel_at(i)->name);
	return 0;
}
END
	try tessera cc --dynamic $flags count.c -Wl,--no-as-needed -Llib -lkernel \
		-Wl,-rpath,"$TAP_FILES/lib" -o count
	made "--dynamic links the shared library" count
	try readelf -d count
	seen "which is named" 'NEEDED.*libtessera\.so' 1
	prints "the library's kernels are found" '^sees$' tessera run -n 1 ./count
else
	skip "shared libraries" "this variant has no shared library"
fi

# ---- kernels in C++, device code in objects

cat >two.cpp <<'END'
#include <vector>
#include "tessera/dev.h"
#include "tessera/tessera.h"
struct args_t { TSR_HEAP uint64_t *seen; };
template <typename T> TSR_FN T twice(T x) { return x + x; }
TSR_KERNEL(doubles, args_t, a)
{
	tsr_signal(block, a->seen, twice<uint64_t>(4), TSR_SIGNAL_SET, tsr_rank(block));
}
TSR_MAIN(world, argc, argv)
{
	std::vector<int> ranks(tsr_world_size(world));
	return ranks.size() == 2 ? 0 : 1;
}
END
with_images() {
	command -v "$3" >/dev/null || { skip "$1: kernels in C++" "no $3 here"; return; }
	try tessera cc --backends "$1" $flags two.cpp -o "two-$1"
	made "$1: kernels in C++" "two-$1"
	prints "$1: the program runs" '' tessera run -n 2 --backend cpuemu "./two-$1"
	try tessera cc --backends "$1" -c sub/kernel.c -o "kernel-$1.o" $flags
	made "$1: an object with device code" "kernel-$1.o"
	try tessera cc main.c part.o more.o -lstdc++ "kernel-$1.o" -o "object-$1" $flags
	[ "$(grep -ac "$2" "object-$1")" -gt 0 ]
	verdict $? "$1: linked, it is in the program" "no $2 there"
}
with_images cuda sm_90a nvcc
with_images hip gfx942 clang-19

# ---- what it would run

cp sub/kernel.c "a b's.c"
try tessera cc --show $flags -DTWO='2 ' -Iown main.c part.c more.cpp "a b's.c" -o shown
[ "$code" -eq 0 ] && [ ! -e shown ] && [ ! -e tessera-objects ]
verdict $? "--show runs nothing" "exit code $code"
cp out pasted.sh
try sh -e ./pasted.sh
made "what it prints can be pasted" shown
prints "and makes the program" '^rank 1 has 42 and 7$' tessera run -n 2 ./shown
rm -rf tessera-objects
if command -v clang-19 >/dev/null; then
	try tessera cc --show --backends hip -c sub/kernel.c -o shown.o $flags
	cp out pasted.sh
	seen "it shows what device compilers read" 'cc --device-half sub/kernel.c -o .*half\.c$' 1
	try sh -e ./pasted.sh
	made "device code too" shown.o
	[ "$(grep -ac gfx942 shown.o)" -gt 0 ]
	verdict $? "is in the object" "no gfx942 there"
fi
prints "a device half holds the kernels" 'TSR_KERNEL\(sees' \
	tessera cc --device-half sub/kernel.c
prints "-show is --show" ' -c -x c main.c -o ' tessera cc -show main.c
try tessera cc -v $flags -DNAME='"a b"' -c main.c
grep -qF "'-DNAME=\"a b\"'" err
verdict $? "-v quotes as --show does" "$(cat err)"

# ---- what is refused

refuses "one object for two sources" 2 'leave -o out' tessera cc -c main.c more.cpp -o both.o
refuses "-c without a source" 2 'none of the files is a source' tessera cc -c part.o
refuses "a flag without its value" 2 "flag '-I' needs a value" tessera cc main.c -I
refuses "-o without a file" 2 "'-o' needs a value" tessera cc main.c -o
refuses "a language that it does not compile" 2 "not 'fortran'" tessera cc -x fortran main.c
refuses "the former letter of backends" 2 "did you mean '--backends'" tessera cc -b cuda main.c
refuses "a value where there is none" 2 'takes no value' tessera cc --show=all main.c
refuses "a strange option" 2 "behind '--'" tessera cc --no-such-option-anywhere main.c
finish
