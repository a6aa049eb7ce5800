/*
 * Memory whose values are the shadow's: of plain memory the one that is there,
 * of words any message that the views allow.
 */
#include "src/base/compare.h"
#include "src/explore/exploration_state.h"

static tsr_status_t views_open(tsr_exploration_t *x)
{
	(void)x;
	return TSR_OK;
}

static void views_close(tsr_exploration_t *x)
{
	(void)x;
}

static size_t views_size_bytes(const tsr_exploration_t *x)
{
	(void)x;
	return 0; /* the machine counts as the shadow's */
}

static tsr_status_t views_add_area(tsr_exploration_t *x, tsr_area_t *area)
{
	(void)x;
	area->newest = area->home;
	return TSR_OK;
}

static void views_end_area(tsr_exploration_t *x, tsr_area_t *area)
{
	(void)x;
	area->newest = NULL;
}

/** Fibres are threads of the view machine already, and edges are its tokens. */
static tsr_status_t views_fibre(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t *actor)
{
	(void)x;
	(void)who;
	(void)actor;
	return TSR_OK;
}

static tsr_status_t views_read(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *span,
			       void *to, size_t to_pitch, tsr_shadow_found_t *found_out)
{
	return tsr_shadow_read(x->shadow, operation, &span->range, to, to_pitch, found_out);
}

static tsr_status_t views_write(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *span,
				const void *from, size_t from_pitch, tsr_shadow_found_t *found_out)
{
	return tsr_shadow_write(x->shadow, operation, &span->range, from, from_pitch, found_out);
}

static tsr_status_t views_copy(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *from,
			       const tsr_span_t *to, tsr_shadow_found_t found_out[2])
{
	return tsr_shadow_copy(x->shadow, operation, &from->range, &to->range, NULL, 0, found_out);
}

/* ------------------------------------------------------------------ ordered */

static tsr_status_t views_choose(tsr_exploration_t *x, const tsr_ordered_t *ordered,
				 int *choice_out)
{
	int choices = 0;
	if (!ordered)
		return TSR_OK;
	tsr_status_t status = tsr_shadow_choices(x->shadow, ordered->operation, ordered->access,
						 &ordered->word, &choices);
	if (x->options.weak == TSR_CHECK_WEAK_OFF && choices > 1)
		choices = 1;
	if (status == TSR_OK)
		*choice_out = tsr_explorer_choose(x->explorer, TSR_CHOICE_MESSAGE, choices);
	return status;
}

static tsr_status_t views_act(tsr_exploration_t *x, const tsr_ordered_t *ordered, int choice,
			      tsr_views_event_t *event_out)
{
	return tsr_shadow_act(x->shadow, ordered->operation, ordered->access, &ordered->word,
			      choice, event_out);
}

static tsr_status_t views_fence(tsr_exploration_t *x, const tsr_views_access_t *access)
{
	(void)x;
	(void)access;
	return TSR_OK;
}

static tsr_status_t views_pass(tsr_exploration_t *x)
{
	(void)x;
	return TSR_OK;
}

static int views_satisfying(tsr_exploration_t *x, const tsr_ordered_t *ordered,
			    const tsr_flag_wait_t *wait, int n, int *count_out)
{
	int choices = 0, count = 0;
	if (tsr_shadow_choices(x->shadow, ordered->operation, ordered->access, &ordered->word,
			       &choices) != TSR_OK)
		return -1;
	/* The newest: always without weak memory; and of words that carry their own flag, of which
	 * one that is overwritten before it is taken is lost. */
	if ((x->options.weak == TSR_CHECK_WEAK_OFF || wait->shift > 0) && choices > 1)
		choices = 1;
	for (int choice = 0; choice < choices; choice++) {
		uint64_t seen = 0;
		bool initial;
		if (tsr_shadow_peek(x->shadow, ordered->operation, ordered->access, &ordered->word,
				    choice, &seen, &initial) != TSR_OK ||
		    !tsr_flag_holds(wait, seen))
			continue;
		if (count++ == n)
			return choice;
	}
	*count_out = count;
	return -1;
}

static tsr_status_t views_arrive(tsr_exploration_t *x, const tsr_ordered_t *ordered,
				 const tsr_flag_wait_t *wait, bool *enough_out)
{
	(void)x;
	(void)ordered;
	(void)wait;
	*enough_out = true;
	return TSR_OK;
}

const tsr_memory_mode_t tsr_memory_views = {
	.open = views_open,
	.close = views_close,
	.size_bytes = views_size_bytes,
	.add_area = views_add_area,
	.end_area = views_end_area,
	.begin = views_fibre,
	.end = views_fibre,
	.read = views_read,
	.write = views_write,
	.copy = views_copy,
	.choose = views_choose,
	.act = views_act,
	.fence = views_fence,
	.meet = views_pass,
	.met = views_pass,
	.flush = views_pass,
	.satisfying = views_satisfying,
	.arrive = views_arrive,
};
