/* The set of final states that a witness saw, in order. */
#include <stdlib.h>
#include <string.h>

#include "model/memory/witness.h"
#include "tessera/program.h"

static int compare(const litmus_test_t *test, const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < test->observed_count; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/** The first state that is not below `values`. */
static int find(const litmus_test_t *test, const litmus_result_t *result, const int64_t *values)
{
	int low = 0, high = result->count;

	while (low < high) {
		int middle = (low + high) / 2;
		if (compare(test, result->states[middle].values, values) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool litmus_result_has(const litmus_test_t *test, const litmus_result_t *result,
		       const int64_t *values)
{
	int at = find(test, result, values);
	return at < result->count && compare(test, result->states[at].values, values) == 0;
}

tsr_status_t litmus_result_add(const litmus_test_t *test, litmus_result_t *result,
			       const int64_t *values, uint64_t count)
{
	int at = find(test, result, values);

	if (litmus_result_has(test, result, values)) {
		result->states[at].count += count;
		return TSR_OK;
	}
	if (result->count == result->room) {
		int room = result->room ? 2 * result->room : 32;
		litmus_state_t *grown = realloc(result->states, (size_t)room * sizeof *grown);
		if (!grown)
			return tsr_error(TSR_ERR_NO_MEMORY, "no memory for %d final states of %s",
					 room, test->name);
		result->states = grown;
		result->room = room;
	}
	memmove(&result->states[at + 1], &result->states[at],
		(size_t)(result->count - at) * sizeof *result->states);
	memcpy(result->states[at].values, values, (size_t)test->observed_count * sizeof *values);
	result->states[at].count = count;
	result->count++;
	return TSR_OK;
}

void litmus_result_reset(litmus_result_t *result)
{
	result->count = 0;
	result->races = 0;
	result->cut = result->warned = false;
	result->schedules = result->pruned = 0;
	result->shared = false;
	memset(result->positive, 0, sizeof result->positive);
	memset(result->sightings, 0, sizeof result->sightings);
}

void litmus_result_free(litmus_result_t *result)
{
	free(result->states);
	*result = (litmus_result_t){0};
}
