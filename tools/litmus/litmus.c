/* The command: each test is read, shown to a witness, judged and told about. */
#include "tools/json_rows.h"
#include "tools/litmus/suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/memory/why/why.h"
#include "tessera/program.h"
#include "tools/commands.h"
#include "tools/document.h"
#include "tools/usage.h"

typedef struct suite {
	const suite_options_t *options;
	json_t *table; /* of --expect, or null */
	json_t *json;  /* of --json and --csv, or null */
	litmus_test_t test;
	litmus_result_t result;
	int judged, agree, unjudged, failed, shared;
	bool terminal; /* stderr is one */
	/* on a terminal a line says which test runs; elsewhere its name was told, once */
	bool shown, named;
	uint64_t schedules, pruned;
	suite_buffering_t buffering;
	suite_views_t views; /* of the view machine */
	suite_cache_t cache; /* of the cache machine */
	suite_batch_t batch; /* of a witness that takes all tests in one go */
} suite_t;

/** Says which test takes long, so that one that hangs a folder is known by its name. */
static void tell_slow(void *context, const litmus_test_t *test, uint64_t elapsed_ns)
{
	enum { LONG_S = 5 };
	suite_t *suite = context;
	const int seconds = (int)(elapsed_ns / 1000000000);

	if (suite->terminal)
		fprintf(stderr, "\r\033[K%s: %d s", test->name, seconds);
	else if (seconds >= LONG_S && !suite->named)
		fprintf(stderr,
			"tessera litmus: %s takes long, %d s so far; --limit says how long a test "
			"may take\n",
			test->name, seconds);
	suite->shown = suite->terminal;
	suite->named = suite->named || seconds >= LONG_S;
	(void)fflush(stderr);
}

/** The test that was told about is done. */
static void clear_slow(suite_t *suite)
{
	if (suite->shown)
		fputs("\r\033[K", stderr);
	suite->shown = suite->named = false;
}

static void fail(suite_t *suite)
{
	fprintf(stderr, "tessera litmus: %s\n", tsr_last_error());
	suite->failed++;
}

/** Judges what the witness showed and tells about it: all of it, unless it was to be expected. */
static tsr_status_t tell(suite_t *suite, const suite_case_t *one)
{
	const suite_options_t *options = suite->options;
	const json_t *answer =
		suite->table ? json_object_get(suite->table, suite->test.name) : one->answer;
	char why[1536] = "";
	suite_judgement_t judgement = SUITE_DIFFERS;
	tsr_status_t status = TSR_OK;
	bool agrees = true;

	if (suite->table && !answer)
		snprintf(why, sizeof why, "'%s' does not list it", options->expect);
	else
		judgement = suite_judge(&suite->test, options->witness, &suite->result, answer, why,
					sizeof why);
	if (options->witness->like && judgement != SUITE_DIFFERS) {
		status = suite_compare_like(&suite->test, &options->litmus, options->witness,
					    &suite->result, &suite->buffering, &agrees, why,
					    sizeof why);
		judgement = agrees ? SUITE_AGREES : SUITE_DIFFERS;
	}
	if (status != TSR_OK)
		return status;
	suite->judged += judgement != SUITE_UNJUDGED;
	suite->agree += judgement == SUITE_AGREES;
	if (options->verbose || judgement == SUITE_UNJUDGED)
		suite_print(&suite->test, options->witness, &suite->result);
	if (judgement == SUITE_DIFFERS)
		printf("differs %s: %s\n", suite->test.name, why);
	if (suite->json)
		json_array_append_new(suite->json, suite_json(&suite->test, options->witness,
							      &suite->result, judgement));
	return TSR_OK;
}

/** Explains the question, and draws the explanation to the file of --why. */
static tsr_status_t explain(const suite_t *suite)
{
	const char *drawing = suite->options->drawing;
	why_t why;
	tsr_status_t status = why_explain(&suite->test, &suite->options->litmus, &why);

	if (status != TSR_OK)
		return status;
	why_print(&why, stdout);
	if (!drawing || !why.found)
		return TSR_OK;
	FILE *file = fopen(drawing, "w");
	if (!file)
		return tsr_error(TSR_ERR_SYSTEM, "cannot write '%s': %s", drawing, strerror(errno));
	(strcmp(strrchr(drawing, '.'), ".dot") == 0 ? why_draw_dot : why_draw_svg)(&why, file);
	const bool failed = ferror(file) != 0;
	if ((fclose(file) != 0) | failed)
		return tsr_error(TSR_ERR_SYSTEM, "cannot write '%s': %s", drawing, strerror(errno));
	return TSR_OK;
}

static tsr_status_t read_case(const suite_case_t *one, litmus_test_t *test_out)
{
	tsr_status_t status = litmus_parse(one->source, one->text, test_out);

	if (status == TSR_OK && one->name)
		snprintf(test_out->name, sizeof test_out->name, "%s", one->name);
	return status;
}

/** Says why there is no verdict on a test, which is no success: in CI it would read as one. */
static void leave_unjudged(suite_t *suite)
{
	printf("not judged by %s: %s\n", suite->options->witness->name, tsr_last_error());
	suite->unjudged++;
}

/**
 * What a witness has shown, or why it could not: one that runs tests need not
 * have what they need.
 */
static void show(suite_t *suite, const suite_case_t *one, tsr_status_t status)
{
	const litmus_witness_t *witness = suite->options->witness;

	if (status == TSR_OK && witness == &litmus_views)
		status = suite_measure_views(&suite->test, &suite->options->litmus, &suite->result,
					     &suite->views);
	/* memory that is late, of a machine or of a network: how much of what is weak shows? */
	if (status == TSR_OK && (witness == &litmus_cache || suite->options->litmus.nodes > 1))
		status = suite_measure_cache(&suite->test, &suite->options->litmus, &suite->result,
					     &suite->cache);
	suite->shared += suite->result.shared;
	suite->schedules += suite->result.schedules;
	suite->pruned += suite->result.pruned;
	clear_slow(suite);
	if (status == TSR_OK)
		status = tell(suite, one);
	clear_slow(suite);
	if (status == TSR_ERR_TIMEOUT || (status == TSR_ERR_UNSUPPORTED && witness->runs)) {
		leave_unjudged(suite);
		return;
	}
	if (status != TSR_OK) {
		fail(suite);
		return;
	}
	if (suite->options->why && explain(suite) != TSR_OK)
		fail(suite);
}

static void visit(const suite_case_t *one, void *context)
{
	suite_t *suite = context;
	const suite_options_t *options = suite->options;

	litmus_result_reset(&suite->result);
	if (read_case(one, &suite->test) != TSR_OK)
		fail(suite);
	else if (!options->witness->run_all)
		show(suite, one,
		     options->witness->run(&suite->test, &options->litmus, &suite->result));
	else if (suite_batch_keep(&suite->batch, one, &suite->test) != TSR_OK)
		fail(suite);
}

static void show_batch(suite_t *suite)
{
	const suite_options_t *options = suite->options;

	if (suite->batch.count && suite_batch_run(&suite->batch, options) != TSR_OK) {
		fail(suite);
		return;
	}
	for (int i = 0; i < suite->batch.count; i++) {
		suite_kept_t *kept = &suite->batch.kept[i];
		litmus_result_free(&suite->result);
		suite->result = kept->result;
		kept->result = (litmus_result_t){.count = 0};
		suite->test = *kept->test;
		if (kept->status != TSR_OK) /* alone it says why */
			kept->status = options->witness->run(&suite->test, &options->litmus,
							     &suite->result);
		show(suite, &(suite_case_t){.source = kept->source, .answer = kept->answer},
		     kept->status);
	}
}

static bool write_files(const suite_t *suite)
{
	const suite_options_t *options = suite->options;
	json_t *tests = json_pack("{s:O?}", "tests", suite->json);
	json_t *document = json_document("tessera-litmus/1", tests);
	const char *bad = NULL;

	errno = 0;
	if (options->json && json_dump_file(document, options->json, JSON_INDENT(1)) != 0)
		bad = options->json;
	else if (options->csv && csv_rows_dump_file(suite->json, NULL, options->csv) != 0)
		bad = options->csv;
	json_decref(document);
	json_decref(tests);
	if (bad)
		fprintf(stderr, "tessera litmus: cannot write '%s': %s\n", bad, strerror(errno));
	return !bad;
}

static int run_suite(suite_t *suite)
{
	bool fine = true;

	for (char **path = suite->options->paths; *path; path++)
		fine &= suite_visit(*path, visit, suite);
	show_batch(suite);
	fine &= write_files(suite);
	if (suite->options->witness == &litmus_views &&
	    suite->views.tests[0] + suite->views.tests[1] > 1)
		suite_print_views(&suite->views);
	if (suite->cache.tests > 1)
		suite_print_cache(&suite->cache);
	if (suite->buffering.tests[0] + suite->buffering.tests[1] > 1)
		suite_print_buffering(&suite->buffering);
	if (suite->shared)
		printf("of %d tests devices shared a GPU, where they took turns: what goes on "
		       "between these could not show\n",
		       suite->shared);
	if (suite->unjudged)
		printf("not judged %d\n", suite->unjudged);
	if (suite->options->verbose && suite->schedules)
		printf("%" PRIu64 " schedules in all, of which %" PRIu64
		       " were left as equal to another\n",
		       suite->schedules, suite->pruned);
	if (suite->judged)
		printf("agree %d of %d\n", suite->agree,
		       suite->judged + suite->failed + suite->unjudged);
	return fine && !suite->failed && !suite->unjudged && suite->agree == suite->judged
		       ? TOOL_OK
		       : TOOL_FAILED;
}

int tsr_cmd_litmus(int argc, char **argv)
{
	suite_options_t options;
	bool help;
	int misused = suite_options_parse(argc, argv, &options, &help);

	if (misused || help)
		return misused;
	suite_t suite = {.options = &options, .terminal = isatty(STDERR_FILENO) == 1};
	options.litmus.progress = tell_slow;
	options.litmus.progress_context = &suite;
	if (options.expect && !(suite.table = suite_read_table(options.expect)))
		return TOOL_FAILED;
	if (options.json || options.csv)
		suite.json = json_array();
	int code = run_suite(&suite);
	litmus_result_free(&suite.result);
	suite_batch_free(&suite.batch);
	json_decref(suite.table);
	json_decref(suite.json);
	return code;
}
