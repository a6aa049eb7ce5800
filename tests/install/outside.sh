#!/bin/sh
# Programs that are built outside the tree with the installed library: by a
# Makefile, CMake and Meson as users write them, by the installed `tessera cc`,
# and after the installation was moved.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || {
	skip "an installation" "this variant has no shared library" && finish
}
build=$(cd "$BUILD" && pwd)
right='^rank [0-3]: 30$'

# cmake_for BACKEND COMPILER ARCH: the kernels of the CMake project, for a GPU.
cmake_for() {
	command -v "$2" >/dev/null || { skip "CMake's kernels for $1" "no $2"; return; }
	sed -i "/^tessera_add/s/kernels.c.*/kernels.c BACKENDS cpuemu $1)/" CMakeLists.txt
	made "CMake compiles kernels for $1" sh -c "cmake -B for-$1 && cmake --build for-$1"
	[ "$(grep -ac "$3" "for-$1/squares")" -gt 0 ]
	verdict $? "the program holds them" "no $3 in it"
	sums "and runs" "for-$1/squares"
	sed -i 's/sum = 0/sum = 12/' src/kernels.c
	try sh -c "cmake --build for-$1 && tessera run -n 4 --backend cpuemu for-$1/squares"
	seen "it is built anew when a source changes" '^rank [0-3]: 42$' 4
	sed -i 's/sum = 12/sum = 0/' src/kernels.c
}

prints "it is installed" '^installed [0-9]+ files' \
	"$root/install/install" --build "$build" --prefix /opt/tessera --destdir "$TAP_FILES/first"
mv "$TAP_FILES/first/opt/tessera" "$TAP_FILES/moved"
export PATH="$TAP_FILES/moved/bin:/usr/bin:/bin:/usr/local/bin"
export PKG_CONFIG_PATH="$TAP_FILES/moved/lib/pkgconfig"
export CMAKE_PREFIX_PATH="$TAP_FILES/moved"

# project NAME: a copy of the project that knows nothing of the tree.
project() {
	cp -r "$root/tests/install/project" "$TAP_FILES/$1" && cd "$TAP_FILES/$1" || exit 1
}

# sums NAME PROGRAM: on 4 ranks, each of which gets 1 + 4 + 9 + 16.
sums() {
	try tessera run -n 4 --backend cpuemu "$2"
	seen "$1" "$right" 4
}

# made NAME COMMAND...
made() {
	name=$1
	shift
	try "$@"
	verdict "$code" "$name"
}

project make
made "a Makefile with pkg-config builds" make
sums "its program runs" ./squares
sums "so does the one with the archive" ./squares-static
try ldd ./squares-static
seen "which needs no shared library of ours" libtessera 0

project cmake
if command -v cmake >/dev/null; then
	made "CMake finds the package" cmake -B made -DCMAKE_C_FLAGS='-Wall -Wextra -Werror'
	made "and builds" cmake --build made
	sums "its program runs" made/squares
	sums "so does the one with the archive" made/squares-static
	sed -i 's/Tessera 0.1/Tessera 0.2/' CMakeLists.txt
	try cmake -B other
	[ "$code" -ne 0 ] && grep -q 'compatible with requested version "0.2"' "$TAP_FILES/err"
	verdict $? "another minor version is refused" "exit code $code"
	sed -i 's/Tessera 0.2/Tessera 0.1/; /^tessera_add/s/c)/c BACKENDS vulkan)/' CMakeLists.txt
	try cmake -B third
	[ "$code" -ne 0 ] && grep -q "unknown backend 'vulkan'" "$TAP_FILES/err"
	verdict $? "so is a backend that there is not" "exit code $code"
	cat >CMakeLists.txt <<-'END'
		cmake_minimum_required(VERSION 3.16)
		project(squares C)
		find_package(Tessera 0.1 REQUIRED)
		add_library(adds STATIC)
		tessera_add_kernels(adds src/kernels.c LIBRARY Tessera::static)
		target_include_directories(adds PUBLIC src)
		add_executable(plain src/main.c)
		target_link_libraries(plain adds Tessera::static)
		add_executable(squares src/main.c)
		target_link_libraries(squares m)
		tessera_add_kernels(squares src/kernels.c)
	END
	made "kernels in a library of the project, and links without PRIVATE" \
		sh -c "cmake -B plain && cmake --build plain"
	sums "its program runs" plain/plain
	try ldd plain/plain
	seen "with the archive that was named" libtessera 0
	sums "and so does the other" plain/squares
	sed -i 's/LIBRARY Tessera::static/LIBRARY Tessera::shared/' CMakeLists.txt
	try cmake -B none
	[ "$code" -ne 0 ] && grep -q "there is no library 'Tessera::shared'" "$TAP_FILES/err"
	verdict $? "a library that there is not is refused" "exit code $code"
	cp "$root/tests/install/project/CMakeLists.txt" .
	cmake_for hip clang-19 gfx942
	PATH=$PATH:/usr/local/cuda/bin cmake_for cuda nvcc sm_90a
else
	skip "a project of CMake" "no cmake"
fi

project meson
if command -v meson >/dev/null; then
	made "Meson finds the package" meson setup made
	made "and builds" meson compile -C made
	sums "its program runs" made/squares
else
	skip "a project of Meson" "no meson"
fi

project cc
made "the installed tessera cc builds" tessera cc src/main.c src/kernels.c -o squares
sums "its program runs" ./squares
try tessera check -n 3 --seeds 5 ./squares
verdict "$code" "and is explored" "exit code $code"
try tessera bench gemm-all-scatter -n 2 --backend cpuemu --shape 40x48x20 --verify
verdict "$code" "workloads run from there" "exit code $code"
PATH=$PATH:/usr/local/cuda/bin
for gpu in "hip clang-19" "cuda nvcc"; do
	if command -v "${gpu#* }" >/dev/null; then
		made "it compiles for ${gpu% *}" tessera cc --backends "cpuemu,${gpu% *}" \
			src/main.c src/kernels.c -o "squares-${gpu% *}"
	else
		skip "it compiles for ${gpu% *}" "no ${gpu#* }"
	fi
done
finish
