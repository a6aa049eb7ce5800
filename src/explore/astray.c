/*
 * Where an access may go: into the allocation that its pointer or view was made
 * for, as long as that is there.
 */
#include "src/explore/exploration_state.h"

#include <stdio.h>

/* ------------------------------------------------------------------ what is told */

/** The allocation before `offset` that is nearest to it, or null. */
static const tsr_piece_t *piece_before(const tsr_area_t *area, size_t offset)
{
	const tsr_piece_t *before = NULL;
	for (int i = 0; i < area->piece_count && area->pieces[i].begin <= offset; i++)
		before = &area->pieces[i];
	return before;
}

/** The first allocation but `left` that has one of the bytes, or null. */
static const tsr_piece_t *piece_hit(const tsr_area_t *area, const tsr_piece_t *left, size_t offset,
				    size_t bytes)
{
	for (int i = 0; i < area->piece_count && area->pieces[i].begin < offset + bytes; i++)
		if (&area->pieces[i] != left &&
		    area->pieces[i].begin + area->pieces[i].bytes > offset)
			return &area->pieces[i];
	return NULL;
}

/**
 * "it goes on for 256 bytes behind 'a' of 1024 bytes, in 'b'": where the bytes
 * are that are not the allocation's.
 */
static void say_where(const tsr_area_t *area, const tsr_piece_t *left, size_t offset, size_t bytes,
		      char *text, size_t size)
{
	const tsr_piece_t *hit = piece_hit(area, left, offset, bytes);
	int used;
	if (!left)
		used = snprintf(text, size, "it begins before all allocations");
	else if (offset < left->begin)
		used = snprintf(text, size, "it begins %zu bytes before '%s'", left->begin - offset,
				left->name);
	else if (offset == left->begin + left->bytes)
		used = snprintf(text, size, "it begins where '%s' ends", left->name);
	else if (offset > left->begin + left->bytes)
		used = snprintf(text, size, "it begins %zu bytes behind the end of '%s'",
				offset - left->begin - left->bytes, left->name);
	else
		used = snprintf(text, size, "it ends %zu bytes behind the end of '%s'",
				offset + bytes - left->begin - left->bytes, left->name);
	if (hit)
		snprintf(text + used, size - (size_t)used, ", and reaches '%s'%s", hit->name,
			 hit->freed ? ", which was freed" : "");
	else
		snprintf(text + used, size - (size_t)used, ", where nothing is allocated");
}

/** Ends the schedule. `left` is the allocation that the access was made for; null: nobody knows. */
static _Noreturn void go_astray(tsr_exploration_t *x, const tsr_op_site_t *site, int index,
				size_t offset, size_t bytes, const tsr_piece_t *left)
{
	const tsr_area_t *area = &x->areas[index];
	const bool freed = left && left->freed;
	char text[200];
	if (!left)
		left = piece_before(area, offset);
	tsr_finding_t finding = {.class = freed ? TSR_FINDING_USE_AFTER_FREE
						: TSR_FINDING_OUT_OF_BOUNDS,
				 .accesses = 1};
	tsr_finding_access_t *access = &finding.access[0];
	*access = tsr_access_at(x, site);
	access->target = area->rank;
	access->allocation = left ? left->name : "no allocation";
	access->allocation_bytes = left ? left->bytes : 0;
	access->offset = left && offset >= left->begin ? offset - left->begin : 0;
	access->bytes = bytes;
	if (!freed) {
		say_where(area, left, offset, bytes, text, sizeof text);
		finding.message = text;
	}
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

/* ------------------------------------------------------------------ what is judged */

static void find_area(tsr_exploration_t *x, const tsr_op_site_t *site, const void *at, size_t bytes,
		      int *area_out, size_t *offset_out)
{
	if (!tsr_area_find(x, at, bytes, area_out, offset_out))
		tsr_exploration_wrong(x, TSR_WRONG_BOUNDS, site,
				      "leaves the heap or the block's shared memory");
}

static bool holds(const tsr_piece_t *piece, size_t offset, size_t bytes)
{
	return offset >= piece->begin && offset - piece->begin <= piece->bytes &&
	       bytes <= piece->bytes - (offset - piece->begin);
}

void tsr_exploration_place(tsr_exploration_t *x, const tsr_op_site_t *site, const void *at,
			   size_t bytes, int *area_out, size_t *offset_out)
{
	find_area(x, site, at, bytes, area_out, offset_out);
	tsr_area_t *area = &x->areas[*area_out];
	if (area->shared)
		return;
	const tsr_piece_t *piece = tsr_area_piece(area, *offset_out);
	if (!piece || piece->freed || !holds(piece, *offset_out, bytes))
		go_astray(x, site, *area_out, *offset_out, bytes, piece);
}

void tsr_exploration_inside(tsr_exploration_t *x, const tsr_op_site_t *site,
			    const unsigned char *owner, const unsigned char *at, size_t bytes)
{
	int index;
	size_t offset, begin;
	find_area(x, site, at, bytes, &index, &offset);
	if (x->areas[index].shared)
		return;
	find_area(x, site, owner, 1, &index, &begin);
	const tsr_piece_t *piece = tsr_area_piece(&x->areas[index], begin);
	if (!piece || piece->freed || !holds(piece, offset, bytes))
		go_astray(x, site, index, piece ? offset : begin,
			  piece ? bytes : bytes + offset - begin, piece);
}
