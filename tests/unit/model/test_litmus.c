/*
 * The parser of litmus tests: what it reads, what it writes again, and how it
 * says where a test is malformed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory/language/litmus.h"
#include "model/memory/witness.h"
#include "tessera/random.h"

static const char whole[] = "LISA MP+x.y-z (* the rest of a name's line is left alone *)\n"
			    "\"a put overtaken by its signal\"\n"
			    "Expect=Never\n"
			    "Twin = MP two\n"
			    "{ x=3; [y]=-2; 1:r7=x; z; }\n"
			    " P1 (* columns in any order *) | P0                             ;\n"
			    " L: r[acq,agent] r0 y          | w[] x 1                        ;\n"
			    " mov r1 (neq r0 1)             | cas[acqrel,system] r1 0 r2 x+r4 ;\n"
			    " b[] r1 L                      | rmw[rel,wg] r9 (add r9 10) r2  ;\n"
			    "                               | f[sc,system]                   ;\n"
			    "scopes: (system (agent (wg 0)) (agent (wg 1)))\n"
			    "locations [x; 0:r1;]\n"
			    "filter 1:r0=1\n"
			    "~exists (1:r0=1 /\\ (x=0 \\/ not [y]!=2) /\\ 1:r7=x)\n";

static void parse(litmus_test_t *test, const char *text)
{
	cr_assert_eq(litmus_parse("t", text, test), TSR_OK, "%s", tsr_last_error());
}

Test(litmus, the_frame_is_read)
{
	litmus_test_t test;

	parse(&test, whole);
	cr_assert_str_eq(test.name, "MP+x.y-z");
	cr_assert_str_eq(test.sentence, "a put overtaken by its signal");
	cr_assert_str_eq(litmus_info(&test, "Expect"), "Never");
	cr_assert_str_eq(litmus_info(&test, "Twin"), "MP two");
	cr_assert(litmus_info(&test, "Nothing") == NULL);
	cr_expect_eq(test.initial[0], 3);
	cr_expect_eq(test.initial[1], -2);
	cr_expect_eq(test.initial[2], 0);
	cr_expect_eq(test.thread[1].initial[0], LITMUS_ADDRESS(0));
	cr_expect_eq(test.quantifier, LITMUS_NOT_EXISTS);
}

Test(litmus, instructions_are_read_and_written)
{
	static const char *const code[2][4] = {
		{"w[na,wi] x 1", "cas[acqrel,acq,system] r1 0 r2 x+r4",
		 "rmw[rel,wg] r9 (add r9 10) r2", "f[sc,system]"},
		{"r[acq,agent] r0 y", "mov r1 (neq r0 1)", "b[] r1"},
	};
	litmus_test_t test;
	char print[128];

	parse(&test, whole);
	cr_assert_eq(test.threads, 2);
	for (int t = 0; t < 2; t++) {
		cr_assert_eq(test.thread[t].count, 4 - t);
		for (int i = 0; i < test.thread[t].count; i++) {
			litmus_print_instruction(&test, t, i, print, sizeof print);
			cr_assert_str_eq(print, code[t][i]);
		}
	}
	cr_expect_eq(test.thread[1].code[2].target, 0);
	cr_expect_eq(test.thread[0].code[1].line, 8);
	cr_expect_eq(test.thread[0].code[1].column, 34);
}

Test(litmus, the_question_is_read_written_and_asked)
{
	const int64_t yes[] = {0, 1, LITMUS_ADDRESS(0), 5, 2},
		      no[] = {0, 1, LITMUS_ADDRESS(0), 5, 3};
	litmus_test_t test;
	char print[256];

	parse(&test, whole);
	litmus_print_term(&test, test.question, print, sizeof print);
	cr_assert_str_eq(print, "1:r0=1 /\\ ([x]=0 \\/ ~(~([y]=2))) /\\ 1:r7=x");
	litmus_print_term(&test, test.filter, print, sizeof print);
	cr_assert_str_eq(print, "1:r0=1");
	litmus_print_state(&test, yes, print, sizeof print);
	cr_assert_str_eq(print, "0:r1=0; 1:r0=1; 1:r7=x; [x]=5; [y]=2;");
	cr_expect(litmus_holds(&test, test.question, yes));
	cr_expect(!litmus_holds(&test, test.question, no));
	cr_expect_eq(litmus_print_state(&test, yes, print, 4), 37,
		     "the length that there is no room for");
	cr_assert_str_eq(print, "0:r");
}

Test(litmus, a_scope_includes_who_shares_its_instance)
{
	litmus_test_t test;

	parse(&test, "LISA T\n{ } P0 | P1 | P2 | P3 ; scopes: (system (agent (wg (wave 0 P1)) (wg "
		     "(wave (wi 2)))) (agent 3)) exists true");
	cr_expect(litmus_inclusive(&test, 0, LITMUS_WAVE, 1, LITMUS_WAVE));
	cr_expect(litmus_inclusive(&test, 0, LITMUS_WG, 1, LITMUS_SYSTEM));
	cr_expect(!litmus_inclusive(&test, 0, LITMUS_WI, 1, LITMUS_SYSTEM),
		  "each thread is itself alone");
	cr_expect(litmus_inclusive(&test, 0, LITMUS_AGENT, 2, LITMUS_SYSTEM));
	cr_expect(!litmus_inclusive(&test, 0, LITMUS_WG, 2, LITMUS_SYSTEM),
		  "the narrower of the two counts");
	cr_expect(!litmus_inclusive(&test, 0, LITMUS_SYSTEM, 3, LITMUS_AGENT));
	cr_expect(litmus_inclusive(&test, 0, LITMUS_SYSTEM, 3, LITMUS_SYSTEM));
	cr_expect(litmus_inclusive(&test, 2, LITMUS_WI, 2, LITMUS_WI));
}

Test(litmus, numbers_have_64_bits_and_a_sign)
{
	static const struct {
		const char *text;
		int64_t number;
	} numbers[] = {
		{"0", 0},
		{"2147483648", INT64_C(2147483648)},
		{"-2147483649", -INT64_C(2147483649)},
		{"1099511627776", INT64_C(1) << 40}, /* was an address once */
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
		{"0x1f", 31},
		{"0XdeadBEEF", INT64_C(0xdeadbeef)},
		{"-0x10", -16},
		{"-0x8000000000000000", INT64_MIN},
		{"0x8000000000000000", INT64_MIN},
		{"0xffffffffffffffff", -1},
	};
	litmus_test_t test;
	char text[512];

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *number = numbers[i].text;
		snprintf(text, sizeof text,
			 "LISA T\n{ 0:r1=%s } P0 ; w[rlx,system] x %s ; scopes: (system 0) exists "
			 "x=%s",
			 number, number, number);
		parse(&test, text);
		cr_expect_eq(test.thread[0].initial[0], numbers[i].number, "%s", number);
		cr_expect_eq(test.thread[0].code[0].value.a.number, numbers[i].number, "%s",
			     number);
		cr_expect(litmus_holds(&test, test.question, &numbers[i].number), "%s", number);
		const int64_t other = (int64_t)((uint64_t)numbers[i].number + (UINT64_C(1) << 32));
		cr_expect(!litmus_holds(&test, test.question, &other),
			  "%s is not compared in 32 bits", number);
	}
}

/*
 * A test of two threads: what stands on line 4, what comes after it, and where
 * and how that is refused.
 */
#define TREE "scopes: (system (agent (wg (wave (wi 0)))) (agent (wg (wave (wi 1)))))\n"
#define TOO_LARGE \
	"this number does not fit into 64 bits with a sign: use one from -2^63 to 2^63 - 1"
static const struct {
	const char *row, *tail, *refusal;
} malformed[] = {
	{" w[rel,systm] x 1 | ;\n", TREE "exists x=1",
	 "4:8: 'systm' is not a scope; did you mean 'system'?"},
	{" w[reel,wg] x 1 | ;\n", TREE "exists x=1",
	 "4:4: 'reel' is not an order; did you mean 'rel'?"},
	{" r[rel,wg] r0 x | ;\n", TREE "exists x=1",
	 "4:4: a load cannot be rel: its order is na, rlx, acq or sc"},
	{" w[acq,wg] x 1 | ;\n", TREE "exists x=1",
	 "4:4: a store cannot be acq: its order is na, rlx, rel or sc"},
	{" f[rlx,wg] | ;\n", TREE "exists x=1",
	 "4:4: a fence cannot be rlx: its order is acq, rel, acqrel or sc"},
	{" cas[rel,rel,wg] r0 0 1 x | ;\n", TREE "exists x=1",
	 "4:10: the failure of a compare-and-swap cannot be rel: its order is rlx, acq or sc"},
	{" rmw[] r0 1 x | ;\n", TREE "exists x=1",
	 "4:6: a read-modify-write needs an order and a scope, such as rmw[rlx,system]"},
	{" r[acq] r0 x | ;\n", TREE "exists x=1", "4:7: expected ',' after the order, not ']'"},
	{" b[rlx,wg] L | ;\n", TREE "exists x=1",
	 "4:4: a branch has no order and no scope: compare first, as in mov r9 (eq r1 0), and "
	 "branch by b[] r9 L"},
	{" r[rlx,wg] x r0 | ;\n", TREE "exists x=1",
	 "4:12: expected a register, such as r0, not 'x'"},
	{" r[rlx,wg] r0 5 | ;\n", TREE "exists x=1",
	 "4:15: expected a register or a location, not '5'"},
	{" w[rlx,wg] x y | ;\n", TREE "exists x=1",
	 "4:14: a store writes a number or a register, not 'y': mov what it shall write into a "
	 "register first"},
	{" mov r0 (sub r1 1) | ;\n", TREE "exists x=1",
	 "4:10: expected a function (add, xor, and, or, eq, neq, min or max), not 'sub'"},
	{" mov r0 (add r1) | ;\n", TREE "exists x=1",
	 "4:16: expected a register or a location or a number, not ')'"},
	{" ld r0 x | ;\n", TREE "exists x=1",
	 "4:2: expected an instruction (r w rmw cas f mov b), not 'ld'"},
	{" w[rlx,wg] x 1 w[rlx,wg] y 1 | ;\n", TREE "exists x=1",
	 "4:16: expected '|' after an instruction, not 'w'"},
	{" w[rlx,wg] x 1 ;\n", TREE "exists x=1",
	 "4:16: this row has 1 columns, but there are 2 threads"},
	{" | | ;\n", TREE "exists x=1",
	 "4:4: this row has more columns than there are threads (2)"},
	{" b[] r0 L | ;\n", TREE "exists x=1", "4:9: P0 has no label L"},
	{" L: L: | ;\n", TREE "exists x=1", "4:5: the label L stands on line 4 already"},
	{" w[rlx,wg] x 9223372036854775808 | ;\n", TREE "exists x=1", "4:14: " TOO_LARGE},
	{" w[rlx,wg] x -9223372036854775809 | ;\n", TREE "exists x=1", "4:14: " TOO_LARGE},
	{" w[rlx,wg] x 0x10000000000000000 | ;\n", TREE "exists x=1", "4:14: " TOO_LARGE},
	{" w[rlx,wg] x -0x8000000000000001 | ;\n", TREE "exists x=1", "4:14: " TOO_LARGE},
	{" w[rlx,wg] x 0x | ;\n", TREE "exists x=1",
	 "4:14: 0x is followed by no digit: a hexadecimal number is like 0x1f"},
	{" w[rlx,wg] x 0x1g | ;\n", TREE "exists x=1",
	 "4:14: a name begins with a letter, and a number has digits only"},
	{" w[rlx,wg] x 0x5e7ad0c493b16e00 | ;\n", TREE "exists x=1",
	 "4:14: this number stands for an address here: use another"},
	{" w[rlx,wg] x 1 | ;\n", TREE "exists 4294967296:r0=1",
	 "6:8: there is no thread 4294967296; the last is 1"},
	{" w[rlx,wg] x 1x | ;\n", TREE "exists x=1",
	 "4:14: a name begins with a letter, and a number has digits only"},
	{" w[rlx,wg] x $ | ;\n", TREE "exists x=1", "4:14: '$' has no meaning in a litmus test"},
	{" \x01 | ;\n", TREE "exists x=1", "4:2: the byte 0x01 has no meaning in a litmus test"},
	{" (* | ;\n", TREE "exists x=1", "4:2: this comment is never closed by '*)'"},
	{" w[rlx,wg] x 1 |", "", "4:17: the test ends inside the table of its threads"},
	{"", "exists x=1",
	 "4:1: the test does not place its threads: 'scopes: (system (agent (wg (wave (wi 0)) "
	 "...)))' is missing"},
	{"", "scopes: (system 0)\nexists x=1", "4:9: the tree of scopes does not place thread 1"},
	{"", "scopes: (system 0 1 0)\nexists x=1", "4:21: thread 0 is placed twice"},
	{"", "scopes: (system 0 1 2)\nexists x=1", "4:21: there is no thread 2; the last is 1"},
	{"", "scopes: (wg (agent 0) 1)\nexists x=1", "4:14: agent cannot stand inside wg"},
	{"", "scopes: (system (gpu 0) 1)\nexists x=1", "4:18: 'gpu' is called 'agent' here"},
	{"", "scopes: (system (node 0) 1)\nexists x=1",
	 "4:18: expected a scope (wi, wave, wg, agent or system), not 'node'"},
	{"", "scopes: (system (wg x) 1)\nexists x=1", "4:21: expected a thread's number, not 'x'"},
	{"", "scopes: (system 0 (wg P7))\nexists x=1", "4:23: there is no thread 7; the last is 1"},
	{"", TREE,
	 "5:1: the test asks nothing: 'exists (...)', '~exists (...)' or 'forall (...)' is "
	 "missing"},
	{"", TREE "exists (x=1", "5:12: the test ends where ')' is missing after a term"},
	{"", TREE "exists x",
	 "5:9: the test ends where '=' is missing after a register or location"},
	{"", TREE "exists 2:r0=1", "5:8: there is no thread 2; the last is 1"},
	{"", TREE "exists x=1 y=1", "5:12: nothing may follow the question, but 'y' does"},
	{"", TREE "locations [x y]\nexists x=1",
	 "5:14: 'y' is no type that is known; what is shown is parted by ';'"},
	{"", TREE "locations [x 1]\nexists x=1",
	 "5:14: expected ';' after a register or location, not '1'"},
};

Test(litmus, a_malformed_test_is_refused_where_it_is)
{
	litmus_test_t test;
	char text[1024];

	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
		snprintf(text, sizeof text, "LISA T\n{ }\n P0 | P1 ;\n%s%s", malformed[i].row,
			 malformed[i].tail);
		cr_expect_eq(litmus_parse("file", text, &test), TSR_ERR_ARGUMENT, "%s", text);
		cr_expect(strncmp(tsr_last_error(), "file:", 5) == 0 &&
				  strcmp(tsr_last_error() + 5, malformed[i].refusal) == 0,
			  "\n%s\nis refused with: %s\nnot with:   %s", text, tsr_last_error() + 5,
			  malformed[i].refusal);
	}
}

Test(litmus, a_malformed_frame_is_refused_where_it_is)
{
	static const char *const frames[][2] = {
		{"", "1:1: a litmus test begins with 'LISA' and its name"},
		{"lisa MP\n{ }", "1:1: a litmus test begins with 'LISA' and its name"},
		{"LISA \n{ }", "1:6: the test has no name after 'LISA'"},
		{"LISA T\n\"no end\n{ }",
		 "2:1: a sentence ends with '\"' on the line where it begins"},
		{"LISA T\nKey\n{ }",
		 "2:1: this line is no Key=value, no sentence in quotes and not '{': make it a "
		 "comment, (* ... *)"},
		{"LISA T\n{ x=1 y=2 }", "2:7: expected ';' after an initial value, not 'y'"},
		{"LISA T\n{ 9:r0=1 }", "2:3: there is no thread 9; the last is 7"},
		{"LISA T\n{ 1:r0=1 }\n P0 ;",
		 "3:5: the initial state sets a register of thread 1, which has no column"},
		{"LISA T\n{ }\n P0 | P2 ;",
		 "3:10: the threads of these 2 columns must be P0 to P1"},
		{"LISA T\n{ }\n P0 | P0 ;", "3:7: there are two columns P0"},
		{"LISA T\n{ }\n P0 | P8 ;", "3:7: a test may have at most 8 threads, P0 to P7"},
		{"LISA T\n{ }\n x ;", "3:2: expected a thread's name, such as P0, not 'x'"},
	};
	litmus_test_t test;

	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
		cr_expect_eq(litmus_parse("f", frames[i][0], &test), TSR_ERR_ARGUMENT);
		cr_expect(strcmp(tsr_last_error() + 2, frames[i][1]) == 0,
			  "\n%s\nis refused with: %s\nnot with:   %s", frames[i][0],
			  tsr_last_error() + 2, frames[i][1]);
	}
}

/** The whole test with a few bytes replaced, doubled or removed: the round says which. */
static void mutate(uint64_t round, char *text)
{
	static const char alphabet[] = "rwfb(){}[]|;:,=~+&%*>\\/\"'0129xyPL \n";
	uint64_t drawn = 0;

	strcpy(text, whole);
	for (int64_t changes = tsr_random_int(round, drawn++, 1, 6); changes > 0; changes--) {
		int64_t length = (int64_t)strlen(text),
			at = tsr_random_int(round, drawn++, 0, length);
		int64_t pick = tsr_random_int(round, drawn++, 0, sizeof alphabet - 1),
			byte = tsr_random_int(round, drawn++, 1, 256);
		switch (tsr_random_int(round, drawn++, 0, 4)) {
		case 0:
			text[at] = (char)byte;
			break;
		case 1:
			text[at] = alphabet[pick];
			break;
		case 2:
			memmove(text + at + 1, text + at, (size_t)(length - at + 1));
			break;
		default:
			memmove(text + at, text + at + 1, (size_t)(length - at));
		}
	}
}

/* Whatever comes out is read or refused, judged or declined, and nothing else. */
Test(litmus, no_text_breaks_the_parser_or_the_judge, .timeout = 1200)
{
	enum { ROUNDS = 4000 };
	const litmus_options_t options = {.unroll = 1};
	litmus_result_t result = {0};
	litmus_test_t test;
	int read = 0;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		/* of its own, so that AddressSanitizer sees a step over its end */
		char *text = malloc(sizeof whole + 8);
		mutate(round, text);
		tsr_status_t status = litmus_parse("fuzz", text, &test);
		cr_assert(status == TSR_OK || strncmp(tsr_last_error(), "fuzz:", 5) == 0, "%s",
			  tsr_last_error());
		free(text);
		if (status != TSR_OK)
			continue;
		read++;
		litmus_result_reset(&result);
		status = litmus_axioms.run(&test, &options, &result);
		cr_assert(status == TSR_OK || status == TSR_ERR_UNSUPPORTED, "%s",
			  tsr_last_error());
	}
	litmus_result_free(&result);
	cr_expect(read > ROUNDS / 20 && read < ROUNDS / 2,
		  "%d of %d were read: the mutations have lost their bite", read, ROUNDS);
}
