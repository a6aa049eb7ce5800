#!/bin/sh
# Programs in C++: kernels and host halves of one file, and the kernels that are
# written in the C that both languages share.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || {
	skip "programs in C++" "this variant has no shared library" && finish
}
library=$(cd "$BUILD" && pwd)

# compiled_by COMPILER ARGUMENTS...
compiled_by() {
	try "$@" -std=c++17 -Wall -Wextra -Wpedantic -Werror \
		-D_GNU_SOURCE '-DTSR_UNIT="cxx"' -I"$root" -I"$root/include" -I"$root/backends"
}

for compiler in g++ clang++-19; do
	command -v $compiler >/dev/null || {
		skip "programs by $compiler" "there is none" && continue
	}
	for level in -O0 -O2; do
		program=$TAP_FILES/program$level
		compiled_by $compiler $level -pthread -o "$program" \
			"$root/tests/contract/cxx_program.cpp" \
			-L"$library" -ltessera -Wl,-rpath,"$library"
		verdict "$code" "$compiler $level compiles and links a program with kernels"
		for ranks in 1 2 3 5 8; do
			try tessera run -n $ranks --backend cpuemu "$program"
			seen "$ranks ranks, by $compiler $level" \
				'^rank [0-7]: multiply, all is right$' "$ranks"
		done
	done
	prints "as threads, by $compiler" '^rank 2: multiply, all is right$' \
		tessera run -n 3 --placement thread "$program"
	prints "explored, by $compiler" '' tessera check -n 2 --seeds 10 "$program"

	set --
	for kernel in "$root"/build/generated/kernels/*/variants/*_16x16x16.c \
		"$root"/tests/device/probe_atomics.c; do
		set -- "$@" "$kernel"
	done
	compiled_by $compiler -fsyntax-only -x c++ "$@"
	verdict "$code" "$compiler takes $# kernels in C for C++"
done
finish
