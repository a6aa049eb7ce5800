/*
 * What of herd's grammar no test here has, by the name that it has in herd: what
 * it is, and what to write. Asked where the grammar here has come to its end.
 */
#include <string.h>

#include "model/memory/language/parser.h"

static const char *find(const token_t *word, const char *const (*pairs)[2])
{
	for (; (*pairs)[0]; pairs++)
		if (token_is(word, (*pairs)[0]))
			return (*pairs)[1];
	return NULL;
}

bool parser_foreign_language(parser_t *parser)
{
	static const char *const languages[] = {
		"C",    "CPP", "AArch64", "ARM", "PPC",  "X86", "X86_64",
		"MIPS", "BPF", "RISCV",   "ASL", "JAVA", NULL,
	};

	for (int i = 0; languages[i]; i++)
		if (parser_at(parser, languages[i]))
			return parser_fail(
				parser,
				"%s is not read: write the test in LISA, with scopes, as "
				"in w[rel,system] x 1 for a store and r[acq,system] r0 x "
				"for a load; tessera-litmus(1) has all of it",
				languages[i]);
	return parser_fail(parser, "a litmus test begins with 'LISA' and its name");
}

const char *parser_called_here(const token_t *word)
{
	static const char *const names[][2] = {
		{"plain", "na"},       {"once", "rlx"},       {"relaxed", "rlx"},
		{"acquire", "acq"},    {"release", "rel"},    {"acq_rel", "acqrel"},
		{"seq_cst", "sc"},     {"sys", "system"},     {"gpu", "agent"},
		{"device", "agent"},   {"cta", "wg"},         {"block", "wg"},
		{"work_group", "wg"},  {"work-group", "wg"},  {"warp", "wave"},
		{"sub_group", "wave"}, {"sub-group", "wave"}, {"thread", "wi"},
		{"work_item", "wi"},   {"work-item", "wi"},   {NULL, NULL},
	};
	return find(word, names);
}

bool parser_foreign_instruction(parser_t *parser)
{
	static const char *const words[][2] = {
		{"if", "b[] r0 L, which jumps to L: where r0 is not 0"},
		{"while", "b[] r0 L, with L: before the loop"},
		{"int", "mov r0 1: registers are not declared"},
		{"*", "r[na,wi] r0 x, or w[na,wi] x 1"},
		{"READ_ONCE", "r[rlx,system] r0 x"},
		{"WRITE_ONCE", "w[rlx,system] x 1"},
		{"smp_load_acquire", "r[acq,system] r0 x"},
		{"smp_store_release", "w[rel,system] x 1"},
		{"smp_mb", "f[sc,system]"},
		{"smp_rmb", "f[acq,system]"},
		{"smp_wmb", "f[rel,system]"},
		{"atomic_load_explicit", "r[acq,system] r0 x"},
		{"atomic_store_explicit", "w[rel,system] x 1"},
		{"atomic_thread_fence", "f[acqrel,system]"},
		{"atomic_exchange_explicit", "rmw[acqrel,system] r0 1 x"},
		{"atomic_fetch_add_explicit", "rmw[rlx,system] r0 (add r0 1) x"},
		{"atomic_compare_exchange_strong_explicit", "cas[acqrel,system] r0 0 1 x"},
		{NULL, NULL},
	};
	const char *here = find(&parser->token, words);

	if (parser_at(parser, "call"))
		return parser_fail(parser, "calls are not known: write the instructions that the "
					   "function has");
	if (here)
		return parser_fail(parser, "'%.*s' is C: in LISA it is %s", parser->token.length,
				   parser->token.text, here);
	return parser_fail(parser, "expected an instruction (r w rmw cas f mov b), not '%.*s'",
			   parser->token.length, parser->token.text);
}

/* What stands where a location might, by the name before its parenthesis. */
#define NOT_KNOWN " are not known: name a location, such as x"
static const char *const kept[][2] = {
	{"PTE", "page tables" NOT_KNOWN},
	{"TTD", "page tables" NOT_KNOWN},
	{"PA", "page tables" NOT_KNOWN},
	{"tag", "memory tags" NOT_KNOWN},
	{"TAG", "memory tags" NOT_KNOWN},
	{"pac", "signed pointers" NOT_KNOWN},
	{"pacda", "signed pointers" NOT_KNOWN},
	{"pacdb", "signed pointers" NOT_KNOWN},
	{"pacia", "signed pointers" NOT_KNOWN},
	{"pacib", "signed pointers" NOT_KNOWN},
	{"SS", "shadow stacks" NOT_KNOWN},
	{"SSCap", "shadow stacks" NOT_KNOWN},
	{"fault", "faults are not known: a test shows registers and locations"},
	{"Fault", "faults are not known: a test shows registers and locations"},
	{NULL, NULL},
};

/** "r1-1" is a location's name to herd, and a difference to many others. */
static bool at_difference(const token_t *name)
{
	int i = 1;

	while (i < name->length && name->text[i] >= '0' && name->text[i] <= '9')
		i++;
	return name->text[0] == 'r' && i > 1 && i < name->length && name->text[i] == '-';
}

bool parser_native_location(parser_t *parser, const token_t *name)
{
	if (at_difference(name))
		return lexer_fail(&parser->lexer, name,
				  "'%.*s' is a name, not a difference: add a number below zero, as "
				  "in (add r1 -1)",
				  name->length, name->text);
	if (parser->token.kind != TOKEN_MARK)
		return true;
	if (parser_at(parser, "["))
		return parser_fail(parser,
				   "%.*s is no array: the initial state declares arrays, such as "
				   "int x[2]",
				   name->length, name->text);
	if (parser_at(parser, ":"))
		return lexer_fail(&parser->lexer, name,
				  "'%.*s:' is no location: name one, such as x", name->length,
				  name->text);
	const char *what = parser_at(parser, "(") ? find(name, kept) : NULL;
	return !what || lexer_fail(&parser->lexer, name, "%s", what);
}

bool parser_native_value(parser_t *parser)
{
	static const char instead[] = "write a number, or a location for its address";
	const token_t after = parser_after(parser);

	if (parser_at(parser, "instr") ? token_is(&after, ":")
				       : parser_at(parser, "NOP") || parser_at(parser, "nop"))
		return parser_fail(parser, "instructions as values are not known: %s", instead);
	if (parser_at(parser, ":"))
		return parser_fail(parser, "memory tags are not known: %s", instead);
	if (parser_at(parser, "("))
		return parser_fail(parser, "entries of page tables are not known: %s", instead);
	return true;
}
