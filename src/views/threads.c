/* Threads and scope instances come and go; what threads hand on without an access. */
#include "src/views/machine.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

bool tsr_views_grow(tsr_views_t *v, void **array, int count, int *room, size_t size)
{
	if (count < *room)
		return true;
	const int wanted = *room ? 2 * *room : 4;
	void *larger = realloc(*array, (size_t)wanted * size);
	if (!larger) {
		v->exhausted = true;
		return false;
	}
	*array = larger;
	*room = wanted;
	return true;
}

/* ------------------------------------------------------------------ components and instances */

static int new_component(tsr_views_t *v)
{
	if (!tsr_views_grow(v, (void **)&v->component, v->components, &v->component_room,
			    sizeof *v->component))
		return -1;
	v->component[v->components] = (tsr_component_t){.free = false};
	return v->components++;
}

const tsr_instance_t *tsr_views_instance(const tsr_views_t *v, int thread, tsr_views_scope_t scope)
{
	const int number = v->thread[thread].place.instance[scope];

	for (int i = 0; scope != TSR_VIEWS_THREAD && i < v->instances; i++)
		if (v->instance[i].scope == scope && v->instance[i].number == number)
			return &v->instance[i];
	return NULL;
}

tsr_instance_t *tsr_views_make_instance(tsr_views_t *v, int thread, tsr_views_scope_t scope)
{
	const tsr_instance_t *there = tsr_views_instance(v, thread, scope);

	if (there)
		return &v->instance[there - v->instance];
	if (scope == TSR_VIEWS_THREAD || !tsr_views_grow(v, (void **)&v->instance, v->instances,
							 &v->instance_room, sizeof *v->instance))
		return NULL;
	const int component = new_component(v);
	if (component < 0)
		return NULL;
	v->instance[v->instances] =
		(tsr_instance_t){.scope = scope,
				 .number = v->thread[thread].place.instance[scope],
				 .component = component,
				 .epoch = 1};
	return &v->instance[v->instances++];
}

/* ------------------------------------------------------------------ threads */

/** The first component whose last thread has handed nothing on that the token lacks; -1: none. */
static int inherited(const tsr_views_t *v, const tsr_views_token_t *token)
{
	for (int c = 0; token && c < v->components; c++)
		if (v->component[c].free &&
		    tsr_vector_at(token->clock, c) >= v->component[c].handed)
			return c;
	return -1;
}

static tsr_status_t no_memory(const tsr_views_t *v)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no memory for thread %d of the view machine: fewer at a time need less",
			 v->threads);
}

tsr_status_t tsr_views_add_thread(tsr_views_t *v, const tsr_views_place_t *place,
				  const tsr_views_token_t *token, int *thread_out)
{
	const int inherits = inherited(v, token), thread = v->threads;

	if (!tsr_views_grow(v, (void **)&v->thread, v->threads, &v->thread_room,
			    sizeof *v->thread) ||
	    !tsr_views_grow(v, (void **)&v->live, v->live_count, &v->live_room, sizeof *v->live))
		return no_memory(v);
	const int component = inherits >= 0 ? inherits : new_component(v);
	if (component < 0)
		return no_memory(v);
	v->thread[thread] = (tsr_views_thread_t){
		.place = *place, .component = component, .live_at = v->live_count};
	v->thread[thread].epoch = inherits >= 0 ? v->component[component].last + 1 : 1;
	v->component[component].free = false;
	v->live[v->live_count++] = thread;
	v->threads++;
	if (token && !token->empty) {
		v->thread[thread].view = tsr_vector_hold(token->view);
		v->thread[thread].clock = tsr_vector_hold(token->clock);
	} else {
		tsr_vector_drop(v->common); /* it does not know what all others do */
		v->common = NULL;
	}
	*thread_out = thread;
	return TSR_OK;
}

tsr_status_t tsr_views_end_thread(tsr_views_t *v, int thread, tsr_views_token_t *token)
{
	tsr_views_thread_t *self = &v->thread[thread];
	tsr_status_t status = token ? tsr_views_give(v, thread, token) : TSR_OK;

	/* What it knows in an epoch that it neither uses nor hands on is lost with it. */
	const tsr_epoch_t handed = self->used == self->epoch ? self->epoch : self->epoch - 1;
	v->component[self->component] =
		(tsr_component_t){.free = true, .handed = handed, .last = self->epoch};
	v->live[self->live_at] = v->live[--v->live_count];
	v->thread[v->live[self->live_at]].live_at = self->live_at;
	self->live_at = -1;
	tsr_vector_drop(self->view);
	tsr_vector_drop(self->clock);
	tsr_heads_drop(self->pending);
	tsr_heads_drop(self->released);
	self->view = self->clock = NULL;
	self->pending = self->released = NULL;
	return status;
}

tsr_epoch_t tsr_views_epoch(tsr_views_t *v, int thread)
{
	return v->thread[thread].used = v->thread[thread].epoch;
}

bool tsr_views_knows(const tsr_views_t *v, int thread, int other, tsr_epoch_t epoch)
{
	return tsr_views_known(&v->thread[thread], v->thread[other].component) >= epoch;
}

tsr_views_clock_t tsr_views_clock(const tsr_views_t *v, int thread)
{
	const tsr_views_thread_t *self = &v->thread[thread];

	return (tsr_views_clock_t){self->clock ? self->clock->epoch : NULL,
				   self->clock ? self->clock->count : 0, self->component};
}

int tsr_views_component(const tsr_views_t *v, int thread)
{
	return v->thread[thread].component;
}

/* ------------------------------------------------------------------ handing on */

static tsr_status_t handed_on(const tsr_views_t *v, int thread)
{
	return v->exhausted ? tsr_error(TSR_ERR_NO_MEMORY,
					"no memory to hand on what thread %d has done; free some",
					thread)
			    : TSR_OK;
}

tsr_status_t tsr_views_hand_over(tsr_views_t *v, int from, int to)
{
	tsr_views_thread_t *giver = &v->thread[from], *taker = &v->thread[to];

	if (from == to)
		return TSR_OK;
	tsr_vectors_join(v, &taker->view, &taker->clock, giver->view, giver->clock,
			 giver->component, giver->epoch);
	giver->epoch++;
	return handed_on(v, from);
}

tsr_status_t tsr_views_token_create(tsr_views_t *v, tsr_views_token_t **token_out)
{
	tsr_views_token_t *token = calloc(1, sizeof *token);

	if (!token)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for a token; free some");
	token->empty = true;
	token->next = v->tokens;
	if (v->tokens)
		v->tokens->previous = token;
	v->tokens = token;
	*token_out = token;
	return TSR_OK;
}

void tsr_views_token_clear(tsr_views_token_t *token)
{
	tsr_vector_drop(token->view);
	tsr_vector_drop(token->clock);
	token->view = token->clock = NULL;
	token->empty = true;
}

void tsr_views_token_destroy(tsr_views_t *v, tsr_views_token_t *token)
{
	if (!token)
		return;
	tsr_views_token_clear(token);
	if (token->previous)
		token->previous->next = token->next;
	else
		v->tokens = token->next;
	if (token->next)
		token->next->previous = token->previous;
	free(token);
}

tsr_status_t tsr_views_token_join(tsr_views_t *v, tsr_views_token_t *into,
				  const tsr_views_token_t *from)
{
	if (from->empty || into == from)
		return TSR_OK;
	tsr_vectors_join(v, &into->view, &into->clock, from->view, from->clock, 0, 0);
	into->empty = false;
	return v->exhausted ? tsr_error(TSR_ERR_NO_MEMORY, "no memory to join tokens; free some")
			    : TSR_OK;
}

tsr_status_t tsr_views_give(tsr_views_t *v, int thread, tsr_views_token_t *token)
{
	tsr_views_thread_t *self = &v->thread[thread];

	tsr_vectors_join(v, &token->view, &token->clock, self->view, self->clock, self->component,
			 self->epoch);
	token->empty = false;
	self->epoch++;
	return handed_on(v, thread);
}

tsr_status_t tsr_views_take(tsr_views_t *v, int thread, const tsr_views_token_t *token)
{
	tsr_views_thread_t *self = &v->thread[thread];

	tsr_vectors_join(v, &self->view, &self->clock, token->view, token->clock, self->component,
			 0);
	return handed_on(v, thread);
}
