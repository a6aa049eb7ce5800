/* What is mapped in this process, as the kernel lists it in /proc/self/maps. */
#ifndef TESSERA_BASE_MAPS_H
#define TESSERA_BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A mapping: one line. */
typedef struct tsr_mapping {
	uintptr_t begin, end;
	bool readable, writable;
	bool shared;          /* other processes may have it too */
	uint64_t offset;      /* of `begin` in the file */
	unsigned long device; /* major << 20 | minor, of the file */
	unsigned long inode;  /* 0: it is no file's */
} tsr_mapping_t;

/** Reads a line of that list. False: it is none. */
bool tsr_mapping_read(const char *line, tsr_mapping_t *mapping_out);

/** Looks at a mapping. False ends the walk. */
typedef bool (*tsr_mapping_fn)(void *ctx, const tsr_mapping_t *mapping);

/**
 * Shows `look` all mappings that have a byte of the range, in the order of
 * their addresses. False, with errno: the kernel gives no list.
 */
bool tsr_mappings_each(uintptr_t begin, uintptr_t end, tsr_mapping_fn look, void *ctx);

#endif
