/* Which states of collectives on streams this rank has used. */
#include "src/world/state_uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/bootstrap/board.h"
#include "src/collectives/far_calls.h"
#include "src/heap/rooms.h"

const char *tsr_uses_name(const tsr_world_t *world, size_t offset, char text[64])
{
	char name[32];
	size_t inside;
	if (world->host.find_allocation(world->host.ctx, offset, name, &inside))
		snprintf(text, 64, "'%s'+%zu", name, inside);
	else
		snprintf(text, 64, "heap offset %zu", offset);
	return text;
}

static const char *name_team(const char *name, char text[TSR_TEAM_NAME + 16])
{
	if (name[0] == '\0')
		snprintf(text, TSR_TEAM_NAME + 16, "the world");
	else
		snprintf(text, TSR_TEAM_NAME + 16, "team '%s'", name);
	return text;
}

static tsr_state_use_t *find(const tsr_world_t *world, size_t offset)
{
	tsr_state_use_t *use = world->state_uses;
	while (use != NULL && use->offset != offset)
		use = use->next;
	return use;
}

static tsr_status_t make(tsr_stream_t *stream, size_t offset, tsr_state_use_t **use_out)
{
	tsr_world_t *world = stream->world;
	tsr_state_use_t *use = calloc(1, sizeof *use);
	if (use == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to note the use of a state; free some");
	use->offset = offset;
	use->team_number = stream->team->number;
	snprintf(use->team, sizeof use->team, "%s", stream->team->name);
	const tsr_status_t status = tsr_board_find(world->boot, offset, &use->topic);
	if (status != TSR_OK) {
		free(use);
		return status;
	}
	use->next = world->state_uses;
	world->state_uses = use;
	*use_out = use;
	return TSR_OK;
}

static tsr_status_t other_team(const tsr_stream_t *stream, const char *call,
			       const tsr_state_use_t *use)
{
	char state[64], team[TSR_TEAM_NAME + 16], mine[TSR_TEAM_NAME + 16];
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s in %s: its state, %s, has been used in %s%s: a state serves one team "
			 "until it is freed, so give each team one of its own",
			 call, name_team(stream->team->name, mine),
			 tsr_uses_name(stream->world, use->offset, state),
			 name_team(use->team, team),
			 use->team[0] != '\0' && strcmp(use->team, stream->team->name) == 0
				 ? ", another one of that name"
				 : "");
}

static tsr_status_t two_streams(const tsr_stream_t *stream, const char *call,
				const tsr_state_use_t *use)
{
	char state[64], at[160] = "";
	if (use->place.file != NULL)
		snprintf(at, sizeof at, " at %.128s:%d", use->place.file, use->place.line);
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s: its state, %s, is in use by %s%s on another stream, which nothing "
			 "orders before this one: give each stream a state of its own, or let this "
			 "stream wait for an event behind that call",
			 call, tsr_uses_name(stream->world, use->offset, state),
			 use->place.call != NULL ? use->place.call : "a call", at);
}

tsr_status_t tsr_uses_begin(tsr_stream_t *stream, const char *call, size_t offset,
			    tsr_state_now_t *now_out)
{
	tsr_world_t *world = stream->world;
	tsr_status_t status = TSR_OK;
	pthread_mutex_lock(&world->order_lock);
	tsr_state_use_t *use = find(world, offset);
	if (use == NULL)
		status = make(stream, offset, &use);
	else if (use->team_number != stream->team->number)
		status = other_team(stream, call, use);
	else if (!use->unknown && !tsr_order_is_behind(stream, use->work))
		status = two_streams(stream, call, use);
	if (status == TSR_OK) {
		use->work = tsr_order_count(stream);
		use->unknown = stream->order.unknown;
		use->place = *tsr_place_here();
		use->place.call = call;
		*now_out = (tsr_state_now_t){use->topic, use->clears, use->work, use};
	}
	pthread_mutex_unlock(&world->order_lock);
	return status;
}

void tsr_uses_stored(tsr_world_t *world, size_t begin, size_t end)
{
	pthread_mutex_lock(&world->order_lock);
	for (tsr_state_use_t *use = world->state_uses; use != NULL; use = use->next)
		use->clears += use->offset >= begin && use->offset < end;
	pthread_mutex_unlock(&world->order_lock);
}

void tsr_uses_drop(tsr_world_t *world, size_t begin, size_t end)
{
	pthread_mutex_lock(&world->order_lock);
	for (tsr_state_use_t **link = &world->state_uses; *link != NULL;) {
		tsr_state_use_t *use = *link;
		if (use->offset >= begin && use->offset < end) {
			*link = use->next;
			tsr_far_calls_free(use->far);
			free(use);
		} else {
			link = &use->next;
		}
	}
	pthread_mutex_unlock(&world->order_lock);
	tsr_board_drop(world->boot, begin, end);
}

void tsr_uses_forget_stream(const tsr_stream_t *stream)
{
	tsr_world_t *world = stream->world;
	pthread_mutex_lock(&world->order_lock);
	for (tsr_state_use_t *use = world->state_uses; use != NULL; use = use->next)
		if (use->work.stream == stream->order.stream)
			use->work.count = 0;
	tsr_order_forget(world, stream->order.stream);
	pthread_mutex_unlock(&world->order_lock);
}

void tsr_uses_end(tsr_world_t *world)
{
	while (world->state_uses != NULL) {
		tsr_state_use_t *use = world->state_uses;
		world->state_uses = use->next;
		tsr_far_calls_free(use->far);
		free(use);
	}
	free(world->host_clock);
	world->host_clock = NULL;
}
