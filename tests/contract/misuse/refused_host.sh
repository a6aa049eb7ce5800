#!/bin/sh
# What a host program cannot say without a word of its compiler. Beside each
# group of refused lines stands one that must be accepted.
. "$(dirname "$0")/../../cli/tap"
root=$(cd "$(dirname "$0")/../../.." && pwd)

# compiles LINE: as C and as C++, in the body of a program.
compiles() {
	cat >"$TAP_FILES/program.c" <<-EOF
		#include "tessera/tessera.h"
		TSR_MAIN(world, argc, argv)
		{
			$1;
			return 0;
		}
	EOF
	for language in "-x c -std=c11" "-x c++ -std=c++17"; do
		# shellcheck disable=SC2086
		try "${CC:-cc}" $language -Wall -Wextra \
			-Werror -D_GNU_SOURCE -fsyntax-only -I"$root/include" "$TAP_FILES/program.c"
		[ "$code" -eq "$2" ] || return 1
	done
}

accepted() {
	compiles "$1" 0
	verdict $? "accepted: $(printf '%s' "$1" | tr -s '\n\t' ' ')"
}

refused() {
	compiles "$1" 1
	verdict $? "refused: $(printf '%s' "$1" | tr -s '\n\t' ' ')"
}

accepted 'return tsr_barrier(world) == TSR_OK'
accepted '(void)tsr_barrier(world)'
refused 'tsr_barrier(world)'
refused 'tsr_heap_usage_t usage; tsr_heap_usage(world, &usage)'
accepted 'TSR_TRY(tsr_barrier(world))'
accepted '(void)world; int args = 1; TSR_TRY(tsr_launch(NULL, NULL, 1, &args));
	TSR_TRY(tsr_launch(NULL, NULL, 1, NULL))'
accepted '(void)world; int args = 1; const void *any = &args;
	TSR_TRY(tsr_launch(NULL, NULL, 1, any))'
refused '(void)world; TSR_TRY(tsr_launch(NULL, NULL, 1, 7))'
finish
