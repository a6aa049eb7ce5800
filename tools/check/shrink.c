/*
 * Making a failing case smaller: fewer ranks, one node, smaller shapes, fewer
 * resident blocks, fewer deviations. Knows no program.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check/check.h"

bool check_case_copy(const check_case_t *from, check_case_t *copy_out)
{
	check_case_t copy = *from;
	size_t count = 0;
	while (from->program[count] != NULL)
		count++;
	copy.script = (tsr_check_script_t){.count = 0};
	copy.program = calloc(count + 1, sizeof *copy.program);
	bool good = copy.program != NULL &&
		    tsr_check_script_copy(&from->script, &copy.script) == TSR_OK;
	for (size_t i = 0; i < count && good; i++)
		good = (copy.program[i] = strdup(from->program[i])) != NULL;
	if (good)
		*copy_out = copy;
	else
		check_case_clear(&copy);
	return good;
}

void check_case_clear(check_case_t *subject)
{
	for (char **word = subject->program; word != NULL && *word != NULL; word++)
		free(*word);
	free(subject->program);
	tsr_check_script_clear(&subject->script);
	subject->program = NULL;
}

typedef struct shrinker {
	check_case_t *smallest;
	check_fails_fn fails;
	void *context;
	int tried;
	bool over; /* no memory: what there is, is it */
} shrinker_t;

/** Tries a candidate, which is given back or becomes the smallest. */
static bool try_case(shrinker_t *s, check_case_t *candidate)
{
	s->tried++;
	const bool failed = s->fails(s->context, candidate);
	if (failed) {
		check_case_clear(s->smallest);
		*s->smallest = *candidate;
	} else {
		check_case_clear(candidate);
	}
	return failed;
}

/**
 * A copy of the smallest in which schedules are searched for anew: those of
 * other circumstances mean nothing here.
 */
static bool begin_candidate(shrinker_t *s, check_case_t *candidate)
{
	if (s->over || !check_case_copy(s->smallest, candidate)) {
		s->over = true;
		return false;
	}
	candidate->scripted = false;
	tsr_check_script_clear(&candidate->script);
	return true;
}

/** From the least on: the first world that fails is the smallest. */
static void shrink_ranks(shrinker_t *s)
{
	check_case_t candidate;
	for (int ranks = 1; ranks < s->smallest->options.ranks && begin_candidate(s, &candidate);
	     ranks++) {
		candidate.options.ranks = ranks;
		if (try_case(s, &candidate))
			return;
	}
}

static void shrink_nodes(shrinker_t *s)
{
	check_case_t candidate;
	if (s->smallest->options.nodes == 1 || !begin_candidate(s, &candidate))
		return;
	candidate.options.nodes = 1;
	(void)try_case(s, &candidate);
}

static void shrink_residency(shrinker_t *s, int fallback)
{
	const int blocks = s->smallest->options.resident_blocks > 0
				   ? s->smallest->options.resident_blocks
				   : fallback;
	check_case_t candidate;
	for (int fewer = 1; fewer < blocks && begin_candidate(s, &candidate); fewer *= 2) {
		candidate.options.resident_blocks = fewer;
		if (try_case(s, &candidate))
			return;
	}
}

/**
 * Where the shape in a word such as 64x64x32 or --shape=64x64x32 begins; null
 * where it has none.
 */
static const char *shape_in(const char *word)
{
	const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
	const char *shape = equals != NULL ? equals + 1 : word;
	int extents = 0;
	for (const char *c = shape;; c++) {
		if (!isdigit((unsigned char)*c))
			return NULL;
		while (isdigit((unsigned char)*c))
			c++;
		extents++;
		if (*c == '\0')
			return extents > 1 ? shape : NULL;
		if (*c != 'x')
			return NULL;
	}
}

/**
 * The word with one extent of its shape halved; null where that is 1 already,
 * or there is none, or no memory.
 */
static char *halve(const char *word, int extent)
{
	const char *begin = shape_in(word);
	for (; begin != NULL && extent > 0; extent--) {
		begin = strchr(begin, 'x');
		begin = begin != NULL ? begin + 1 : NULL;
	}
	if (begin == NULL)
		return NULL;
	char *end, *halved;
	const unsigned long long value = strtoull(begin, &end, 10);
	const size_t size = strlen(word) + 1;
	if (value < 2 || (halved = malloc(size)) == NULL)
		return NULL;
	(void)snprintf(halved, size, "%.*s%llu%s", (int)(begin - word), word, value / 2, end);
	return halved;
}

/** Halves one extent of one word as often as it goes. */
static void shrink_extent(shrinker_t *s, size_t word, int extent)
{
	check_case_t candidate;
	char *halved;
	while ((halved = halve(s->smallest->program[word], extent)) != NULL) {
		if (!begin_candidate(s, &candidate)) {
			free(halved);
			return;
		}
		free(candidate.program[word]);
		candidate.program[word] = halved;
		if (!try_case(s, &candidate))
			return;
	}
}

static void shrink_shapes(shrinker_t *s)
{
	for (size_t word = 1; s->smallest->program[0] != NULL && s->smallest->program[word] != NULL;
	     word++) {
		const char *shape = shape_in(s->smallest->program[word]);
		int extents = shape != NULL ? 1 : 0;
		for (; shape != NULL && *shape != '\0'; shape++)
			extents += *shape == 'x';
		for (int extent = 0; extent < extents; extent++)
			shrink_extent(s, word, extent);
	}
}

/** Tries the script without its deviations number `begin` up to, but not with, `end`. */
static bool try_without(shrinker_t *s, size_t begin, size_t end)
{
	check_case_t candidate;
	if (s->over || !check_case_copy(s->smallest, &candidate)) {
		s->over = true;
		return false;
	}
	tsr_check_script_t *script = &candidate.script;
	if (end < script->count)
		memmove(script->at + begin, script->at + end,
			(script->count - end) * sizeof *script->at);
	script->count -= end - begin;
	return try_case(s, &candidate);
}

/** Delta debugging: leaves out ever smaller parts, until no single deviation can be left out. */
static void shrink_script(shrinker_t *s)
{
	size_t parts = 1;
	while (s->smallest->scripted && s->smallest->script.count > 0 && !s->over) {
		const size_t count = s->smallest->script.count;
		bool smaller = false;
		parts = parts < count ? parts : count;
		for (size_t p = 0; p < parts && !smaller; p++)
			smaller = try_without(s, p * count / parts, (p + 1) * count / parts) &&
				  s->smallest->script.count < count;
		if (smaller)
			parts = parts > 2 ? parts - 1 : 1;
		else if (parts == count)
			return;
		else
			parts *= 2;
	}
}

static bool same_circumstances(const check_case_t *a, const check_case_t *b)
{
	for (size_t i = 0; a->program[i] != NULL; i++)
		if (strcmp(a->program[i], b->program[i]) != 0)
			return false;
	return a->options.ranks == b->options.ranks && a->options.nodes == b->options.nodes &&
	       a->options.resident_blocks == b->options.resident_blocks;
}

int check_shrink(check_case_t *smallest, int resident_default, check_fails_fn fails, void *context)
{
	shrinker_t s = {.smallest = smallest, .fails = fails, .context = context};
	check_case_t before = {.program = NULL};
	do { /* a smaller shape may do with fewer ranks than the larger one did */
		check_case_clear(&before);
		s.over |= !check_case_copy(smallest, &before);
		if (s.over)
			break;
		shrink_ranks(&s);
		shrink_nodes(&s);
		shrink_shapes(&s);
		shrink_residency(&s, resident_default);
	} while (!s.over && !same_circumstances(&before, smallest));
	check_case_clear(&before);
	shrink_script(&s);
	return s.tried;
}
