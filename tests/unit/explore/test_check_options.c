/*
 * TESSERA_CHECK and schedules as text: what is written is read again, and what
 * cannot be read is quoted.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean_environment.h"
#include "src/explore/wire/options.h"
#include "tessera/program.h"

/* No two fields alike, so that swapped keys are seen. */
static const tsr_check_options_t unusual = {.ranks = 5,
					    .strategy = TSR_CHECK_PCT,
					    .weak = TSR_CHECK_WEAK_CACHE,
					    .nodes = 10,
					    .seeds = 1000000007,
					    .first = 17,
					    .stride = 3,
					    .resident_blocks = 2,
					    .preemptions = 4,
					    .depth = 6,
					    .steps = 99,
					    .trace = true,
					    .parallel = true,
					    .report_fd = 8,
					    .script_fd = 9};

static bool equal(const tsr_check_options_t *a, const tsr_check_options_t *b)
{
	return a->ranks == b->ranks && a->strategy == b->strategy && a->weak == b->weak &&
	       a->nodes == b->nodes && a->seeds == b->seeds && a->first == b->first &&
	       a->stride == b->stride && a->resident_blocks == b->resident_blocks &&
	       a->preemptions == b->preemptions && a->depth == b->depth && a->steps == b->steps &&
	       a->trace == b->trace && a->parallel == b->parallel && a->report_fd == b->report_fd &&
	       a->script_fd == b->script_fd;
}

Test(check_options, what_is_written_is_read)
{
	char text[512];
	tsr_check_options_t read;
	const int length = tsr_check_options_write(&unusual, text, sizeof text);
	cr_assert(length > 0 && (size_t)length == strlen(text));
	cr_assert_eq(tsr_check_options_parse(text, &read), TSR_OK);
	cr_assert(equal(&unusual, &read));
	char small[16];
	cr_assert_eq(tsr_check_options_write(&unusual, small, sizeof small), length);
}

Test(check_options, keys_that_are_missing_have_defaults)
{
	tsr_check_options_t read, fallback = tsr_check_options_default();
	cr_assert_eq(tsr_check_options_parse("version=1,report_fd=3", &read), TSR_OK);
	fallback.report_fd = 3;
	cr_assert(equal(&fallback, &read));
}

Test(check_options, the_environment_says_whether_the_program_is_checked)
{
	bool checked = true;
	tsr_check_options_t read;
	cr_assert_eq(tsr_check_options_read(&checked, &read), TSR_OK);
	cr_assert(!checked);
	setenv(TSR_CHECK_VARIABLE, "version=1,report_fd=3,ranks=7", 1);
	cr_assert_eq(tsr_check_options_read(&checked, &read), TSR_OK);
	cr_assert(checked);
	cr_assert_eq(read.ranks, 7);
}

Test(check_options, what_cannot_be_read_is_quoted)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"report_fd=3", "version 0"},
		{"version=2,report_fd=3", "version 2"},
		{"version=1,report_fd=3,rank=4", "'rank'"},
		{"version=1,report_fd=3,ranks", "'ranks'"},
		{"version=1,report_fd=3,ranks=257", "257"},
		{"version=1,report_fd=3,seeds=-1", "'-1'"},
		{"version=1,report_fd=3,seeds=99999999999999999999", "99999999999999999999"},
		{"version=1,report_fd=3,stride=0", "stride"},
		{"version=1,report_fd=3,strategy=randm", "did you mean 'random'"},
		{"version=1,report_fd=3,weak=strong", "off, cache, view"},
		{"version=1,report_fd=3,nodes=0,weak=cache", "nodes"},
		{"version=1,report_fd=3,nodes=2", "weak=cache"},
		{"version=1", "report_fd"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_check_options_t read;
		cr_assert_eq(tsr_check_options_parse(bad[i].text, &read), TSR_ERR_CONFIG, "%s",
			     bad[i].text);
		cr_assert(strstr(tsr_last_error(), bad[i].says) != NULL, "%s: %s", bad[i].text,
			  tsr_last_error());
	}
}

Test(check_options, schedules_are_read_and_written)
{
	static const char *const texts[] = {"default", "0:1",
					    "12:1+40:2+18446744073709551615:4294967295"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		tsr_check_script_t script, copy;
		cr_assert_eq(tsr_check_script_parse("it", texts[i], &script), TSR_OK);
		cr_assert_eq(tsr_check_script_copy(&script, &copy), TSR_OK);
		tsr_check_script_clear(&script);
		char *text = tsr_check_script_text(&copy);
		cr_assert_str_eq(text, texts[i]);
		free(text);
		tsr_check_script_clear(&copy);
	}
}

Test(check_options, what_is_no_schedule_is_quoted)
{
	static const char *const bad[] = {
		"",          "12",      "12:",          ":1",   "12:1+",       "12:1,40:2",
		"40:2+12:1", "1:1+1:2", "1:4294967296", "-1:1", "default+1:1", "1:1 2:2"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_check_script_t script = {.count = 77};
		cr_assert_eq(tsr_check_script_parse("--replay", bad[i], &script), TSR_ERR_CONFIG,
			     "%s", bad[i]);
		cr_assert_eq(script.count, 77);
		cr_assert(strstr(tsr_last_error(), "--replay") != NULL);
	}
}

Test(check_options, a_schedule_is_loaded_from_a_file_twice)
{
	FILE *file = tmpfile();
	cr_assert(file != NULL);
	cr_assert(fputs("12:1+40:2\n", file) >= 0 && fflush(file) == 0);
	for (int i = 0; i < 2; i++) {
		tsr_check_script_t script;
		cr_assert_eq(tsr_check_script_load(fileno(file), &script), TSR_OK);
		cr_assert_eq(script.count, 2);
		cr_assert_eq(script.at[1].choice, 40);
		cr_assert_eq(script.at[1].alternative, 2);
		tsr_check_script_clear(&script);
	}
	fclose(file);
	tsr_check_script_t script;
	cr_assert_eq(tsr_check_script_load(-1, &script), TSR_ERR_SYSTEM);
}
