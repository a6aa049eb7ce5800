/*
 * How much of the model the cache machine shows: its states against those of
 * the axioms and of interleavings.
 */
#include <stdio.h>

#include "tools/litmus/suite.h"

static void count(const litmus_test_t *test, const litmus_result_t *allowed,
		  const litmus_result_t *in_turns, const litmus_result_t *shown,
		  suite_cache_t *cache)
{
	cache->tests++;
	for (int i = 0; i < allowed->count; i++) {
		const bool weak = !litmus_result_has(test, in_turns, allowed->states[i].values);
		cache->weak += weak;
		cache->shown += weak && litmus_result_has(test, shown, allowed->states[i].values);
	}
	for (int i = 0; i < in_turns->count; i++) {
		cache->interleavings++;
		cache->missing += !litmus_result_has(test, shown, in_turns->states[i].values);
	}
}

tsr_status_t suite_measure_cache(const litmus_test_t *test, const litmus_options_t *options,
				 const litmus_result_t *shown, suite_cache_t *cache)
{
	litmus_result_t allowed = {.count = 0}, in_turns = {.count = 0};

	tsr_status_t status = litmus_axioms.run(test, options, &allowed);
	if (status == TSR_OK && !allowed.races) {
		status = litmus_interleaving.run(test, options, &in_turns);
		if (status == TSR_OK)
			count(test, &allowed, &in_turns, shown, cache);
	}
	litmus_result_free(&allowed);
	litmus_result_free(&in_turns);
	return status;
}

void suite_print_cache(const suite_cache_t *cache)
{
	printf("of %d weak outcomes of %d race-free tests it shows %d (%d %%); of %d outcomes of "
	       "interleavings it lacks %d\n",
	       cache->weak, cache->tests, cache->shown,
	       cache->weak ? 100 * cache->shown / cache->weak : 0, cache->interleavings,
	       cache->missing);
}
