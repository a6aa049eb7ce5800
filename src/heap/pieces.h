/*
 * The pieces of a heap in two balanced trees, one ordered by place and one by
 * length. Each operation takes log n steps.
 */
#ifndef TESSERA_HEAP_PIECES_H
#define TESSERA_HEAP_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Pieces begin and end on multiples of this. */
#define TSR_PIECE_GRANULE 256u

/** Alignments of TSR_PIECE_GRANULE << 0 and on: up to 2 MiB. */
enum { TSR_PIECE_ALIGNS = 14 };

/**
 * A piece's number. It is unchanged as long as the piece exists. 0 is no piece.
 */
typedef uint32_t tsr_piece_id_t;

typedef enum tsr_piece_order { TSR_BY_PLACE, TSR_BY_LENGTH, TSR_PIECE_ORDERS } tsr_piece_order_t;

/**
 * A part of the heap, in one cache line of the processor: an allocation if it
 * has a name, otherwise free or kept back.
 */
typedef struct tsr_piece {
	size_t begin, length; /* multiples of the granule */
	size_t asked;         /* size that was asked for, in bytes; 0 if it is no allocation */
	/* what ranks agree on; behind its 0 what reports show, empty: the same */
	char *name;
	tsr_piece_id_t before, behind; /* its neighbours */
	/* left and right subtree in each order */
	tsr_piece_id_t below[TSR_PIECE_ORDERS][2];
	tsr_piece_id_t later; /* kept back: the piece that was kept back next */
	bool kept;            /* released, and not free yet */
	uint8_t height[TSR_PIECE_ORDERS];
} tsr_piece_t;

/**
 * For each alignment, the largest length that fits into a piece of this subtree
 * of the tree by length.
 */
typedef struct tsr_piece_room {
	size_t most[TSR_PIECE_ALIGNS];
} tsr_piece_room_t;

typedef struct tsr_pieces {
	tsr_piece_t *at;        /* indexed by number */
	tsr_piece_room_t *room; /* indexed by number: for the piece and its subtree by length */
	uint32_t used, capacity;
	/* number of alignments for which rooms are known: up to the largest that was ever asked
	 * for */
	int aligns;
	tsr_piece_id_t spare; /* free numbers: a list linked by `behind` */
	tsr_piece_id_t root[TSR_PIECE_ORDERS];
} tsr_pieces_t;

/** Returns false if the host has no memory. */
bool tsr_pieces_create(tsr_pieces_t *pieces);
/** The caller keeps the names. */
void tsr_pieces_destroy(tsr_pieces_t *pieces);

/**
 * Reserves memory for `count` calls of tsr_pieces_new. Pieces may move; numbers
 * stay. Returns false if the host has no memory.
 */
bool tsr_pieces_reserve(tsr_pieces_t *pieces, uint32_t count);
/** Makes a piece that is in no order yet, in reserved memory. */
tsr_piece_id_t tsr_pieces_new(tsr_pieces_t *pieces, size_t begin, size_t length);
/** Frees the number of a piece that is in no order. */
void tsr_pieces_drop(tsr_pieces_t *pieces, tsr_piece_id_t id);

/**
 * The order by place has all pieces, the order by length only the free ones.
 * The key of an order may change only while the piece is not in it.
 */
void tsr_pieces_insert(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id);
void tsr_pieces_remove(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id);

/** The last piece by place that begins at or before `offset`; 0: none. */
tsr_piece_id_t tsr_pieces_holding(const tsr_pieces_t *pieces, size_t offset);
/**
 * The first piece by length that has room for `length` at a multiple of
 * `align`, a power of two that is at least the granule. The first use of a
 * larger alignment looks at every free piece once.
 */
tsr_piece_id_t tsr_pieces_fitting(tsr_pieces_t *pieces, size_t length, size_t align);
/** The length of the longest free piece; 0: none is free. */
size_t tsr_pieces_longest(const tsr_pieces_t *pieces);

#endif
