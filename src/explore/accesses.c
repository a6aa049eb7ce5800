/*
 * What fibres do to memory: every access of the device API and of the host's
 * copies comes through here.
 */
#include "src/explore/exploration_state.h"
#include "src/explore/links.h"

#include <stdio.h>
#include <string.h>

#include "src/base/error.h"

/* ------------------------------------------------------------------ plain */

/** Where an access goes; on the way it is judged whether the program may go there. */
typedef struct place {
	int area;
	size_t offset;
} place_t;

static tsr_area_t *area_of(tsr_exploration_t *x, place_t place)
{
	return &x->areas[place.area];
}

static place_t place_at(tsr_exploration_t *x, const tsr_op_site_t *site, const void *at,
			const tsr_rows_of_bytes_t *rows)
{
	place_t place;
	tsr_exploration_place(x, site, at, (rows->count - 1) * rows->pitch + rows->bytes,
			      &place.area, &place.offset);
	return place;
}

static void need(tsr_exploration_t *x, tsr_status_t status)
{
	if (status != TSR_OK)
		tsr_exploration_abort(x, status, 0, tsr_last_error());
}

static uint32_t plain(tsr_exploration_t *x, const tsr_op_site_t *site, tsr_finding_kind_t kind,
		      place_t place, size_t bytes)
{
	const uint32_t number = tsr_operation_at(x, site, kind, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD);
	const bool begins = x->operations[number].area < 0;
	/* others may run between two calls, so that what races is met in either order */
	if (begins)
		tsr_explorer_point(x->explorer,
				   &(tsr_pending_t){.kind = TSR_PENDING_LOCAL,
						    .site = {site->call, site->file, site->line}});
	if (begins)
		need(x, x->memory->choose(x, NULL, NULL));
	tsr_operation_touch(x, number, place.area, place.offset, bytes);
	if (begins) /* one event for a call, however many rows it moves */
		tsr_trace_operation(x, number, tsr_trace_now(x), 0, false, false);
	return number;
}

static tsr_span_t span_of(tsr_exploration_t *x, place_t place, const tsr_rows_of_bytes_t *rows)
{
	const tsr_area_t *area = area_of(x, place);
	return (tsr_span_t){area,
			    {area->region, place.offset, rows->bytes, rows->count, rows->pitch}};
}

/**
 * Plain memory is about to be written: says so to the explorer where a byte
 * changes. Shared memory may have been written already (TSR_EACH).
 */
static void note_change(tsr_exploration_t *x, place_t to, const unsigned char *from,
			size_t from_pitch, const tsr_rows_of_bytes_t *rows)
{
	const tsr_area_t *area = area_of(x, to);
	const unsigned char *at = area->newest + to.offset;
	bool changes = area->shared;
	for (size_t row = 0; row < rows->count && !changes; row++)
		changes = memcmp(at + row * rows->pitch, from + row * from_pitch, rows->bytes) != 0;
	if (changes)
		tsr_explorer_news(x->explorer);
}

void tsr_waits_wake(tsr_exploration_t *x, int area, size_t offset, const tsr_rows_of_bytes_t *rows)
{
	const size_t end = offset + (rows->count - 1) * rows->pitch + rows->bytes;
	if (end <= x->watched_begin || offset >= x->watched_end)
		return;
	for (const tsr_flag_watch_t *watch = x->watches; watch; watch = watch->next)
		if (watch->area == area && watch->offset < end &&
		    offset < watch->offset + watch->bytes)
			tsr_explorer_wake(x->explorer, watch->object);
}

void tsr_exploration_read(tsr_exploration_t *x, const tsr_op_site_t *site, void *private_to,
			  size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows)
{
	const place_t place = place_at(x, site, from, rows);
	const uint32_t number = plain(x, site, TSR_FINDING_READ, place, rows->bytes);
	const tsr_span_t span = span_of(x, place, rows);
	tsr_shadow_found_t found;
	need(x, x->memory->read(x, number, &span, private_to, to_pitch, &found));
	tsr_exploration_judge(x, number, place.area, false, &found);
}

void tsr_exploration_write(tsr_exploration_t *x, const tsr_op_site_t *site, unsigned char *to,
			   const void *private_from, size_t from_pitch,
			   const tsr_rows_of_bytes_t *rows)
{
	const place_t place = place_at(x, site, to, rows);
	const uint32_t number = plain(x, site, TSR_FINDING_WRITE, place, rows->bytes);
	const tsr_span_t span = span_of(x, place, rows);
	tsr_shadow_found_t found;
	note_change(x, place, private_from, from_pitch, rows);
	need(x, x->memory->write(x, number, &span, private_from, from_pitch, &found));
	tsr_waits_wake(x, place.area, place.offset, rows);
	tsr_slab_check(x, number, place.area, place.offset, rows);
	if (site->coop && area_of(x, place)->shared)
		need(x, tsr_unmet_note(x, number, place.area, place.offset, rows));
	tsr_exploration_judge(x, number, place.area, true, &found);
}

void tsr_exploration_copy(tsr_exploration_t *x, const tsr_op_site_t *site, unsigned char *to,
			  size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows)
{
	const tsr_rows_of_bytes_t rows_to = {rows->bytes, rows->count, to_pitch};
	const place_t source = place_at(x, site, from, rows),
		      target = place_at(x, site, to, &rows_to);
	const uint32_t number = plain(x, site, TSR_FINDING_WRITE, target, rows->bytes);
	const tsr_span_t span_from = span_of(x, source, rows),
			 span_to = span_of(x, target, &rows_to);
	tsr_shadow_found_t found[2];
	const tsr_move_t move = {source.area,   target.area, source.offset,
				 target.offset, *rows,       to_pitch};
	tsr_status_t status;
	note_change(x, target, area_of(x, source)->newest + source.offset, rows->pitch, &rows_to);
	if (!site->coop || !tsr_pieces_move(x, number, &move, found, &status))
		status = x->memory->copy(x, number, &span_from, &span_to, found);
	need(x, status);
	tsr_waits_wake(x, target.area, target.offset, &rows_to);
	tsr_slab_check(x, number, target.area, target.offset, &rows_to);
	if (site->coop && area_of(x, target)->shared)
		need(x, tsr_unmet_note(x, number, target.area, target.offset, &rows_to));
	/* who uses what is copied is told, and not who copies a slot that is filled in part */
	found[0].unwritten = false;
	tsr_exploration_judge(x, number, source.area, false, &found[0]);
	tsr_exploration_judge(x, number, target.area, true, &found[1]);
}

void tsr_exploration_fill(tsr_exploration_t *x, const tsr_op_site_t *site, unsigned char *to,
			  int byte, size_t bytes)
{
	unsigned char stage[4096];
	memset(stage, byte, sizeof stage);
	for (size_t done = 0; done < bytes;) {
		const size_t n = bytes - done < sizeof stage ? bytes - done : sizeof stage;
		const tsr_rows_of_bytes_t rows = {n, 1, n};
		tsr_exploration_write(x, site, to + done, stage, n, &rows);
		done += n;
	}
}

/* ------------------------------------------------------------------ ordered */

static tsr_finding_kind_t finding_kind(tsr_views_kind_t kind)
{
	return kind == TSR_VIEWS_LOAD    ? TSR_FINDING_READ
	       : kind == TSR_VIEWS_STORE ? TSR_FINDING_WRITE
					 : TSR_FINDING_UPDATE;
}

static tsr_pending_t pending_of(const tsr_views_access_t *access, uint64_t object,
				const tsr_op_site_t *site)
{
	static const tsr_pending_kind_t kinds[] = {[TSR_VIEWS_LOAD] = TSR_PENDING_READ,
						   [TSR_VIEWS_STORE] = TSR_PENDING_WRITE,
						   [TSR_VIEWS_UPDATE] = TSR_PENDING_UPDATE,
						   [TSR_VIEWS_FENCE] = TSR_PENDING_FENCE};
	return (tsr_pending_t){.kind = kinds[access->kind],
			       .seq_cst = access->order == TSR_VIEWS_SEQ_CST ||
					  access->failure == TSR_VIEWS_SEQ_CST,
			       .object = object,
			       .site = {site->call, site->file, site->line}};
}

/**
 * What the load's thread has stored just before: the last that it has done, if
 * it was a store or a signal. 0: it was not.
 */
static uint32_t stored_before(const tsr_exploration_t *x, uint32_t load)
{
	enum { LOOKED_AT = 1 << 10 };
	const tsr_operation_t *operations = x->operations;
	for (uint32_t number = load - 1; number > 0 && load - number < LOOKED_AT; number--) {
		const tsr_operation_t *before = &operations[number];
		if (before->task != operations[load].task || before->area < 0)
			continue;
		const bool signals =
			before->site.call && strcmp(before->site.call, "tsr_signal") == 0;
		return before->kind == TSR_FINDING_WRITE || signals ? number : 0;
	}
	return 0;
}

/** What a load saw is not the newest: if the program fails, it may be for that. */
static void note_stale(tsr_exploration_t *x, uint32_t number, place_t place, size_t bytes,
		       uint64_t seen, uint64_t newest)
{
	tsr_stale_load_t *stale = &x->stale;
	tsr_operation_tell(x, number, place.area, place.offset, bytes, &stale->access);
	snprintf(stale->allocation, sizeof stale->allocation, "%s", stale->access.allocation);
	stale->access.allocation = stale->allocation;
	stale->access.valued = true;
	stale->access.seen = seen;
	stale->access.expected = newest;
	stale->stored.call = NULL;
	const uint32_t stored = stored_before(x, number);
	if (!stored)
		return;
	const tsr_operation_t *told = &x->operations[stored];
	tsr_operation_tell(x, stored, told->area, told->offset, told->bytes, &stale->stored);
	snprintf(stale->stored_allocation, sizeof stale->stored_allocation, "%s",
		 stale->stored.allocation);
	stale->stored.allocation = stale->stored_allocation;
}

/** An access that has been waited for, or has had its point. */
uint64_t tsr_exploration_act_now(tsr_exploration_t *x, uint32_t number,
				 const tsr_views_access_t *access, int area_index, size_t offset,
				 size_t bytes, int choice, uint64_t begin)
{
	const place_t place = {area_index, offset};
	const tsr_area_t *area = area_of(x, place);
	const tsr_ordered_t ordered = {number, access, area, {area->region, offset, bytes}};
	const uint64_t before = tsr_area_value(area_of(x, place), offset, bytes);
	const tsr_epoch_t epoch = tsr_views_epoch(x->views, tsr_actor(x)->thread);
	tsr_views_event_t event;
	need(x, x->memory->act(x, &ordered, choice, &event));
	x->inserted = x->inserted || (event.wrote && choice > 0);
	const tsr_shadow_found_t found = {.races = event.races,
					  .other = event.other_site,
					  .other_thread = event.other_thread,
					  .other_wrote = event.other_wrote,
					  .offset = offset,
					  .bytes = bytes,
					  .unwritten =
						  event.initial && access->kind != TSR_VIEWS_STORE,
					  .unwritten_offset = offset,
					  .unwritten_bytes = bytes};
	if (access->kind == TSR_VIEWS_LOAD && event.value != before &&
	    x->operations[number].kind == TSR_FINDING_READ)
		note_stale(x, number, place, bytes, event.value, before);
	const uint64_t after = tsr_area_value(area_of(x, place), offset, bytes);
	const tsr_acted_t acted = {.message = access->kind == TSR_VIEWS_STORE ? access->value
									      : event.value,
				   .wrote = event.wrote,
				   .changed = after != before};
	tsr_explorer_value(x->explorer, tsr_area_object(area_of(x, place), offset), before, after);
	tsr_explorer_acted(x->explorer, &acted);
	tsr_trace_operation(x, number, begin, event.wrote ? after : event.value, event.wrote,
			    access->kind != TSR_VIEWS_STORE);
	tsr_exploration_judge(x, number, place.area, event.wrote, &found);
	tsr_exploration_judge_unmet(x, number, place.area, event.wrote,
				    tsr_shadow_unmet(x->shadow));
	const tsr_step_t read = {.from = event.from_site, .value = event.value},
			 written = {.value = after, .before = before};
	tsr_links_access(x, number, event.from_site ? &read : NULL, event.wrote ? &written : NULL);
	if (!area_of(x, place)->shared)
		tsr_buffering_note(x, number, access, event.wrote,
				   tsr_area_object(area_of(x, place), offset), epoch, after);
	tsr_actor_epoch(tsr_actor(x));
	return event.value;
}

uint64_t tsr_exploration_act(tsr_exploration_t *x, const tsr_op_site_t *site,
			     const tsr_views_access_t *access, const unsigned char *at,
			     size_t bytes)
{
	const tsr_rows_of_bytes_t rows = {bytes, 1, bytes};
	const place_t place = place_at(x, site, at, &rows);
	tsr_area_t *area = area_of(x, place);
	const tsr_pending_t pending = pending_of(access, tsr_area_object(area, place.offset), site);
	const uint64_t begin = tsr_trace_now(x);
	tsr_explorer_point(x->explorer, &pending);
	const uint32_t number =
		tsr_operation_at(x, site, finding_kind(access->kind), access->order, access->scope);
	tsr_operation_touch(x, number, place.area, place.offset, bytes);
	area = area_of(x, place); /* others have run */
	const tsr_ordered_t ordered = {number, access, area, {area->region, place.offset, bytes}};
	int choice = 0;
	need(x, x->memory->choose(x, &ordered, &choice));
	return tsr_exploration_act_now(x, number, access, place.area, place.offset, bytes, choice,
				       begin);
}

uint64_t tsr_exploration_newest(tsr_exploration_t *x, const unsigned char *at, size_t bytes)
{
	int area;
	size_t offset;
	return tsr_area_find(x, at, bytes, &area, &offset)
		       ? tsr_area_value(&x->areas[area], offset, bytes)
		       : 0;
}

void tsr_exploration_met(tsr_exploration_t *x)
{
	need(x, tsr_pieces_end(x));
	need(x, x->memory->met(x));
	need(x, tsr_shadow_meet(x->shadow, tsr_actor(x)->thread));
	tsr_unmet_forget(tsr_actor(x), false);
}

void tsr_exploration_fence(tsr_exploration_t *x, const tsr_op_site_t *site, tsr_views_order_t order,
			   tsr_views_scope_t scope)
{
	const tsr_views_access_t access = {.kind = TSR_VIEWS_FENCE, .order = order, .scope = scope};
	tsr_views_event_t event;
	if (order == TSR_VIEWS_SEQ_CST) {
		const tsr_pending_t pending = pending_of(&access, 0, site);
		tsr_explorer_point(x->explorer, &pending);
	}
	if (tsr_views_act(x->views, tsr_actor(x)->thread, &access, 0, &event) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	need(x, x->memory->fence(x, &access));
	if (order == TSR_VIEWS_SEQ_CST)
		tsr_explorer_acted(x->explorer, &(tsr_acted_t){.changed = false});
	tsr_buffering_fence(x, order, scope);
	tsr_actor_epoch(tsr_actor(x));
}

void tsr_exploration_flush(tsr_exploration_t *x)
{
	need(x, tsr_pieces_end(x));
	need(x, x->memory->flush(x));
}
