/* Heaps and shared memory as the program sees them: what is allocated, and under which name. */
#include "src/explore/exploration_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/text.h"

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no host memory for the books of a heap; check a smaller program");
}

/* ------------------------------------------------------------------ areas */

static tsr_status_t begin_area(tsr_exploration_t *x, tsr_area_t *area)
{
	const tsr_status_t status = x->memory->add_area(x, area);
	return status == TSR_OK
		       ? tsr_shadow_add_region(x->shadow, area->newest, area->bytes, &area->region)
		       : status;
}

tsr_status_t tsr_exploration_add_heap(tsr_exploration_t *x, int rank, unsigned char *base,
				      unsigned char *values, size_t bytes)
{
	tsr_area_t *area = &x->areas[rank];
	area->base = base;
	area->home = values;
	area->bytes = bytes;
	return begin_area(x, area);
}

/** A number for a block's shared memory that is the same in every run. Heaps have small ones. */
static uint64_t shared_name(const tsr_worker_who_t *who)
{
	return 4096 + ((uint64_t)who->launch * TSR_MAX_RANKS + (uint64_t)who->rank) * 65536 +
	       (uint64_t)who->block;
}

/** A place among the areas that has ended, or a new one. */
static tsr_area_t *free_area(tsr_exploration_t *x)
{
	for (int i = x->size; i < x->area_count; i++)
		if (x->areas[i].region < 0)
			return &x->areas[i];
	if (x->area_count == x->area_room) {
		const int room = 2 * x->area_room;
		tsr_area_t *areas = realloc(x->areas, (size_t)room * sizeof *areas);
		if (!areas)
			return NULL;
		x->areas = areas;
		x->area_room = room;
	}
	return &x->areas[x->area_count++];
}

tsr_status_t tsr_exploration_add_shared(tsr_exploration_t *x, const tsr_worker_who_t *who,
					unsigned char *base, size_t bytes)
{
	tsr_area_t *area = free_area(x);
	if (!area)
		return no_memory();
	*area = (tsr_area_t){.base = base,
			     .home = base,
			     .bytes = bytes,
			     .region = -1,
			     .rank = who->rank,
			     .name = shared_name(who),
			     .shared = true};
	return begin_area(x, area);
}

void tsr_exploration_end_shared(tsr_exploration_t *x, unsigned char *base)
{
	for (int i = x->size; i < x->area_count; i++) {
		if (x->areas[i].base != base || x->areas[i].region < 0)
			continue;
		tsr_shadow_end_region(x->shadow, x->areas[i].region);
		x->memory->end_area(x, &x->areas[i]);
		x->areas[i].region = -1;
	}
}

static bool holds(const tsr_area_t *area, const void *at, size_t bytes, size_t *offset_out)
{
	*offset_out = (size_t)((uintptr_t)at - (uintptr_t)area->base);
	return area->region >= 0 && *offset_out < area->bytes && bytes <= area->bytes - *offset_out;
}

bool tsr_area_find(tsr_exploration_t *x, const void *at, size_t bytes, int *area_out,
		   size_t *offset_out)
{
	if (holds(&x->areas[x->last_area], at, bytes, offset_out)) {
		*area_out = x->last_area;
		return true;
	}
	for (int i = 0; i < x->area_count; i++) {
		if (!holds(&x->areas[i], at, bytes, offset_out))
			continue;
		*area_out = x->last_area = i;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------ pieces */

/** The first piece that ends behind `offset`. */
static int piece_at(const tsr_area_t *area, size_t offset)
{
	int low = 0, high = area->piece_count;
	while (low < high) {
		const int middle = low + (high - low) / 2;
		if (area->pieces[middle].begin + area->pieces[middle].bytes <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

tsr_piece_t *tsr_area_piece(tsr_area_t *area, size_t offset)
{
	if (area->last_piece < area->piece_count) {
		tsr_piece_t *last = &area->pieces[area->last_piece];
		if (offset >= last->begin && offset - last->begin < last->bytes)
			return last;
	}
	const int i = piece_at(area, offset);
	if (i == area->piece_count || offset < area->pieces[i].begin)
		return NULL;
	area->last_piece = i;
	return &area->pieces[i];
}

/** Takes out what was freed there, and makes room for one at its place. */
static tsr_piece_t *insert_piece(tsr_area_t *area, size_t begin, size_t bytes)
{
	int first = piece_at(area, begin), last = first;
	while (last < area->piece_count && area->pieces[last].begin < begin + bytes)
		last++;
	if (area->piece_count - (last - first) + 1 > area->piece_room) {
		const int room = area->piece_room ? 2 * area->piece_room : 16;
		tsr_piece_t *pieces = realloc(area->pieces, (size_t)room * sizeof *pieces);
		if (!pieces)
			return NULL;
		area->pieces = pieces;
		area->piece_room = room;
	}
	memmove(area->pieces + first + 1, area->pieces + last,
		(size_t)(area->piece_count - last) * sizeof *area->pieces);
	area->piece_count += 1 - (last - first);
	return &area->pieces[first];
}

/** Keeps the most that was allocated at one time. */
static void note_bytes(tsr_exploration_t *x)
{
	uint64_t bytes = 0;
	for (int i = 0; i < x->area_count; i++) {
		const tsr_area_t *area = &x->areas[i];
		bytes += area->shared && area->region >= 0 ? area->bytes : 0;
		for (int p = 0; p < area->piece_count; p++)
			bytes += area->pieces[p].freed ? 0 : area->pieces[p].bytes;
	}
	if (x->heap_bytes < bytes)
		x->heap_bytes = bytes;
}

/**
 * A piece's name. Where others have it already, as in a loop or a function that
 * makes several, it is the next of them: "box", "box#2".
 */
static void name_piece(const tsr_area_t *area, tsr_piece_t *piece, const char *name)
{
	int number = 1;
	for (bool taken = true; taken; number++) {
		char *end = piece->name;
		if (number == 1)
			tsr_text_cut(name, sizeof piece->name, end);
		else
			snprintf(end, sizeof piece->name, "%.*s#%d", TSR_PIECE_NAME - 12, name,
				 number);
		taken = false;
		for (int i = 0; i < area->piece_count && !taken; i++)
			taken = &area->pieces[i] != piece && !area->pieces[i].freed &&
				strcmp(area->pieces[i].name, piece->name) == 0;
	}
}

static tsr_finding_form_t form_of(const tsr_form_t *form)
{
	tsr_finding_form_t told = {.element_bytes = form->element_bytes};
	told.dims = form->dims <= TSR_FINDING_DIMS ? form->dims : 0;
	for (int i = 0; i < told.dims; i++)
		told.shape[i] = (uint64_t)form->shape[i];
	return told;
}

void tsr_exploration_named(tsr_exploration_t *x, int rank, size_t offset, const char *name)
{
	tsr_piece_t *piece = tsr_area_piece(&x->areas[rank], offset);
	if (piece)
		name_piece(&x->areas[rank], piece, name);
}

tsr_status_t tsr_exploration_allocated(tsr_exploration_t *x, int rank, size_t offset, size_t bytes,
				       const char *name, const tsr_form_t *form)
{
	tsr_area_t *area = &x->areas[rank];
	tsr_piece_t *piece = insert_piece(area, offset, bytes);
	if (!piece)
		return no_memory();
	*piece = (tsr_piece_t){.begin = offset, .bytes = bytes, .form = form_of(form)};
	name_piece(area, piece, name);
	note_bytes(x);
	return tsr_shadow_fresh(x->shadow, area->region, offset, bytes);
}

/*
 * Whoever leaves the collective first says it for all: then no rank may touch
 * any copy any more. Those who are slower find their own copy freed, and leave
 * the others alone, which a faster rank may have allocated again: none but the
 * rank itself allocates its own.
 */
void tsr_exploration_freed(tsr_exploration_t *x, int rank, size_t offset)
{
	const tsr_piece_t *mine = tsr_area_piece(&x->areas[rank], offset);
	if (!mine || mine->freed)
		return;
	for (int r = 0; r < x->size; r++) {
		tsr_piece_t *piece = tsr_area_piece(&x->areas[r], offset);
		if (piece)
			piece->freed = true;
	}
	tsr_slabs_forget(x, offset);
}

void tsr_exploration_end_meeting(tsr_exploration_t *x, tsr_block_meeting_t *meeting)
{
	tsr_exploration_edge_drop(x, meeting->edge[0]);
	tsr_exploration_edge_drop(x, meeting->edge[1]);
}
