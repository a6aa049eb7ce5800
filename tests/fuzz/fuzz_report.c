/*
 * The lines that a program under `tessera check` writes: whatever they say,
 * they are tallied, and a report comes of it.
 */
#include <jansson.h>

#include "tests/fuzz/fuzz.h"
#include "tools/check/check.h"
#include "tools/check/finding_json.h"

/** What the command does with a line, whichever of two jobs says it. */
static void hear(check_tally_t *tally, check_pace_t *pace, int job, const char *line, size_t length)
{
	json_t *object = json_loadb(line, length, 0, NULL);
	if (json_is_object(object)) {
		check_pace_line(pace, job, object);
		check_tally_line(tally, job, object);
	}
	json_decref(object);
}

static void tell(check_tally_t *tally, FILE *nowhere)
{
	char name[] = "program", *program[] = {name, NULL};
	const check_case_t subject = {.options = tsr_check_options_default(), .program = program};
	FUZZ_CHECK(check_tally_rank(tally), "no memory to rank %d findings", tally->found_count);
	for (int i = 0; i < tally->found_count; i++) {
		const check_found_t *found = &tally->found[i], *cause = &tally->found[found->cause];
		FUZZ_CHECK(cause->cause == found->cause, "finding %d has the cause of another", i);
		check_print_found(&subject, found, cause == found ? NULL : cause, nowhere);
		json_t *json = tsr_finding_json(tally->found[i].finding);
		FUZZ_CHECK(json != NULL, "finding %d has no JSON", i);
		json_decref(json);
	}
	const check_result_t result = {.subject = &subject, .tally = tally, .elapsed_ns = 1};
	check_print_summary(&result, nowhere);
}

/**
 * A line that begins with a blank is the second job's; one that begins with `=`
 * begins another world.
 */
static void hear_all(check_tally_t *tally, check_pace_t *pace, char *text)
{
	check_tally_world(tally, 2);
	for (char *line = text, *end; *line != '\0'; line = end + (*end != '\0')) {
		end = line + strcspn(line, "\n");
		if (*line != '=')
			hear(tally, pace, *line == ' ', line, (size_t)(end - line));
		else if (tally->world_count < TSR_MAX_RANKS)
			check_tally_world(tally, tally->world_count + 2);
	}
	check_tally_ended(tally, 0);
	check_tally_ended(tally, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	check_tally_t *tally = calloc(1, sizeof *tally);
	check_pace_t *pace = calloc(1, sizeof *pace);
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(tally != NULL && pace != NULL && nowhere != NULL, "no memory");
	char *text = fuzz_text(data, size);
	hear_all(tally, pace, text);
	tell(tally, nowhere);
	check_tally_clear(tally);
	free(text);
	free(pace);
	free(tally);
	return 0;
}
