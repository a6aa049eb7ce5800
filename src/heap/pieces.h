/*
 * The pieces of a heap in two orders, by place and by length, each a balanced
 * tree: whatever is asked or changed takes log n steps.
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

/** A piece's number. It keeps it as long as it lives; 0 is no piece. */
typedef uint32_t tsr_piece_id_t;

typedef enum tsr_piece_order { TSR_BY_PLACE, TSR_BY_LENGTH, TSR_PIECE_ORDERS } tsr_piece_order_t;

/**
 * A stretch of the heap, in one line of the processor's cache. An allocation
 * where it has a name; else free, or kept back.
 */
typedef struct tsr_piece {
	size_t begin, length; /* multiples of the granule */
	size_t asked;         /* bytes that were asked for; 0 where it is no allocation */
	char *name;
	tsr_piece_id_t before, behind; /* its neighbours */
	/* what comes before it in an order, and what comes after it */
	tsr_piece_id_t below[TSR_PIECE_ORDERS][2];
	tsr_piece_id_t later; /* kept back: which was kept back next */
	bool kept;            /* no allocation any more, and not free yet */
	uint8_t height[TSR_PIECE_ORDERS];
} tsr_piece_t;

/** The largest lengths that pieces of a part of the tree by length have room for, by alignment. */
typedef struct tsr_piece_room {
	size_t most[TSR_PIECE_ALIGNS];
} tsr_piece_room_t;

typedef struct tsr_pieces {
	tsr_piece_t *at;        /* by number */
	tsr_piece_room_t *room; /* by number: of the piece and of all below it by length */
	uint32_t used, capacity;
	/* of the rooms so many are known: none beyond the largest alignment that was ever asked
	 * for */
	int aligns;
	tsr_piece_id_t spare; /* numbers that were given back: a list by `behind` */
	tsr_piece_id_t root[TSR_PIECE_ORDERS];
} tsr_pieces_t;

/** False: the host has no memory. */
bool tsr_pieces_create(tsr_pieces_t *pieces);
/** The names stay the caller's. */
void tsr_pieces_destroy(tsr_pieces_t *pieces);

/**
 * Makes sure that `count` calls of tsr_pieces_new find memory. False: the host
 * has none. Pieces may move; numbers stay.
 */
bool tsr_pieces_reserve(tsr_pieces_t *pieces, uint32_t count);
/** A piece that is in no order yet, from what was reserved. */
tsr_piece_id_t tsr_pieces_new(tsr_pieces_t *pieces, size_t begin, size_t length);
/** Takes back the number of a piece that is in no order. */
void tsr_pieces_drop(tsr_pieces_t *pieces, tsr_piece_id_t id);

/**
 * By place are all pieces, by length the free ones. What the order goes by
 * changes only while the piece is not in it.
 */
void tsr_pieces_insert(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id);
void tsr_pieces_remove(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id);

/** The last piece by place that begins at `offset` or before; 0: none. */
tsr_piece_id_t tsr_pieces_holding(const tsr_pieces_t *pieces, size_t offset);
/**
 * The first piece by length with room for `length` at a multiple of `align`,
 * which is a power of two from the granule on. An alignment above all that were
 * asked for before is prepared for once, by a look at every free piece.
 */
tsr_piece_id_t tsr_pieces_fitting(tsr_pieces_t *pieces, size_t length, size_t align);
/** The length of the longest free piece; 0: none is free. */
size_t tsr_pieces_longest(const tsr_pieces_t *pieces);

#endif
