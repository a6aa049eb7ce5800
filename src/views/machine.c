/* Making, copying, measuring machines; their locations. */
#include "src/views/machine.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

/* ------------------------------------------------------------------ making and destroying */

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no memory for a view machine: fewer threads or locations need less");
}

tsr_status_t tsr_views_create(const tsr_views_place_t *places, int threads, int locations,
			      int history, tsr_views_t **views_out)
{
	tsr_views_t *v = calloc(1, sizeof *v);
	tsr_status_t status = v ? TSR_OK : no_memory();
	int ignored;

	if (status != TSR_OK)
		return status;
	v->history = history;
	for (int t = 0; status == TSR_OK && t < threads; t++)
		status = tsr_views_add_thread(v, &places[t], NULL, &ignored);
	/* All at once, so that their components do not depend on who is first to use which. */
	for (int t = 0; status == TSR_OK && t < threads; t++)
		for (int s = TSR_VIEWS_WAVE; s < TSR_VIEWS_SCOPES; s++)
			tsr_views_make_instance(v, t, (tsr_views_scope_t)s);
	for (int x = 0; status == TSR_OK && x < locations; x++)
		status = tsr_views_add_location(v, 0, false, NULL, 0, &ignored);
	if (status == TSR_OK && v->exhausted)
		status = no_memory();
	if (status != TSR_OK) {
		tsr_views_destroy(v);
		return status;
	}
	*views_out = v;
	return TSR_OK;
}

static void empty_location(tsr_location_t *location)
{
	for (int m = 0; m < location->message_count; m++)
		tsr_heads_drop(location->messages[m].heads);
	free(location->messages);
	free(location->marks);
	*location = (tsr_location_t){.messages = NULL};
}

void tsr_views_destroy(tsr_views_t *v)
{
	if (!v)
		return;
	for (int x = 0; x < v->locations; x++)
		empty_location(&v->location[x]);
	for (int i = 0; i < v->live_count; i++) {
		tsr_views_thread_t *thread = &v->thread[v->live[i]];
		tsr_vector_drop(thread->view);
		tsr_vector_drop(thread->clock);
		tsr_heads_drop(thread->pending);
		tsr_heads_drop(thread->released);
	}
	for (int i = 0; i < v->instances; i++)
		tsr_vector_drop(v->instance[i].view);
	while (v->tokens)
		tsr_views_token_destroy(v, v->tokens);
	tsr_vector_drop(v->common);
	free(v->free_locations);
	free(v->location);
	free(v->instance);
	free(v->component);
	free(v->live);
	free(v->thread);
	free(v);
}

/* ------------------------------------------------------------------ locations */

/** Plain accesses from before the location was made: all to its first message. */
static void import(tsr_views_t *v, tsr_location_t *location, const tsr_views_past_t *pasts,
		   int count)
{
	for (int i = 0; i < count; i++) {
		const tsr_mark_t mark = {
			.component = v->thread[pasts[i].thread].component,
			.thread = pasts[i].thread,
			.write = pasts[i].wrote,
			.plain = true,
			.first = pasts[i].epoch,
			.last = pasts[i].epoch,
			.site = pasts[i].site,
		};
		tsr_marks_add(v, location, &mark);
	}
}

static int free_location(tsr_views_t *v)
{
	if (v->free_count)
		return v->free_locations[--v->free_count];
	if (!tsr_views_grow(v, (void **)&v->location, v->locations, &v->location_room,
			    sizeof *v->location))
		return -1;
	v->location[v->locations] = (tsr_location_t){.messages = NULL};
	return v->locations++;
}

tsr_status_t tsr_views_add_location(tsr_views_t *v, uint64_t value, bool written,
				    const tsr_views_past_t *pasts, int count, int *location_out)
{
	tsr_message_t *first = malloc(sizeof *first);
	const int x = first ? free_location(v) : -1;

	if (x < 0) {
		free(first);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory for location %d of the view machine; free some",
				 v->locations);
	}
	*first = (tsr_message_t){.value = value, .thread = -1, .plain = written};
	v->location[x].messages = first;
	v->location[x].message_count = v->location[x].message_room = 1;
	import(v, &v->location[x], pasts, count);
	*location_out = x;
	return v->exhausted
		       ? tsr_error(TSR_ERR_NO_MEMORY,
				   "no memory for who touched location %d before; free some", x)
		       : TSR_OK;
}

tsr_status_t tsr_views_end_location(tsr_views_t *v, int location)
{
	empty_location(&v->location[location]);
	if (!tsr_views_grow(v, (void **)&v->free_locations, v->free_count, &v->free_room,
			    sizeof *v->free_locations))
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to use location %d again; free some",
				 location);
	v->free_locations[v->free_count++] = location;
	return TSR_OK;
}

int tsr_views_pasts(const tsr_views_t *v, int location, tsr_views_past_t *pasts_out, int room)
{
	const tsr_location_t *x = &v->location[location];
	int count = 0;

	for (int i = 0; i < x->mark_count; i++) {
		const tsr_mark_t *mark = &x->marks[i];
		if (mark->thread < 0)
			continue;
		if (count < room)
			pasts_out[count] = (tsr_views_past_t){mark->thread, mark->last, mark->site,
							      mark->write};
		count++;
	}
	return count;
}

bool tsr_views_knows_all(const tsr_views_t *v, int thread, int location)
{
	const tsr_location_t *x = &v->location[location];

	for (int i = 0; i < x->mark_count; i++)
		if (x->marks[i].thread >= 0 &&
		    tsr_views_known(&v->thread[thread], x->marks[i].component) < x->marks[i].last)
			return false;
	return true;
}

void tsr_views_initialise(tsr_views_t *v, int location, uint64_t value)
{
	v->location[location].messages[0].value = value;
}

uint64_t tsr_views_newest(const tsr_views_t *v, int location)
{
	return v->location[location].messages[v->location[location].message_count - 1].value;
}

bool tsr_views_written(const tsr_views_t *v, int location)
{
	const tsr_message_t *newest =
		&v->location[location].messages[v->location[location].message_count - 1];
	return newest->thread >= 0 || newest->plain;
}

/* ------------------------------------------------------------------ copying */

/** A copy of an array, with no more room than it needs. Null, and `exhausted`: no memory. */
static void *duplicate(tsr_views_t *copy, const void *array, int count, size_t size)
{
	void *twin = malloc((size_t)(count ? count : 1) * size);

	if (!twin)
		copy->exhausted = true;
	else if (count)
		memcpy(twin, array, (size_t)count * size);
	return twin;
}

static void copy_locations(const tsr_views_t *v, tsr_views_t *copy)
{
	copy->location = duplicate(copy, v->location, v->locations, sizeof *v->location);
	for (int x = 0; copy->location && x < v->locations; x++) {
		const tsr_location_t *from = &v->location[x];
		tsr_location_t *to = &copy->location[x];
		*to = (tsr_location_t){.prune_at = from->prune_at};
		copy->locations = x + 1;
		if (from->message_count == 0)
			continue;
		to->messages =
			duplicate(copy, from->messages, from->message_count, sizeof *to->messages);
		to->marks = duplicate(copy, from->marks, from->mark_count, sizeof *to->marks);
		if (!to->messages || !to->marks)
			return;
		to->message_count = to->message_room = from->message_count;
		to->mark_count = to->mark_room = from->mark_count;
		for (int m = 0; m < to->message_count; m++)
			tsr_heads_hold(to->messages[m].heads);
	}
}

static void copy_threads(const tsr_views_t *v, tsr_views_t *copy)
{
	copy->thread = duplicate(copy, v->thread, v->threads, sizeof *v->thread);
	copy->live = duplicate(copy, v->live, v->live_count, sizeof *v->live);
	if (!copy->thread || !copy->live)
		return;
	copy->threads = copy->thread_room = v->threads;
	copy->live_count = copy->live_room = v->live_count;
	for (int i = 0; i < copy->live_count; i++) {
		const tsr_views_thread_t *thread = &copy->thread[copy->live[i]];
		tsr_vector_hold(thread->view);
		tsr_vector_hold(thread->clock);
		tsr_heads_hold(thread->pending);
		tsr_heads_hold(thread->released);
	}
}

static void copy_instances(const tsr_views_t *v, tsr_views_t *copy)
{
	copy->component = duplicate(copy, v->component, v->components, sizeof *v->component);
	copy->components = copy->component_room = copy->component ? v->components : 0;
	copy->free_locations =
		duplicate(copy, v->free_locations, v->free_count, sizeof *v->free_locations);
	copy->free_count = copy->free_room = copy->free_locations ? v->free_count : 0;
	copy->instance = duplicate(copy, v->instance, v->instances, sizeof *v->instance);
	copy->instances = copy->instance_room = copy->instance ? v->instances : 0;
	for (int i = 0; i < copy->instances; i++)
		tsr_vector_hold(copy->instance[i].view);
}

tsr_status_t tsr_views_copy(const tsr_views_t *v, tsr_views_t **copy_out)
{
	tsr_views_t *copy = calloc(1, sizeof *copy);

	if (!copy)
		return no_memory();
	copy->history = v->history;
	copy_threads(v, copy);
	copy_instances(v, copy);
	copy_locations(v, copy);
	if (copy->exhausted) {
		tsr_views_destroy(copy);
		return no_memory();
	}
	*copy_out = copy;
	return TSR_OK;
}

/* ------------------------------------------------------------------ measuring */

/** What one of its holders answers for. */
static size_t vector_bytes(const tsr_vector_t *vector)
{
	return vector ? (sizeof *vector + (size_t)vector->count * sizeof vector->epoch[0]) /
				(size_t)vector->holders
		      : 0;
}

static size_t heads_bytes(const tsr_heads_t *heads)
{
	size_t bytes = heads ? sizeof *heads : 0;

	for (int i = 0; heads && i < heads->count; i++) {
		const tsr_head_t *head = heads->head[i];
		bytes += (sizeof *head + vector_bytes(head->view) + vector_bytes(head->clock)) /
			 (size_t)head->holders;
	}
	return heads ? bytes / (size_t)heads->holders : 0;
}

size_t tsr_views_size_bytes(const tsr_views_t *v)
{
	size_t bytes = sizeof *v + (size_t)v->thread_room * sizeof *v->thread +
		       (size_t)v->live_room * sizeof *v->live +
		       (size_t)v->location_room * sizeof *v->location +
		       (size_t)v->component_room * sizeof *v->component +
		       (size_t)v->instance_room * sizeof *v->instance + vector_bytes(v->common);

	for (int i = 0; i < v->live_count; i++) {
		const tsr_views_thread_t *thread = &v->thread[v->live[i]];
		bytes += vector_bytes(thread->view) + vector_bytes(thread->clock) +
			 heads_bytes(thread->pending) + heads_bytes(thread->released);
	}
	for (const tsr_views_token_t *token = v->tokens; token; token = token->next)
		bytes += sizeof *token + vector_bytes(token->view) + vector_bytes(token->clock);
	for (int x = 0; x < v->locations; x++) {
		const tsr_location_t *location = &v->location[x];
		bytes += (size_t)location->message_room * sizeof *location->messages +
			 (size_t)location->mark_room * sizeof *location->marks;
		for (int m = 0; m < location->message_count; m++)
			bytes += heads_bytes(location->messages[m].heads);
	}
	return bytes;
}
