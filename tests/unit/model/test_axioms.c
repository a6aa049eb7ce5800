/*
 * The checker: what the oracle's shapes do not have (compare-and-swap, loops,
 * addresses, thin air), and that it skips nothing.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/axioms/candidates.h"
#include "model/memory/why/why.h"
#include "model/memory/witness.h"

#define TWO_DEVICES "scopes: (system (agent 0) (agent 1))\n"

static void parse(litmus_test_t *test, const char *text)
{
	cr_assert_eq(litmus_parse("t", text, test), TSR_OK, "%s", tsr_last_error());
}

/** Expects exactly these final states, each followed by a newline, and these races. */
static void expect(const char *text, const litmus_options_t *options, const char *states,
		   unsigned races)
{
	litmus_result_t result = {0};
	litmus_test_t test;
	char shown[4096] = "", line[256];

	parse(&test, text);
	cr_assert_eq(litmus_axioms.run(&test, options, &result), TSR_OK, "%s", tsr_last_error());
	for (int i = 0; i < result.count; i++) {
		litmus_print_state(&test, result.states[i].values, line, sizeof line);
		strcat(strcat(shown, line), "\n");
	}
	cr_expect(strcmp(shown, states) == 0, "\n%s\nshows\n%snot\n%s", text, shown, states);
	cr_expect_eq(result.races, races, "%s has races %u, not %u", test.name, result.races,
		     races);
	litmus_result_free(&result);
}

static const litmus_options_t once = {.unroll = 1};

Test(axioms, of_two_compare_and_swaps_one_succeeds)
{
	expect("LISA CAS\n{ }\n"
	       " P0                         | P1                         ;\n"
	       " cas[rlx,system] r0 0 1 x   | cas[rlx,system] r0 0 2 x   ;\n" TWO_DEVICES
	       "locations [0:r0; 1:r0; x;]\nexists true",
	       &once, "0:r0=0; 1:r0=1; [x]=1;\n0:r0=2; 1:r0=0; [x]=2;\n", 0);
}

Test(axioms, a_failed_compare_and_swap_releases_nothing)
{
	/* It reads 7 or what is not 7; only the one that succeeds hands x on. */
	static const char text[] = "LISA CAS\n{ y=7; }\n"
				   " P0                             | P1                ;\n"
				   " w[rlx,system] x 1              | r[acq,system] r0 y ;\n"
				   " cas[%s] r0 %d 8 y | r[rlx,system] r1 x ;\n" TWO_DEVICES
				   "locations [1:r0; 1:r1;]\nexists true";
	char test[sizeof text + 32];

	snprintf(test, sizeof test, text, "acqrel,rlx,system", 7);
	expect(test, &once, "1:r0=7; 1:r1=0;\n1:r0=7; 1:r1=1;\n1:r0=8; 1:r1=1;\n", 0);
	snprintf(test, sizeof test, text, "acqrel,rlx,system", 6);
	expect(test, &once, "1:r0=7; 1:r1=0;\n1:r0=7; 1:r1=1;\n", 0);
	snprintf(test, sizeof test, text, "rlx,rlx,system", 7);
	expect(test, &once, "1:r0=7; 1:r1=0;\n1:r0=7; 1:r1=1;\n1:r0=8; 1:r1=0;\n1:r0=8; 1:r1=1;\n",
	       0);
}

Test(axioms, a_failed_compare_and_swap_has_its_failure_order)
{
	static const char text[] =
		"LISA CAS\n{ }\n"
		" P0                | P1                            ;\n"
		" w[rlx,system] x 1 | cas[acqrel,%s,system] r0 5 6 y ;\n"
		" w[rel,system] y 1 | r[rlx,system] r1 x            ;\n" TWO_DEVICES
		"locations [1:r1;]\nfilter 1:r0=1\nexists true";
	char test[sizeof text + 8];

	snprintf(test, sizeof test, text, "acq");
	expect(test, &once, "1:r0=1; 1:r1=1;\n", 0);
	snprintf(test, sizeof test, text, "rlx");
	expect(test, &once, "1:r0=1; 1:r1=0;\n1:r0=1; 1:r1=1;\n", 0);
}

Test(axioms, a_loop_ends_when_the_flag_is_seen)
{
	static const char text[] = "LISA spin\n{ }\n"
				   " P0                | P1                      ;\n"
				   " w[na,wi] x 1      | L: r[acq,system] r0 y   ;\n"
				   " w[rel,system] y 1 | mov r1 (eq r0 0)        ;\n"
				   "                   | b[] r1 L                ;\n"
				   "                   | r[na,wi] r2 x           ;\n" TWO_DEVICES
				   "locations [1:r0; 1:r2;]\nforall 1:r2=1";
	const litmus_options_t thrice = {.unroll = 3};

	expect(text, &once, "1:r0=1; 1:r2=1;\n", 0);
	expect(text, &thrice, "1:r0=1; 1:r2=1;\n", 0);
}

Test(axioms, a_loop_that_never_ends_is_left)
{
	litmus_result_t result = {0};
	litmus_test_t test;

	parse(&test, "LISA ever\n{ }\n P0 ;\n L: r[rlx,system] r0 x ;\n b[] L ;\nscopes: (system "
		     "0)\nexists true");
	cr_assert_eq(litmus_axioms.run(&test, &once, &result), TSR_OK);
	cr_expect(result.cut);
	cr_expect_eq(result.count, 0);
}

Test(axioms, an_address_may_be_read)
{
	/* The reader follows the pointer p: to x before it is published, else to y, whose data the
	 * release covers. */
	expect("LISA pointer\n{ p=x; x=3; }\n"
	       " P0                | P1                  ;\n"
	       " w[na,wi] y 1      | r[acq,system] r0 p  ;\n"
	       " mov r1 y          | r[na,wi] r1 r0      ;\n"
	       " w[rel,system] p r1 |                    ;\n" TWO_DEVICES
	       "locations [1:r0; 1:r1;]\nexists true",
	       &once, "1:r0=x; 1:r1=3;\n1:r0=y; 1:r1=1;\n", 0);
}

Test(axioms, an_address_may_hang_on_each_of_several_reads)
{
	/* The second read goes where the first one says, and either may see either write: no
	 * combination is forgotten. */
	expect("LISA chase\n{ x=5; y=6; p=y; 2:r9=x; }\n"
	       " P0                 | P1                | P2                 ;\n"
	       " r[rlx,system] r0 p | w[rlx,system] y 7 | w[rlx,system] p r9 ;\n"
	       " r[rlx,system] r1 r0 | w[rlx,system] x 8 |                   ;\n"
	       "scopes: (system 0 1 2)\nlocations [0:r0; 0:r1;]\nexists true",
	       &once, "0:r0=x; 0:r1=5;\n0:r0=x; 0:r1=8;\n0:r0=y; 0:r1=6;\n0:r0=y; 0:r1=7;\n", 0);
}

Test(axioms, an_access_to_nothing_is_declined)
{
	litmus_result_t result = {0};
	litmus_test_t test;

	parse(&test,
	      "LISA null\n{ }\n P0 ;\n r[rlx,system] r1 r0 ;\nscopes: (system 0)\nexists true");
	cr_expect_eq(litmus_axioms.run(&test, &once, &result), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(tsr_last_error(), "null: thread P0 accesses an address that is no "
					   "location's by 'r[rlx,system] r1 r0'") != NULL,
		  "%s", tsr_last_error());
}

Test(axioms, load_buffering_is_allowed_but_not_out_of_thin_air)
{
	static const char text[] = "LISA LB\n{ }\n"
				   " P0                | P1                ;\n"
				   " r[rlx,system] r0 x | r[rlx,system] r0 y ;\n"
				   " %s | %s ;\n"
				   " A: w[rlx,system] y %s | B: w[rlx,system] x %s ;\n" TWO_DEVICES
				   "filter 0:r0=1 /\\ 1:r0=1\nexists true";
	static const struct {
		const char *mov[2], *value[2];
		bool allowed;
	} cases[] = {
		{{"", ""}, {"1", "1"}, true},
		{{"", ""}, {"r0", "1"}, true},
		{{"", ""}, {"r0", "r0"}, false},
		/* a dependency that makes no difference is one all the same */
		{{"mov r1 (eq r0 r0)", "mov r1 (eq r0 r0)"}, {"r1", "r1"}, false},
		{{"mov r1 (eq r0 r0)", ""}, {"r1", "1"}, true},
		{{"b[] r0 A", "b[] r0 B"}, {"1", "1"}, false},
		{{"b[] r0 A", ""}, {"1", "1"}, true},
	};
	char test[sizeof text + 64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(test, sizeof test, text, cases[i].mov[0], cases[i].mov[1],
			 cases[i].value[0], cases[i].value[1]);
		expect(test, &once, cases[i].allowed ? "0:r0=1; 1:r0=1;\n" : "", 0);
	}
}

Test(axioms, a_read_modify_write_may_swap_and_compute)
{
	expect("LISA ops\n{ x=6; y=6; z=6; 0:r9=3; }\n"
	       " P0                               ;\n"
	       " rmw[rlx,system] r0 9 x           ;\n"
	       " rmw[rlx,system] r1 (min r1 r9) y ;\n"
	       " rmw[rlx,system] r9 (or r9 1) z   ;\n"
	       "scopes: (system 0)\nlocations [0:r0; 0:r1; 0:r9; x; y; z;]\nexists true",
	       &once, "0:r0=6; 0:r1=6; 0:r9=6; [x]=9; [y]=3; [z]=7;\n", 0);
}

Test(axioms, races_are_told_apart)
{
	static const char text[] =
		"LISA race\n{ }\n P0 | P1 ;\n w[%s] x 1 | r[%s] r0 x ;\n" TWO_DEVICES
		"filter 1:r0=%d\nexists true";
	static const struct {
		const char *write, *read;
		unsigned races;
	} cases[] = {
		{"na,wi", "na,wi", LITMUS_DATA_RACE},
		{"na,wi", "rlx,system", LITMUS_DATA_RACE},
		{"rlx,system", "rlx,agent", LITMUS_SCOPE_RACE},
		{"rlx,system", "rlx,system", 0},
	};
	char test[sizeof text + 32];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(test, sizeof test, text, cases[i].write, cases[i].read, 0);
		expect(test, &once, "1:r0=0;\n", cases[i].races);
	}
	snprintf(test, sizeof test, text, "na,wi", "na,wi", 2);
	expect(test, &once, "", 0); /* what the filter leaves out has no races */
}

Test(axioms, six_threads_are_judged)
{
	/* A ring of store buffers, seq_cst: not all six reads may miss. */
	char text[2048] = "LISA ring\n{ }\n P0 | P1 | P2 | P3 | P4 | P5 ;\n";
	litmus_result_t result = {0};
	litmus_test_t test;

	for (int row = 0; row < 2; row++) {
		for (int t = 0; t < 6; t++) {
			size_t used = strlen(text);
			if (row == 0)
				snprintf(text + used, sizeof text - used, " w[sc,system] x%d 1 %c",
					 t, t < 5 ? '|' : ';');
			else
				snprintf(text + used, sizeof text - used, " r[sc,system] r0 x%d %c",
					 (t + 1) % 6, t < 5 ? '|' : ';');
		}
	}
	strcat(text, "\nscopes: (system (agent 0 1 2) (agent 3 4 5))\n"
		     "exists (0:r0=0 /\\ 1:r0=0 /\\ 2:r0=0 /\\ 3:r0=0 /\\ 4:r0=0 /\\ 5:r0=0)\n");
	parse(&test, text);
	cr_assert_eq(litmus_axioms.run(&test, &once, &result), TSR_OK);
	cr_expect_eq(result.count, 63, "%d of 64 states, all but one", result.count);
	cr_expect_eq(result.races, 0);
	litmus_result_reset(&result);
	cr_assert_eq(litmus_axioms.run(&test,
				       &(litmus_options_t){.unroll = 1, .axioms = "wrong-seq-cst"},
				       &result),
		     TSR_OK);
	cr_expect_eq(result.count, 64);
	litmus_result_free(&result);
}

Test(axioms, what_is_too_large_is_declined)
{
	char text[8192] = "LISA large\n{ }\n P0 ;\n";
	litmus_result_t result = {0};
	litmus_test_t test;

	for (int i = 0; i < 45; i++)
		strcat(text, " w[rlx,system] x 1 ;\n");
	strcat(text, "scopes: (system 0)\nexists true");
	parse(&test, text);
	cr_expect_eq(litmus_axioms.run(&test, &once, &result), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(tsr_last_error(), "large: thread P0 does more along one way than 40") !=
			  NULL,
		  "%s", tsr_last_error());
}

/* ------------------------------------------------------------- the shortcuts of the enumeration */

typedef struct slow {
	const litmus_test_t *test;
	const axioms_t *axioms;
	litmus_result_t result;
} slow_t;

static bool judge_slowly(const execution_t *x, derived_t *derived, void *context)
{
	slow_t *slow = context;
	relation_t data, scope;

	if (axioms_judge(slow->axioms, x, derived) != AXIOM_NONE)
		return true;
	axioms_races(x, derived, &data, &scope);
	slow->result.races |= (rel_is_empty(data) ? 0 : LITMUS_DATA_RACE) |
			      (rel_is_empty(scope) ? 0 : LITMUS_SCOPE_RACE);
	return litmus_result_add(slow->test, &slow->result, x->values, 1) == TSR_OK;
}

/** Judges every candidate, and expects what the witness found, which leaves most of them out. */
static void expect_nothing_left_out(const litmus_test_t *test, const char *variant)
{
	const litmus_options_t options = {.unroll = 2, .axioms = variant};
	litmus_result_t quick = {0};
	slow_t slow = {.test = test};
	bool cut;

	cr_assert_eq(axioms_find(variant, &slow.axioms), TSR_OK);
	candidates_t all = {.test = test,
			    .axioms = slow.axioms,
			    .unroll = 2,
			    .all = true,
			    .visit = judge_slowly,
			    .context = &slow};
	cr_assert_eq(candidates_visit(&all, &cut), TSR_OK);
	cr_assert_eq(litmus_axioms.run(test, &options, &quick), TSR_OK);
	cr_expect_eq(quick.races, slow.result.races, "%s under %s: races %u, not %u", test->name,
		     variant, quick.races, slow.result.races);
	cr_expect_eq(quick.count, slow.result.count, "%s under %s: %d states, not %d", test->name,
		     variant, quick.count, slow.result.count);
	for (int i = 0; i < quick.count && i < slow.result.count; i++)
		cr_expect(memcmp(quick.states[i].values, slow.result.states[i].values,
				 sizeof(int64_t) * (size_t)test->observed_count) == 0);
	litmus_result_free(&quick);
	litmus_result_free(&slow.result);
}

/** Calls `use` with every `step`-th test of the oracle. */
static void each_of_oracle(int step, void (*use)(const litmus_test_t *test))
{
	FILE *file = fopen("model/memory/oracle/litmus.jsonl", "r");
	char line[8192];
	litmus_test_t test;
	int number = 0;

	cr_assert(file != NULL, "run from the top of the project");
	while (fgets(line, sizeof line, file)) {
		if (number++ % step)
			continue;
		json_t *object = json_loads(line, 0, NULL);
		parse(&test, json_string_value(json_object_get(object, "litmus")));
		use(&test);
		json_decref(object);
	}
	fclose(file);
	cr_expect(number >= step, "the oracle is empty");
}

static void check_every_variant(const litmus_test_t *test)
{
	for (int i = 0; axioms_variants[i].name; i++)
		expect_nothing_left_out(test, axioms_variants[i].name);
}

Test(axioms, the_enumeration_leaves_out_nothing_that_is_allowed, .timeout = 1200)
{
	each_of_oracle(23, check_every_variant);
}

/* ------------------------------------------------------------------ explanations */

/** The steps make a cycle of edges that the execution has, or name a race. */
static void check_explanation(const litmus_test_t *test)
{
	static const char *const names[] = {"po", "rf", "co", "fr", "sw", "init", "rmw", "dep"};
	static why_t why;

	cr_assert_eq(why_explain(test, &once, &why), TSR_OK, "%s", tsr_last_error());
	if (!why.found || (why.axiom == AXIOM_NONE && !why.racy))
		return;
	cr_assert(why.steps > 0, "%s: forbidden or racy, but no step says why", test->name);
	if (why.racy)
		return;
	for (int i = 0; i < why.steps; i++) {
		const why_step_t *step = &why.step[i];
		const relation_t *relations[] = {&why.x.po,       &why.x.rf,       &why.x.co,
						 &why.derived.fr, &why.derived.sw, &why.derived.hb};
		cr_expect_eq(step->to, why.step[(i + 1) % why.steps].from,
			     "%s: step %d does not lead to the next", test->name, i);
		for (size_t k = 0; k < sizeof relations / sizeof *relations; k++)
			cr_expect(strcmp(step->name, names[k]) != 0 ||
					  related(relations[k], step->from, step->to),
				  "%s: step %d is no %s", test->name, i, names[k]);
	}
}

/**
 * Asks for each final state that can be written down with the values 0, 1 and
 * 2, so that most are forbidden.
 */
static void check_questions(const litmus_test_t *test)
{
	litmus_test_t asked = *test;
	int digits = test->observed_count, states = 1;

	for (int i = 0; i < digits; i++)
		states *= 3;
	for (int s = 0; s < states; s += states / 9 ? states / 9 : 1) {
		int rest = s;
		asked.terms = 2 * digits - 1;
		asked.question = asked.terms - 1;
		for (int i = 0; i < digits; i++, rest /= 3)
			asked.term[i] = (litmus_term_t){
				.connective = LITMUS_IS, .left = i, .number = rest % 3};
		for (int i = 1; i < digits; i++)
			asked.term[digits + i - 1] =
				(litmus_term_t){.connective = LITMUS_BOTH,
						.left = i == 1 ? 0 : digits + i - 2,
						.right = i};
		check_explanation(&asked);
	}
}

Test(axioms, an_explanation_is_a_cycle_of_the_execution, .timeout = 1200)
{
	each_of_oracle(29, check_questions);
}
