#!/bin/sh
# What an ordered access cannot have does not compile. Beside each group of
# refused calls stands one that must be accepted.
. "$(dirname "$0")/../../cli/tap"
root=$(cd "$(dirname "$0")/../../.." && pwd)

compiles() {
	cat >"$TAP_FILES/kernel.c" <<-EOF
		#include "tessera/dev.h"
		typedef struct args {
			TSR_HEAP uint64_t *u;
			TSR_HEAP float *f;
			TSR_HEAP uint8_t *byte;
			int32_t order, pad;
		} args_t;
		TSR_KERNEL(kernel, args_t, a)
		{
			$1;
		}
	EOF
	try "${CC:-cc}" -std=c11 -D_GNU_SOURCE \
		-fsyntax-only -I"$root" -I"$root/include" -I"$root/backends" "$TAP_FILES/kernel.c"
	[ "$code" -eq 0 ]
}

accepted() {
	compiles "$1"
	verdict $? "accepted: $1"
}

refused() {
	! compiles "$1"
	verdict $? "refused: $1"
}

accepted 'tsr_atomic_load(block, a->u, 0, TSR_ACQUIRE, TSR_SCOPE_SYSTEM)'
refused 'tsr_atomic_load(block, a->u, 0, TSR_RELEASE, TSR_SCOPE_SYSTEM)'
refused 'tsr_atomic_load(block, a->u, 0, TSR_ACQ_REL, TSR_SCOPE_SYSTEM)'
refused 'tsr_atomic_load(block, a->u, 0, TSR_ACQUIRE, 7)'
refused 'tsr_atomic_load(block, a->u, 0, a->order, TSR_SCOPE_SYSTEM)'
refused 'tsr_atomic_load(block, a->byte, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM)'
accepted 'tsr_atomic_store(block, a->u, (uint64_t)1, 0, TSR_RELEASE, TSR_SCOPE_DEVICE)'
refused 'tsr_atomic_store(block, a->u, (uint64_t)1, 0, TSR_ACQUIRE, TSR_SCOPE_DEVICE)'
refused 'tsr_atomic_store(block, a->u, (uint64_t)1, 0, TSR_ACQ_REL, TSR_SCOPE_DEVICE)'
accepted 'tsr_atomic_add(block, a->f, 1.0f, 0, TSR_ACQ_REL, TSR_SCOPE_BLOCK)'
refused 'tsr_atomic_add(block, a->f, 1.0f, 0, 1, TSR_SCOPE_BLOCK)'
refused 'tsr_atomic_or(block, a->f, 1.0f, 0, TSR_RELAXED, TSR_SCOPE_BLOCK)'
refused 'tsr_atomic_cas(block, a->f, 1.0f, 2.0f, 0, TSR_RELAXED, TSR_RELAXED, TSR_SCOPE_BLOCK)'
accepted 'tsr_atomic_cas(block, a->u, 1, 2, 0, TSR_ACQ_REL, TSR_ACQUIRE, TSR_SCOPE_BLOCK)'
refused 'tsr_atomic_cas(block, a->u, 1, 2, 0, TSR_ACQ_REL, TSR_RELEASE, TSR_SCOPE_BLOCK)'
accepted 'tsr_fence(block, TSR_ACQ_REL, TSR_SCOPE_SYSTEM)'
refused 'tsr_fence(block, TSR_RELAXED, TSR_SCOPE_SYSTEM)'
accepted 'tsr_signal_local(block, a->u, 1, TSR_SCOPE_DEVICE)'
refused 'tsr_signal_local(block, a->u, 1, TSR_SCOPE_SYSTEM)'
refused 'tsr_wait_local(block, a->f, 1, TSR_SCOPE_DEVICE)'
finish
