/* Heaps and shared memory as the program sees them: allocations.c. */
#ifndef TESSERA_EXPLORE_AREAS_H
#define TESSERA_EXPLORE_AREAS_H

#include <string.h>

#include "src/explore/exploration.h"
#include "src/explore/wire/finding.h"

enum { TSR_PIECE_NAME = 64 };
/**
 * A part of a heap as the program sees it: an allocation, or released memory.
 */
typedef struct tsr_piece {
	size_t begin, bytes;
	bool freed;
	char name[TSR_PIECE_NAME];
	tsr_finding_form_t form;
} tsr_piece_t;

/** A rank's heap, or a block's shared memory. */
typedef struct tsr_area {
	unsigned char *base; /* address in the program; for a heap nothing is mapped there */
	size_t bytes;
	unsigned char *home; /* values that every thread sees */
	/* values that were written last, whether or not others see them: the shadow's memory */
	unsigned char *newest;
	int region; /* number in the shadow; -1: the area has ended */
	int cached; /* number in the cache machine, if there is one */
	int rank;
	uint64_t name; /* the same in every run; objects are derived from it */
	bool shared;
	tsr_piece_t *pieces; /* of a heap, ordered by `begin`, without overlaps */
	int piece_count, piece_room;
	int last_piece; /* the piece found last time */
} tsr_area_t;

/**
 * Finds the area and the offset of `bytes` at `at`. Returns false if no area
 * holds them.
 */
bool tsr_area_find(tsr_exploration_t *x, const void *at, size_t bytes, int *area_out,
		   size_t *offset_out);

/** The piece that holds `offset`, or null. */
tsr_piece_t *tsr_area_piece(tsr_area_t *area, size_t offset);

/** Writes where in a heap or a block's memory it is: "ready [2]", "flags+8". Returns `text`. */
enum { TSR_PLACE_TEXT = TSR_PIECE_NAME + TSR_FINDING_INDEX_TEXT };
const char *tsr_area_text(tsr_area_t *area, size_t offset, size_t bytes, char text[TSR_PLACE_TEXT]);

/** The object that stands for a word in choices and digests. */
static inline uint64_t tsr_area_object(const tsr_area_t *area, size_t offset)
{
	const uint64_t mixed = area->name * UINT64_C(0x9e3779b97f4a7c15) + offset / 4;
	/* the highest bits mark objects of meetings and hosts */
	return mixed & ~(UINT64_C(3) << 62);
}

/** The newest value of a word, from the shadow's memory. */
static inline uint64_t tsr_area_value(const tsr_area_t *area, size_t offset, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, area->newest + offset, bytes);
	return value;
}

#endif
