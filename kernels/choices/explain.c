#include "kernels/choices/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES = WORKLOAD_PARAMS + 1 /* and the pattern */, FIRST_ROOM = 16 };

struct explain {
	explain_choice_t choice[CHOICES];
	int count;
	explain_choice_t *open;         /* the choice that has begun; null: none */
	explain_candidate_t *candidate; /* the one that is priced; null: none */
};

/* ------------------------------------------------------------ the record */

explain_t *explain_new(void)
{
	return calloc(1, sizeof(explain_t));
}

void explain_free(explain_t *explain)
{
	for (int i = 0; explain && i < explain->count; i++)
		free(explain->choice[i].candidate);
	free(explain);
}

static explain_choice_t *find(explain_t *explain, const char *param)
{
	for (int i = 0; i < explain->count; i++)
		if (strcmp(explain->choice[i].param, param) == 0)
			return &explain->choice[i];
	return NULL;
}

const explain_choice_t *explain_find(const explain_t *explain, const char *param)
{
	return explain ? find((explain_t *)explain, param) : NULL;
}

const explain_candidate_t *explain_least(const explain_choice_t *choice)
{
	const explain_candidate_t *least = NULL;
	for (int i = 0; i < choice->count; i++) {
		const explain_candidate_t *candidate = &choice->candidate[i];
		if (!candidate->left_out && candidate->cost >= 0 &&
		    (!least || candidate->cost < least->cost))
			least = candidate;
	}
	return least;
}

const explain_candidate_t *explain_chosen(const explain_choice_t *choice)
{
	for (int i = 0; i < choice->count; i++)
		if (memcmp(&choice->candidate[i].value, &choice->chosen, sizeof choice->chosen) ==
		    0)
			return &choice->candidate[i];
	return NULL;
}

/* ------------------------------------------------------------ for choosing code */

workload_place_t explain_unheard(const workload_place_t *place)
{
	workload_place_t unheard = *place;
	unheard.explain = NULL;
	return unheard;
}

void explain_begin(explain_t *explain, const char *param)
{
	if (!explain)
		return;
	explain_choice_t *choice = find(explain, param);
	if (choice)
		free(choice->candidate);
	else if (explain->count < CHOICES)
		choice = &explain->choice[explain->count++];
	explain->open = choice;
	explain->candidate = NULL;
	if (choice)
		*choice = (explain_choice_t){.param = param};
}

void explain_unit(explain_t *explain, double unit_ns)
{
	if (explain && explain->open)
		explain->open->unit_ns = unit_ns;
}

void explain_formula(explain_t *explain, const char *formula)
{
	if (explain && explain->open)
		explain->open->formula = formula;
}

/** Makes room for one more candidate. Returns false if the host has no memory. */
static bool grow(explain_choice_t *choice)
{
	if (choice->count < choice->room)
		return true;
	const int room = choice->room ? 2 * choice->room : FIRST_ROOM;
	explain_candidate_t *candidate =
		realloc(choice->candidate, (size_t)room * sizeof *candidate);
	if (!candidate)
		return false;
	choice->candidate = candidate;
	choice->room = room;
	return true;
}

void explain_try(explain_t *explain, workload_value_t value)
{
	if (!explain || !explain->open)
		return;
	explain_choice_t *choice = explain->open;
	explain->candidate = NULL;
	choice->misses = choice->misses || !grow(choice);
	if (choice->misses)
		return;
	explain->candidate = &choice->candidate[choice->count++];
	*explain->candidate = (explain_candidate_t){.value = value, .cost = -1};
	for (int i = 0; i < EXPLAIN_PARTS; i++)
		explain->candidate->part[i] = NAN;
}

static void set_part(explain_t *explain, const char *name, double value, bool is_count)
{
	if (!explain || !explain->candidate)
		return;
	explain_choice_t *choice = explain->open;
	int i = 0;
	while (i < choice->parts && strcmp(choice->part[i].name, name) != 0)
		i++;
	if (i == EXPLAIN_PARTS)
		return;
	if (i == choice->parts)
		choice->part[choice->parts++] = (explain_part_t){name, is_count};
	explain->candidate->part[i] = value;
}

void explain_part(explain_t *explain, const char *name, double cost)
{
	set_part(explain, name, cost, false);
}

void explain_count(explain_t *explain, const char *name, double number)
{
	set_part(explain, name, number, true);
}

void explain_bound(explain_t *explain, const char *what)
{
	if (explain && explain->candidate)
		explain->candidate->bound = what;
}

void explain_cost(explain_t *explain, double cost)
{
	if (explain && explain->candidate)
		explain->candidate->cost = cost;
}

void explain_skip(explain_t *explain, const char *why)
{
	if (explain && explain->candidate)
		explain->candidate->left_out = why;
}

void explain_skip_former(explain_t *explain, const char *why)
{
	if (!explain || !explain->candidate)
		return;
	for (explain_candidate_t *c = explain->open->candidate; c < explain->candidate; c++)
		c->left_out = c->left_out ? c->left_out : why;
}

static void end(explain_t *explain, workload_value_t chosen, const char *format, va_list words)
{
	if (!explain->open)
		return;
	explain->open->chosen = chosen;
	(void)vsnprintf(explain->open->rule, EXPLAIN_WORDS, format, words);
	explain->open = NULL;
	explain->candidate = NULL;
}

void explain_end(explain_t *explain, workload_value_t chosen, double margin, const char *format,
		 ...)
{
	va_list words;
	if (!explain)
		return;
	if (explain->open)
		explain->open->margin = margin;
	va_start(words, format);
	end(explain, chosen, format, words);
	va_end(words);
}

void explain_rule(explain_t *explain, const char *param, workload_value_t chosen,
		  const char *format, ...)
{
	va_list words;
	if (!explain)
		return;
	explain_begin(explain, param);
	va_start(words, format);
	end(explain, chosen, format, words);
	va_end(words);
}

void explain_pattern_rule(explain_t *explain, unsigned compared, int64_t chosen, const char *format,
			  ...)
{
	va_list words;
	if (!explain)
		return;
	explain_begin(explain, EXPLAIN_PATTERN);
	for (int p = 0; compared >> p != 0; p++)
		if (compared >> p & 1)
			explain_try(explain, explain_number(p));
	va_start(words, format);
	end(explain, explain_number(chosen), format, words);
	va_end(words);
}

void explain_blocks(explain_t *explain, int64_t blocks, int64_t tasks, int more, int most)
{
	if (more > 0)
		explain_rule(explain, "blocks", explain_number(blocks),
			     "one a task (%" PRId64 "), and %d more that communicate; the device "
			     "holds %d at one time",
			     tasks, more, most);
	else
		explain_rule(explain, "blocks", explain_number(blocks),
			     "one a task (%" PRId64 "); the device holds %d at one time", tasks,
			     most);
}
