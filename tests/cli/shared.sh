#!/bin/sh
# The shared library: a program linked with it runs, and its kernels are found,
# wherever they were loaded from.
. "$(dirname "$0")/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || { skip "the shared library" "this variant has none" && finish; }
library=$(cd "$BUILD" && pwd)

# compiled NAME SOURCE... OPTIONS...: a program, or with -shared a library, in the files of this
# test, beside the shared library.
compiled() {
	name=$1
	shift
	try "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror \
		-fPIC -pthread -D_GNU_SOURCE -DTSR_UNIT='"shared"' -I"$root" -I"$root/include" \
		-I"$root/backends" -o "$TAP_FILES/$name" "$@" \
		-L"$library" -ltessera -Wl,-rpath,"$library" -Wl,-rpath,"$TAP_FILES"
	verdict "$code" "$name is compiled and linked"
}

compiled hello "$root/examples/hello.c"
for placement in process thread; do
	prints "hello on 3 as $placement" '^rank 2 of 3 received 1001$' \
		tessera run -n 3 --placement $placement "$TAP_FILES/hello"
done
prints "hello is explored" '' tessera check -n 2 --seeds 20 "$TAP_FILES/hello"
try readelf -d "$TAP_FILES/hello"
version=$(tessera --version | sed 's/^tessera //')
seen "it asks for the version that it was linked with" \
	"NEEDED.*libtessera\.so\.$(echo "$version" | sed 's/^\(0\.[0-9]*\).*/\1/; t; s/\..*//')\]" 1
try readelf -d "$library/libtessera.so"
seen "nor does the library read JSON" 'NEEDED.*jansson' 0
try nm -u "$library/libtessera.a"
seen "nor does its archive" ' U json_' 0
[ -e "$library/libtessera.so.$version" ]
verdict $? "the file has the version's name" "no libtessera.so.$version"

# Kernels in a library of the program's own: of two units, listed once each; found while it is
# loaded, and not afterwards.
for unit in one two; do
	cat >"$TAP_FILES/$unit.c" <<-EOF
		#include "tessera/dev.h"
		typedef struct args { TSR_HEAP uint64_t *seen; } args_t;
		TSR_KERNEL(shared_$unit, args_t, a)
		{
			tsr_signal(block, a->seen, 7, TSR_SIGNAL_SET, tsr_rank(block));
		}
		TSR_KERNEL(shared_${unit}_more, args_t, a) { (void)a; }
	EOF
done
cat >"$TAP_FILES/loads.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>

#include "tessera/tessera.h"

static int count(void)
{
	int kernels = 0;
	while (tsr_kernel_at(kernels) != NULL)
		kernels++;
	return kernels;
}

TSR_MAIN(ours, argc, argv)
{
	TSR_HEAP void *seen;
	uint64_t value = 0;
	tsr_stream_t *stream;
	const int before = count();
	void *library = dlopen(argv[1], RTLD_NOW);
	const tsr_kernel_t *kernel = tsr_kernel_find("shared_two", NULL);
	const int loaded = count();
	if (library == NULL || kernel == NULL)
		return printf("%s\n", library == NULL ? dlerror() : "no such kernel"), 1;
	TSR_TRY(tsr_heap_alloc(ours, sizeof value, 0, "seen", &seen));
	TSR_TRY(tsr_memset_heap(ours, seen, 0, sizeof value));
	TSR_TRY(tsr_stream_create(tsr_world_team(ours), &stream));
	TSR_TRY(tsr_launch(stream, kernel, 1, &seen));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_memcpy_from_heap(ours, &value, seen, sizeof value));
	dlclose(library);
	printf("%d kernels, then %d, then %d; saw %d\n", before, loaded, count(), (int)value);
	return 0;
}
EOF
compiled libkernels.so -shared "$TAP_FILES/one.c" "$TAP_FILES/two.c"
compiled loads "$TAP_FILES/loads.c" -ldl
# Six are libtessera.so's own, of collectives on streams.
prints "kernels come and go with the library that has them" \
	'^6 kernels, then 10, then 6; saw 7$' \
	tessera run -n 1 "$TAP_FILES/loads" "$TAP_FILES/libkernels.so"
sed 's/dlopen(argv\[1\], RTLD_NOW)/(argc > 1 ? argv : NULL)/; s/dlclose(library)//; s/dlerror()/""/' \
	"$TAP_FILES/loads.c" >"$TAP_FILES/linked.c"
compiled linked "$TAP_FILES/linked.c" -Wl,--no-as-needed -L"$TAP_FILES" -l:libkernels.so
prints "kernels of a library that the program is linked with" \
	'^10 kernels, then 10, then 10; saw 7$' \
	tessera run -n 1 "$TAP_FILES/linked" x
compiled own "$TAP_FILES/linked.c" "$TAP_FILES/one.c" "$TAP_FILES/two.c"
prints "kernels of the program, of two units" \
	'^10 kernels, then 10, then 10; saw 7$' \
	tessera run -n 1 "$TAP_FILES/own" x
finish
