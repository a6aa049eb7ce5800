/*
 * The suite in this folder: its verdicts under the axioms and the view machine,
 * and that each test says something of its own. A test is weak where the axioms
 * allow its outcome or let it race, so that nothing is promised.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory/axioms/axioms.h"
#include "model/memory/language/canonical.h"
#include "model/memory/language/weaken.h"
#include "model/memory/witness.h"
#include "tessera/program.h"

enum { MOST = 200, LEAST = 60, FORM_BYTES = 1 << 14 };

typedef struct suite {
	int count;
	litmus_test_t *test[MOST];
} suite_t;

/** Reads a file of this folder, found beside this source from where the build runs its tests. */
static char *read_file(const char *name)
{
	char path[512];
	const char *end = strrchr(__FILE__, '/');

	snprintf(path, sizeof path, "%.*s/%s", (int)(end - __FILE__), __FILE__, name);
	FILE *file = fopen(path, "r");
	cr_assert(file != NULL, "cannot read %s", path);
	char *text = calloc(1, 1 << 17);
	cr_assert(text != NULL);
	cr_assert(fread(text, 1, (1 << 17) - 1, file) > 0);
	fclose(file);
	return text;
}

static void add_test(suite_t *suite, const char *file)
{
	const size_t length = strlen(file), suffix = strlen(".litmus");

	if (length < suffix || strcmp(file + length - suffix, ".litmus") != 0)
		return;
	cr_assert(suite->count < MOST);
	char *text = read_file(file);
	litmus_test_t *test = suite->test[suite->count++] = malloc(sizeof *test);
	cr_assert(litmus_parse(file, text, test) == TSR_OK, "%s", tsr_last_error());
	cr_expect(strlen(test->name) == length - suffix &&
			  strncmp(test->name, file, length - suffix) == 0,
		  "%s", file);
	free(text);
}

static suite_t load_suite(void)
{
	suite_t suite = {.count = 0};
	char folder[512];

	snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
	DIR *dir = opendir(folder);
	cr_assert(dir != NULL, "cannot list %s", folder);
	for (const struct dirent *entry; (entry = readdir(dir));)
		add_test(&suite, entry->d_name);
	closedir(dir);
	cr_assert(suite.count >= LEAST, "%d tests", suite.count);
	return suite;
}

static void drop_suite(suite_t *suite)
{
	for (int i = 0; i < suite->count; i++)
		free(suite->test[i]);
}

static const litmus_test_t *named(const suite_t *suite, const char *name)
{
	for (int i = 0; i < suite->count; i++)
		if (name && strcmp(suite->test[i]->name, name) == 0)
			return suite->test[i];
	return NULL;
}

static litmus_result_t ask(const litmus_witness_t *witness, const litmus_test_t *test,
			   const char *axioms)
{
	litmus_options_t options = {.unroll = 2, .axioms = axioms};
	litmus_result_t result = {.count = 0};

	cr_assert(witness->run(test, &options, &result) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
	cr_expect(!result.cut);
	return result;
}

static bool reached(const litmus_test_t *test, const litmus_result_t *result)
{
	for (int i = 0; i < result->count; i++)
		if (litmus_holds(test, test->question, result->states[i].values))
			return true;
	return false;
}

static const char *verdict(const litmus_witness_t *witness, const litmus_test_t *test,
			   const char *axioms)
{
	litmus_result_t result = ask(witness, test, axioms);
	const char *word = result.races ? "racy" : reached(test, &result) ? "Sometimes" : "Never";

	litmus_result_free(&result);
	return word;
}

static bool is(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

static bool expects(const litmus_test_t *test, const char *word)
{
	const char *expected = litmus_info(test, "Expect");
	return expected && is(expected, word);
}

/* ------------------------------------------------------------------ verdicts */

Test(suite, the_axioms_give_the_expected_verdicts)
{
	suite_t suite = load_suite();

	for (int i = 0; i < suite.count; i++) {
		const char *word = verdict(&litmus_axioms, suite.test[i], NULL);
		cr_expect(expects(suite.test[i], word), "%s is %s", suite.test[i]->name, word);
		cr_expect(suite.test[i]->sentence[0] != '\0', "%s does not say what it stands for",
			  suite.test[i]->name);
	}
	drop_suite(&suite);
}

/** Whether every state of `part` is one of `whole`. */
static bool within(const litmus_test_t *test, const litmus_result_t *part,
		   const litmus_result_t *whole)
{
	const size_t bytes = (size_t)test->observed_count * sizeof(int64_t);

	for (int i = 0; i < part->count; i++) {
		int j = 0;
		while (j < whole->count &&
		       memcmp(part->states[i].values, whole->states[j].values, bytes) != 0)
			j++;
		if (j == whole->count)
			return false;
	}
	return true;
}

Test(suite, the_view_machine_shows_all_but_load_buffering)
{
	suite_t suite = load_suite();

	for (int i = 0; i < suite.count; i++) {
		const litmus_test_t *test = suite.test[i];
		litmus_result_t views = ask(&litmus_views, test, NULL),
				axioms = ask(&litmus_axioms, test, NULL),
				in_order = ask(&litmus_axioms, test, "porf");
		cr_expect(!views.races == !axioms.races, "%s", test->name);
		if (!axioms.races) {
			cr_expect(within(test, &views, &axioms), "%s shows what is forbidden",
				  test->name);
			cr_expect(within(test, &in_order, &views), "%s does not show all",
				  test->name);
		}
		litmus_result_free(&views);
		litmus_result_free(&axioms);
		litmus_result_free(&in_order);
	}
	drop_suite(&suite);
}

Test(suite, each_mistake_in_the_axioms_changes_a_verdict)
{
	suite_t suite = load_suite();
	int mistakes = 0;

	for (const axioms_t *axioms = axioms_variants; axioms->name; axioms++) {
		if (strncmp(axioms->name, "wrong-", 6) != 0)
			continue;
		int caught = 0;
		for (int i = 0; i < suite.count; i++)
			caught += !expects(suite.test[i],
					   verdict(&litmus_axioms, suite.test[i], axioms->name));
		cr_expect(caught > 0, "%s", axioms->name);
		mistakes++;
	}
	cr_expect(mistakes >= 3);
	drop_suite(&suite);
}

/* ------------------------------------------------------------------ each test for itself */

Test(suite, what_is_forbidden_is_allowed_one_step_weaker)
{
	suite_t suite = load_suite();
	litmus_test_t *weaker = malloc(sizeof *weaker);
	char what[LITMUS_MAX_TEXT];

	for (int i = 0; i < suite.count; i++) {
		if (!expects(suite.test[i], "Never"))
			continue;
		const int steps = litmus_weakenings(suite.test[i]);
		cr_expect(steps > 0);
		for (int step = 0; step < steps; step++) {
			litmus_weaken(suite.test[i], step, weaker, what);
			cr_expect(!is(verdict(&litmus_axioms, weaker, NULL), "Never"),
				  "%s: still Never with %s", suite.test[i]->name, what);
		}
	}
	free(weaker);
	drop_suite(&suite);
}

Test(suite, what_is_weak_has_a_strong_twin)
{
	suite_t suite = load_suite();
	static char mine[FORM_BYTES], others[FORM_BYTES];

	for (int i = 0; i < suite.count; i++) {
		const litmus_test_t *test = suite.test[i],
				    *twin = named(&suite, litmus_info(test, "Twin"));
		cr_assert(twin != NULL, "%s names no twin", test->name);
		cr_expect(expects(test, "Never") != expects(twin, "Never"), "%s and its twin agree",
			  test->name);
		litmus_print_shape(test, mine, sizeof mine);
		litmus_print_shape(twin, others, sizeof others);
		cr_expect(is(mine, others), "%s and its twin %s are of different shapes",
			  test->name, twin->name);
	}
	drop_suite(&suite);
}

Test(suite, no_two_tests_are_equal_up_to_renaming)
{
	suite_t suite = load_suite();
	static char mine[FORM_BYTES], others[FORM_BYTES];

	for (int i = 0; i < suite.count; i++) {
		litmus_print_canonical(suite.test[i], mine, sizeof mine);
		cr_assert(strlen(mine) + 1 < sizeof mine);
		for (int j = 0; j < i; j++) {
			litmus_print_canonical(suite.test[j], others, sizeof others);
			cr_expect(!is(mine, others), "%s is %s", suite.test[i]->name,
				  suite.test[j]->name);
		}
	}
	drop_suite(&suite);
}

Test(suite, the_table_says_what_the_files_say)
{
	suite_t suite = load_suite();
	char *table = read_file("README.md"), row[2 * LITMUS_MAX_TEXT];
	int rows = 0;

	for (const char *at = table; (at = strstr(at, "\n| `")); at++)
		rows++;
	cr_expect_eq(rows, suite.count);
	for (int i = 0; i < suite.count; i++) {
		snprintf(row, sizeof row, "\n| `%s` | %s | %s |\n", suite.test[i]->name,
			 litmus_info(suite.test[i], "Expect"), suite.test[i]->sentence);
		cr_expect(strstr(table, row) != NULL, "README.md has no row%s", row);
	}
	free(table);
	drop_suite(&suite);
}
