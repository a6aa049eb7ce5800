/*
 * Whether pages can be mapped a second time, which windows need: valgrind and
 * qemu's emulation of a processor have no such call.
 */
#ifndef TESSERA_MOVING_PAGES_H
#define TESSERA_MOVING_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

static inline bool pages_move(void)
{
	const size_t bytes = 4096;
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *again = page == MAP_FAILED ? page : mremap(page, 0, bytes, MREMAP_MAYMOVE);
	if (page != MAP_FAILED)
		munmap(page, bytes);
	if (again != MAP_FAILED)
		munmap(again, bytes);
	return again != MAP_FAILED;
}

#endif
