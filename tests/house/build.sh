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
denies "a compiler for AMD GPUs that is not there" \
	"hip_clang=no-such-clang is no clang 19 or later with its lld" hip_clang=no-such-clang

mkdir "$TAP_FILES/elsewhere"
printf 'import platform\nplatform.system = lambda: "Darwin"\n' \
	>"$TAP_FILES/elsewhere/sitecustomize.py"
export PYTHONPATH="$TAP_FILES/elsewhere"
denies "macOS" 'runs on Linux, and this is Darwin: .* container' -Q
unset PYTHONPATH
for system in __APPLE__ _WIN32; do
	for header in tessera.h dev.h; do
		echo "#include \"tessera/$header\"" >"$TAP_FILES/include.c"
		try gcc -D$system -fsyntax-only -Iinclude -Ibackends "$TAP_FILES/include.c"
		[ "$code" -ne 0 ] && grep -q 'error "Tessera runs on Linux' "$TAP_FILES/err"
		verdict $? "$header refuses a compiler that defines $system"
	done
done
finish
