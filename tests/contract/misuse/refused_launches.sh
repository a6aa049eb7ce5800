#!/bin/sh
# Arguments that are not the kernel's do not compile where the compiler
# optimises and sees the kernel. Beside them stand lines that do.
. "$(dirname "$0")/../../cli/tap"
root=$(cd "$(dirname "$0")/../../.." && pwd)

# compiles LEVEL LINE: as C and as C++, in the body of a program that defines the kernel.
compiles() {
	cat >"$TAP_FILES/program.c" <<-EOF
		#include "tessera/dev.h"
		#include "tessera/tessera.h"
		typedef struct args { TSR_HEAP uint64_t *to; int64_t count; } args_t;
		typedef struct other { args_t args; int64_t more; } other_t;
		TSR_KERNEL(kernel, args_t, a)
		{
			tsr_put_value(block, a->to, (uint64_t)a->count, 0);
		}
		TSR_KERNEL_DECLARE(elsewhere);
		TSR_MAIN(world, argc, argv)
		{
			args_t args = {NULL, 1};
			other_t other = {args, 1};
			tsr_stream_t *stream = NULL;
			const void *any = &other;
			(void)world, (void)other, (void)any, (void)args;
			$2;
		}
	EOF
	for language in "-x c -std=c11" "-x c++ -std=c++17"; do
		# shellcheck disable=SC2086
		try "${CC:-cc}" $language "$1" -Wall -Wextra -Wpedantic \
			-Werror -D_GNU_SOURCE '-DTSR_UNIT="refused"' -c -o "$TAP_FILES/program.o" \
			-I"$root" -I"$root/include" -I"$root/backends" "$TAP_FILES/program.c"
		[ "$code" -eq "$3" ] || return 1
	done
}

accepted() {
	compiles -O2 "$1" 0 && compiles -O0 "$1" 0
	verdict $? "accepted: $(printf '%s' "$1" | tr -s '\n\t' ' ')"
}

# By name too: the sentence is the library's.
refused() {
	compiles -O2 "$1" 1 &&
		grep -q 'hand it the struct that its TSR_KERNEL names' "$TAP_FILES/err"
	verdict $? "refused: $(printf '%s' "$1" | tr -s '\n\t' ' ')"
}

accepted 'return tsr_launch(stream, &kernel, 1, &args) == TSR_OK'
refused 'return tsr_launch(stream, &kernel, 1, &other) == TSR_OK'
refused 'return tsr_launch(stream, &kernel, 1, &args.to) == TSR_OK'
accepted 'return tsr_launch(stream, &kernel, 1, any) == TSR_OK'
accepted 'return tsr_launch(stream, &kernel, 1, NULL) == TSR_OK'
accepted 'return tsr_launch(stream, &elsewhere, 1, &other) == TSR_OK'
accepted 'return tsr_launch(stream, argc > 1 ? &kernel : &elsewhere, 1, &args) == TSR_OK'
accepted 'const tsr_launch_desc_t one = TSR_LAUNCH_DESC(stream, &kernel, 1, &args);
	return tsr_launch_group(&one, 1) == TSR_OK'
refused 'const tsr_launch_desc_t one = TSR_LAUNCH_DESC(stream, &kernel, 1, &other);
	return tsr_launch_group(&one, 1) == TSR_OK'
refused 'const tsr_launch_desc_t two[] = {TSR_LAUNCH_DESC(stream, &kernel, 1, &args),
	TSR_LAUNCH_DESC(stream, &kernel, 1, any ? &other : NULL)};
	return tsr_launch_group(two, 2) == TSR_OK'
accepted 'const tsr_launch_desc_t one = TSR_LAUNCH_DESC(stream, &kernel, 1, any);
	return tsr_launch_group(&one, 1) == TSR_OK'
finish
