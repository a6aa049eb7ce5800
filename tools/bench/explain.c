/*
 * --explain: why a pattern, a tile and a split were chosen. What is printed was
 * recorded by the workload while it chose (kernels/choices/explain.h); nothing is
 * computed again.
 */
#include "tools/bench/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a choice with more candidates, some are printed. */
enum { MOST_ROWS = 12 };

/* ---------------------------------------------------------------- where a value comes from */

static bool is_same(const workload_value_t *a, const workload_value_t *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

bench_origin_t bench_origin(const bench_options_t *options, const bench_result_t *result, int param)
{
	if (!bench_value_is_automatic(&options->config.value[param]))
		return BENCH_GIVEN;
	if (bench_value_is_automatic(&result->asked.value[param]))
		return BENCH_CHOSEN;
	return options->workload->params[param].stage > 0 ? BENCH_TUNED : BENCH_OF_TRIAL;
}

const char *bench_origin_text(bench_origin_t origin)
{
	static const char *const texts[] = {
		[BENCH_CHOSEN] = "chosen",
		[BENCH_GIVEN] = "given",
		[BENCH_TUNED] = "found by --tune",
		[BENCH_OF_TRIAL] = "as in the best trial of --tune",
	};
	return texts[origin];
}

workload_value_t bench_value_in_use(const bench_result_t *result, int param,
				    const explain_choice_t *choice)
{
	const workload_value_t ran = result->config.value[param];
	return choice && bench_value_is_automatic(&ran) ? choice->chosen : ran;
}

/* ---------------------------------------------------------------- candidates */

const char *bench_choice_text(const workload_t *workload, const char *param,
			      const workload_value_t *value, char text_out[BENCH_VALUE_TEXT])
{
	(void)snprintf(text_out, BENCH_VALUE_TEXT, "%s",
		       strcmp(param, EXPLAIN_PATTERN) == 0 ? workload->pattern(value->x[0]) : "?");
	for (int i = 0; workload->params[i].name; i++)
		if (strcmp(workload->params[i].name, param) == 0)
			return bench_value_text(&workload->params[i], value, text_out);
	return text_out;
}

/** A cost as text: in us; where the unit is not known, in terms of the least cost. */
static void print_cost(const explain_choice_t *choice, double least, double cost)
{
	if (isnan(cost) || cost < 0)
		(void)printf(" %9s", "-");
	else if (choice->unit_ns > 0)
		(void)printf(" %9.1f", cost * choice->unit_ns * 1e-3);
	else
		(void)printf(" %9.3f", least > 0 ? cost / least : 0);
}

/** The width of a part's column. */
static int width_of(const explain_part_t *part)
{
	const int length = (int)strlen(part->name);
	return length > 9 ? length : 9;
}

/** The width of the candidates' column. */
static int width_of_values(const workload_t *workload, const explain_choice_t *choice)
{
	int width = (int)strlen("candidate");
	for (int i = 0; i < choice->count; i++) {
		char text[BENCH_VALUE_TEXT];
		const int length =
			(int)strlen(bench_choice_text(workload, choice->param,
						      &choice->candidate[i].value, text));
		width = length > width ? length : width;
	}
	return width;
}

static void print_heads(const explain_choice_t *choice, int width)
{
	if (choice->formula)
		(void)printf("      %s = %s\n", choice->unit_ns > 0 ? "us" : "cost",
			     choice->formula);
	(void)printf("      %-*s %9s %8s", width, "candidate", choice->unit_ns > 0 ? "us" : "cost",
		     "of least");
	for (int i = 0; i < choice->parts; i++)
		(void)printf(" %*s", width_of(&choice->part[i]), choice->part[i].name);
	(void)printf("  bound by\n");
}

static void print_parts(const explain_choice_t *choice, const explain_candidate_t *candidate,
			double least)
{
	for (int i = 0; i < choice->parts; i++) {
		const double value = candidate->part[i];
		(void)printf("%*s", width_of(&choice->part[i]) - 9, "");
		if (!choice->part[i].is_count || isnan(value))
			print_cost(choice, least, value);
		else
			(void)printf(" %9.4g", value);
	}
}

static void print_candidate(const workload_t *workload, const explain_choice_t *choice,
			    const explain_candidate_t *candidate, int width, double least)
{
	char text[BENCH_VALUE_TEXT];
	(void)printf("    %c %-*s", candidate == explain_chosen(choice) ? '>' : ' ', width,
		     bench_choice_text(workload, choice->param, &candidate->value, text));
	print_cost(choice, least, candidate->cost);
	(void)printf(" %8.3f", least > 0 ? candidate->cost / least : 1);
	print_parts(choice, candidate, least);
	(void)printf("  %s\n", candidate->bound ? candidate->bound : "");
}

/** Candidates that were not compared: a line for each reason. */
static void print_left_out(const workload_t *workload, const explain_choice_t *choice)
{
	for (int i = 0; i < choice->count; i++) {
		const char *why = choice->candidate[i].left_out;
		bool is_told = !why;
		for (int j = 0; j < i; j++)
			is_told = is_told || choice->candidate[j].left_out == why;
		if (is_told)
			continue;
		(void)printf("      not compared:");
		for (int j = i; j < choice->count; j++) {
			char text[BENCH_VALUE_TEXT];
			if (choice->candidate[j].left_out == why)
				(void)printf("%s %s", j > i ? "," : "",
					     bench_choice_text(workload, choice->param,
							       &choice->candidate[j].value, text));
		}
		(void)printf(": %s\n", why);
	}
}

/**
 * Whether the candidate of this number is printed: all of few; of many those next
 * to the chosen one and to the least cost, both ends, and powers of two between.
 */
static bool is_printed(const explain_choice_t *choice, int number)
{
	const explain_candidate_t *const special[] = {explain_chosen(choice),
						      explain_least(choice)};
	const int place = number + 1; /* the first is 1, such as one block */
	if (choice->count <= MOST_ROWS || number + 1 == choice->count || (place & (place - 1)) == 0)
		return true;
	for (int i = 0; i < 2; i++) {
		const ptrdiff_t at = special[i] ? special[i] - choice->candidate : -2;
		if (number >= at - 1 && number <= at + 1)
			return true;
	}
	return false;
}

static void print_priced(const workload_t *workload, const explain_choice_t *choice, double least)
{
	const int width = width_of_values(workload, choice);
	int left = 0;
	print_heads(choice, width);
	for (int i = 0; i < choice->count; i++) {
		const explain_candidate_t *candidate = &choice->candidate[i];
		if (candidate->left_out)
			continue;
		if (is_printed(choice, i))
			print_candidate(workload, choice, candidate, width, least);
		else
			left++;
	}
	if (left > 0)
		(void)printf("      and %d more, which --json has\n", left);
	if (choice->misses)
		(void)printf("      and more, for which the host had no memory\n");
	print_left_out(workload, choice);
}

/** Candidates without costs: their values. */
static void print_values(const workload_t *workload, const explain_choice_t *choice)
{
	(void)printf("      compared:");
	for (int i = 0; i < choice->count; i++) {
		char text[BENCH_VALUE_TEXT];
		(void)printf("%s %s", i ? "," : "",
			     bench_choice_text(workload, choice->param, &choice->candidate[i].value,
					       text));
	}
	(void)printf("\n");
}

static void print_candidates(const workload_t *workload, const explain_choice_t *choice)
{
	const explain_candidate_t *least = explain_least(choice);
	if (least)
		print_priced(workload, choice, least->cost);
	else if (choice->count > 0)
		print_values(workload, choice);
}

/* ---------------------------------------------------------------- a pattern */

static void print_fastest(const workload_t *workload, const explain_choice_t *choice)
{
	char text[BENCH_VALUE_TEXT];
	const char *name, *before = "      not compared:";
	(void)printf("  %-12s %-14s %s\n", choice->param,
		     bench_choice_text(workload, choice->param, &choice->chosen, text),
		     choice->rule);
	print_candidates(workload, choice);
	for (int64_t p = 0; (name = workload->pattern(p)) != NULL; p++) {
		int i = 0;
		while (i < choice->count && choice->candidate[i].value.x[0] != p)
			i++;
		if (i < choice->count)
			continue;
		(void)printf("%s %s", before, name);
		before = ",";
	}
	if (before[0] == ',') /* there is one */
		(void)printf("\n");
}

/** Whether a value that was given was changed, and the record says why. */
static bool is_changed(const workload_value_t *given, const explain_choice_t *choice)
{
	return choice && !bench_value_is_automatic(given) && !is_same(given, &choice->chosen);
}

static void print_param(const bench_session_t *session, const bench_result_t *result, int index)
{
	const workload_t *workload = session->workload;
	const workload_param_t *param = &workload->params[index];
	const workload_value_t *asked = &result->asked.value[index];
	const bench_origin_t origin = bench_origin(session->options, result, index);
	const explain_choice_t *choice = explain_find(result->explain, param->name);
	const workload_value_t used = bench_value_in_use(result, index, choice);
	char text[BENCH_VALUE_TEXT];
	(void)printf("  %-12s %-14s ", param->name, bench_value_text(param, &used, text));
	if (origin == BENCH_CHOSEN) {
		(void)printf("%s\n", choice ? choice->rule : "the workload does not say why");
		if (choice)
			print_candidates(workload, choice);
		return;
	}
	(void)printf("%s", bench_origin_text(origin));
	if (origin == BENCH_TUNED && result->remembered)
		(void)printf(", %s", result->tuned_on);
	if (is_changed(asked, choice))
		(void)printf(" as %s, and made %s: %s", bench_value_text(param, asked, text),
			     bench_value_text(param, &choice->chosen, (char[BENCH_VALUE_TEXT]){""}),
			     choice->rule);
	(void)printf("\n");
}

/** Whether the workload has parameters that say how. */
static bool has_choices(const workload_t *workload)
{
	for (int i = 0; workload->params[i].name; i++)
		if (!workload->params[i].problem)
			return true;
	return false;
}

static void print_result(const bench_session_t *session, const bench_result_t *result)
{
	const workload_t *workload = session->workload;
	const explain_choice_t *fastest = explain_find(result->explain, EXPLAIN_PATTERN);
	(void)printf("why %s:\n", workload->pattern(result->config.pattern));
	if (fastest)
		print_fastest(workload, fastest);
	if (!has_choices(workload))
		(void)printf("  nothing is chosen here: the library's call decides by itself\n");
	for (int i = 0; workload->params[i].name; i++)
		if (!workload->params[i].problem)
			print_param(session, result, i);
}

void bench_print_explain(const bench_session_t *session, const bench_result_t *results, int count)
{
	(void)printf("why patterns run as they do. Times and costs are those by which the workload "
		     "chose:\nwhat its candidates have in common is not in them\n");
	for (int i = 0; i < count; i++)
		print_result(session, &results[i]);
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- the record */

tsr_status_t bench_explain_new(const bench_session_t *session, explain_t **explain_out)
{
	*explain_out = NULL;
	if (!session->options->explain || tsr_world_rank(session->world) != 0)
		return TSR_OK;
	*explain_out = explain_new();
	return bench_rank_0_only(
		session->world,
		*explain_out ? TSR_OK
			     : tsr_error(TSR_ERR_NO_MEMORY,
					 "the host has no memory for a record of choices; free "
					 "some"));
}
