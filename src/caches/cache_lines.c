/* A table of lines. */
#include "src/caches/cache_lines.h"

#include <stdlib.h>

enum { FIRST_BITS = 4 };

static uint32_t slots(const tsr_lines_t *lines)
{
	return UINT32_C(1) << lines->bits;
}

static uint32_t first_slot(const tsr_lines_t *lines, uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - lines->bits));
}

/** The slot of a key, or the free one where it belongs. */
static uint32_t slot_of(const tsr_lines_t *lines, uint64_t key)
{
	uint32_t at = first_slot(lines, key);

	while (lines->slot[at] && lines->line[lines->slot[at] - 1].key != key)
		at = (at + 1) & (slots(lines) - 1);
	return at;
}

tsr_line_t *tsr_lines_find(const tsr_lines_t *lines, uint64_t key)
{
	if (lines->count == 0)
		return NULL;
	uint32_t index = lines->slot[slot_of(lines, key)];
	return index ? &lines->line[index - 1] : NULL;
}

/* ------------------------------------------------------------------ growing */

static bool grow_slots(tsr_lines_t *lines)
{
	const unsigned bits = lines->bits ? lines->bits + 1 : FIRST_BITS;
	uint32_t *slot = calloc((size_t)1 << bits, sizeof *slot);

	if (!slot)
		return false;
	free(lines->slot);
	lines->slot = slot;
	lines->bits = bits;
	for (uint32_t i = 0; i < lines->count; i++)
		slot[slot_of(lines, lines->line[i].key)] = i + 1;
	return true;
}

static bool make_room(tsr_lines_t *lines)
{
	if (lines->count == lines->room) {
		const uint32_t room = lines->room ? 2 * lines->room : 1u << (FIRST_BITS - 1);
		tsr_line_t *line = realloc(lines->line, (size_t)room * sizeof *line);
		if (!line)
			return false;
		lines->line = line;
		lines->room = room;
	}
	return (lines->bits && 2 * (lines->count + 1) <= slots(lines)) || grow_slots(lines);
}

/* ------------------------------------------------------------------ changing places */

static void swap(tsr_lines_t *lines, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	const uint32_t slot_a = slot_of(lines, lines->line[a].key),
		       slot_b = slot_of(lines, lines->line[b].key);
	const tsr_line_t line = lines->line[a];
	lines->line[a] = lines->line[b];
	lines->line[b] = line;
	lines->slot[slot_a] = b + 1;
	lines->slot[slot_b] = a + 1;
}

/**
 * Whether a line that a search begins at slot `from` for is still found when it
 * moves from slot `at` to `hole`, which is before.
 */
static bool may_move(uint32_t from, uint32_t hole, uint32_t at)
{
	return hole <= at ? from <= hole || from > at : from <= hole && from > at;
}

/** The last line is gone. */
static void remove_last(tsr_lines_t *lines)
{
	uint32_t hole = slot_of(lines, lines->line[lines->count - 1].key);
	uint32_t at = hole;

	for (;;) {
		at = (at + 1) & (slots(lines) - 1);
		if (!lines->slot[at])
			break;
		if (may_move(first_slot(lines, lines->line[lines->slot[at] - 1].key), hole, at)) {
			lines->slot[hole] = lines->slot[at];
			hole = at;
		}
	}
	lines->slot[hole] = 0;
	lines->count--;
}

/** A line is dirty or clean from now on, and stands among its like. Returns its index. */
static uint32_t sort(tsr_lines_t *lines, uint32_t index, bool dirty)
{
	if (dirty && index >= lines->dirty) {
		swap(lines, index, lines->dirty);
		return lines->dirty++;
	}
	if (!dirty && index < lines->dirty) {
		swap(lines, index, --lines->dirty);
		return lines->dirty;
	}
	return index;
}

/* ------------------------------------------------------------------ what is done to lines */

bool tsr_lines_put(tsr_lines_t *lines, uint64_t key, tsr_line_mask_t mask, const uint8_t *bytes,
		   bool dirty)
{
	tsr_line_t *line = tsr_lines_find(lines, key);

	if (!line) {
		if (!make_room(lines))
			return false;
		line = &lines->line[lines->count];
		line->key = key;
		line->valid = line->dirty = 0;
		lines->slot[slot_of(lines, key)] = ++lines->count;
	}
	tsr_line_merge(line->bytes, bytes, mask);
	line->valid |= mask;
	line->dirty = dirty ? line->dirty | mask : line->dirty & ~mask;
	sort(lines, (uint32_t)(line - lines->line), line->dirty != 0);
	return true;
}

void tsr_lines_clean(tsr_lines_t *lines, tsr_line_t *line)
{
	line->dirty = 0;
	sort(lines, (uint32_t)(line - lines->line), false);
}

void tsr_lines_forget(tsr_lines_t *lines, tsr_line_t *line, tsr_line_mask_t mask)
{
	line->valid &= ~mask;
	line->dirty &= ~mask;
	uint32_t index = sort(lines, (uint32_t)(line - lines->line), line->dirty != 0);
	if (lines->line[index].valid)
		return;
	swap(lines, index, lines->count - 1); /* it is clean, so this keeps the order */
	remove_last(lines);
}

void tsr_lines_drop_clean(tsr_lines_t *lines)
{
	while (lines->count > lines->dirty)
		remove_last(lines);
	for (uint32_t i = 0; i < lines->dirty; i++)
		lines->line[i].valid = lines->line[i].dirty;
}

/* ------------------------------------------------------------------ all lines */

bool tsr_lines_copy(const tsr_lines_t *from, tsr_lines_t *to)
{
	*to = (tsr_lines_t){.hand = from->hand};
	if (from->count == 0)
		return true;
	to->line = malloc((size_t)from->room * sizeof *to->line);
	to->slot = malloc(sizeof *to->slot << from->bits);
	if (!to->line || !to->slot) {
		tsr_lines_free(to);
		return false;
	}
	memcpy(to->line, from->line, (size_t)from->count * sizeof *to->line);
	memcpy(to->slot, from->slot, sizeof *to->slot << from->bits);
	to->count = from->count;
	to->dirty = from->dirty;
	to->room = from->room;
	to->bits = from->bits;
	return true;
}

void tsr_lines_free(tsr_lines_t *lines)
{
	free(lines->line);
	free(lines->slot);
	*lines = (tsr_lines_t){.count = 0};
}

size_t tsr_lines_size_bytes(const tsr_lines_t *lines)
{
	return (size_t)lines->room * sizeof *lines->line +
	       (lines->bits ? sizeof *lines->slot << lines->bits : 0);
}
