/* The command: each test is read, shown to a witness, judged and told about. */
#include "tools/litmus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/why.h"
#include "tessera/program.h"
#include "tools/commands.h"
#include "tools/usage.h"

typedef struct suite {
	const suite_options_t *options;
	json_t *table; /* of --expect, or null */
	json_t *json;  /* of --json, or null */
	litmus_test_t test;
	litmus_result_t result;
	int judged, agree, failed;
} suite_t;

static void fail(suite_t *suite)
{
	fprintf(stderr, "tessera litmus: %s\n", tsr_last_error());
	suite->failed++;
}

/** Judges what the witness showed and tells about it: all of it, unless it was to be expected. */
static void tell(suite_t *suite, const suite_case_t *one)
{
	const suite_options_t *options = suite->options;
	const json_t *answer = suite->table ? json_object_get(suite->table, suite->test.name) : one->answer;
	char why[1536] = "";
	suite_judgement_t judgement = SUITE_DIFFERS;

	if (suite->table && !answer)
		snprintf(why, sizeof why, "'%s' does not list it", options->expect);
	else
		judgement = suite_judge(&suite->test, options->witness, &suite->result, answer, why, sizeof why);
	suite->judged += judgement != SUITE_UNJUDGED;
	suite->agree += judgement == SUITE_AGREES;
	if (options->verbose || judgement == SUITE_UNJUDGED)
		suite_print(&suite->test, options->witness, &suite->result);
	if (judgement == SUITE_DIFFERS)
		printf("differs %s: %s\n", suite->test.name, why);
	if (suite->json)
		json_array_append_new(suite->json, suite_json(&suite->test, options->witness, &suite->result, judgement));
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
	if (fclose(file) != 0)
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

static void visit(const suite_case_t *one, void *context)
{
	suite_t *suite = context;

	litmus_result_reset(&suite->result);
	if (read_case(one, &suite->test) != TSR_OK ||
	    suite->options->witness->run(&suite->test, &suite->options->litmus, &suite->result) != TSR_OK) {
		fail(suite);
		return;
	}
	tell(suite, one);
	if (suite->options->why && explain(suite) != TSR_OK)
		fail(suite);
}

static bool write_json(const suite_t *suite)
{
	if (!suite->json || json_dump_file(suite->json, suite->options->json, JSON_INDENT(1)) == 0)
		return true;
	fprintf(stderr, "tessera litmus: cannot write '%s': %s\n", suite->options->json, strerror(errno));
	return false;
}

static int run_suite(suite_t *suite)
{
	bool fine = true;

	for (char **path = suite->options->paths; *path; path++)
		fine &= suite_visit(*path, visit, suite);
	fine &= write_json(suite);
	if (suite->judged)
		printf("agree %d of %d\n", suite->agree, suite->judged + suite->failed);
	return fine && !suite->failed && suite->agree == suite->judged ? TOOL_OK : TOOL_FAILED;
}

int tsr_cmd_litmus(int argc, char **argv)
{
	suite_options_t options;
	bool help;
	int misused = suite_options_parse(argc, argv, &options, &help);

	if (misused || help)
		return misused;
	suite_t suite = {.options = &options};
	if (options.expect && !(suite.table = suite_read_table(options.expect)))
		return TOOL_FAILED;
	if (options.json)
		suite.json = json_array();
	int code = run_suite(&suite);
	litmus_result_free(&suite.result);
	json_decref(suite.table);
	json_decref(suite.json);
	return code;
}
