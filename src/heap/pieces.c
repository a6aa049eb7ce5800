/*
 * Two AVL trees over one array of pieces. Their shape decides nothing that is
 * seen: each answer follows from an order alone.
 */
#include "src/heap/pieces.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };
enum { BEFORE, AFTER }; /* sides of a piece in a tree */
enum { WAY_MOST = 48 }; /* from a root down: 1.44 times the logarithm of 2^32 pieces */

/* ------------------------------------------------------------------ the array */

bool tsr_pieces_create(tsr_pieces_t *pieces)
{
	*pieces = (tsr_pieces_t){.used = 1, .capacity = FIRST_CAPACITY, .aligns = 1};
	pieces->at = calloc(FIRST_CAPACITY, sizeof *pieces->at);
	pieces->room = calloc(FIRST_CAPACITY, sizeof *pieces->room);
	if (pieces->at && pieces->room)
		return true;
	tsr_pieces_destroy(pieces);
	return false;
}

void tsr_pieces_destroy(tsr_pieces_t *pieces)
{
	free(pieces->at);
	free(pieces->room);
}

static bool grow(tsr_pieces_t *pieces)
{
	if (pieces->capacity > UINT32_MAX / 2)
		return false;
	const size_t capacity = 2 * (size_t)pieces->capacity;
	tsr_piece_t *at = realloc(pieces->at, capacity * sizeof *at);
	if (!at)
		return false;
	pieces->at = at;
	tsr_piece_room_t *room = realloc(pieces->room, capacity * sizeof *room);
	if (!room)
		return false;
	pieces->room = room;
	pieces->capacity = (uint32_t)capacity;
	return true;
}

bool tsr_pieces_reserve(tsr_pieces_t *pieces, uint32_t count)
{
	while (pieces->capacity - pieces->used < count)
		if (!grow(pieces))
			return false;
	return true;
}

tsr_piece_id_t tsr_pieces_new(tsr_pieces_t *pieces, size_t begin, size_t length)
{
	tsr_piece_id_t id = pieces->spare;
	if (id != 0)
		pieces->spare = pieces->at[id].behind;
	else
		id = pieces->used++;
	pieces->at[id] = (tsr_piece_t){.begin = begin, .length = length};
	return id;
}

void tsr_pieces_drop(tsr_pieces_t *pieces, tsr_piece_id_t id)
{
	pieces->at[id].behind = pieces->spare;
	pieces->spare = id;
}

/* ------------------------------------------------------------------ the trees */

static bool comes_before(tsr_piece_order_t order, const tsr_piece_t *a, const tsr_piece_t *b)
{
	if (order == TSR_BY_LENGTH && a->length != b->length)
		return a->length < b->length;
	return a->begin < b->begin;
}

/* What `piece` has room for behind the first multiple of the granule << align. */
static size_t own_room(const tsr_piece_t *piece, int align)
{
	const size_t skipped = -piece->begin & (((size_t)TSR_PIECE_GRANULE << align) - 1);
	return piece->length > skipped ? piece->length - skipped : 0;
}

/* Brings up to date what a piece knows of those below it. False: it has not changed. */
static bool look_below(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id)
{
	tsr_piece_t *piece = &pieces->at[id];
	const tsr_piece_id_t *below = piece->below[order];
	const uint8_t before = pieces->at[below[BEFORE]].height[order],
		      after = pieces->at[below[AFTER]].height[order];
	const uint8_t height = (uint8_t)((before > after ? before : after) + 1);
	bool changed = piece->height[order] != height;
	piece->height[order] = height;
	if (order != TSR_BY_LENGTH)
		return changed;
	const size_t *left = pieces->room[below[BEFORE]].most,
		     *right = pieces->room[below[AFTER]].most;
	size_t *room = pieces->room[id].most;
	for (int a = 0; a < pieces->aligns; a++) {
		size_t most = own_room(piece, a);
		most = left[a] > most ? left[a] : most;
		most = right[a] > most ? right[a] : most;
		changed |= room[a] != most;
		room[a] = most;
	}
	return changed;
}

/*
 * Puts the piece on `side` below `id` into the place of `id`, and `id` below
 * it. Returns the new top.
 */
static tsr_piece_id_t rotate(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id,
			     int side)
{
	const tsr_piece_id_t up = pieces->at[id].below[order][side];
	pieces->at[id].below[order][side] = pieces->at[up].below[order][!side];
	pieces->at[up].below[order][!side] = id;
	look_below(pieces, order, id);
	look_below(pieces, order, up);
	return up;
}

static int height_on(const tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id,
		     int side)
{
	return pieces->at[pieces->at[id].below[order][side]].height[order];
}

/*
 * After one of the sides below `id` has grown or shrunk by one. Returns the top
 * of what `id` was the top of.
 */
static tsr_piece_id_t balance(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id)
{
	for (int side = BEFORE; side <= AFTER; side++) {
		if (height_on(pieces, order, id, side) <= height_on(pieces, order, id, !side) + 1)
			continue;
		tsr_piece_id_t *high = &pieces->at[id].below[order][side];
		if (height_on(pieces, order, *high, side) < height_on(pieces, order, *high, !side))
			*high = rotate(pieces, order, *high, !side);
		return rotate(pieces, order, id, side);
	}
	return id;
}

/* The way from the root down: each link that was followed, the root's first. */
typedef struct way {
	tsr_piece_id_t *link[WAY_MOST];
	int count;
} way_t;

/* Follows the order from the last link of `way` on, until it leads to piece `id` or to none. */
static void go_to(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id, way_t *way)
{
	const tsr_piece_t *piece = &pieces->at[id];
	for (;;) {
		const tsr_piece_id_t here = *way->link[way->count - 1];
		if (here == 0 || here == id)
			return;
		const int side = comes_before(order, piece, &pieces->at[here]) ? BEFORE : AFTER;
		way->link[way->count++] = &pieces->at[here].below[order][side];
	}
}

/*
 * Mends the tree from the end of `way` up: `sure` links of the way's begin only
 * where something below them has changed.
 */
static void mend(tsr_pieces_t *pieces, tsr_piece_order_t order, const way_t *way, int sure)
{
	for (int i = way->count - 1; i >= 0; i--) {
		tsr_piece_id_t *link = way->link[i];
		if (*link == 0)
			continue;
		const bool changed = look_below(pieces, order, *link);
		*link = balance(pieces, order, *link);
		if (!changed && i < sure)
			return;
	}
}

void tsr_pieces_insert(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id)
{
	way_t way = {.link = {&pieces->root[order]}, .count = 1};
	go_to(pieces, order, id, &way);
	pieces->at[id].below[order][BEFORE] = pieces->at[id].below[order][AFTER] = 0;
	pieces->at[id].height[order] = 0; /* so that it changes */
	*way.link[way.count - 1] = id;
	mend(pieces, order, &way, way.count);
}

void tsr_pieces_remove(tsr_pieces_t *pieces, tsr_piece_order_t order, tsr_piece_id_t id)
{
	way_t way = {.link = {&pieces->root[order]}, .count = 1};
	go_to(pieces, order, id, &way);
	tsr_piece_id_t *link = way.link[way.count - 1], *below = pieces->at[id].below[order];
	const int place = way.count;
	if (below[BEFORE] == 0 || below[AFTER] == 0) {
		*link = below[BEFORE] != 0 ? below[BEFORE] : below[AFTER];
		mend(pieces, order, &way, place - 1);
		return;
	}
	/* The next in order takes its place. */
	way.link[way.count++] = &below[AFTER];
	for (tsr_piece_id_t *first;
	     (first = &pieces->at[*way.link[way.count - 1]].below[order][BEFORE])[0] != 0;)
		way.link[way.count++] = first;
	const tsr_piece_id_t next = *way.link[way.count - 1];
	*way.link[way.count - 1] = pieces->at[next].below[order][AFTER];
	for (int side = BEFORE; side <= AFTER; side++)
		pieces->at[next].below[order][side] = below[side];
	way.link[place] = &pieces->at[next].below[order][AFTER];
	*link = next;
	mend(pieces, order, &way, place - 1);
}

/* ------------------------------------------------------------------ questions */

tsr_piece_id_t tsr_pieces_holding(const tsr_pieces_t *pieces, size_t offset)
{
	tsr_piece_id_t found = 0;
	for (tsr_piece_id_t id = pieces->root[TSR_BY_PLACE]; id != 0;) {
		const bool after = pieces->at[id].begin <= offset;
		found = after ? id : found;
		id = pieces->at[id].below[TSR_BY_PLACE][after ? AFTER : BEFORE];
	}
	return found;
}

/* Finds out the rooms of `id` and all below it. */
static void look_at_all(tsr_pieces_t *pieces, tsr_piece_id_t id)
{
	if (id == 0)
		return;
	for (int side = BEFORE; side <= AFTER; side++)
		look_at_all(pieces, pieces->at[id].below[TSR_BY_LENGTH][side]);
	look_below(pieces, TSR_BY_LENGTH, id);
}

tsr_piece_id_t tsr_pieces_fitting(tsr_pieces_t *pieces, size_t length, size_t align)
{
	int a = 0;
	while ((size_t)TSR_PIECE_GRANULE << a < align)
		a++;
	if (a >= pieces->aligns) {
		pieces->aligns = a + 1;
		look_at_all(pieces, pieces->root[TSR_BY_LENGTH]);
	}
	tsr_piece_id_t id = pieces->root[TSR_BY_LENGTH];
	if (pieces->room[id].most[a] < length)
		return 0;
	for (;;) { /* below or at `id` there is one */
		const tsr_piece_id_t *below = pieces->at[id].below[TSR_BY_LENGTH];
		if (pieces->room[below[BEFORE]].most[a] >= length)
			id = below[BEFORE];
		else if (own_room(&pieces->at[id], a) >= length)
			return id;
		else
			id = below[AFTER];
	}
}

size_t tsr_pieces_longest(const tsr_pieces_t *pieces)
{
	return pieces->room[pieces->root[TSR_BY_LENGTH]].most[0];
}
