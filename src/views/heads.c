/* Sets of release heads: shared, immutable, and never larger than threads times scopes. */
#include "src/views/machine.h"

#include <stdlib.h>

tsr_heads_t *tsr_heads_of(tsr_views_t *v, int thread, tsr_views_scope_t scope)
{
	const tsr_views_thread_t *self = &v->thread[thread];
	tsr_heads_t *heads = malloc(sizeof *heads + sizeof heads->head[0]);
	tsr_head_t *head = malloc(sizeof *head);

	if (!heads || !head) {
		free(heads);
		free(head);
		v->exhausted = true;
		return NULL;
	}
	*head = (tsr_head_t){
		.holders = 1,
		.thread = thread,
		.component = self->component,
		.scope = scope,
		.epoch = self->epoch,
		.view = tsr_vector_hold(self->view),
		.clock = tsr_vector_hold(self->clock),
	};
	heads->holders = heads->count = 1;
	heads->head[0] = head;
	return heads;
}

tsr_heads_t *tsr_heads_hold(tsr_heads_t *heads)
{
	if (heads)
		heads->holders++;
	return heads;
}

static void drop_head(tsr_head_t *head)
{
	if (--head->holders > 0)
		return;
	tsr_vector_drop(head->view);
	tsr_vector_drop(head->clock);
	free(head);
}

void tsr_heads_drop(tsr_heads_t *heads)
{
	if (!heads || --heads->holders > 0)
		return;
	for (int i = 0; i < heads->count; i++)
		drop_head(heads->head[i]);
	free(heads);
}

/**
 * Whether who takes over `b` gains nothing by `a`. A thread's later heads know
 * all that its earlier ones do.
 */
static bool covered(const tsr_head_t *a, const tsr_head_t *b)
{
	return a->thread == b->thread && a->epoch <= b->epoch && a->scope <= b->scope;
}

/** Whether a head of the set covers `head`; where `more`, one that is not its equal. */
static bool covered_in(const tsr_head_t *head, const tsr_heads_t *heads, bool more)
{
	for (int i = 0; heads && i < heads->count; i++)
		if (covered(head, heads->head[i]) && !(more && covered(heads->head[i], head)))
			return true;
	return false;
}

static bool all_covered(const tsr_heads_t *a, const tsr_heads_t *b)
{
	for (int i = 0; a && i < a->count; i++)
		if (!covered_in(a->head[i], b, false))
			return false;
	return true;
}

static bool before(const tsr_head_t *a, const tsr_head_t *b)
{
	return a->thread < b->thread || (a->thread == b->thread && a->scope < b->scope);
}

/**
 * Within a set no head covers another, so it is enough to compare across. Of
 * equals the one in `a` stays.
 */
static tsr_heads_t *merge(tsr_views_t *v, const tsr_heads_t *a, const tsr_heads_t *b)
{
	const size_t room = (size_t)(a->count + b->count);
	tsr_heads_t *both = malloc(sizeof *both + room * sizeof both->head[0]);

	if (!both) {
		v->exhausted = true;
		return NULL;
	}
	both->holders = 1;
	both->count = 0;
	for (int i = 0, j = 0; i < a->count || j < b->count;) {
		bool from_a = j == b->count || (i < a->count && !before(b->head[j], a->head[i]));
		tsr_head_t *head = from_a ? a->head[i++] : b->head[j++];
		if (covered_in(head, from_a ? b : a, from_a))
			continue;
		head->holders++;
		both->head[both->count++] = head;
	}
	return both;
}

tsr_heads_t *tsr_heads_union(tsr_views_t *v, tsr_heads_t *a, tsr_heads_t *b)
{
	tsr_heads_t *both;

	if (all_covered(b, a))
		both = tsr_heads_hold(a);
	else if (all_covered(a, b))
		both = tsr_heads_hold(b);
	else
		both = merge(v, a, b);
	tsr_heads_drop(a);
	tsr_heads_drop(b);
	return both;
}

void tsr_heads_join(tsr_views_t *v, const tsr_heads_t *heads, int thread, tsr_views_scope_t scope)
{
	tsr_views_thread_t *self = &v->thread[thread];

	for (int i = 0; heads && i < heads->count; i++) {
		const tsr_head_t *head = heads->head[i];
		if (!tsr_views_inclusive(v, head->thread, head->scope, thread, scope) ||
		    tsr_views_known(self, head->component) >= head->epoch)
			continue;
		tsr_vectors_join(v, &self->view, &self->clock, head->view, head->clock,
				 head->component, head->epoch);
	}
}
