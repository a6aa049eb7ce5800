/* The choice of a pattern: the cheapest one that can run, and what is recorded of it. */
#include <criterion/criterion.h>

#include "kernels/choices/pattern.h"

/* Prices of three patterns; the one without computing time cannot run. */
typedef struct prices {
	pattern_time_t of[3];
} prices_t;

static const char *time_of(const void *ctx, int64_t pattern, pattern_time_t *time_out)
{
	const prices_t *prices = ctx;
	*time_out = prices->of[pattern];
	return prices->of[pattern].computing > 0 ? NULL : PATTERN_CANNOT_RUN;
}

static int64_t cheapest(prices_t prices, unsigned compared, explain_t *explain)
{
	const pattern_search_t search = {
		.compared = compared, .time = time_of, .ctx = &prices, .explain = explain};
	return pattern_cheapest(&search);
}

Test(pattern, takes_the_longer_of_computing_and_sending)
{
	const prices_t prices = {{{.computing = 10, .sending = 50},
				  {.computing = 40, .sending = 5},
				  {.computing = 30, .sending = 10, .last = 20}}};
	cr_expect_eq(cheapest(prices, 7, NULL), 1);
	cr_expect_eq(cheapest(prices, 5, NULL), 0, "pattern 1 is not compared; the others are 50");
}

Test(pattern, counts_what_comes_before_and_after)
{
	const prices_t prices = {{{.computing = 10, .starting = 9},
				  {.computing = 10, .last = 8},
				  {.computing = 17.5}}};
	cr_expect_eq(cheapest(prices, 7, NULL), 2);
	cr_expect_eq(cheapest(prices, 3, NULL), 1);
}

Test(pattern, takes_none_that_cannot_run)
{
	const prices_t one = {{{.computing = 0}, {.computing = 9}, {.computing = 0}}},
		       none = {{{.computing = 0}}};
	cr_expect_eq(cheapest(one, 7, NULL), 1);
	cr_expect_eq(cheapest(none, 6, NULL), 1, "the first that is compared");
}

Test(pattern, records_what_it_has_compared)
{
	const prices_t prices = {{{.computing = 1, .sending = 3, .starting = 1},
				  {.computing = 0},
				  {.computing = 2, .last = 1}}};
	explain_t *explain = explain_new();
	cr_assert(explain);
	cr_assert_eq(cheapest(prices, 7, explain), 2);
	const explain_choice_t *choice = explain_find(explain, EXPLAIN_PATTERN);
	cr_assert(choice && choice->count == 3);
	cr_expect_eq(choice->chosen.x[0], 2);
	cr_expect_eq(choice->unit_ns, 1, "times are in nanoseconds");
	cr_expect_eq(explain_chosen(choice)->cost, 3);
	cr_expect_eq(choice->candidate[0].cost, 4);
	cr_expect_str_eq(choice->candidate[0].bound, "sends");
	cr_expect_str_eq(choice->candidate[1].left_out, PATTERN_CANNOT_RUN);
	explain_free(explain);
}
