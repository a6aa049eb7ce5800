/*
 * The record of choices: what it keeps, which candidate it calls the cheapest,
 * and that choosing code may write to none.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "kernels/choices/explain.h"

Test(explain, without_a_record_nothing_happens)
{
	const workload_place_t place = {.ranks = 3};
	explain_begin(NULL, "tile");
	explain_unit(NULL, 1);
	explain_formula(NULL, "a");
	explain_try(NULL, explain_number(1));
	explain_part(NULL, "a", 1);
	explain_count(NULL, "b", 1);
	explain_bound(NULL, "a");
	explain_cost(NULL, 1);
	explain_skip(NULL, "why");
	explain_skip_former(NULL, "why");
	explain_end(NULL, explain_number(1), 0, "%d", 1);
	explain_rule(NULL, "blocks", explain_number(1), "%d", 1);
	explain_pattern_rule(NULL, 3, 1, "%d", 1);
	explain_free(NULL);
	cr_expect(!explain_find(NULL, "tile"));
	cr_expect_eq(explain_unheard(&place).ranks, 3);
}

static explain_t *begin(const char *param)
{
	explain_t *explain = explain_new();
	cr_assert(explain);
	explain_begin(explain, param);
	return explain;
}

static void priced(explain_t *explain, int64_t value, double cost)
{
	explain_try(explain, explain_number(value));
	explain_cost(explain, cost);
}

Test(explain, keeps_candidates_in_their_order)
{
	enum { MANY = 1000 };
	explain_t *explain = begin("comm-blocks");
	for (int i = 0; i < MANY; i++)
		priced(explain, i, fabs(i - 700.0));
	explain_end(explain, explain_number(701), 0.5, "of %d", MANY);
	const explain_choice_t *choice = explain_find(explain, "comm-blocks");
	cr_assert(choice && !choice->misses);
	cr_assert_eq(choice->count, MANY);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(choice->candidate[i].value.x[0], i);
	cr_expect_eq(explain_least(choice)->value.x[0], 700);
	cr_expect_eq(explain_chosen(choice)->value.x[0], 701);
	cr_expect_str_eq(choice->rule, "of 1000");
	cr_expect(choice->margin == 0.5);
	cr_expect(!explain_find(explain, "blocks"), "nothing was said of it");
	explain_free(explain);
}

Test(explain, a_candidate_has_the_parts_that_were_said_of_it)
{
	explain_t *explain = begin("parts");
	explain_unit(explain, 2);
	explain_formula(explain, "a + b");
	explain_part(explain, "a", 9); /* of no candidate */
	explain_try(explain, explain_number(1));
	explain_part(explain, "a", 3);
	explain_try(explain, explain_number(2));
	explain_count(explain, "b", 4);
	explain_part(explain, "a", 5);
	explain_bound(explain, "links");
	explain_end(explain, explain_number(1), 0, "a rule");
	const explain_choice_t *choice = explain_find(explain, "parts");
	cr_assert_eq(choice->parts, 2);
	cr_expect_str_eq(choice->part[0].name, "a");
	cr_expect(!choice->part[0].is_count && choice->part[1].is_count);
	cr_expect(choice->candidate[0].part[0] == 3);
	cr_expect(isnan(choice->candidate[0].part[1]), "it has no such part");
	cr_expect(choice->candidate[1].part[0] == 5);
	cr_expect(choice->candidate[1].part[1] == 4);
	cr_expect(!choice->candidate[0].bound);
	cr_expect_str_eq(choice->candidate[1].bound, "links");
	cr_expect(choice->unit_ns == 2);
	cr_expect_str_eq(choice->formula, "a + b");
	cr_expect(!explain_least(choice), "no candidate has a cost");
	explain_free(explain);
}

Test(explain, parts_beyond_the_last_are_left_out)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g",
					    "h", "i", "j", "k", "l", "m", "n"};
	explain_t *explain = begin("tile");
	explain_try(explain, explain_number(1));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		explain_part(explain, names[i], (double)i);
	explain_end(explain, explain_number(1), 0, "a rule");
	cr_expect_eq(explain_find(explain, "tile")->parts, EXPLAIN_PARTS);
	explain_free(explain);
}

Test(explain, what_is_not_compared_is_not_the_cheapest)
{
	explain_t *explain = begin("tile");
	priced(explain, 1, 10);
	explain_try(explain, explain_number(2));
	explain_skip(explain, "too few");
	priced(explain, 3, 30);
	explain_skip_former(explain, "slow");
	priced(explain, 4, 40);
	explain_end(explain, explain_number(3), 0, "a rule");
	const explain_choice_t *choice = explain_find(explain, "tile");
	cr_expect_eq(explain_least(choice)->value.x[0], 3);
	cr_expect_str_eq(choice->candidate[0].left_out, "slow");
	cr_expect_str_eq(choice->candidate[1].left_out, "too few", "the first reason stays");
	cr_expect(!choice->candidate[2].left_out && !choice->candidate[3].left_out);
	explain_free(explain);
}

Test(explain, the_last_choice_of_a_parameter_counts)
{
	explain_t *explain = begin("comm-blocks");
	priced(explain, 1, 1);
	explain_end(explain, explain_number(1), 0, "first");
	explain_rule(explain, "blocks", explain_number(7), "%s", "of blocks");
	explain_rule(explain, "comm-blocks", explain_number(2), "then %d", 2);
	const explain_choice_t *choice = explain_find(explain, "comm-blocks");
	cr_expect_str_eq(choice->rule, "then 2");
	cr_expect_eq(choice->count, 0);
	cr_expect_eq(choice->chosen.x[0], 2);
	cr_expect(!explain_chosen(choice), "a rule has no candidates");
	cr_expect_str_eq(explain_find(explain, "blocks")->rule, "of blocks");
	/* of no choice */
	explain_try(explain, explain_number(9));
	explain_cost(explain, 9);
	explain_end(explain, explain_number(9), 0, "nothing has begun");
	cr_expect_eq(explain_find(explain, "comm-blocks")->chosen.x[0], 2);
	explain_free(explain);
}

Test(explain, a_rule_of_patterns_has_them_as_candidates)
{
	explain_t *explain = explain_new();
	cr_assert(explain);
	explain_pattern_rule(explain, 1U << 0 | 1U << 5, 5, "a rule");
	const explain_choice_t *choice = explain_find(explain, EXPLAIN_PATTERN);
	cr_assert_eq(choice->count, 2);
	cr_expect_eq(choice->candidate[1].value.x[0], 5);
	cr_expect(explain_chosen(choice) == &choice->candidate[1]);
	explain_free(explain);
}

Test(explain, a_place_within_a_price_has_no_record)
{
	explain_t *explain = explain_new();
	const workload_place_t place = {.ranks = 2, .explain = explain};
	cr_expect(!explain_unheard(&place).explain && place.explain == explain);
	explain_free(explain);
}
