/*
 * How many ranks a check is run with: one number, or several worlds that share
 * one budget of schedules and time.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/os/clock.h"
#include "tessera/program.h"
#include "tools/check/check.h"

/* ---------------------------------------------------------------- the list */

static tsr_status_t not_a_list(const char *text)
{
	return tsr_error(
		TSR_ERR_CONFIG,
		"--worlds is '%s'; it must be numbers of ranks from 1 to %d, such as 2-4 or 2,3,8",
		text, TSR_MAX_RANKS);
}

static tsr_status_t add_world(const char *text, check_worlds_t *worlds, long ranks)
{
	for (int i = 0; i < worlds->count; i++)
		if (worlds->ranks[i] == ranks)
			return tsr_error(TSR_ERR_CONFIG,
					 "--worlds is '%s', which names %ld ranks twice: name each "
					 "world once",
					 text, ranks);
	worlds->ranks[worlds->count++] = (int)ranks;
	return TSR_OK;
}

/** A number from 1 to TSR_MAX_RANKS, or 0; `*at` is then behind it. */
static long read_ranks(const char **at)
{
	char *end;
	const long ranks = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : 0;
	if (ranks < 1 || ranks > TSR_MAX_RANKS)
		return 0;
	*at = end;
	return ranks;
}

tsr_status_t check_worlds_parse(const char *text, check_worlds_t *worlds_out)
{
	check_worlds_t worlds = {.count = 0};
	for (const char *at = text;; at++) {
		const long first = read_ranks(&at);
		long last = first;
		if (first > 0 && *at == '-') {
			at++;
			last = read_ranks(&at);
		}
		if (first == 0 || last == 0 || (*at != '\0' && *at != ','))
			return not_a_list(text);
		if (last < first)
			return tsr_error(
				TSR_ERR_CONFIG,
				"--worlds is '%s', whose range %ld-%ld is empty: say %ld-%ld", text,
				first, last, last, first);
		for (long ranks = first; ranks <= last; ranks++) {
			const tsr_status_t status = add_world(text, &worlds, ranks);
			if (status != TSR_OK)
				return status;
		}
		if (*at == '\0')
			break;
	}
	*worlds_out = worlds;
	return TSR_OK;
}

/* ---------------------------------------------------------------- the budget */

check_budget_t check_budget_begin(const check_options_t *options, uint64_t begin_ns)
{
	return (check_budget_t){
		.seeds = options->subject.options.seeds,
		.deadline_ns = options->time_limit_ns != 0 ? begin_ns + options->time_limit_ns : 0,
		.worlds = options->worlds.count};
}

check_share_t check_budget_share(const check_budget_t *budget)
{
	const uint64_t worlds = (uint64_t)budget->worlds, now = tsr_now_ns();
	check_share_t share = {.seeds = (budget->seeds + worlds - 1) / worlds,
			       .deadline_ns = budget->deadline_ns};
	if (budget->deadline_ns > now)
		share.deadline_ns = now + (budget->deadline_ns - now) / worlds;
	return share;
}

void check_budget_spend(check_budget_t *budget, uint64_t schedules)
{
	budget->worlds--;
	budget->seeds -= schedules < budget->seeds ? schedules : budget->seeds;
}
