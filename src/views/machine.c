/* Making, copying, comparing machines; edges that no access makes. */
#include "src/views/machine.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

/* ------------------------------------------------------------------ making and destroying */

/** Numbers the scope instances that the threads are in, after the threads. Returns how many components there are. */
static int number_components(const tsr_views_place_t *places, int threads, int *component)
{
	int next = threads;

	for (int t = 0; t < threads; t++) {
		for (int s = TSR_VIEWS_WAVE; s < TSR_VIEWS_SCOPES; s++) {
			int other = 0;
			while (places[other].instance[s] != places[t].instance[s])
				other++;
			component[t * TSR_VIEWS_SCOPES + s] = other < t ? component[other * TSR_VIEWS_SCOPES + s] : next++;
		}
	}
	return next;
}

static tsr_views_t *fail(tsr_views_t *v)
{
	tsr_error(TSR_ERR_NO_MEMORY, "no memory for a view machine: fewer threads or locations need less");
	tsr_views_destroy(v);
	return NULL;
}

/** A machine without messages, for as many threads, components and locations. */
static tsr_views_t *allocate(int threads, int components, int locations)
{
	tsr_views_t *v = calloc(1, sizeof *v);

	if (!v)
		return fail(v);
	v->threads = threads;
	v->components = components;
	v->view = calloc((size_t)components * (size_t)components, sizeof *v->view);
	v->clock = calloc((size_t)threads * (size_t)threads, sizeof *v->clock);
	v->thread = calloc((size_t)threads, sizeof *v->thread);
	v->location = calloc((size_t)locations, sizeof *v->location);
	if (!v->view || !v->clock || !v->thread || !v->location)
		return fail(v);
	v->locations = locations;
	return v;
}

static bool first_message(tsr_location_t *location)
{
	location->messages = malloc(sizeof *location->messages);
	if (!location->messages)
		return false;
	location->messages[0] = (tsr_message_t){.thread = -1};
	location->message_count = location->message_room = 1;
	return true;
}

tsr_status_t tsr_views_create(const tsr_views_place_t *places, int threads, int locations, int history, tsr_views_t **views_out)
{
	const size_t places_count = (size_t)threads * TSR_VIEWS_SCOPES;
	int *component = calloc(places_count + 1, sizeof *component);

	if (!component) {
		fail(NULL);
		return TSR_ERR_NO_MEMORY;
	}
	tsr_views_t *v = allocate(threads, number_components(places, threads, component), locations);
	if (!v) {
		free(component);
		return TSR_ERR_NO_MEMORY;
	}
	v->history = history;
	v->component = component;
	v->holders = component + places_count;
	*v->holders = 1;
	for (int c = 0; c < v->components; c++)
		tsr_views_view(v, c)[c] = 1;
	for (int t = 0; t < threads; t++)
		tsr_views_clock(v, t)[t] = 1;
	for (int x = 0; x < locations; x++) {
		if (!first_message(&v->location[x])) {
			fail(v);
			return TSR_ERR_NO_MEMORY;
		}
	}
	*views_out = v;
	return TSR_OK;
}

void tsr_views_destroy(tsr_views_t *v)
{
	if (!v)
		return;
	for (int x = 0; x < v->locations; x++) {
		for (int m = 0; m < v->location[x].message_count; m++)
			tsr_heads_drop(v->location[x].messages[m].heads);
		free(v->location[x].messages);
		free(v->location[x].marks);
	}
	for (int t = 0; v->thread && t < v->threads; t++) {
		tsr_heads_drop(v->thread[t].pending);
		tsr_heads_drop(v->thread[t].released);
	}
	if (v->holders && --*v->holders == 0)
		free((void *)(uintptr_t)v->component);
	free(v->location);
	free(v->thread);
	free(v->clock);
	free(v->view);
	free(v);
}

void tsr_views_initialise(tsr_views_t *v, int location, uint64_t value)
{
	v->location[location].messages[0].value = value;
}

/* ------------------------------------------------------------------ copying */

static void *duplicate(const void *array, int count, size_t size)
{
	void *copy = malloc((size_t)(count ? count : 1) * size);

	if (copy && count)
		memcpy(copy, array, (size_t)count * size);
	return copy;
}

static bool copy_location(const tsr_location_t *from, tsr_location_t *to)
{
	tsr_message_t *messages = duplicate(from->messages, from->message_count, sizeof *messages);
	tsr_mark_t *marks = duplicate(from->marks, from->mark_count, sizeof *marks);

	if (!messages || !marks) {
		free(messages);
		free(marks);
		return false;
	}
	*to = (tsr_location_t){messages, marks, from->message_count, from->message_count, from->mark_count, from->mark_count};
	for (int m = 0; m < to->message_count; m++)
		tsr_heads_hold(messages[m].heads);
	return true;
}

tsr_status_t tsr_views_copy(const tsr_views_t *v, tsr_views_t **copy_out)
{
	tsr_views_t *copy = allocate(v->threads, v->components, v->locations);

	if (!copy)
		return TSR_ERR_NO_MEMORY;
	copy->history = v->history;
	copy->component = v->component;
	copy->holders = v->holders;
	++*copy->holders;
	memcpy(copy->view, v->view, (size_t)v->components * (size_t)v->components * sizeof *v->view);
	memcpy(copy->clock, v->clock, (size_t)v->threads * (size_t)v->threads * sizeof *v->clock);
	for (int t = 0; t < v->threads; t++) {
		copy->thread[t].pending = tsr_heads_hold(v->thread[t].pending);
		copy->thread[t].released = tsr_heads_hold(v->thread[t].released);
	}
	for (int x = 0; x < v->locations; x++) {
		if (!copy_location(&v->location[x], &copy->location[x])) {
			fail(copy);
			return TSR_ERR_NO_MEMORY;
		}
	}
	*copy_out = copy;
	return TSR_OK;
}

/* ------------------------------------------------------------------ edges and questions */

void tsr_views_hand_over(tsr_views_t *v, int from, int to)
{
	if (from == to)
		return;
	tsr_epochs_join(tsr_views_view(v, to), tsr_views_view(v, from), v->components);
	tsr_epochs_join(tsr_views_clock(v, to), tsr_views_clock(v, from), v->threads);
	tsr_views_advance(v, from);
}

uint64_t tsr_views_newest(const tsr_views_t *v, int location)
{
	return v->location[location].messages[v->location[location].message_count - 1].value;
}

/* ------------------------------------------------------------------ the digest */

static void mix_epochs(uint64_t digest[2], const tsr_epoch_t *epochs, int count)
{
	for (int i = 0; i < count; i++)
		tsr_views_mix(digest, epochs[i]);
}

static void mix_heads(uint64_t digest[2], const tsr_views_t *v, const tsr_heads_t *heads)
{
	tsr_views_mix(digest, heads ? (uint64_t)heads->count : 0);
	for (int i = 0; heads && i < heads->count; i++) {
		tsr_views_mix(digest, (uint64_t)heads->head[i]->thread << 8 | (uint64_t)heads->head[i]->scope);
		mix_epochs(digest, heads->head[i]->vectors, v->components + v->threads);
	}
}

static void mix_location(uint64_t digest[2], const tsr_views_t *v, const tsr_location_t *location)
{
	tsr_views_mix(digest, (uint64_t)location->message_count << 32 | (uint64_t)location->mark_count);
	for (int m = 0; m < location->message_count; m++) {
		const tsr_message_t *message = &location->messages[m];
		tsr_views_mix(digest, message->value);
		tsr_views_mix(digest, (uint64_t)(message->thread + 1) << 8 | (uint64_t)message->scope << 2 |
					      (uint64_t)message->plain << 1 | message->attached);
		mix_heads(digest, v, message->heads);
	}
	for (int m = 0; m < location->mark_count; m++) {
		const tsr_mark_t *mark = &location->marks[m];
		tsr_views_mix(digest, (uint64_t)mark->component << 32 | (uint64_t)mark->message << 8 | (uint64_t)mark->scope << 2 |
					      (uint64_t)mark->write << 1 | mark->plain);
		tsr_views_mix(digest, (uint64_t)mark->first << 32 | mark->last);
	}
}

void tsr_views_digest(const tsr_views_t *v, uint64_t digest[2])
{
	mix_epochs(digest, v->view, v->components * v->components);
	mix_epochs(digest, v->clock, v->threads * v->threads);
	for (int t = 0; t < v->threads; t++) {
		mix_heads(digest, v, v->thread[t].pending);
		mix_heads(digest, v, v->thread[t].released);
	}
	for (int x = 0; x < v->locations; x++)
		mix_location(digest, v, &v->location[x]);
}
