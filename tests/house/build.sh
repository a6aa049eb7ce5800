#!/bin/sh
# The build's options: what is unknown is refused with the nearest name, and nothing is built.
. "$(dirname "$0")/../cli/tap"
command -v scons >/dev/null || { skip "the build's options" "no scons"; finish; }

# denies NAME PATTERN OPTION
denies() {
	try scons -Q -n "$3"
	[ "$code" -eq 2 ] &&
		grep -qE -- "$2" "$TAP_FILES/out" && ! grep -q '^  compile' "$TAP_FILES/out"
	verdict $? "$1" "exit code $code; wanted 2 and /$2/ of: scons $3"
}

denies "an unknown option" "unknown option 'varient': did you mean 'variant'\?" varient=debug
denies "an unknown variant" "unknown variant 'relase': did you mean 'release'\?" variant=relase
denies "an unknown platform of hip" \
	"unknown hip_platform 'nvidea': did you mean 'nvidia'\?" hip_platform=nvidea
denies "an unknown backend" "unknown backend 'cudda': did you mean 'cuda'\?" backends=cudda
denies "a compiler that is not there" "no such program on PATH" CC=no-such-compiler
finish
