/*
 * Tokens in declarations. Conditions of the preprocessor may divide a
 * declaration: braces are counted along the first branch.
 */
#include <string.h>

#include <stdlib.h>

#include "tools/device_half/scan.h"

enum { MOST_CONDITIONS = 64 };

/** Brackets that are open in the declaration. */
typedef struct depth {
	int braces, others;
} depth_t;

/** An #if: the depth where it stands, and at the end of its first branch. */
typedef struct condition {
	depth_t begin, first_end;
	bool later; /* past the first branch */
} condition_t;

typedef struct divider {
	half_scan_t *scan;
	int at;
	depth_t depth;
	condition_t condition[MOST_CONDITIONS];
	int conditions;
} divider_t;

static const half_token_t *token(const divider_t *d, int index)
{
	return &d->scan->outer.token[index];
}

/** The token that comes after `index` and is no directive. */
static int next_of(const divider_t *d, int index)
{
	do
		index++;
	while (token(d, index)->kind == HALF_DIRECTIVE);
	return index;
}

static void follow_condition(divider_t *d, const half_token_t *directive)
{
	condition_t *last = d->conditions ? &d->condition[d->conditions - 1] : NULL;
	char name[16];

	half_directive_name(directive, name);
	if (strncmp(name, "if", 2) == 0) {
		if (d->conditions == MOST_CONDITIONS)
			d->scan->wrong = "its conditions are nested too deep";
		else
			d->condition[d->conditions++] =
				(condition_t){.begin = d->depth, .first_end = d->depth};
	} else if (strncmp(name, "el", 2) == 0 && last) {
		if (!last->later)
			last->first_end = d->depth;
		last->later = true;
		d->depth = last->begin;
	} else if (strcmp(name, "endif") == 0 && last) {
		if (last->later)
			d->depth = last->first_end;
		d->conditions--;
	}
}

/** The depth of what comes next counts from here. */
static void begin_afresh(divider_t *d)
{
	d->depth = (depth_t){0, 0};
	for (int i = 0; i < d->conditions; i++)
		d->condition[i].begin = d->condition[i].first_end = d->depth;
}

static void count_bracket(divider_t *d, const half_token_t *mark)
{
	switch (*mark->text) {
	case '{':
		d->depth.braces++;
		break;
	case '}':
		d->depth.braces--;
		break;
	case '(':
	case '[':
		d->depth.others++;
		break;
	case ')':
	case ']':
		d->depth.others--;
		break;
	default:
		break;
	}
}

/** Goes past a token. */
static void step(divider_t *d)
{
	const half_token_t *t = token(d, d->at++);

	if (t->kind == HALF_DIRECTIVE)
		follow_condition(d, t);
	else if (t->kind == HALF_MARK)
		count_bracket(d, t);
}

static bool at_top(const divider_t *d)
{
	return d->depth.braces == 0 && d->depth.others == 0;
}

static bool is_one_of(const half_token_t *t, const char *const *words)
{
	for (; *words; words++) {
		if (half_token_is(t, *words))
			return true;
	}
	return false;
}

/** Words before parentheses that name no function and no macro of the user's. */
static bool is_specifier(const half_token_t *t)
{
	static const char *const words[] = {
		"__attribute__",  "__attribute", "_Alignas", "alignas", "typeof",   "__typeof__",
		"_Atomic",        "__declspec",  "asm",      "__asm__", "__asm",    "if",
		"while",          "for",         "switch",   "return",  "__typeof", "sizeof",
		"TSR_PORT_ENTRY", NULL};
	return is_one_of(t, words);
}

static bool is_tag_word(const half_token_t *t)
{
	static const char *const words[] = {"struct", "union", "enum", NULL};
	return is_one_of(t, words);
}

/** Goes past the bracket at `d->at` and what it holds. False at the end of the text. */
static bool skip_group(divider_t *d)
{
	const depth_t outside = d->depth;

	do {
		if (token(d, d->at)->kind == HALF_END || d->scan->wrong)
			return false;
		step(d);
	} while (d->depth.braces > outside.braces || d->depth.others > outside.others);
	return true;
}

/**
 * A call of a macro at file scope, where one begins: NAME(...), not followed by
 * what would make it the head of something.
 */
static bool divide_call(divider_t *d, half_chunk_t *chunk)
{
	const int open = next_of(d, d->at);
	const divider_t before = *d;

	if (token(d, d->at)->kind != HALF_WORD || is_specifier(token(d, d->at)) ||
	    !half_token_is(token(d, open), "("))
		return false;
	while (d->at < open)
		step(d);
	if (skip_group(d)) {
		const half_token_t *next =
			token(d,
			      token(d, d->at)->kind == HALF_DIRECTIVE ? next_of(d, d->at) : d->at);
		if (half_token_is(next, ";")) {
			while (token(d, d->at) != next)
				step(d);
			step(d);
			chunk->form = HALF_CALL;
			return true;
		}
		if ((next->kind == HALF_WORD && !is_specifier(next)) || next->kind == HALF_END ||
		    half_token_is(next, "}")) {
			chunk->form = HALF_CALL;
			return true;
		}
	}
	*d = before;
	return false;
}

/** A declaration or the definition of a function, to its semicolon or past its body. */
static void divide_declaration(divider_t *d, half_chunk_t *chunk)
{
	/* an `=` has come; parentheses behind a name have come */
	bool assigned = false, takes = false;

	for (int before = -1; token(d, d->at)->kind != HALF_END && !d->scan->wrong;
	     before = d->at - 1) {
		const half_token_t *t = token(d, d->at),
				   *last = before >= chunk->first ? token(d, before) : NULL;
		const bool top = at_top(d);
		if (top && half_token_is(t, "{") && takes && !assigned) {
			chunk->form = HALF_FUNCTION;
			chunk->body = d->at;
			if (!skip_group(d) && !d->scan->wrong)
				d->scan->wrong = "its braces do not match";
			return;
		}
		if (top && half_token_is(t, "(") && last && !is_specifier(last))
			takes = takes || before - 1 < chunk->first ||
				!is_tag_word(token(d, before - 1));
		assigned = assigned || (top && half_token_is(t, "="));
		step(d);
		if (top && half_token_is(t, ";"))
			return;
	}
	if (!at_top(d) && !d->scan->wrong)
		d->scan->wrong = "its braces do not match";
}

static void divide_one(divider_t *d, half_chunk_t *chunk)
{
	const half_token_t *first = token(d, d->at);
	const int second = first->kind == HALF_END ? d->at : next_of(d, d->at);

	if (half_token_is(first, "}")) {
		chunk->form = HALF_BRACKET;
		d->at++;
	} else if (half_token_is(first, "extern") && token(d, second)->kind == HALF_VALUE &&
		   half_token_is(token(d, next_of(d, second)), "{")) {
		chunk->form = HALF_BRACKET;
		d->at = next_of(d, second) + 1;
	} else if (half_token_is(first, "_Static_assert") ||
		   half_token_is(first, "static_assert")) {
		divide_declaration(d, chunk);
		chunk->form = HALF_ASSERTION;
	} else if (!divide_call(d, chunk)) {
		divide_declaration(d, chunk);
	}
}

static bool add_chunk(half_scan_t *scan, half_chunk_t chunk)
{
	if (scan->chunk_count == scan->chunk_room) {
		int room = scan->chunk_room ? 2 * scan->chunk_room : 256;
		half_chunk_t *grown = realloc(scan->chunk, (size_t)room * sizeof *grown);
		if (!grown) {
			scan->wrong = "there is no memory for it";
			return false;
		}
		scan->chunk = grown;
		scan->chunk_room = room;
	}
	scan->chunk[scan->chunk_count++] = chunk;
	return true;
}

bool half_scan_chunks(half_scan_t *scan)
{
	divider_t d = {.scan = scan};

	while (token(&d, d.at)->kind != HALF_END && !scan->wrong) {
		half_chunk_t chunk = {.form = HALF_DECLARATION, .first = d.at};
		if (token(&d, d.at)->kind == HALF_DIRECTIVE) {
			step(&d);
			continue;
		}
		divide_one(&d, &chunk);
		chunk.end = d.at;
		if (!scan->wrong && !add_chunk(scan, chunk))
			return false;
		begin_afresh(&d);
	}
	return !scan->wrong;
}
