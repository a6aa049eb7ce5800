#!/bin/sh
# The command alone in a folder, as from a package whose neighbours are missing:
# what it cannot do without them, it refuses, and says what to install.
. "$(dirname "$0")/tap"
mkdir "$TAP_FILES/bin"
cp "$BUILD/tessera" "$BUILD/examples/hello" "$TAP_FILES/bin"
cp "$(dirname "$0")/../../examples/hello.c" "$TAP_FILES"
alone=$TAP_FILES/bin/tessera
cd "$TAP_FILES" || exit 1

for words in '--help' 'gemm-all-scatter --machine h200x8'; do
	# shellcheck disable=SC2086 # words
	refuses "tessera sim $words" 1 \
		'^tessera sim: cannot start .*/tessera-sim: No such file.*`scons command` builds it' \
		"$alone" sim $words
done
refuses "tessera cc without headers" 1 'no include/tessera/dev.h .* \(libtessera-dev on Debian\)' \
	"$alone" cc hello.c -o hello
refuses "tessera run over nodes without the plug-in" 1 \
	'needs UCX: there is no .*libtessera-net-ucx.so; install libucx-dev \(Debian\) .* build Tessera again, or install .* tessera-net-ucx' \
	"$alone" run -n 2 --nodes 2 "$TAP_FILES/bin/hello"
prints "tessera info says so too" '^  none: .* install libucx-dev' "$alone" info network
prints "and what needs no neighbour works" '^rank 0 of 2 received' \
	"$alone" run -n 2 "$TAP_FILES/bin/hello"
finish
