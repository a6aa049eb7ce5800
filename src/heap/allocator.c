#include "src/heap/allocator.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

/* A stretch of the heap: an allocation where it has a name; else free, or kept back since it was released. */
typedef struct piece {
	size_t begin, length; /* multiples of the granule */
	size_t asked;         /* bytes that were asked for; 0 where it is no allocation */
	char *name;
	uint64_t kept; /* which of the releases it was, from 1 on; 0: it is not kept back */
} piece_t;

/*
 * The pieces lie in one array, ordered by offset and without gaps, and no two neighbours are free. So the array is a function of
 * the live allocations alone, whatever came before; a look-up is a binary search; and the scan of a best fit runs over dense
 * memory, which for the thousands of allocations of a program beats a tree.
 */
struct tsr_allocator {
	size_t size_bytes;
	piece_t *pieces;
	size_t count, capacity;
	int allocations;
	size_t used;       /* by allocations, gaps left out */
	size_t most;       /* of `used`, where things are kept apart; else 0 */
	uint64_t releases; /* that were kept back */
};

enum { FIRST_CAPACITY = 16 };

static size_t round_up(size_t value, size_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

tsr_allocator_t *tsr_allocator_create(size_t size_bytes)
{
	tsr_allocator_t *allocator = calloc(1, sizeof *allocator);
	piece_t *pieces = calloc(FIRST_CAPACITY, sizeof *pieces);
	if (!allocator || !pieces) {
		free(allocator);
		free(pieces);
		return NULL;
	}
	allocator->size_bytes = size_bytes / TSR_ALLOCATOR_GRANULE * TSR_ALLOCATOR_GRANULE;
	allocator->pieces = pieces;
	allocator->capacity = FIRST_CAPACITY;
	if (allocator->size_bytes > 0)
		pieces[allocator->count++].length = allocator->size_bytes;
	return allocator;
}

void tsr_allocator_destroy(tsr_allocator_t *allocator)
{
	if (!allocator)
		return;
	for (size_t i = 0; i < allocator->count; i++)
		free(allocator->pieces[i].name);
	free(allocator->pieces);
	free(allocator);
}

void tsr_allocator_keep_apart(tsr_allocator_t *allocator, size_t most_bytes)
{
	allocator->most = most_bytes / TSR_ALLOCATOR_GRANULE * TSR_ALLOCATOR_GRANULE;
}

static bool is_free(const piece_t *piece)
{
	return !piece->name && piece->kept == 0;
}

/* Index of the piece that holds `offset`; the count of pieces where none does. */
static size_t piece_at(const tsr_allocator_t *allocator, size_t offset)
{
	size_t low = 0, high = allocator->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const piece_t *piece = &allocator->pieces[middle];
		if (offset < piece->begin)
			high = middle;
		else if (offset - piece->begin >= piece->length)
			low = middle + 1;
		else
			return middle;
	}
	return allocator->count;
}

/* Index of the smallest free piece with room for `length` at a multiple of `align`; the count of pieces where there is none. */
static size_t best_fit(const tsr_allocator_t *allocator, size_t length, size_t align)
{
	size_t best = allocator->count;
	for (size_t i = 0; i < allocator->count; i++) {
		const piece_t *piece = &allocator->pieces[i];
		size_t skipped = round_up(piece->begin, align) - piece->begin;
		if (!is_free(piece) || piece->length < skipped || piece->length - skipped < length)
			continue;
		if (best == allocator->count || piece->length < allocator->pieces[best].length)
			best = i;
	}
	return best;
}

/* Room for two pieces more: what a take can add. */
static bool reserve(tsr_allocator_t *allocator)
{
	if (allocator->count + 2 <= allocator->capacity)
		return true;
	piece_t *pieces = realloc(allocator->pieces, 2 * allocator->capacity * sizeof *pieces);
	if (!pieces)
		return false;
	allocator->pieces = pieces;
	allocator->capacity *= 2;
	return true;
}

/* Cuts `length` bytes off the front of piece `index`; the rest becomes a free piece behind it. */
static void split(tsr_allocator_t *allocator, size_t index, size_t length)
{
	piece_t *piece = &allocator->pieces[index];
	if (length == 0 || length == piece->length)
		return;
	memmove(piece + 2, piece + 1, (allocator->count - index - 1) * sizeof *piece);
	allocator->count++;
	piece[1] = (piece_t){.begin = piece->begin + length, .length = piece->length - length};
	piece->length = length;
}

static void merge_with_next(tsr_allocator_t *allocator, size_t index)
{
	piece_t *piece = &allocator->pieces[index];
	if (index + 1 >= allocator->count || !is_free(&piece[0]) || !is_free(&piece[1]))
		return;
	piece[0].length += piece[1].length;
	memmove(piece + 1, piece + 2, (allocator->count - index - 2) * sizeof *piece);
	allocator->count--;
}

/* Piece `index` may be given out again. */
static void make_free(tsr_allocator_t *allocator, size_t index)
{
	allocator->pieces[index].kept = 0;
	merge_with_next(allocator, index);
	if (index > 0)
		merge_with_next(allocator, index - 1);
}

/* What was released first of all that is kept back becomes free. False: nothing is. */
static bool free_oldest(tsr_allocator_t *allocator)
{
	size_t oldest = allocator->count;
	for (size_t i = 0; i < allocator->count; i++)
		if (allocator->pieces[i].kept != 0 &&
		    (oldest == allocator->count || allocator->pieces[i].kept < allocator->pieces[oldest].kept))
			oldest = i;
	if (oldest == allocator->count)
		return false;
	make_free(allocator, oldest);
	return true;
}

/* best_fit, and how long the piece is to be. Where things are kept apart, with a gap, if need be of what was kept back. */
static size_t find_room(tsr_allocator_t *allocator, size_t size_bytes, size_t align, size_t *length_out)
{
	const size_t whole = round_up(size_bytes, TSR_ALLOCATOR_GRANULE);
	const size_t gap = allocator->most == 0 ? 0 : whole < TSR_ALLOCATOR_MAX_GAP ? whole : TSR_ALLOCATOR_MAX_GAP;
	size_t index;
	if (allocator->most > 0 && whole > allocator->most - allocator->used)
		return allocator->count;
	*length_out = whole + gap;
	do
		index = best_fit(allocator, *length_out, align);
	while (index == allocator->count && free_oldest(allocator));
	if (index < allocator->count || gap == 0)
		return index;
	*length_out = whole;
	return best_fit(allocator, whole, align);
}

static tsr_status_t no_room(const tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes, const char *name)
{
	const size_t mib = (size_t)1 << 20;
	tsr_heap_usage_t usage;
	tsr_allocator_usage(allocator, &usage);
	/* Twice the alignment: the heap's growth may begin anywhere in it. */
	size_t more = size_bytes / mib + align_bytes * 2 / mib + 1;
	return tsr_error(
		TSR_ERR_NO_MEMORY,
		"the symmetric heap has no room for %zu bytes (\"%s\", aligned to %zu): %zu of its %zu bytes are free, the largest "
		"piece is %zu; release something, or set TESSERA_HEAP_SIZE to %zuM or more",
		size_bytes, name, align_bytes, usage.free_bytes, usage.size_bytes, usage.largest_bytes,
		usage.size_bytes / mib + 1 + more);
}

static tsr_status_t check_request(size_t size_bytes, size_t align_bytes, const char *name)
{
	if (size_bytes == 0)
		return tsr_error(TSR_ERR_ARGUMENT, "an allocation of 0 bytes (\"%s\") was asked for; ask for 1 byte or more", name);
	if ((align_bytes & (align_bytes - 1)) != 0 || align_bytes > TSR_ALLOCATOR_MAX_ALIGN)
		return tsr_error(TSR_ERR_ARGUMENT, "alignment %zu of \"%s\" is not a power of two from 1 to %zu (0 means %u)",
				 align_bytes, name, TSR_ALLOCATOR_MAX_ALIGN, TSR_ALLOCATOR_GRANULE);
	return TSR_OK;
}

tsr_status_t tsr_allocator_take(tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes, const char *name,
				size_t *offset_out)
{
	if (!name)
		name = "unnamed";
	tsr_status_t status = check_request(size_bytes, align_bytes, name);
	if (status != TSR_OK)
		return status;
	size_t align = align_bytes > TSR_ALLOCATOR_GRANULE ? align_bytes : TSR_ALLOCATOR_GRANULE;
	if (size_bytes > allocator->size_bytes) /* before it is rounded up, which could overflow */
		return no_room(allocator, size_bytes, align, name);
	size_t length, index = find_room(allocator, size_bytes, align, &length);
	if (index == allocator->count)
		return no_room(allocator, size_bytes, align, name);

	char *copy = strdup(name);
	if (!copy || !reserve(allocator)) {
		free(copy);
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for the book-keeping of \"%s\" (%zu bytes of the heap)",
				 name, size_bytes);
	}
	size_t begin = round_up(allocator->pieces[index].begin, align);
	if (begin > allocator->pieces[index].begin) {
		split(allocator, index, begin - allocator->pieces[index].begin);
		index++;
	}
	split(allocator, index, length);
	allocator->pieces[index].asked = size_bytes;
	allocator->pieces[index].name = copy;
	allocator->allocations++;
	allocator->used += round_up(size_bytes, TSR_ALLOCATOR_GRANULE);
	*offset_out = begin;
	return TSR_OK;
}

/* It is no allocation any more. */
static void forget(tsr_allocator_t *allocator, piece_t *piece)
{
	free(piece->name);
	piece->name = NULL;
	allocator->used -= round_up(piece->asked, TSR_ALLOCATOR_GRANULE);
	piece->asked = 0;
	allocator->allocations--;
}

tsr_status_t tsr_allocator_release(tsr_allocator_t *allocator, size_t offset)
{
	size_t index = piece_at(allocator, offset);
	if (index == allocator->count)
		return tsr_error(TSR_ERR_NOT_FOUND, "offset %zu lies outside the heap of %zu bytes, so there is nothing to release",
				 offset, allocator->size_bytes);
	piece_t *piece = &allocator->pieces[index];
	if (!piece->name)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "nothing is allocated at offset %zu of the heap: it was never allocated, or is released already",
				 offset);
	if (piece->begin != offset)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "offset %zu of the heap is byte %zu inside \"%s\"; release that by its begin, offset %zu", offset,
				 offset - piece->begin, piece->name, piece->begin);
	forget(allocator, piece);
	if (allocator->most > 0)
		piece->kept = ++allocator->releases;
	else
		make_free(allocator, index);
	return TSR_OK;
}

void tsr_allocator_undo(tsr_allocator_t *allocator, const size_t *offset)
{
	if (offset) {
		size_t index = piece_at(allocator, *offset);
		forget(allocator, &allocator->pieces[index]);
		make_free(allocator, index);
	}
	while (free_oldest(allocator))
		;
}

bool tsr_allocator_find(const tsr_allocator_t *allocator, size_t offset, const char **name_out, size_t *begin_out, size_t *size_out)
{
	size_t index = piece_at(allocator, offset);
	if (index == allocator->count)
		return false;
	const piece_t *piece = &allocator->pieces[index];
	if (offset - piece->begin >= piece->asked) /* free, or the unused end of the last granule */
		return false;
	*name_out = piece->name;
	*begin_out = piece->begin;
	*size_out = piece->asked;
	return true;
}

void tsr_allocator_usage(const tsr_allocator_t *allocator, tsr_heap_usage_t *usage_out)
{
	tsr_heap_usage_t usage = {.size_bytes = allocator->size_bytes, .allocations = allocator->allocations};
	for (size_t i = 0; i < allocator->count; i++) {
		const piece_t *piece = &allocator->pieces[i];
		if (piece->name)
			continue;
		usage.free_bytes += piece->length;
		if (piece->length > usage.largest_bytes)
			usage.largest_bytes = piece->length;
	}
	if (allocator->most > 0)
		usage.size_bytes = allocator->most, usage.free_bytes = usage.largest_bytes = allocator->most - allocator->used;
	*usage_out = usage;
}
