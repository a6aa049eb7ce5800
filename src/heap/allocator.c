#include "src/heap/allocator.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/heap/pieces.h"

/* The pieces cover the heap without gaps, and no two neighbours are free. */
struct tsr_allocator {
	size_t size_bytes, free_bytes;
	tsr_pieces_t pieces;
	int allocations;
	size_t used;                  /* by allocations, gaps left out */
	size_t most;                  /* of `used`, where things are kept apart; else 0 */
	tsr_piece_id_t first, latest; /* of those that are kept back; 0: none is */
};

static size_t round_up(size_t value, size_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

tsr_allocator_t *tsr_allocator_create(size_t size_bytes)
{
	tsr_allocator_t *allocator = calloc(1, sizeof *allocator);
	if (!allocator || !tsr_pieces_create(&allocator->pieces)) {
		free(allocator);
		return NULL;
	}
	allocator->size_bytes = allocator->free_bytes =
		size_bytes / TSR_ALLOCATOR_GRANULE * TSR_ALLOCATOR_GRANULE;
	if (allocator->size_bytes > 0) {
		const tsr_piece_id_t all =
			tsr_pieces_new(&allocator->pieces, 0, allocator->size_bytes);
		tsr_pieces_insert(&allocator->pieces, TSR_BY_PLACE, all);
		tsr_pieces_insert(&allocator->pieces, TSR_BY_LENGTH, all);
	}
	return allocator;
}

void tsr_allocator_destroy(tsr_allocator_t *allocator)
{
	if (!allocator)
		return;
	const tsr_pieces_t *pieces = &allocator->pieces;
	for (tsr_piece_id_t id = tsr_pieces_holding(pieces, 0); id != 0; id = pieces->at[id].behind)
		free(pieces->at[id].name);
	tsr_pieces_destroy(&allocator->pieces);
	free(allocator);
}

void tsr_allocator_keep_apart(tsr_allocator_t *allocator, size_t most_bytes)
{
	allocator->most = most_bytes / TSR_ALLOCATOR_GRANULE * TSR_ALLOCATOR_GRANULE;
}

/* The piece that holds `offset`; 0 where none does. */
static tsr_piece_id_t piece_at(const tsr_allocator_t *allocator, size_t offset)
{
	return offset < allocator->size_bytes ? tsr_pieces_holding(&allocator->pieces, offset) : 0;
}

/*
 * Cuts piece `id`, which is not in the order by length, after `length` bytes.
 * Returns the rest, which is not either; 0: none.
 */
static tsr_piece_id_t cut(tsr_pieces_t *pieces, tsr_piece_id_t id, size_t length)
{
	if (length == pieces->at[id].length)
		return 0;
	const tsr_piece_id_t rest = tsr_pieces_new(pieces, pieces->at[id].begin + length,
						   pieces->at[id].length - length);
	tsr_piece_t *piece = &pieces->at[id];
	pieces->at[rest].before = id;
	pieces->at[rest].behind = piece->behind;
	/* of piece 0 where there is none, which nobody reads */
	pieces->at[piece->behind].before = rest;
	piece->behind = rest;
	piece->length = length;
	tsr_pieces_insert(pieces, TSR_BY_PLACE, rest);
	return rest;
}

/* Adds piece `id` to the one before it; neither is in the order by length. */
static void join_to_before(tsr_pieces_t *pieces, tsr_piece_id_t id)
{
	const tsr_piece_t *piece = &pieces->at[id];
	tsr_pieces_remove(pieces, TSR_BY_PLACE, id);
	pieces->at[piece->before].length += piece->length;
	pieces->at[piece->before].behind = piece->behind;
	pieces->at[piece->behind].before = piece->before;
	tsr_pieces_drop(pieces, id);
}

static bool is_free(const tsr_piece_t *piece)
{
	return !piece->name && !piece->kept;
}

/* Piece `id`, which may be given out again, becomes one with the free pieces beside it. */
static void make_free(tsr_allocator_t *allocator, tsr_piece_id_t id)
{
	tsr_pieces_t *pieces = &allocator->pieces;
	allocator->free_bytes += pieces->at[id].length;
	const tsr_piece_id_t before = pieces->at[id].before, behind = pieces->at[id].behind;
	if (behind != 0 && is_free(&pieces->at[behind])) {
		tsr_pieces_remove(pieces, TSR_BY_LENGTH, behind);
		join_to_before(pieces, behind);
	}
	if (before != 0 && is_free(&pieces->at[before])) {
		tsr_pieces_remove(pieces, TSR_BY_LENGTH, before);
		join_to_before(pieces, id);
		id = before;
	}
	tsr_pieces_insert(pieces, TSR_BY_LENGTH, id);
}

/* Keeps piece `id` back behind all that are. */
static void keep_back(tsr_allocator_t *allocator, tsr_piece_id_t id)
{
	tsr_piece_t *piece = &allocator->pieces.at[id];
	piece->kept = true;
	piece->later = 0;
	if (allocator->first == 0)
		allocator->first = id;
	else
		allocator->pieces.at[allocator->latest].later = id;
	allocator->latest = id;
}

/* What was released first of all that is kept back becomes free. False: nothing is. */
static bool free_oldest(tsr_allocator_t *allocator)
{
	const tsr_piece_id_t oldest = allocator->first;
	if (oldest == 0)
		return false;
	allocator->first = allocator->pieces.at[oldest].later;
	allocator->pieces.at[oldest].kept = false;
	make_free(allocator, oldest);
	return true;
}

/*
 * The best fit, and how long the piece is to be; 0: none. Where things are kept
 * apart, with a gap, if need be of what was kept back.
 */
static tsr_piece_id_t find_room(tsr_allocator_t *allocator, size_t size_bytes, size_t align,
				size_t *length_out)
{
	const size_t whole = round_up(size_bytes, TSR_ALLOCATOR_GRANULE);
	const size_t gap = allocator->most == 0            ? 0
			   : whole < TSR_ALLOCATOR_MAX_GAP ? whole
							   : TSR_ALLOCATOR_MAX_GAP;
	tsr_piece_id_t id;
	if (allocator->most > 0 && whole > allocator->most - allocator->used)
		return 0;
	*length_out = whole + gap;
	do
		id = tsr_pieces_fitting(&allocator->pieces, *length_out, align);
	while (id == 0 && free_oldest(allocator));
	if (id != 0 || gap == 0)
		return id;
	*length_out = whole;
	return tsr_pieces_fitting(&allocator->pieces, whole, align);
}

static tsr_status_t no_room(const tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes,
			    const char *name)
{
	const size_t mib = (size_t)1 << 20;
	tsr_heap_usage_t usage;
	tsr_allocator_usage(allocator, &usage);
	/* Twice the alignment: the heap's growth may begin anywhere in it. */
	size_t more = size_bytes / mib + align_bytes * 2 / mib + 1;
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "the symmetric heap has no room for %s (\"%s\", aligned to %zu): of its "
			 "%s %s are free, the largest piece is %s; "
			 "release something, or set TESSERA_HEAP_SIZE to %zuM or more",
			 TSR_SIZE(size_bytes), name, align_bytes, TSR_SIZE(usage.heap_bytes),
			 TSR_SIZE(usage.free_bytes), TSR_SIZE(usage.largest_bytes),
			 usage.heap_bytes / mib + 1 + more);
}

static tsr_status_t check_request(size_t size_bytes, size_t align_bytes, const char *name)
{
	if (size_bytes == 0)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"an allocation of 0 bytes (\"%s\") was asked for; ask for 1 byte or more",
			name);
	if ((align_bytes & (align_bytes - 1)) != 0 || align_bytes > TSR_ALLOCATOR_MAX_ALIGN)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"alignment %zu of \"%s\" is not a power of two from 1 to %zu (0 means %u)",
			align_bytes, name, TSR_ALLOCATOR_MAX_ALIGN, TSR_ALLOCATOR_GRANULE);
	return TSR_OK;
}

tsr_status_t tsr_allocator_take(tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes,
				const char *name, size_t *offset_out)
{
	return tsr_allocator_take_room(allocator, size_bytes, size_bytes, align_bytes, name,
				       offset_out);
}

tsr_status_t tsr_allocator_take_room(tsr_allocator_t *allocator, size_t size_bytes,
				     size_t room_bytes, size_t align_bytes, const char *name,
				     size_t *offset_out)
{
	if (!name)
		name = "unnamed";
	tsr_status_t status = check_request(size_bytes, align_bytes, name);
	if (status != TSR_OK)
		return status;
	size_t align = align_bytes > TSR_ALLOCATOR_GRANULE ? align_bytes : TSR_ALLOCATOR_GRANULE;
	if (room_bytes > allocator->size_bytes) /* before it is rounded up, which could overflow */
		return no_room(allocator, room_bytes, align, name);
	tsr_pieces_t *pieces = &allocator->pieces;
	size_t length;
	tsr_piece_id_t id = find_room(allocator, room_bytes, align, &length);
	if (id == 0)
		return no_room(allocator, room_bytes, align, name);

	char *copy = calloc(strlen(name) + 2, 1); /* and room for a shown name that is empty */
	/* what is before and behind the allocation */
	if (!copy || !tsr_pieces_reserve(pieces, 2)) {
		free(copy);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the book-keeping of \"%s\" (%s of the "
				 "heap); free some",
				 name, TSR_SIZE(size_bytes));
	}
	tsr_pieces_remove(pieces, TSR_BY_LENGTH, id);
	const size_t begin = round_up(pieces->at[id].begin, align);
	if (begin > pieces->at[id].begin) {
		const tsr_piece_id_t skipped = id;
		id = cut(pieces, skipped, begin - pieces->at[skipped].begin);
		tsr_pieces_insert(pieces, TSR_BY_LENGTH, skipped);
	}
	const tsr_piece_id_t rest = cut(pieces, id, length);
	if (rest != 0)
		tsr_pieces_insert(pieces, TSR_BY_LENGTH, rest);
	pieces->at[id].asked = size_bytes;
	pieces->at[id].name = strcpy(copy, name);
	allocator->free_bytes -= length;
	allocator->allocations++;
	allocator->used += round_up(size_bytes, TSR_ALLOCATOR_GRANULE);
	*offset_out = begin;
	return TSR_OK;
}

/* It is no allocation any more. */
static void forget(tsr_allocator_t *allocator, tsr_piece_t *piece)
{
	free(piece->name);
	piece->name = NULL;
	allocator->used -= round_up(piece->asked, TSR_ALLOCATOR_GRANULE);
	piece->asked = 0;
	allocator->allocations--;
}

tsr_status_t tsr_allocator_release(tsr_allocator_t *allocator, size_t offset)
{
	const tsr_piece_id_t id = piece_at(allocator, offset);
	if (id == 0)
		return tsr_error(
			TSR_ERR_NOT_FOUND,
			"offset %zu lies outside the heap of %s: release what tsr_heap_alloc gave",
			offset, TSR_SIZE(allocator->size_bytes));
	tsr_piece_t *piece = &allocator->pieces.at[id];
	if (!piece->name)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "nothing is allocated at offset %zu of the heap: it was never "
				 "allocated, or is released already",
				 offset);
	if (piece->begin != offset)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "offset %zu of the heap is byte %zu inside \"%s\"; release that "
				 "by its begin, offset %zu",
				 offset, offset - piece->begin, piece->name, piece->begin);
	forget(allocator, piece);
	if (allocator->most > 0)
		keep_back(allocator, id);
	else
		make_free(allocator, id);
	return TSR_OK;
}

void tsr_allocator_undo(tsr_allocator_t *allocator, const size_t *offset)
{
	if (offset) {
		const tsr_piece_id_t id = piece_at(allocator, *offset);
		forget(allocator, &allocator->pieces.at[id]);
		make_free(allocator, id);
	}
	while (free_oldest(allocator))
		;
}

const char *tsr_allocator_shown(const char *name)
{
	const char *shown = name + strlen(name) + 1;
	return *shown ? shown : name;
}

tsr_status_t tsr_allocator_show(tsr_allocator_t *allocator, size_t offset, const char *shown)
{
	const tsr_piece_id_t id = piece_at(allocator, offset);
	tsr_piece_t *piece = &allocator->pieces.at[id];
	if (id == 0 || !piece->name)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "nothing is allocated at offset %zu of the heap, so it gets no "
				 "name; name what is allocated",
				 offset);
	const size_t length = strlen(piece->name) + 1, more = strlen(shown) + 1;
	char *both = malloc(length + more);
	if (!both)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the name \"%s\"; free some", shown);
	memcpy(both, piece->name, length);
	memcpy(both + length, shown, more);
	free(piece->name);
	piece->name = both;
	return TSR_OK;
}

bool tsr_allocator_find(const tsr_allocator_t *allocator, size_t offset, const char **name_out,
			size_t *begin_out, size_t *size_out)
{
	const tsr_piece_id_t id = piece_at(allocator, offset);
	if (id == 0)
		return false;
	const tsr_piece_t *piece = &allocator->pieces.at[id];
	if (offset - piece->begin >= piece->asked) /* free, or the unused end of the last granule */
		return false;
	*name_out = piece->name;
	*begin_out = piece->begin;
	*size_out = piece->asked;
	return true;
}

void tsr_allocator_usage(const tsr_allocator_t *allocator, tsr_heap_usage_t *usage_out)
{
	tsr_heap_usage_t usage = {.heap_bytes = allocator->size_bytes,
				  .free_bytes = allocator->free_bytes,
				  .largest_bytes = tsr_pieces_longest(&allocator->pieces),
				  .allocations = allocator->allocations};
	if (allocator->most > 0)
		usage.heap_bytes = allocator->most,
		usage.free_bytes = usage.largest_bytes = allocator->most - allocator->used;
	*usage_out = usage;
}
