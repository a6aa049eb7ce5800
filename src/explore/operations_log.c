/*
 * The book of what fibres did: every call of the API that touches memory has a
 * number, by which reports find it again.
 */
#include "src/explore/exploration_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_site(const tsr_op_site_t *a, const tsr_op_site_t *b)
{
	return a->call == b->call && a->line == b->line && a->file == b->file &&
	       a->tiled == b->tiled && a->row == b->row && a->col == b->col;
}

static bool make_room(tsr_exploration_t *x, uint32_t number)
{
	if (number < x->operation_room)
		return true;
	const uint32_t room = x->operation_room ? 2 * x->operation_room : 1024;
	tsr_operation_t *operations = realloc(x->operations, (size_t)room * sizeof *operations);
	if (!operations)
		return false;
	x->operations = operations;
	x->operation_room = room;
	return true;
}

/** What the caller does next belongs to another call than what it did last, where it says so. */
static void begin_call(tsr_exploration_t *x, tsr_actor_t *actor, const tsr_op_site_t *site)
{
	const tsr_shadow_call_t call = {site->apart, site->saved, site->tile_place};
	if (!site->coop || (site->coop == actor->coop && site->number == actor->call &&
			    site->apart == actor->apart))
		return;
	actor->coop = site->coop;
	actor->call = site->number;
	actor->apart = site->apart;
	if (tsr_shadow_call(x->shadow, actor->thread, &call) != TSR_OK)
		tsr_explorer_stop(x->explorer);
}

uint32_t tsr_operation_at(tsr_exploration_t *x, const tsr_op_site_t *said, tsr_finding_kind_t kind,
			  tsr_views_order_t order, tsr_views_scope_t scope)
{
	tsr_op_site_t placed;
	const tsr_op_site_t *site = tsr_placed(x, said, &placed);
	tsr_actor_t *actor = tsr_actor(x);
	const int way = kind == TSR_FINDING_READ ? 0 : 1; /* a copy reads and writes in turn */
	const uint32_t running = actor->operation[way];
	begin_call(x, actor, site);
	if (actor->acting[way] && x->operations[running].kind == kind &&
	    x->operations[running].order == order && same_site(&x->operations[running].site, site))
		return running;
	uint32_t number;
	if (tsr_shadow_operation(x->shadow, actor->thread, &number) != TSR_OK ||
	    !make_room(x, number))
		tsr_explorer_stop(x->explorer);
	x->operations[number] = (tsr_operation_t){.task = tsr_explorer_self(x->explorer),
						  .site = *site,
						  .kind = kind,
						  .order = order,
						  .scope = scope,
						  .epoch = tsr_views_epoch(x->views, actor->thread),
						  .area = -1};
	x->links.latest = number;
	actor->operation[way] = number;
	x->touched = true;
	actor->acting[way] = true;
	return number;
}

void tsr_operation_touch(tsr_exploration_t *x, uint32_t number, int area, size_t offset,
			 size_t bytes)
{
	tsr_operation_t *operation = &x->operations[number];
	operation->area = area;
	operation->offset = offset;
	operation->bytes = bytes;
}

void tsr_actor_epoch(tsr_actor_t *actor)
{
	actor->acting[0] = actor->acting[1] = false;
}

/** Where it is in what the program allocated. */
static void tell_memory(tsr_area_t *area, size_t offset, size_t bytes, tsr_finding_access_t *out)
{
	const tsr_piece_t *piece = area->shared ? NULL : tsr_area_piece(area, offset);
	out->target = area->shared ? -1 : area->rank;
	out->allocation = area->shared ? "shared memory" : piece ? piece->name : "the heap";
	out->allocation_bytes = piece ? piece->bytes : area->bytes;
	out->form = piece ? piece->form : (tsr_finding_form_t){.dims = 0};
	out->offset = piece ? offset - piece->begin : offset;
	out->bytes = bytes;
}

const char *tsr_area_text(tsr_area_t *area, size_t offset, size_t bytes, char text[TSR_PLACE_TEXT])
{
	tsr_finding_access_t access;
	char index[TSR_FINDING_INDEX_TEXT];
	tell_memory(area, offset, bytes, &access);
	snprintf(text, TSR_PLACE_TEXT, "%s%s", access.allocation,
		 tsr_finding_index_text(&access, index));
	return text;
}

void tsr_operation_tell(tsr_exploration_t *x, uint32_t number, int area, size_t offset,
			size_t bytes, tsr_finding_access_t *out)
{
	const tsr_operation_t *operation = &x->operations[number];
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, operation->task);
	*out = TSR_FINDING_NOWHERE;
	out->who = tsr_who_found(who);
	out->call = operation->site.call;
	out->kind = operation->kind;
	out->file = operation->site.file;
	out->line = operation->site.line;
	out->tiled = operation->site.tiled;
	out->row = operation->site.row;
	out->col = operation->site.col;
	out->order = operation->order;
	out->scope = operation->scope;
	if (area >= 0)
		tell_memory(&x->areas[area], offset, bytes, out);
}
