/* Tests that wait until all are read, for a witness that takes them in one go. */
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/litmus/suite.h"

tsr_status_t suite_batch_keep(suite_batch_t *batch, const suite_case_t *one,
			      const litmus_test_t *test)
{
	if (batch->count == batch->room) {
		const int room = batch->room ? 2 * batch->room : 16;
		suite_kept_t *larger = realloc(batch->kept, (size_t)room * sizeof *larger);
		if (!larger)
			return tsr_error(
				TSR_ERR_NO_MEMORY,
				"no memory for more than %d litmus tests: ask for fewer at a time",
				batch->count);
		batch->kept = larger;
		batch->room = room;
	}
	suite_kept_t kept = {.source = strdup(one->source),
			     .answer = json_incref((json_t *)one->answer),
			     .test = malloc(sizeof *test)};
	if (kept.test)
		*kept.test = *test;
	batch->kept[batch->count++] = kept;
	return kept.source && kept.test
		       ? TSR_OK
		       : tsr_error(TSR_ERR_NO_MEMORY, "no memory for '%s'; free some", test->name);
}

tsr_status_t suite_batch_run(suite_batch_t *batch, const suite_options_t *options)
{
	const size_t count = (size_t)batch->count;
	const litmus_test_t **tests = calloc(count + 1, sizeof *tests);
	litmus_result_t *results = calloc(count + 1, sizeof *results);
	tsr_status_t *statuses = calloc(count + 1, sizeof *statuses);
	tsr_status_t status = TSR_OK;

	if (!tests || !results || !statuses)
		status = tsr_error(TSR_ERR_NO_MEMORY, "no memory for %d litmus tests; free some",
				   batch->count);
	for (size_t i = 0; status == TSR_OK && i < count; i++)
		tests[i] = batch->kept[i].test;
	if (status == TSR_OK)
		status = options->witness->run_all(tests, batch->count, &options->litmus, results,
						   statuses);
	for (size_t i = 0; results && statuses && i < count; i++) {
		batch->kept[i].result = results[i];
		batch->kept[i].status = statuses[i];
	}
	free(tests);
	free(results);
	free(statuses);
	return status;
}

void suite_batch_free(suite_batch_t *batch)
{
	for (int i = 0; i < batch->count; i++) {
		free(batch->kept[i].source);
		json_decref(batch->kept[i].answer);
		free(batch->kept[i].test);
		litmus_result_free(&batch->kept[i].result);
	}
	free(batch->kept);
}
