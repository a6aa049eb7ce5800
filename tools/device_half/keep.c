/* Which declarations device code needs, and the text that is left of the others. */
#include <stdlib.h>
#include <string.h>

#include "tools/device_half/device_half.h"
#include "tools/device_half/scan.h"
#include "tools/device_half/text.h"

/** What is known of each word. */
typedef struct word {
	bool needed; /* by what is kept */
	bool device; /* marks device code: TSR_FN, TSR_KERNEL, or a macro that says one of them */
	bool braced; /* a macro that lays down braces */
} word_t;

typedef struct half {
	half_scan_t scan;
	word_t *word;
} half_t;

static const half_token_t *token(const half_t *h, int index)
{
	return &h->scan.outer.token[index];
}

static bool starts_with(const half_token_t *t, const char *text)
{
	return t->length >= strlen(text) && memcmp(t->text, text, strlen(text)) == 0;
}

/* ------------------------------------------------------------------ words */

/**
 * Words that mark device code: the port's (include/tessera/dev/port.h,
 * dev/kernel.h), and the vendors' own.
 */
static bool is_device_word(const half_token_t *t)
{
	return starts_with(t, "TSR_KERNEL") || starts_with(t, "TSR_FN") ||
	       starts_with(t, "TSR_DEV") || half_token_is(t, "TSR_PORT_ENTRY") ||
	       half_token_is(t, "__device__") || half_token_is(t, "__global__");
}

/**
 * Whether a macro pastes something to the word at `t` that may make a mark of
 * it, as in TSR_##kind.
 */
static bool may_become_device_word(const half_token_t *t, const half_token_t *end)
{
	static const char *const marks[] = {"TSR_KERNEL", "TSR_FN", "TSR_DEV"};

	if (end - t < 3 || !half_token_is(t + 1, "#") || !half_token_is(t + 2, "#"))
		return false;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (t->length < strlen(marks[i]) && memcmp(t->text, marks[i], t->length) == 0)
			return true;
	}
	return false;
}

static void judge_words(half_t *h)
{
	const half_tokens_t *lists[] = {&h->scan.outer, &h->scan.inner};

	for (int l = 0; l < 2; l++) {
		for (int i = 0; i < lists[l]->count; i++) {
			const half_token_t *t = &lists[l]->token[i];
			if (t->kind == HALF_WORD)
				h->word[t->word].device =
					h->word[t->word].device || is_device_word(t) ||
					may_become_device_word(t,
							       lists[l]->token + lists[l]->count);
		}
	}
}

/** What macros say, those that they name included; true where something new was found. */
static bool judge_macros(half_t *h)
{
	bool changed = false;

	for (int m = 0; m < h->scan.macro_count; m++) {
		const half_macro_t *macro = &h->scan.macro[m];
		word_t *word = &h->word[macro->word], before = *word;
		for (int i = macro->first + 1; i < macro->end; i++) {
			const half_token_t *t = &h->scan.inner.token[i];
			word->device =
				word->device || (t->kind == HALF_WORD && h->word[t->word].device);
			word->braced = word->braced || half_token_is(t, "{") ||
				       (t->kind == HALF_WORD && h->word[t->word].braced);
		}
		changed = changed || before.device != word->device || before.braced != word->braced;
	}
	return changed;
}

static void need_word(half_t *h, int number)
{
	if (h->word[number].needed)
		return;
	h->word[number].needed = true;
	for (int m = 0; m < h->scan.macro_count; m++) {
		const half_macro_t *macro = &h->scan.macro[m];
		for (int i = macro->first + 1; macro->word == number && i < macro->end; i++) {
			if (h->scan.inner.token[i].kind == HALF_WORD)
				need_word(h, h->scan.inner.token[i].word);
		}
	}
}

/* ------------------------------------------------------------------ what a declaration declares */

/**
 * Whether the word at `index` is what a declarator declares, by what stands
 * around it; `inside`: of parentheses.
 */
static bool is_declared(const half_t *h, const half_chunk_t *chunk, int index, bool inside)
{
	static const char ends[] = ";,=[(:";
	const half_token_t *next = token(h, index + 1),
			   *before = index > chunk->first ? token(h, index - 1) : NULL;

	if (inside) /* (*pointer)(...), (*array)[...]; what else stands there are parameters */
		return before && half_token_is(before, "*") &&
		       (half_token_is(next, ")") || half_token_is(next, "["));
	/* int (*pointer)(...): a type */
	if (half_token_is(next, "(") && half_token_is(next + 1, "*"))
		return false;
	return (next->kind == HALF_MARK && strchr(ends, *next->text)) ||
	       half_token_is(next, "__attribute__") || half_token_is(next, "__attribute");
}

static bool is_tag_word(const half_token_t *t)
{
	return half_token_is(t, "struct") || half_token_is(t, "union") || half_token_is(t, "enum");
}

/** The tag before the brace at `index`, as in `struct tag {`: its token, or 0. */
static int tag_before(const half_t *h, const half_chunk_t *chunk, int index)
{
	bool tagged = index - 2 >= chunk->first && token(h, index - 1)->kind == HALF_WORD &&
		      !is_tag_word(token(h, index - 1));

	return tagged ? index - 1 : 0;
}

/** Whether the brace at `index` opens an enumeration. */
static bool opens_enumeration(const half_t *h, const half_chunk_t *chunk, int index)
{
	for (int i = index - 1; i >= chunk->first && i >= index - 8; i--) {
		if (half_token_is(token(h, i), "enum"))
			return true;
		if (token(h, i)->kind == HALF_MARK && !strchr("()", *token(h, i)->text))
			return false;
	}
	return false;
}

/**
 * An enumeration's constants; `*opaque` where macros make some, whose names are
 * not known. Returns the end.
 */
static int any_constant_needed(const half_t *h, int index, int end, bool *needed, bool *opaque)
{
	int depth = 0;

	for (; index < end; index++) {
		const half_token_t *t = token(h, index), *next = token(h, index + 1);
		if (t->kind == HALF_MARK)
			depth += (*t->text == '{' || *t->text == '(') -
				 (*t->text == '}' || *t->text == ')');
		if (depth == 0)
			break;
		if (t->kind == HALF_WORD && depth == 1) {
			*needed = *needed || h->word[t->word].needed;
			*opaque = *opaque || half_token_is(next, "(");
		}
	}
	return index;
}

/** Whether device code needs something that a declaration declares. */
static bool is_needed(const half_t *h, const half_chunk_t *chunk)
{
	const int end = chunk->form == HALF_FUNCTION ? chunk->body + 1 : chunk->end;
	int braces = 0, others = 0;
	bool needed = false, opaque = false, assigned = false;

	for (int i = chunk->first; i < end && !needed && !opaque; i++) {
		const half_token_t *t = token(h, i);
		int tag;
		if (half_token_is(t, "{") && !assigned && (tag = tag_before(h, chunk, i)) != 0)
			needed = h->word[token(h, tag)->word].needed;
		if (half_token_is(t, "{") && !assigned && opens_enumeration(h, chunk, i)) {
			i = any_constant_needed(h, i, end, &needed, &opaque);
			continue;
		}
		if (t->kind == HALF_MARK) {
			braces += (*t->text == '{') - (*t->text == '}');
			others += (*t->text == '(' || *t->text == '[') -
				  (*t->text == ')' || *t->text == ']');
		}
		if (braces == 0 && others == 0 && t->kind == HALF_MARK)
			assigned = *t->text == '=' || (assigned && *t->text != ',');
		if (t->kind == HALF_WORD && braces == 0 && others <= 1 && !assigned &&
		    h->word[t->word].needed)
			needed = is_declared(h, chunk, i, others > 0);
	}
	return needed || opaque;
}

/* ------------------------------------------------------------------ what is kept */

/**
 * Whether a word before the body marks the function as device code, or an
 * argument the call, as in MAKE(TSR_KERNEL, name).
 */
static bool is_marked(const half_t *h, const half_chunk_t *chunk)
{
	const int end = chunk->form == HALF_FUNCTION ? chunk->body : chunk->end;

	for (int i = chunk->first; i < end; i++) {
		if (token(h, i)->kind == HALF_WORD && h->word[token(h, i)->word].device)
			return true;
		if (half_token_is(token(h, i), "{"))
			return false;
	}
	return false;
}

/** What is kept whatever needs it. */
static bool is_root(const half_t *h, const half_chunk_t *chunk)
{
	const half_token_t *first = token(h, chunk->first);

	switch (chunk->form) {
	case HALF_BRACKET:
		return true;
	case HALF_ASSERTION:
		return false;
	case HALF_CALL:
		return is_marked(h, chunk) ||
		       (!half_token_is(first, "TSR_MAIN") && !h->word[first->word].braced);
	default:
		return is_marked(h, chunk);
	}
}

/**
 * Keeps a declaration; what it names is needed, but for members. Of an unmarked
 * function the head alone counts.
 */
static void keep(half_t *h, half_chunk_t *chunk)
{
	const int end =
		chunk->form == HALF_FUNCTION && !is_marked(h, chunk) ? chunk->body : chunk->end;

	chunk->kept = true;
	for (int i = chunk->first; i < end; i++) {
		const half_token_t *t = token(h, i), *before = i > chunk->first ? t - 1 : NULL;
		bool member = before && (half_token_is(before, ".") ||
					 (half_token_is(before, ">") && before->text[-1] == '-'));
		if (t->kind == HALF_WORD && !member)
			need_word(h, t->word);
	}
}

/** Whether all that an assertion names is kept, as far as it is declared here. */
static bool holds_here(const half_t *h, const half_chunk_t *assertion)
{
	for (int i = assertion->first; i < assertion->end; i++) {
		if (token(h, i)->kind == HALF_WORD && i > assertion->first + 1 &&
		    is_tag_word(token(h, i)))
			continue;
		bool known = token(h, i)->kind != HALF_WORD || h->word[token(h, i)->word].needed;
		bool of_language = i == assertion->first || half_token_is(token(h, i), "sizeof") ||
				   half_token_is(token(h, i), "offsetof");
		if (!known && !of_language)
			return false;
	}
	return true;
}

static void choose(half_t *h)
{
	bool changed = true;

	judge_words(h);
	while (judge_macros(h))
		;
	for (int c = 0; c < h->scan.chunk_count; c++) {
		if (is_root(h, &h->scan.chunk[c]))
			keep(h, &h->scan.chunk[c]);
	}
	while (changed) {
		changed = false;
		for (int c = 0; c < h->scan.chunk_count; c++) {
			half_chunk_t *chunk = &h->scan.chunk[c];
			if (chunk->kept || chunk->form == HALF_ASSERTION ||
			    chunk->form == HALF_CALL || !is_needed(h, chunk))
				continue;
			keep(h, chunk);
			changed = true;
		}
	}
	for (int c = 0; c < h->scan.chunk_count; c++) {
		if (h->scan.chunk[c].form == HALF_ASSERTION && holds_here(h, &h->scan.chunk[c]))
			h->scan.chunk[c].kept = true;
	}
}

/* ------------------------------------------------------------------ what is written */

/** Headers of C that C++ compilers do not take: kernels cannot use what they declare. */
static bool is_for_c_alone(const half_token_t *directive)
{
	static const char *const headers[] = {"<stdatomic.h>", "<threads.h>", "<complex.h>",
					      "<tgmath.h>", "<stdnoreturn.h>"};
	char name[16];

	half_directive_name(directive, name);
	const char *header = memchr(directive->text, '<', directive->length);
	for (size_t i = 0;
	     header && strcmp(name, "include") == 0 && i < sizeof headers / sizeof *headers; i++) {
		if (strncmp(header, headers[i], strlen(headers[i])) == 0)
			return true;
	}
	return false;
}

/**
 * Directives of what is left out that the rest depends on: all but includes,
 * pragmas and errors.
 */
static bool outlasts(const half_token_t *directive)
{
	char name[16];

	half_directive_name(directive, name);
	return strcmp(name, "include") != 0 && strcmp(name, "pragma") != 0 &&
	       strcmp(name, "error") != 0;
}

static void write_lines(const char *from, const char *to, FILE *out)
{
	for (; from < to; from++) {
		if (*from == '\n')
			fputc('\n', out);
	}
}

static void write_text(const char *from, const char *to, FILE *out)
{
	fwrite(from, 1, (size_t)(to - from), out);
}

/**
 * The tokens first .. end - 1 and the blanks before each from `*at` on; of what
 * is left out, its lines.
 */
static void write_tokens(const half_t *h, int first, int end, bool kept, const char **at, FILE *out)
{
	for (int i = first; i < end; i++) {
		const half_token_t *t = token(h, i);
		const bool directive = t->kind == HALF_DIRECTIVE;
		const bool stays = directive ? !is_for_c_alone(t) && (kept || outlasts(t)) : kept;
		if (kept)
			write_text(*at, t->text, out);
		else
			write_lines(*at, t->text, out);
		if (stays)
			write_text(t->text, t->text + t->length, out);
		else
			write_lines(t->text, t->text + t->length, out);
		*at = t->text + t->length;
	}
}

static void write_half(const half_t *h, const char *text, FILE *out)
{
	int next = 0;

	for (int c = 0; c < h->scan.chunk_count; c++) {
		const half_chunk_t *chunk = &h->scan.chunk[c];
		const bool head_alone =
			chunk->form == HALF_FUNCTION && chunk->kept && !is_marked(h, chunk);
		write_tokens(h, next, chunk->first, true, &text, out);
		write_text(text, token(h, chunk->first)->text, out);
		text = token(h, chunk->first)->text;
		write_tokens(h, chunk->first, head_alone ? chunk->body : chunk->end, chunk->kept,
			     &text, out);
		if (head_alone) {
			fputc(';', out);
			write_tokens(h, chunk->body, chunk->end, false, &text, out);
		}
		next = chunk->end;
	}
	write_tokens(h, next, h->scan.outer.count, true, &text, out);
}

bool device_half_write(const char *source, const char *const *folders, int folder_count, FILE *out,
		       const char **why_out)
{
	half_text_t text = {.data = NULL};
	half_t h = {.word = NULL};
	const char *why = NULL;

	if (!half_text_read(&text, source, folders, folder_count))
		why = text.wrong;
	else if (!half_scan_text(&h.scan, text.data))
		why = h.scan.wrong;
	else if (!(h.word = calloc((size_t)h.scan.word_count + 1, sizeof *h.word)))
		why = "there is no memory for it";
	if (!why) {
		choose(&h);
		write_half(&h, text.data, out);
	} else {
		*why_out = why;
	}
	free(h.word);
	half_scan_free(&h.scan);
	half_text_free(&text);
	return !why;
}
