/*
 * The lines of one cache: 64 bytes each, found by their number. Only the files
 * of the cache machine use them.
 */
#ifndef TESSERA_CACHES_CACHE_LINES_H
#define TESSERA_CACHES_CACHE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TSR_LINE_BYTES = 64 };

/** A set of bytes of a line: bit i stands for byte i. */
typedef uint64_t tsr_line_mask_t;

#define TSR_LINE_WHOLE (~UINT64_C(0))

typedef struct tsr_line {
	uint64_t key;
	tsr_line_mask_t valid, dirty; /* `valid` is never empty; `dirty` is a subset of it */
	uint8_t bytes[TSR_LINE_BYTES];
} tsr_line_t;

/**
 * The lines of a cache. All 0: empty. Dirty lines come first. Otherwise the
 * order of lines depends only on the operations on them.
 */
typedef struct tsr_lines {
	tsr_line_t *line;
	uint32_t *slot; /* a hash table of index + 1; 0 is free */
	uint32_t count, dirty, room, hand;
	unsigned bits; /* the table has 2^bits slots; 0: no table */
} tsr_lines_t;

static inline tsr_line_mask_t tsr_line_mask(size_t first, size_t bytes)
{
	return (bytes == TSR_LINE_BYTES ? TSR_LINE_WHOLE : (UINT64_C(1) << bytes) - 1) << first;
}

/** The first run of bytes in a mask that is not empty. */
static inline size_t tsr_line_run(tsr_line_mask_t mask, size_t *first_out)
{
	size_t first = (size_t)__builtin_ctzll(mask);
	tsr_line_mask_t rest = ~(mask >> first);

	*first_out = first;
	return rest ? (size_t)__builtin_ctzll(rest) : TSR_LINE_BYTES;
}

static inline void tsr_line_merge(uint8_t *to, const uint8_t *from, tsr_line_mask_t mask)
{
	if (mask == TSR_LINE_WHOLE) {
		memcpy(to, from, TSR_LINE_BYTES);
		return;
	}
	while (mask) {
		size_t first, bytes = tsr_line_run(mask, &first);
		memcpy(to + first, from + first, bytes);
		mask &= ~tsr_line_mask(first, bytes);
	}
}

static inline bool tsr_line_differs(const uint8_t *a, const uint8_t *b, tsr_line_mask_t mask)
{
	while (mask) {
		size_t first, bytes = tsr_line_run(mask, &first);
		if (memcmp(a + first, b + first, bytes) != 0)
			return true;
		mask &= ~tsr_line_mask(first, bytes);
	}
	return false;
}

/**
 * Finds a line; null if there is none. The pointer is valid until the next call
 * that changes the lines.
 */
tsr_line_t *tsr_lines_find(const tsr_lines_t *lines, uint64_t key);

/**
 * Writes bytes of a line, as dirty or clean bytes; makes the line if there is
 * none. The mask is not empty. Returns false if there is no memory.
 */
bool tsr_lines_put(tsr_lines_t *lines, uint64_t key, tsr_line_mask_t mask, const uint8_t *bytes,
		   bool dirty);

/** Marks a line's bytes as clean: they are equal further out. */
void tsr_lines_clean(tsr_lines_t *lines, tsr_line_t *line);

/** Removes some bytes of a line, dirty or not. */
void tsr_lines_forget(tsr_lines_t *lines, tsr_line_t *line, tsr_line_mask_t mask);

/** Removes all clean bytes. */
void tsr_lines_drop_clean(tsr_lines_t *lines);

bool tsr_lines_copy(const tsr_lines_t *from, tsr_lines_t *to);
void tsr_lines_free(tsr_lines_t *lines);
size_t tsr_lines_size_bytes(const tsr_lines_t *lines);

#endif
