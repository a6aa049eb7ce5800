/* Litmus tests: what is read is printed, and the print of a test says what it says. */
#include "model/memory/language/canonical.h"
#include "model/memory/language/litmus.h"
#include "tests/fuzz/fuzz.h"

enum { PRINT_BYTES = 1 << 16 };

static void check_counts(const litmus_test_t *test)
{
	const bool few = test->threads <= LITMUS_MAX_THREADS &&
			 test->locations <= LITMUS_MAX_LOCATIONS &&
			 test->observed_count <= LITMUS_MAX_OBSERVED &&
			 test->terms <= LITMUS_MAX_TERMS && test->keys <= LITMUS_MAX_KEYS;
	FUZZ_CHECK(few, "more of something than a test has room for");
	for (int t = 0; t < test->threads; t++)
		FUZZ_CHECK(test->thread[t].count <= LITMUS_MAX_INSTRUCTIONS &&
				   test->thread[t].registers <= LITMUS_MAX_REGISTERS,
			   "thread %d has more than there is room for", t);
}

/** Every instruction and term has a print that is not cut. */
static void print_all(const litmus_test_t *test)
{
	char text[512];
	for (int t = 0; t < test->threads; t++)
		for (int i = 0; i < test->thread[t].count; i++)
			FUZZ_CHECK(litmus_print_instruction(test, t, i, text, sizeof text) > 0,
				   "an instruction has no print");
	for (int i = 0; i < test->observed_count; i++)
		FUZZ_CHECK(litmus_print_observed(test, i, text, sizeof text) > 0,
			   "what is observed has no print");
	static char shape[PRINT_BYTES];
	litmus_print_shape(test, shape, sizeof shape);
	litmus_print_canonical(test, shape, sizeof shape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static litmus_test_t test;
	char *text = fuzz_text(data, size);
	memset(&test, 0xa5, sizeof test);
	if (litmus_parse("input", text, &test) == TSR_OK) {
		check_counts(&test);
		print_all(&test);
	} else {
		FUZZ_CHECK(tsr_last_error()[0] != '\0', "it was refused, but nobody said why");
	}
	free(text);
	return 0;
}
