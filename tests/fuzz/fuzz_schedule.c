/*
 * Schedules as text, and what `tessera check` asks of a program: what is read
 * and written again says the same.
 */
#include "src/explore/wire/options.h"
#include "tests/fuzz/fuzz.h"

static void read_schedule(const char *text)
{
	tsr_check_script_t script, again;
	if (tsr_check_script_parse("input", text, &script) != TSR_OK)
		return;
	char *written = tsr_check_script_text(&script);
	FUZZ_CHECK(written != NULL, "no memory for the schedule's text");
	FUZZ_CHECK(tsr_check_script_parse("written", written, &again) == TSR_OK,
		   "'%s' is not read again", written);
	FUZZ_CHECK(script.count == again.count, "%zu deviations have become %zu", script.count,
		   again.count);
	for (size_t i = 0; i < script.count; i++)
		FUZZ_CHECK(script.at[i].choice == again.at[i].choice &&
				   script.at[i].alternative == again.at[i].alternative,
			   "deviation %zu is another one", i);
	free(written);
	tsr_check_script_clear(&script);
	tsr_check_script_clear(&again);
}

static void read_options(const char *text)
{
	tsr_check_options_t options, again;
	char written[1024], twice[1024];
	if (tsr_check_options_parse(text, &options) != TSR_OK)
		return;
	const int length = tsr_check_options_write(&options, written, sizeof written);
	FUZZ_CHECK(length > 0 && (size_t)length < sizeof written,
		   "the options have a text of %d bytes", length);
	FUZZ_CHECK(tsr_check_options_parse(written, &again) == TSR_OK, "'%s' is not read again",
		   written);
	tsr_check_options_write(&again, twice, sizeof twice);
	FUZZ_CHECK(strcmp(written, twice) == 0, "'%s' has become '%s'", written, twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	read_schedule(text);
	read_options(text);
	free(text);
	return 0;
}
