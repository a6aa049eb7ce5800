#include "cpuemu/shared.h"

#include <stdlib.h>
#include <string.h>

#include "cpuemu/dev/internal.h"

enum {
	ALIGN = 128,
	GUARD_BYTES = 1024, /* on each side */
	GUARD = 0xc9        /* what its bytes hold: no text, and no small number */
};

/** Where the guard behind the memory ends. */
static size_t guarded_bytes(size_t bytes)
{
	return (bytes + GUARD_BYTES + ALIGN - 1) / ALIGN * ALIGN;
}

unsigned char *tsr_cpu_shared_make(size_t bytes)
{
	unsigned char *memory = aligned_alloc(ALIGN, GUARD_BYTES + guarded_bytes(bytes));
	if (!memory)
		return NULL;
	memset(memory, GUARD, GUARD_BYTES + guarded_bytes(bytes));
	tsr_cpu_shared_reset(memory + GUARD_BYTES, bytes);
	return memory + GUARD_BYTES;
}

void tsr_cpu_shared_reset(unsigned char *shared, size_t bytes)
{
	memset(shared, TSR_CPU_POISON, bytes);
}

void tsr_cpu_shared_free(unsigned char *shared)
{
	if (shared)
		free(shared - GUARD_BYTES);
}

/** The first byte from `at` on, below `end`, that no guard has; `end`: there is none. */
static const unsigned char *changed(const unsigned char *at, const unsigned char *end)
{
	if (*at == GUARD && memcmp(at, at + 1, (size_t)(end - at) - 1) == 0)
		return end;
	while (*at == GUARD)
		at++;
	return at;
}

void tsr_cpu_shared_check(tsr_coop_t *coop)
{
	const unsigned char *shared = coop->block->shared;
	if (!shared)
		return;
	const size_t bytes = coop->block->shared_bytes;
	const unsigned char *end = shared + guarded_bytes(bytes),
			    *behind = changed(shared + bytes, end),
			    *before = changed(shared - GUARD_BYTES, shared);
	if (behind < end || before < shared)
		tsr_cpu_misuse(coop, "the kernel's body",
			       "correct an index, or make the struct of the shared memory larger",
			       "has written byte %td of the block's shared memory, which has "
			       "bytes 0 to %zu, and made its last call",
			       (behind < end ? behind : before) - shared, bytes - 1);
}
