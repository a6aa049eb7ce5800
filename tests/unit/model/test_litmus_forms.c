/*
 * Forms of herd's grammar that say what plainer ones say too: types, pointers,
 * arrays, registers with names, implications, sets behind fences. Each is judged
 * as the plain form is; and what is not known is refused by what it is.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/language/canonical.h"
#include "model/memory/language/litmus.h"
#include "model/memory/witness.h"

enum { TEXT = 4096 };

#define MP " w[rlx,system] x 1 | r[acq,system] r0 y ;\n w[rel,system] y 1 | r[rlx,system] r1 x ;\n"
#define ASK "exists (1:r0=1 /\\ 1:r1=0)"

typedef struct form {
	const char *state, *code, *question;
} form_t;

static void parse(litmus_test_t *test, const form_t *form)
{
	char text[TEXT];
	snprintf(text, sizeof text,
		 "LISA T\n{ %s }\n P0 | P1 ;\n%sscopes: (system (agent (wg 0)) (agent (wg 1)))\n%s",
		 form->state, form->code, form->question);
	cr_assert_eq(litmus_parse("t", text, test), TSR_OK, "%s\n%s", tsr_last_error(), text);
}

/** How often the question holds in final states, and how often not. */
static void judge(const litmus_test_t *test, int counts[2])
{
	static const litmus_options_t once = {.unroll = 1};
	litmus_result_t result = {0};
	counts[0] = counts[1] = 0;
	cr_assert_eq(litmus_axioms.run(test, &once, &result), TSR_OK, "%s", tsr_last_error());
	for (int i = 0; i < result.count; i++)
		counts[litmus_holds(test, test->question, result.states[i].values)]++;
	litmus_result_free(&result);
}

#define POINTER " r[acq,system] r0 p | w[rlx,system] x 7 ;\n r[rlx,system] r1 r0 | ;\n"
#define FENCES(sets)                                                     \
	" w[rlx,system] x 1 | r[rlx,system] r0 y ;\n f[rel,system]" sets \
	" | f[acq,system] ;\n M: w[rlx,system] y 1 | r[rlx,system] r1 x ;\n"

static const struct {
	const char *name;
	form_t form, plain;
} forms[] = {
	{"types",
	 {"int x=0; uint64_t y=0; int64_t 1:r1=3; _Atomic int8_t z=-128", MP, ASK},
	 {"x=0; y=0; 1:r1=3; z=-128", MP, ASK}},
	{"a type alone", {"int x; long [y]; intptr_t 1:r1", MP, ASK}, {"", MP, ASK}},
	{"pointers",
	 {"x=1; int *p=&x", POINTER, "exists (0:r1=7 /\\ 0:r0=&x)"},
	 {"x=1; p=x", POINTER, "exists (0:r1=7 /\\ 0:r0=x)"}},
	{"a pointer in a register",
	 {"x=1; int* 0:r0=x; *p=&x", " r[rlx,system] r1 r0 | w[rlx,system] x 7 ;\n",
	  "locations [0:r1 int; p*;] exists 0:r1=7"},
	 {"x=1; 0:r0=x; p=x", " r[rlx,system] r1 r0 | w[rlx,system] x 7 ;\n",
	  "locations [0:r1; p;] exists 0:r1=7"}},
	{"an address in an instruction",
	 {"", " mov r0 &x | w[rlx,system] x 7 ;\n r[rlx,system] r1 r0 | ;\n", "exists 0:r1=7"},
	 {"", " mov r0 x | w[rlx,system] x 7 ;\n r[rlx,system] r1 r0 | ;\n", "exists 0:r1=7"}},
	{"arrays",
	 {"int a[2]={3,4}",
	  " w[rlx,system] a[0] 1 | r[acq,system] r0 a[1] ;\n"
	  " w[rel,system] a[1] 1 | r[rlx,system] r1 a ;\n",
	  "exists (1:r0=1 /\\ 1:r1=3 /\\ a[1]=1)"},
	 {"x=3; y=4", MP, "exists (1:r0=1 /\\ 1:r1=3 /\\ y=1)"}},
	{"elements are apart",
	 {"int a[2]", " w[rlx,system] a[0] 1 | r[rlx,system] r0 a[1] ;\n", "exists 1:r0=1"},
	 {"", " w[rlx,system] x 1 | r[rlx,system] r0 y ;\n", "exists 1:r0=1"}},
	{"an array is the address of its first element",
	 {"int a[2]={1,2}; int *p=a", POINTER, "exists (0:r1=2 \\/ 0:r0=&a[1])"},
	 {"y=1; z=2; p=y", POINTER, "exists (0:r1=2 \\/ 0:r0=z)"}},
	{"registers with names",
	 {"1:%b=5",
	  " w[rlx,system] x 1 | r[acq,system] %a y ;\n"
	  " w[rel,system] y 1 | r[rlx,system] %b x ;\n",
	  "exists (1:%a=1 /\\ 1:%b=0)"},
	 {"1:r1=5", MP, ASK}},
	{"the same name is another register of another thread",
	 {"",
	  " r[rlx,system] %a y | r[rlx,system] %a x ;\n w[rlx,system] x 1 | w[rlx,system] y 1 ;\n",
	  "exists (0:%a=1 /\\ 1:%a=1)"},
	 {"",
	  " r[rlx,system] r0 y | r[rlx,system] r0 x ;\n w[rlx,system] x 1 | w[rlx,system] y 1 ;\n",
	  "exists (0:r0=1 /\\ 1:r0=1)"}},
	{"an implication that holds",
	 {"", MP, "forall (1:r0=1 => 1:r1=1)"},
	 {"", MP, "forall (~(1:r0=1) \\/ 1:r1=1)"}},
	{"one that does not",
	 {"", MP, "forall (1:r1=1 => 1:r0=1)"},
	 {"", MP, "forall (~(1:r1=1) \\/ 1:r0=1)"}},
	{"it binds closer than /\\",
	 {"", MP, "exists (1:r0=0 /\\ 1:r1=0 => 1:r0=1)"},
	 {"", MP, "exists (1:r0=0 /\\ (~(1:r1=0) \\/ 1:r0=1))"}},
	{"and to the right",
	 {"", MP, "exists (1:r0=1 => 1:r1=1 => 1:r0=0)"},
	 {"", MP, "exists (~(1:r0=1) \\/ (~(1:r1=1) \\/ 1:r0=0))"}},
	{"~ binds closer",
	 {"", MP, "exists ~1:r0=0 => 1:r1=0"},
	 {"", MP, "exists (1:r0=0 \\/ 1:r1=0)"}},
	{"false", {"", MP, "exists (false \\/ 1:r0=1)"}, {"", MP, "exists 1:r0=1"}},
	{"sets behind fences", {"", FENCES(" ({L,K},{M})"), ASK}, {"", FENCES(""), ASK}},
};

Test(litmus_forms, are_judged_as_the_plain_ones)
{
	static litmus_test_t form, plain;
	static char texts[2][1 << 15];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		int counts[2][2];
		parse(&form, &forms[i].form);
		parse(&plain, &forms[i].plain);
		judge(&form, counts[0]);
		judge(&plain, counts[1]);
		cr_expect(counts[0][0] == counts[1][0] && counts[0][1] == counts[1][1],
			  "%s: holds in %d states and not in %d, not in %d and %d", forms[i].name,
			  counts[0][1], counts[0][0], counts[1][1], counts[1][0]);
		cr_expect(counts[0][0] + counts[0][1] > 0, "%s: nothing is shown", forms[i].name);
		litmus_print_canonical(&form, texts[0], sizeof texts[0]);
		litmus_print_canonical(&plain, texts[1], sizeof texts[1]);
		cr_expect_str_eq(texts[0], texts[1], "%s", forms[i].name);
	}
}

Test(litmus_forms, are_written_as_they_are_read)
{
	static litmus_test_t test;
	char print[256];

	parse(&test, &(form_t){"int a[2]={3,x}; int *p=&a[1]",
			       " r[acq,system] %v a[1] | f[rel,system] ({L},{M}) ;\n",
			       "exists (0:%v=x /\\ a[1]=&a[0] => [x]=1)"});
	litmus_print_instruction(&test, 0, 0, print, sizeof print);
	cr_expect_str_eq(print, "r[acq,system] %v a[1]");
	litmus_print_instruction(&test, 1, 0, print, sizeof print);
	cr_expect_str_eq(print, "f[rel,system]");
	litmus_print_term(&test, test.question, print, sizeof print);
	cr_expect_str_eq(print, "0:%v=x /\\ (~(a[1]=a[0]) \\/ [x]=1)");
	cr_expect_eq(test.locations, 4);
	cr_expect_str_eq(test.location[0], "a[0]");
	cr_expect_eq(test.initial[0], 3);
	cr_expect_eq(test.initial[1], LITMUS_ADDRESS(2));
	cr_expect_eq(test.initial[3], LITMUS_ADDRESS(1));
}

#define TYPES                                                                                \
	" is not known: int, long, intN_t and uintN_t are, with 8, 16, 32 or 64 for N, and " \
	"pointers"
#define WRAPS(type)                                                                             \
	"2:3: numbers of this test, or what they add up to, may not fit '" type "', and would " \
	"wrap there: memory has 64 bits and a sign here, so use int64_t"
#define ADDS " rmw[rlx,system] r0 (add r0 1) x | ;\n"
#define LEAST " rmw[rlx,system] r0 (min r0 -1) x | ;\n"

static const struct {
	form_t form;
	const char *refusal; /* null: it is a test */
} refused[] = {
	{{"float x=1", "", "exists x=1"}, "2:3: the type 'float'" TYPES},
	{{"unsigned long x=1", "", "exists x=1"}, "2:3: the type 'unsigned'" TYPES},
	{{"uint8_t x=255", "", "exists x=1"}, NULL},
	{{"uint8_t x=256", "", "exists x=1"}, WRAPS("uint8_t")},
	{{"uint8_t x=-1", "", "exists x=1"}, WRAPS("uint8_t")},
	{{"int8_t x=-128", "", "exists x=1"}, NULL},
	{{"int8_t x=-129", "", "exists x=1"}, WRAPS("int8_t")},
	{{"int x; int64_t y=2147483648", "", "exists x=1"}, WRAPS("int")},
	{{"int8_t x", " w[rlx,system] x 200 | ;\n", "exists x=1"}, WRAPS("int8_t")},
	{{"int8_t x", " cas[rlx,system] r0 200 1 x | ;\n", "exists x=1"}, WRAPS("int8_t")},
	{{"int x=7", ADDS, "exists x=1"}, NULL},
	{{"uint8_t x", ADDS, "exists x=1"}, WRAPS("uint8_t")},
	{{"int x=2147483647", ADDS, "exists x=1"}, WRAPS("int")},
	{{"int64_t x=0x7fffffffffffffff", ADDS, "exists x=1"}, NULL},
	{{"uint64_t x=0xffffffffffffffff", ADDS, "exists x=1"}, NULL},
	{{"uint64_t x", LEAST, "exists x=1"}, WRAPS("uint64_t")},
	{{"int64_t x", LEAST, "exists x=1"}, NULL},
	{{"int a[0]", "", "exists true"},
	 "2:9: expected the number of elements of an array; a test may use at most 16 locations, "
	 "and each element is one"},
	{{"int a[17]", "", "exists true"},
	 "2:9: expected the number of elements of an array; a test may use at most 16 locations, "
	 "and each element is one"},
	{{"a=1; int a[2]", "", "exists true"},
	 "2:12: a is a location already: arrays are declared first"},
	{{"int a[2]={1}", "", "exists true"}, "2:14: expected ',' after an element, not '}'"},
	{{"int a[1]={1,2}", "", "exists true"},
	 "2:14: expected '}' after as many values as the array has elements, not ','"},
	{{"int a[2]", " w[rlx,system] a[2] 1 | ;\n", "exists true"},
	 "4:18: expected an element of the array, 0 to 1"},
	{{"int a[2]", " w[rlx,system] a+1 1 | ;\n", "exists true"},
	 "4:17: how far apart the elements of an array are is not known: name one, such as a[1]"},
	{{"", " w[rlx,system] x[1] 1 | ;\n", "exists true"},
	 "4:17: x is no array: the initial state declares arrays, such as int x[2]"},
	{{"", "", "exists a={1,2}"},
	 "5:10: values in braces are those of an array, which the initial state declares, such as "
	 "int x[2]"},
	{{"int a[2]", "", "exists a={1}"}, "5:10: expected ',' after an element, not '}'"},
	{{"", "", "exists fault(P0)"},
	 "5:8: faults are not known: a test shows registers and locations"},
	{{"", " f[rel,system] ({L}) | ;\n", "exists true"},
	 "4:20: expected ',' after a set of labels, not ')'"},
	{{"", " f[rel,system] ({1},{L}) | ;\n", "exists true"}, "4:18: expected a label, not '1'"},
};

Test(litmus_forms, that_are_not_known_are_refused_by_what_they_are)
{
	static litmus_test_t test;
	char text[TEXT];

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		snprintf(text, sizeof text, "LISA T\n{ %s }\n P0 | P1 ;\n%s%s%s",
			 refused[i].form.state, refused[i].form.code,
			 "scopes: (system (agent 0) (agent 1)) ", refused[i].form.question);
		const char *wanted = refused[i].refusal;
		const tsr_status_t status = litmus_parse("t", text, &test);
		cr_expect_eq(status == TSR_OK, wanted == NULL, "%s\n%s", text,
			     status == TSR_OK ? "is a test" : tsr_last_error());
		const char *said = status == TSR_OK ? "" : tsr_last_error() + 2;
		const char *behind = wanted ? strchr(strchr(wanted, ':') + 1, ':') : NULL;
		/* of what stands behind the code, the column alone depends on what is before it */
		const bool same = !wanted || strcmp(said, wanted) == 0 ||
				  (wanted[0] == '5' && strstr(said, behind));
		cr_expect(same, "\n%s\nis refused with: %s\nnot with:   %s", text, said,
			  wanted ? wanted : "");
	}
}
