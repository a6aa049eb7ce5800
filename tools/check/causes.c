/*
 * Which findings are one bug seen several times: those of the same places, and
 * those that no schedule has without another one before. The one from which the
 * others follow comes first, and the one that explains most before all.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/check/check.h"

/** A wait for a flag that nobody has set to 0: what it is to order lacks an order, too. */
static bool is_unset_flag(const tsr_finding_t *finding)
{
	return finding->class == TSR_FINDING_UNWRITTEN_READ &&
	       finding->access[0].kind == TSR_FINDING_WAIT && finding->access[0].call != NULL;
}

/** Whether it is what comes of a bug, and not the bug where it is made. */
static bool is_consequence(const tsr_finding_t *finding)
{
	const tsr_finding_class_t class = finding->class;
	if (is_unset_flag(finding))
		return false;
	return class == TSR_FINDING_PROGRAM_FAILURE || class == TSR_FINDING_LOST_SIGNAL ||
	       class == TSR_FINDING_DEADLOCK || class == TSR_FINDING_LIVELOCK ||
	       class == TSR_FINDING_DUPLICATE_SIGNAL || class == TSR_FINDING_UNWRITTEN_READ;
}

bool check_is_direct(const tsr_finding_t *finding)
{
	return finding->severity == TSR_FINDING_ERROR && !is_consequence(finding);
}

/** A wait for a flag that is put, and not raised. */
static bool is_put_flag(const tsr_finding_t *finding)
{
	for (int i = 0; i < 2 && finding->accesses >= 2; i++) {
		const tsr_finding_access_t *wait = &finding->access[i],
					   *put = &finding->access[1 - i];
		if (wait->kind == TSR_FINDING_WAIT && put->kind == TSR_FINDING_WRITE &&
		    put->order == TSR_VIEWS_PLAIN && put->who.kernel != NULL)
			return true;
	}
	return false;
}

/** How directly it names the bug; less is more. */
static int distance(const tsr_finding_t *finding)
{
	/* what nobody has waited for is known too; hosts read what kernels have made */
	const bool linked = finding->accesses >= 3 && finding->access[2].call != NULL &&
			    finding->access[0].who.kernel != NULL &&
			    finding->access[1].who.kernel != NULL;
	switch (finding->class) {
	case TSR_FINDING_DATA_RACE:
	case TSR_FINDING_REUSE:
		if (is_put_flag(finding))
			return 0;
		return linked && !finding->early                 ? 1
		       : finding->class == TSR_FINDING_DATA_RACE ? 2
								 : 3;
	case TSR_FINDING_UNWRITTEN_READ:
		return is_unset_flag(finding) ? 0 : 4;
	case TSR_FINDING_DUPLICATE_SIGNAL:
		return 5;
	case TSR_FINDING_LOST_SIGNAL:
	case TSR_FINDING_DEADLOCK:
	case TSR_FINDING_LIVELOCK:
		return 6;
	case TSR_FINDING_PROGRAM_FAILURE:
	case TSR_FINDING_LOAD_BUFFERING:
		return 7;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- what belongs together */

static bool is_same_place(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	return a->call != NULL && b->call != NULL && a->file != NULL && b->file != NULL &&
	       a->line == b->line && strcmp(a->call, b->call) == 0 && strcmp(a->file, b->file) == 0;
}

static bool is_race(const tsr_finding_t *finding)
{
	return finding->class == TSR_FINDING_DATA_RACE || finding->class == TSR_FINDING_REUSE ||
	       finding->class == TSR_FINDING_SCOPE_RACE ||
	       finding->class == TSR_FINDING_UNWRITTEN_READ;
}

/** Whether they are accesses of the same place that lack an order, whichever of them came first. */
static bool share_a_place(const tsr_finding_t *a, const tsr_finding_t *b)
{
	if (!is_race(a) || !is_race(b))
		return false;
	for (int i = 0; i < a->accesses && i < 2; i++)
		for (int j = 0; j < b->accesses && j < 2; j++)
			if (is_same_place(&a->access[i], &b->access[j]))
				return true;
	/* one signal that comes too early, or that nobody waits for */
	return a->accesses >= 3 && b->accesses >= 3 && is_same_place(&a->access[2], &b->access[2]);
}

/** Whether the race is of what the flag is to order: it is the one that was raised. */
static bool is_ordered_by(const tsr_finding_t *race, const tsr_finding_t *unset)
{
	const tsr_finding_access_t *flag = &unset->access[0];
	for (int i = 2; i < race->accesses && is_unset_flag(unset) && is_race(race); i++) {
		const tsr_finding_access_t *link = &race->access[i];
		if (link->call != NULL && link->allocation != NULL && flag->allocation != NULL &&
		    strcmp(link->allocation, flag->allocation) == 0 && link->offset == flag->offset)
			return true;
	}
	return false;
}

static bool is_same_kernel(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	return a->who.kernel == NULL || b->who.kernel == NULL
		       ? a->who.kernel == b->who.kernel
		       : strcmp(a->who.kernel, b->who.kernel) == 0;
}

/** Of two races: whether one wait could cure both, being of the same kernels. */
static bool are_between_the_same(const tsr_finding_t *a, const tsr_finding_t *b)
{
	return a->accesses >= 2 && b->accesses >= 2 &&
	       ((is_same_kernel(&a->access[0], &b->access[0]) &&
		 is_same_kernel(&a->access[1], &b->access[1])) ||
		(is_same_kernel(&a->access[0], &b->access[1]) &&
		 is_same_kernel(&a->access[1], &b->access[0])));
}

/** Whether `b` is told of only where `a` was, in the same schedule and before it. */
static bool follows(const check_found_t *b, const check_found_t *a)
{
	return !b->alone && b->after != NULL && strcmp(b->after, a->key) == 0 &&
	       (is_consequence(b->finding) || (is_race(a->finding) && is_race(b->finding) &&
					       are_between_the_same(a->finding, b->finding)));
}

static bool belong_together(const check_found_t *a, const check_found_t *b)
{
	return a->world == b->world &&
	       (share_a_place(a->finding, b->finding) || is_ordered_by(a->finding, b->finding) ||
		is_ordered_by(b->finding, a->finding) || follows(a, b) || follows(b, a));
}

/** The first of all that belong together with a finding, over however many others. */
static int root_of(const int *group, int i)
{
	while (group[i] != i)
		i = group[i];
	return i;
}

static void join_groups(const check_tally_t *tally, int *group)
{
	for (int i = 0; i < tally->found_count; i++)
		group[i] = i;
	for (int i = 0; i < tally->found_count; i++)
		for (int j = 0; j < i; j++) {
			const int a = root_of(group, i), b = root_of(group, j);
			if (a != b && belong_together(&tally->found[i], &tally->found[j]))
				group[a > b ? a : b] = a > b ? b : a;
		}
}

/* ---------------------------------------------------------------- what comes first */

/** Within a group: the most direct one, that of most schedules, that of the first seed. */
static int compare_within(const check_found_t *a, const check_found_t *b)
{
	const int direct = distance(a->finding) - distance(b->finding);
	if (a->finding->severity != b->finding->severity)
		return a->finding->severity < b->finding->severity ? -1 : 1;
	if (direct != 0)
		return direct;
	if (a->schedules != b->schedules)
		return a->schedules > b->schedules ? -1 : 1;
	if (a->finding->seed != b->finding->seed)
		return a->finding->seed < b->finding->seed ? -1 : 1;
	return strcmp(a->key, b->key);
}

static int compare(const void *one, const void *other)
{
	const check_found_t *a = one, *b = other;
	if (a->world != b->world)
		return a->world - b->world;
	if (a->group_severity != b->group_severity)
		return (int)a->group_severity - (int)b->group_severity;
	if (a->group_size != b->group_size)
		return b->group_size - a->group_size;
	if (a->group != b->group)
		return a->group - b->group;
	return compare_within(a, b);
}

bool check_tally_rank(check_tally_t *tally)
{
	const int count = tally->found_count;
	int *group = malloc((size_t)(count + 1) * sizeof *group);
	if (group == NULL)
		return false;
	join_groups(tally, group);
	for (int i = 0; i < count; i++) {
		check_found_t *found = &tally->found[i];
		found->group = root_of(group, i);
		found->group_size = 0;
		found->group_severity = TSR_FINDING_WARNING;
		for (int j = 0; j < count; j++) {
			if (root_of(group, j) != found->group)
				continue;
			found->group_size++;
			if (tally->found[j].finding->severity == TSR_FINDING_ERROR)
				found->group_severity = TSR_FINDING_ERROR;
		}
	}
	free(group);
	if (count > 0)
		qsort(tally->found, (size_t)count, sizeof *tally->found, compare);
	for (int i = 0, first = 0; i < count; i++) {
		if (tally->found[i].group != tally->found[first].group ||
		    tally->found[i].world != tally->found[first].world)
			first = i;
		tally->found[i].cause = first;
	}
	return true;
}
