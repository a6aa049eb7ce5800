#include "kernels/choices/pattern.h"

#include <math.h>

static double price(pattern_time_t time)
{
	return fmax(time.computing, time.sending) + time.last + time.starting;
}

static const char *bound_of(pattern_time_t time)
{
	const double beside = fmax(time.computing, time.sending);
	if (time.last > beside)
		return "the last sends";
	if (time.starting > beside)
		return "launches";
	return time.sending > time.computing ? "sends" : "computing";
}

static void explain_time(explain_t *explain, pattern_time_t time)
{
	explain_part(explain, "compute", time.computing);
	if (time.sending > 0)
		explain_part(explain, "send", time.sending);
	if (time.last > 0)
		explain_part(explain, "last sends", time.last);
	if (time.starting > 0)
		explain_part(explain, "launches", time.starting);
	explain_bound(explain, bound_of(time));
	explain_cost(explain, price(time));
}

int64_t pattern_cheapest(const pattern_search_t *search)
{
	explain_t *explain = search->explain;
	int64_t first = -1, best = -1;
	double least = INFINITY;
	explain_begin(explain, EXPLAIN_PATTERN);
	explain_unit(explain, 1);
	explain_formula(explain, PATTERN_FORMULA);
	for (int64_t pattern = 0; search->compared >> pattern != 0; pattern++) {
		pattern_time_t time = {0};
		if ((search->compared >> pattern & 1) == 0)
			continue;
		first = first < 0 ? pattern : first;
		explain_try(explain, explain_number(pattern));
		const char *why_not = search->time(search->ctx, pattern, &time);
		if (why_not) {
			explain_skip(explain, why_not);
			continue;
		}
		explain_time(explain, time);
		if (price(time) < least) {
			best = pattern;
			least = price(time);
		}
	}
	best = best < 0 ? first : best;
	explain_end(explain, explain_number(best), 0,
		    "the least cost of the patterns that could be the fastest");
	return best;
}
