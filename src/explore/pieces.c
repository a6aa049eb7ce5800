/*
 * Calls that move data, made in pieces: all threads of a coop make such a call,
 * each its part, and one of them may be late. So a strategy may have a half of
 * a copy, or both, done at the coop's next meeting, which no thread passes
 * before all have come; what the coop does until then, and what others do,
 * comes first. Only a program that has a race sees it: what races is told when
 * the call is made, of the whole of it. A search that leaves nothing out makes
 * all calls whole.
 */
#include "src/explore/exploration_state.h"

#include <stdlib.h>

enum { LATE_FIRST = 1, LATE_SECOND = 2, WAYS = 4, LEAST_BYTES = 16, CUT_BYTES = 8 };

static tsr_span_t span_of(const tsr_exploration_t *x, int area, size_t offset,
			  const tsr_move_t *move, size_t pitch)
{
	return (tsr_span_t){
		&x->areas[area],
		{x->areas[area].region, offset, move->rows.bytes, move->rows.count, pitch}};
}

static tsr_status_t perform(tsr_exploration_t *x, uint32_t operation, const tsr_move_t *move)
{
	const tsr_span_t from = span_of(x, move->from_area, move->from, move, move->rows.pitch);
	const tsr_span_t to = span_of(x, move->to_area, move->to, move, move->to_pitch);
	const tsr_rows_of_bytes_t written = {move->rows.bytes, move->rows.count, move->to_pitch};
	tsr_shadow_found_t told_before[2];
	const tsr_status_t status = x->memory->copy(x, operation, &from, &to, told_before);
	tsr_waits_wake(x, move->to_area, move->to, &written);
	return status;
}

static tsr_status_t keep(tsr_actor_t *actor, uint32_t operation, const tsr_move_t *move)
{
	if (actor->late_count == actor->late_room) {
		const int room = actor->late_room ? 2 * actor->late_room : 8;
		tsr_late_t *late = realloc(actor->late, (size_t)room * sizeof *late);
		if (!late)
			return TSR_ERR_NO_MEMORY;
		actor->late = late;
		actor->late_room = room;
	}
	actor->late[actor->late_count++] = (tsr_late_t){operation, *move};
	return TSR_OK;
}

static size_t reach(const tsr_move_t *move, size_t pitch)
{
	return (move->rows.count - 1) * pitch + move->rows.bytes;
}

/** Whether one half may be moved before the other. */
static bool may_be_cut(const tsr_move_t *move)
{
	const bool apart = move->from_area != move->to_area ||
			   move->from + reach(move, move->rows.pitch) <= move->to ||
			   move->to + reach(move, move->to_pitch) <= move->from;
	return apart && move->rows.bytes * move->rows.count >= LEAST_BYTES;
}

/** The first half of the rows, or of the only one. */
static tsr_move_t cut(tsr_move_t *second)
{
	tsr_move_t first = *second;
	if (second->rows.count > 1) {
		first.rows.count = second->rows.count / 2;
		second->rows.count -= first.rows.count;
		second->from += first.rows.count * second->rows.pitch;
		second->to += first.rows.count * second->to_pitch;
	} else {
		first.rows.bytes = second->rows.bytes / 2 / CUT_BYTES * CUT_BYTES;
		second->rows.bytes -= first.rows.bytes;
		second->from += first.rows.bytes;
		second->to += first.rows.bytes;
	}
	return first;
}

static tsr_status_t tell_whole(tsr_exploration_t *x, uint32_t operation, const tsr_move_t *move,
			       tsr_shadow_found_t found_out[2])
{
	const tsr_span_t from = span_of(x, move->from_area, move->from, move, move->rows.pitch);
	const tsr_span_t to = span_of(x, move->to_area, move->to, move, move->to_pitch);
	const tsr_status_t status =
		tsr_shadow_read(x->shadow, operation, &from.range, NULL, 0, &found_out[0]);
	return status == TSR_OK
		       ? tsr_shadow_write(x->shadow, operation, &to.range, NULL, 0, &found_out[1])
		       : status;
}

bool tsr_pieces_move(tsr_exploration_t *x, uint32_t operation, const tsr_move_t *move,
		     tsr_shadow_found_t found_out[2], tsr_status_t *status_out)
{
	tsr_actor_t *actor = tsr_actor(x);
	const int late =
		may_be_cut(move) ? tsr_explorer_choose(x->explorer, TSR_CHOICE_PIECE, WAYS) : 0;
	if (late == 0)
		return false;
	tsr_move_t second = *move;
	const tsr_move_t first = cut(&second);
	tsr_status_t status = tell_whole(x, operation, move, found_out);
	if (status == TSR_OK)
		status = late & LATE_FIRST ? keep(actor, operation, &first)
					   : perform(x, operation, &first);
	if (status == TSR_OK)
		status = late & LATE_SECOND ? keep(actor, operation, &second)
					    : perform(x, operation, &second);
	*status_out = status;
	return true;
}

tsr_status_t tsr_pieces_end(tsr_exploration_t *x)
{
	tsr_actor_t *actor = tsr_actor(x);
	tsr_status_t status = TSR_OK;
	while (status == TSR_OK && actor->late_count > 0) {
		const int next =
			tsr_explorer_choose(x->explorer, TSR_CHOICE_PIECE, actor->late_count);
		const tsr_late_t late = actor->late[next];
		for (int i = next + 1; i < actor->late_count; i++)
			actor->late[i - 1] = actor->late[i];
		actor->late_count--;
		status = perform(x, late.operation, &late.move);
	}
	free(actor->late);
	actor->late = NULL;
	actor->late_count = actor->late_room = 0;
	return status;
}
