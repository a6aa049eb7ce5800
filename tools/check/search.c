/* Looking for one finding again, under other circumstances. */
#include "tools/check/check.h"

typedef struct search {
	check_tally_t tally;
	const char *key;
} search_t;

static bool search_line(void *context, int job, json_t *object)
{
	search_t *search = context;
	check_tally_line(&search->tally, job, object);
	return check_tally_find(&search->tally, search->key) == NULL;
}

static void search_end(void *context, int job)
{
	search_t *search = context;
	check_tally_ended(&search->tally, job);
}

bool check_search(const check_run_t *run, const char *key, check_found_t *found_out,
		  check_outcome_t *outcome)
{
	search_t search = {.key = key};
	check_run_t searches = *run;
	check_tally_world(&search.tally, run->subject->options.ranks);
	searches.listener = (check_listener_t){search_line, search_end, &search};
	check_run(&searches, outcome);
	for (int job = 0; job < run->jobs; job++)
		check_tally_ended(&search.tally, job);
	const bool again = check_tally_take(&search.tally, key, found_out);
	check_tally_clear(&search.tally);
	return again;
}

void check_acquit_loop(tsr_finding_t *finding)
{
	if (!finding->blames_loop)
		return;
	finding->blames_loop = false;
	finding->missing = NULL;
	finding->change = NULL;
}
