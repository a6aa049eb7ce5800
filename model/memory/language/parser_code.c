/*
 * The threads of a litmus test: the table of their instructions, and the tree
 * of scopes that places them.
 */
#include <string.h>

#include "model/memory/language/parser.h"
#include "tessera/program.h"

static const char *const order_names[] = {"na", "rlx", "acq", "rel", "acqrel", "sc", NULL};
static const char *const scope_names[] = {"wi", "wave", "wg", "agent", "system", NULL};
static const char *const function_names[] = {"",    "add", "xor", "and", "or", "eq",
					     "neq", "min", "max", "ne",  NULL};

static const char all_scopes[] = "wi, wave, wg, agent or system";
static const char all_functions[] = "add, xor, and, or, eq, neq, min or max";

#define BIT(order) (1u << LITMUS_##order)
enum {
	LOAD_ORDERS = BIT(NA) | BIT(RLX) | BIT(ACQ) | BIT(SC),
	STORE_ORDERS = BIT(NA) | BIT(RLX) | BIT(REL) | BIT(SC),
	RMW_ORDERS = BIT(RLX) | BIT(ACQ) | BIT(REL) | BIT(ACQREL) | BIT(SC),
	FENCE_ORDERS = BIT(ACQ) | BIT(REL) | BIT(ACQREL) | BIT(SC),
	FAILURE_ORDERS = BIT(RLX) | BIT(ACQ) | BIT(SC)
};

static const struct {
	const char *word, *called, *orders;
	unsigned allowed;
} forms[] = {
	[LITMUS_LOAD] = {"r", "a load", "na, rlx, acq or sc", LOAD_ORDERS},
	[LITMUS_STORE] = {"w", "a store", "na, rlx, rel or sc", STORE_ORDERS},
	[LITMUS_RMW] = {"rmw", "a read-modify-write", "rlx, acq, rel, acqrel or sc", RMW_ORDERS},
	[LITMUS_CAS] = {"cas", "a compare-and-swap", "rlx, acq, rel, acqrel or sc", RMW_ORDERS},
	[LITMUS_FENCE] = {"f", "a fence", "acq, rel, acqrel or sc", FENCE_ORDERS},
	[LITMUS_MOV] = {"mov", "a mov", "", 0},
	[LITMUS_BRANCH] = {"b", "a branch", "", 0},
};
enum { FORMS = sizeof forms / sizeof *forms };

const char *litmus_order_name(litmus_order_t order)
{
	return order_names[order];
}

const char *litmus_scope_name(litmus_scope_t scope)
{
	return scope_names[scope];
}

static int find(const token_t *token, const char *const *names)
{
	for (int i = 0; names[i]; i++) {
		if (token_is(token, names[i]))
			return i;
	}
	return -1;
}

/**
 * Finds the next token, which should be `what` ("a scope"), in `names` and takes
 * it. `all` tells them to who wrote another one.
 */
static bool read_word(parser_t *parser, const char *what, const char *all, const char *const *names,
		      int *index_out)
{
	char word[32];
	int index = find(&parser->token, names);

	if (index < 0) {
		const char *here = parser_called_here(&parser->token);
		for (int i = 0; here && names[i]; i++)
			if (strcmp(here, names[i]) == 0)
				return parser_fail(parser, "'%.*s' is called '%s' here",
						   parser->token.length, parser->token.text, here);
		const char *near = token_copy(&parser->token, word, sizeof word)
					   ? tsr_nearest_name(word, names)
					   : NULL;
		if (near)
			return parser_fail(parser, "'%s' is not %s; did you mean '%s'?", word, what,
					   near);
		return parser_fail(parser, "expected %s (%s), not '%.*s'", what, all,
				   parser->token.length, parser->token.text);
	}
	*index_out = index;
	return parser_take(parser);
}

static bool read_order(parser_t *parser, const char *whose, const char *orders, unsigned allowed,
		       litmus_order_t *order_out)
{
	int order = find(&parser->token, order_names);

	if (order >= 0 && !(allowed & 1u << order))
		return parser_fail(parser, "%s cannot be %s: its order is %s", whose,
				   order_names[order], orders);
	if (!read_word(parser, "an order", orders, order_names, &order))
		return false;
	*order_out = (litmus_order_t)order;
	return true;
}

/** What a cas that fails is, where the test does not say: its order without the release. */
static litmus_order_t without_release(litmus_order_t order)
{
	return order == LITMUS_ACQREL ? LITMUS_ACQ : order == LITMUS_REL ? LITMUS_RLX : order;
}

/**
 * "[order,scope]", after the word; a cas may have a second order. Plain where
 * there is nothing between the brackets.
 */
static bool read_annotation(parser_t *parser, litmus_instruction_t *in)
{
	const char *called = forms[in->op].called, *orders = forms[in->op].orders;
	bool brackets = parser_at(parser, "[");
	int scope;

	if (brackets && !parser_take(parser))
		return false;
	if (!brackets || parser_at(parser, "]")) {
		if (forms[in->op].allowed && !(forms[in->op].allowed & BIT(NA)))
			return parser_fail(parser,
					   "%s needs an order and a scope, such as %s[%s,system]",
					   called, forms[in->op].word,
					   in->op == LITMUS_FENCE ? "acqrel" : "rlx");
		return !brackets || parser_take(parser);
	}
	if (!forms[in->op].allowed)
		return parser_fail(parser,
				   "%s has no order and no scope: compare first, as in mov r9 (eq "
				   "r1 0), and branch by b[] r9 L",
				   called);
	if (!read_order(parser, called, orders, forms[in->op].allowed, &in->order))
		return false;
	in->failure = without_release(in->order);
	if (in->order == LITMUS_NA && parser_at(parser, "]"))
		return parser_take(parser);
	if (!parser_expect(parser, ",", "the order"))
		return false;
	if (in->op == LITMUS_CAS && find(&parser->token, order_names) >= 0) {
		if (!read_order(parser, "the failure of a compare-and-swap", "rlx, acq or sc",
				FAILURE_ORDERS, &in->failure) ||
		    !parser_expect(parser, ",", "the order"))
			return false;
	}
	if (!read_word(parser, "a scope", all_scopes, scope_names, &scope))
		return false;
	in->scope = (litmus_scope_t)scope;
	return parser_expect(parser, "]", "the scope");
}

/* registers are always welcome */
typedef enum operand_kinds { NUMBERS = 1, LOCATIONS = 2 } operand_kinds_t;

static bool read_operand(parser_t *parser, int thread, unsigned kinds,
			 litmus_operand_t *operand_out)
{
	int number, location;

	operand_out->reg = -1;
	if (parser->token.kind == TOKEN_NUMBER && (kinds & NUMBERS)) {
		operand_out->number = parser->token.number;
		return parser_take(parser);
	}
	if (parser_at_register(parser, &number))
		return parser_register(parser, thread, &operand_out->reg);
	if (parser_at(parser, "&") && (kinds & LOCATIONS) && !parser_take(parser))
		return false;
	if (parser->token.kind != TOKEN_NAME || !(kinds & LOCATIONS))
		return parser_fail(parser, "expected a register%s%s, not '%.*s'",
				   kinds & LOCATIONS ? " or a location" : "",
				   kinds & NUMBERS ? " or a number" : "", parser->token.length,
				   parser->token.text);
	if (!parser_location(parser, &location))
		return false;
	operand_out->number = LITMUS_ADDRESS(location);
	return true;
}

/** An operand, or "(F a b)". */
static bool read_value(parser_t *parser, int thread, unsigned kinds, litmus_value_t *value_out)
{
	int function;

	value_out->b.reg = -1;
	if (!parser_at(parser, "("))
		return read_operand(parser, thread, kinds, &value_out->a);
	if (!parser_take(parser) ||
	    !read_word(parser, "a function", all_functions, function_names, &function))
		return false;
	value_out->function = function > LITMUS_MAX ? LITMUS_NEQ : (litmus_function_t)function;
	return read_operand(parser, thread, kinds, &value_out->a) &&
	       read_operand(parser, thread, kinds, &value_out->b) &&
	       parser_expect(parser, ")", "two operands");
}

static bool read_address(parser_t *parser, int thread, litmus_value_t *address_out)
{
	const bool array = parser_at_array(parser) >= 0;

	address_out->b.reg = -1;
	if (!read_operand(parser, thread, LOCATIONS, &address_out->a))
		return false;
	if (!parser_at(parser, "+"))
		return true;
	if (array)
		return parser_fail(parser, "how far apart the elements of an array are is not "
					   "known: name one, such as a[1]");
	address_out->function = LITMUS_ADD;
	return parser_take(parser) && read_operand(parser, thread, NUMBERS, &address_out->b);
}

static bool read_branch(parser_t *parser, int thread, litmus_instruction_t *in)
{
	int number;

	in->value = (litmus_value_t){.a = {.reg = -1, .number = 1}, .b = {.reg = -1}};
	if (parser_at_register(parser, &number) &&
	    !parser_register(parser, thread, &in->value.a.reg))
		return false;
	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, "expected a label, not '%.*s'", parser->token.length,
				   parser->token.text);
	parser->wanted[thread][parser->test->thread[thread].count] = parser->token;
	return parser_take(parser);
}

/** "{L,M}" behind a fence: labels, or none. */
static bool read_labels(parser_t *parser, const char *after)
{
	if (!parser_expect(parser, "{", after))
		return false;
	while (!parser_at(parser, "}")) {
		if (parser->token.kind != TOKEN_NAME)
			return parser_fail(parser, "expected a label, not '%.*s'",
					   parser->token.length, parser->token.text);
		if (!parser_take(parser))
			return false;
		if (!parser_at(parser, "}") && !parser_expect(parser, ",", "a label"))
			return false;
	}
	return parser_expect(parser, "}", "a set of labels");
}

/**
 * "{L}{M}", or "({L},{M})" of an older herd, which may be left out: a model may
 * say that a fence orders these accesses alone. Ours does not ask, so that it
 * orders all, as herd does with a model that does not.
 */
static bool read_fence_sets(parser_t *parser)
{
	if (parser_at(parser, "{"))
		return read_labels(parser, "a fence") && read_labels(parser, "a set of labels");
	if (!parser_at(parser, "("))
		return true;
	return parser_take(parser) && read_labels(parser, "a fence's '('") &&
	       parser_expect(parser, ",", "a set of labels") &&
	       read_labels(parser, "a fence's ','") &&
	       parser_expect(parser, ")", "two sets of labels");
}

/** What a store writes. */
static bool read_stored(parser_t *parser, int t, litmus_instruction_t *in)
{
	int number;
	const bool simple =
		parser->token.kind == TOKEN_NUMBER || parser_at_register(parser, &number);

	if (!simple &&
	    (parser->token.kind == TOKEN_NAME || parser_at(parser, "(") || parser_at(parser, "&")))
		return parser_fail(parser,
				   "a store writes a number or a register, not '%.*s': mov what it "
				   "shall write into a register first",
				   parser->token.length, parser->token.text);
	return read_operand(parser, t, NUMBERS, &in->value.a);
}

/** What follows the word and its brackets. */
static bool read_operands(parser_t *parser, int t, litmus_instruction_t *in)
{
	switch (in->op) {
	case LITMUS_LOAD:
		return parser_register(parser, t, &in->reg) &&
		       read_address(parser, t, &in->address);
	case LITMUS_STORE:
		in->value.b.reg = -1;
		return read_address(parser, t, &in->address) && read_stored(parser, t, in);
	case LITMUS_RMW:
		return parser_register(parser, t, &in->reg) &&
		       read_value(parser, t, NUMBERS | LOCATIONS, &in->value) &&
		       read_address(parser, t, &in->address);
	case LITMUS_CAS:
		in->value.b.reg = -1;
		return parser_register(parser, t, &in->reg) &&
		       read_operand(parser, t, NUMBERS, &in->expected) &&
		       read_operand(parser, t, NUMBERS, &in->value.a) &&
		       read_address(parser, t, &in->address);
	case LITMUS_MOV:
		return parser_register(parser, t, &in->reg) &&
		       read_value(parser, t, NUMBERS | LOCATIONS, &in->value);
	case LITMUS_BRANCH:
		return read_branch(parser, t, in);
	case LITMUS_FENCE:
		return read_fence_sets(parser);
	}
	return true;
}

static bool read_instruction(parser_t *parser, int thread)
{
	litmus_thread_t *t = &parser->test->thread[thread];
	int op = 0;

	if (parser->token.kind == TOKEN_END)
		return parser_fail(parser, "the test ends inside the table of its threads");
	while (op < FORMS && !parser_at(parser, forms[op].word))
		op++;
	if (op == FORMS)
		return parser_foreign_instruction(parser);
	if (t->count == LITMUS_MAX_INSTRUCTIONS)
		return parser_fail(parser, "a thread may have at most %d instructions",
				   LITMUS_MAX_INSTRUCTIONS);
	litmus_instruction_t *in = &t->code[t->count];
	*in = (litmus_instruction_t){
		.op = (litmus_op_t)op, .line = parser->token.line, .column = parser->token.column};
	if (!parser_take(parser) || (op != LITMUS_MOV && !read_annotation(parser, in)) ||
	    !read_operands(parser, thread, in))
		return false;
	t->count++;
	return true;
}

static bool at_label(const parser_t *parser)
{
	lexer_t ahead = parser->lexer;
	token_t colon;
	return parser->token.kind == TOKEN_NAME && lexer_next(&ahead, &colon) &&
	       token_is(&colon, ":");
}

/** Labels and at most one instruction. */
static bool read_cell(parser_t *parser, int thread)
{
	while (at_label(parser)) {
		if (parser_at(parser, "codevar"))
			return parser_fail(parser, "code that is filled in later is not known: "
						   "write the instruction for 'codevar'");
		for (int i = 0; i < parser->label_count[thread]; i++) {
			const token_t *name = &parser->labels[thread][i].name;
			if (name->length == parser->token.length &&
			    memcmp(name->text, parser->token.text, (size_t)name->length) == 0)
				return parser_fail(parser,
						   "the label %.*s stands on line %d already",
						   name->length, name->text, name->line);
		}
		if (parser->label_count[thread] == LITMUS_MAX_INSTRUCTIONS)
			return parser_fail(parser, "a thread may have at most %d labels",
					   LITMUS_MAX_INSTRUCTIONS);
		int i = parser->label_count[thread]++;
		parser->labels[thread][i].name = parser->token;
		parser->labels[thread][i].target = parser->test->thread[thread].count;
		if (!parser_take(parser) || !parser_take(parser))
			return false;
	}
	return parser_at(parser, "|") || parser_at(parser, ";") || read_instruction(parser, thread);
}

/** "P0". */
static bool read_thread_name(parser_t *parser, int *thread_out)
{
	const token_t *token = &parser->token;
	const bool named = token->kind == TOKEN_NAME && token->length >= 2 &&
			   token->text[0] == 'P' && token->text[1] >= '0' && token->text[1] <= '9';
	const int thread = named ? token->text[1] - '0' : 0;

	if (named && token->text[token->length - 2] == '.' && token->text[token->length - 1] == 'F')
		return parser_fail(parser,
				   "handlers of faults are not known: leave out '%.*s' and its "
				   "column",
				   token->length, token->text);
	for (int i = 2; named && i < token->length; i++)
		if (token->text[i] < '0' || token->text[i] > '9')
			return parser_fail(parser,
					   "expected a thread's name, such as P0, not '%.*s'",
					   token->length, token->text);
	if (!named)
		return parser_fail(parser, "expected a thread's name, such as P0, not '%.*s'",
				   token->length, token->text);
	if (token->length > 2 || thread >= LITMUS_MAX_THREADS)
		return parser_fail(parser, "a test may have at most %d threads, P0 to P%d",
				   LITMUS_MAX_THREADS, LITMUS_MAX_THREADS - 1);
	*thread_out = thread;
	return true;
}

/** "P0 | P1 ;": which thread each column is. */
static bool read_thread_names(parser_t *parser, int *columns)
{
	unsigned seen = 0;
	int count = 0, thread = 0;

	if (parser_at(parser, ";") && !parser_take(parser))
		return false;
	do {
		if (!read_thread_name(parser, &thread))
			return false;
		if (seen & 1u << thread)
			return parser_fail(parser, "there are two columns P%d", thread);
		seen |= 1u << thread;
		columns[count++] = thread;
		const token_t after = parser_after(parser);
		if (token_is(&after, ":"))
			return lexer_fail(&parser->lexer, &after,
					  "words about a thread are not known: the tree behind "
					  "'scopes:' alone places it");
		if (!parser_take(parser))
			return false;
	} while (parser_at(parser, "|") ? parser_take(parser) : false);
	if (!parser_at(parser, ";"))
		return parser_expect(parser, ";", "the threads' names");
	if (seen != (1u << count) - 1)
		return parser_fail(parser, "the threads of these %d columns must be P0 to P%d",
				   count, count - 1);
	for (int i = count; i < LITMUS_MAX_THREADS; i++) {
		if (parser->test->thread[i].registers)
			return parser_fail(parser,
					   "the initial state sets a register of thread %d, which "
					   "has no column",
					   i);
	}
	parser->test->threads = count;
	return parser_take(parser);
}

static bool find_targets(parser_t *parser, int thread)
{
	litmus_thread_t *t = &parser->test->thread[thread];

	for (int i = 0; i < t->count; i++) {
		const token_t *wanted = &parser->wanted[thread][i];
		int l = 0;
		if (t->code[i].op != LITMUS_BRANCH)
			continue;
		for (; l < parser->label_count[thread]; l++) {
			const token_t *name = &parser->labels[thread][l].name;
			if (name->length == wanted->length &&
			    memcmp(name->text, wanted->text, (size_t)name->length) == 0)
				break;
		}
		if (l == parser->label_count[thread])
			return lexer_fail(&parser->lexer, wanted, "P%d has no label %.*s", thread,
					  wanted->length, wanted->text);
		t->code[i].target = parser->labels[thread][l].target;
	}
	return true;
}

/** Whether the table ends here. */
static bool at_tail(const parser_t *parser)
{
	static const char *const words[] = {"scopes", "levels",   "regions",  "locations",
					    "filter", "exists",   "forall",   "~",
					    "final",  "observed", "Observed", NULL};
	return parser->token.kind == TOKEN_END || find(&parser->token, words) >= 0;
}

bool parser_threads(parser_t *parser)
{
	int columns[LITMUS_MAX_THREADS];

	if (!read_thread_names(parser, columns))
		return false;
	while (!at_tail(parser)) {
		for (int i = 0; i < parser->test->threads; i++) {
			bool last = i + 1 == parser->test->threads;
			if (!read_cell(parser, columns[i]))
				return false;
			if (last && parser_at(parser, "|"))
				return parser_fail(
					parser,
					"this row has more columns than there are threads (%d)",
					parser->test->threads);
			if (!last && parser_at(parser, ";"))
				return parser_fail(
					parser, "this row has %d columns, but there are %d threads",
					i + 1, parser->test->threads);
			if (!parser_expect(parser, last ? ";" : "|", "an instruction"))
				return false;
		}
	}
	for (int i = 0; i < parser->test->threads; i++) {
		if (!find_targets(parser, i))
			return false;
	}
	return true;
}

/**
 * "(wg (wave (wi 0)) (wave (wi 1)))". Levels that are left out are instances of
 * each thread's own.
 */
static bool read_scope(parser_t *parser, int above, const int *instances, int *counter)
{
	int level, mine[LITMUS_SCOPES];

	if (!parser_expect(parser, "(", "a scope"))
		return false;
	token_t name = parser->token;
	if (!read_word(parser, "a scope", all_scopes, scope_names, &level))
		return false;
	if (level >= above)
		return lexer_fail(&parser->lexer, &name, "%s cannot stand inside %s",
				  scope_names[level], scope_names[above]);
	for (int i = 0; i < LITMUS_SCOPES; i++)
		mine[i] = i > level ? instances[i] : 0;
	mine[level] = ++*counter;
	while (!parser_at(parser, ")")) {
		if (parser_at(parser, "(")) {
			if (!read_scope(parser, level, mine, counter))
				return false;
			continue;
		}
		token_t name_of_thread = parser->token;
		int thread;
		if (!parser_thread(parser, &thread))
			return false;
		int *placed = parser->test->thread[thread].instance;
		if (placed[LITMUS_SYSTEM])
			return lexer_fail(&parser->lexer, &name_of_thread,
					  "thread %d is placed twice", thread);
		for (int i = 0; i < LITMUS_SCOPES; i++)
			placed[i] = mine[i] ? mine[i] : ++*counter;
	}
	return parser_take(parser);
}

/** "levels:" and "regions:", which herd has beside the tree. */
static bool refuse_other_trees(parser_t *parser)
{
	if (!parser_at(parser, "levels") && !parser_at(parser, "regions"))
		return true;
	return parser_fail(parser,
			   "'%.*s:' is not known: the tree behind 'scopes:' alone places threads, "
			   "so leave it out",
			   parser->token.length, parser->token.text);
}

/** Whether another tree begins here, and not a question in parentheses. */
static bool at_tree(const parser_t *parser)
{
	const token_t word = parser_at(parser, "(") ? parser_after(parser) : parser->token;
	return parser_at(parser, "(") && find(&word, scope_names) >= 0;
}

bool parser_scopes(parser_t *parser)
{
	static const int nowhere[LITMUS_SCOPES];
	int counter = 0;
	token_t tree;

	if (!refuse_other_trees(parser))
		return false;
	if (!parser_at(parser, "scopes"))
		return parser_fail(parser, "the test does not place its threads: 'scopes: (system "
					   "(agent (wg (wave (wi 0)) ...)))' is missing");
	if (!parser_take(parser) || !parser_expect(parser, ":", "scopes"))
		return false;
	tree = parser->token;
	if (!read_scope(parser, LITMUS_SCOPES, nowhere, &counter) || !refuse_other_trees(parser))
		return false;
	if (at_tree(parser))
		return parser_fail(parser, "there is one tree: put all of it into (system ...)");
	for (int i = 0; i < parser->test->threads; i++) {
		if (!parser->test->thread[i].instance[LITMUS_SYSTEM])
			return lexer_fail(&parser->lexer, &tree,
					  "the tree of scopes does not place thread %d", i);
	}
	return true;
}
