/* Vectors: shared until somebody has to know more. */
#include "src/views/machine.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/wide.h"

/* vectors grow by so many components at once: a new thread need not copy each */
enum { ROUND = 8 };

tsr_vector_t *tsr_vector_hold(tsr_vector_t *vector)
{
	if (vector)
		vector->holders++;
	return vector;
}

void tsr_vector_drop(tsr_vector_t *vector)
{
	if (vector && --vector->holders == 0)
		free(vector);
}

static int count_of(const tsr_vector_t *vector)
{
	return vector ? vector->count : 0;
}

/** Whether `a` is nowhere less than `b`. */
static inline TSR_INTO_WIDE bool reaches_loop(const tsr_vector_t *a, const tsr_vector_t *b)
{
	const int common = count_of(a) < count_of(b) ? count_of(a) : count_of(b);
	uint32_t less = 0;

	for (int i = 0; i < common; i++)
		less |= a->epoch[i] < b->epoch[i];
	for (int i = common; i < count_of(b); i++)
		less |= b->epoch[i];
	return !less;
}

static TSR_WIDE bool reaches_wide(const tsr_vector_t *a, const tsr_vector_t *b)
{
	return reaches_loop(a, b);
}

static bool reaches(const tsr_vector_t *a, const tsr_vector_t *b)
{
	return tsr_has_wide() ? reaches_wide(a, b) : reaches_loop(a, b);
}

/** The greater of both in each component of `from`, all of which `mine` has. */
static inline TSR_INTO_WIDE void raise_loop(tsr_vector_t *restrict mine,
					    const tsr_vector_t *restrict from)
{
	for (int i = 0; i < count_of(from); i++)
		mine->epoch[i] = mine->epoch[i] < from->epoch[i] ? from->epoch[i] : mine->epoch[i];
}

static TSR_WIDE void raise_wide(tsr_vector_t *restrict mine, const tsr_vector_t *restrict from)
{
	raise_loop(mine, from);
}

static void raise_to(tsr_vector_t *mine, const tsr_vector_t *from)
{
	if (tsr_has_wide())
		raise_wide(mine, from);
	else
		raise_loop(mine, from);
}

/**
 * `mine`, or a copy of it, that may be written and has so many components.
 * Null, and `exhausted`: no memory.
 */
static tsr_vector_t *own(tsr_views_t *v, tsr_vector_t *mine, int count)
{
	if (mine && mine->holders == 1 && mine->count >= count)
		return mine;
	const int had = count_of(mine);
	const int wanted = ((had > count ? had : count) + ROUND - 1) / ROUND * ROUND;
	tsr_vector_t *copy = malloc(sizeof *copy + (size_t)wanted * sizeof copy->epoch[0]);
	if (!copy) {
		v->exhausted = true;
		tsr_vector_drop(mine);
		return NULL;
	}
	copy->holders = 1;
	copy->count = wanted;
	if (had)
		memcpy(copy->epoch, mine->epoch, (size_t)had * sizeof copy->epoch[0]);
	memset(copy->epoch + had, 0, (size_t)(wanted - had) * sizeof copy->epoch[0]);
	tsr_vector_drop(mine);
	return copy;
}

tsr_vector_t *tsr_vector_join(tsr_views_t *v, tsr_vector_t *mine, const tsr_vector_t *from,
			      int component, tsr_epoch_t epoch)
{
	if (mine == from || reaches(mine, from)) {
		if (tsr_vector_at(mine, component) >= epoch)
			return mine;
	} else if (reaches(from, mine) && tsr_vector_at(from, component) >= epoch) {
		tsr_vector_drop(mine);
		return tsr_vector_hold(
			/* what is shared is not written: the cast gives nothing away */
			(tsr_vector_t *)(uintptr_t)from);
	}
	const int needed = component + 1 > count_of(from) ? component + 1 : count_of(from);
	mine = own(v, mine, needed);
	if (!mine)
		return NULL;
	raise_to(mine, from);
	if (mine->epoch[component] < epoch)
		mine->epoch[component] = epoch;
	return mine;
}

void tsr_vectors_join(tsr_views_t *v, tsr_vector_t **view, tsr_vector_t **clock,
		      const tsr_vector_t *from_view, const tsr_vector_t *from_clock, int component,
		      tsr_epoch_t epoch)
{
	if (*view != *clock || from_view != from_clock) {
		*view = tsr_vector_join(v, *view, from_view, component, epoch);
		*clock = tsr_vector_join(v, *clock, from_clock, component, epoch);
		return;
	}
	tsr_vector_drop(*clock); /* the view's hold keeps it */
	*view = tsr_vector_join(v, *view, from_view, component, epoch);
	*clock = tsr_vector_hold(*view);
}
