/*
 * The hand-shaped oracle through the shadow: plain accesses as ranges, ordered
 * ones as words, every interleaving and every choice. Races are found where the
 * view machine alone finds them, and where there are none, every outcome is the
 * same.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory/witness.h"
#include "src/explore/shadow/shadow.h"

enum { UNROLL = 2, MAX_DEPTH = 256, MAX_RUNS = 300000, WORD = 8 };

/* ------------------------------------------------------------------ one run */

/** A run by a list of choices: those of the script first, then always the first one. */
typedef struct script {
	int length, choice[MAX_DEPTH], alternatives[MAX_DEPTH];
} script_t;

typedef struct run {
	const litmus_test_t *test;
	script_t *script;
	int at;
	tsr_views_t *views;
	tsr_shadow_t *shadow;
	int region;
	unsigned races;
	int pc[LITMUS_MAX_THREADS];
	int64_t reg[LITMUS_MAX_THREADS][LITMUS_MAX_REGISTERS];
	int rounds[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS];
	_Alignas(8) unsigned char memory[LITMUS_MAX_LOCATIONS * WORD];
} run_t;

static int choose(run_t *run, int alternatives)
{
	script_t *script = run->script;

	cr_assert(run->at < MAX_DEPTH);
	if (run->at == script->length)
		script->choice[script->length++] = 0;
	script->alternatives[run->at] = alternatives;
	return script->choice[run->at++];
}

/** The next script in order; false after the last. */
static bool next(script_t *script)
{
	while (script->length > 0 &&
	       script->choice[script->length - 1] + 1 == script->alternatives[script->length - 1])
		script->length--;
	if (script->length > 0)
		script->choice[script->length - 1]++;
	return script->length > 0;
}

static int64_t operand(const run_t *run, int thread, litmus_operand_t which)
{
	return which.reg >= 0 ? run->reg[thread][which.reg] : which.number;
}

static int64_t evaluate(const run_t *run, int thread, const litmus_value_t *value)
{
	return litmus_apply(value->function, operand(run, thread, value->a),
			    operand(run, thread, value->b));
}

/**
 * Runs a thread up to its next access. False: the run is given up, since a loop
 * goes on too long.
 */
static bool advance(run_t *run, int thread)
{
	const litmus_thread_t *program = &run->test->thread[thread];
	int *pc = &run->pc[thread];

	for (; *pc < program->count; ++*pc) {
		const litmus_instruction_t *code = &program->code[*pc];
		if (code->op == LITMUS_MOV) {
			run->reg[thread][code->reg] = evaluate(run, thread, &code->value);
		} else if (code->op == LITMUS_BRANCH) {
			if (evaluate(run, thread, &code->value) == 0)
				continue;
			if (code->target <= *pc && ++run->rounds[thread][*pc] > UNROLL)
				return false;
			*pc = code->target - 1;
		} else {
			break;
		}
	}
	return true;
}

/* ------------------------------------------------------------------ accesses */

typedef struct context {
	const run_t *run;
	const litmus_instruction_t *code;
	int thread;
} context_t;

static bool update(const void *pointer, uint64_t old, uint64_t *value_out)
{
	const context_t *c = pointer;
	litmus_value_t value = c->code->value;

	if (c->code->op == LITMUS_CAS &&
	    (int64_t)old != operand(c->run, c->thread, c->code->expected))
		return false;
	if (c->code->op == LITMUS_RMW && value.a.reg == c->code->reg)
		value.a = (litmus_operand_t){-1, (int64_t)old};
	if (c->code->op == LITMUS_RMW && value.b.reg == c->code->reg)
		value.b = (litmus_operand_t){-1, (int64_t)old};
	*value_out = (uint64_t)evaluate(c->run, c->thread, &value);
	return true;
}

static void plain_access(run_t *run, uint32_t operation, const litmus_instruction_t *code,
			 int thread, int location)
{
	const tsr_shadow_range_t range = {
		.region = run->region, .offset = (size_t)location * WORD, .bytes = WORD};
	int64_t value = evaluate(run, thread, &code->value);
	tsr_shadow_found_t found;

	if (code->op == LITMUS_STORE) {
		cr_assert(tsr_shadow_write(run->shadow, operation, &range, &value, 0, &found) ==
			  TSR_OK);
	} else {
		cr_assert(tsr_shadow_read(run->shadow, operation, &range, &value, 0, &found) ==
			  TSR_OK);
		run->reg[thread][code->reg] = value;
	}
	run->races |= found.races;
}

static void ordered_access(run_t *run, uint32_t operation, const context_t *context, int location)
{
	static const tsr_views_order_t orders[] = {TSR_VIEWS_PLAIN,   TSR_VIEWS_RELAXED,
						   TSR_VIEWS_ACQUIRE, TSR_VIEWS_RELEASE,
						   TSR_VIEWS_ACQ_REL, TSR_VIEWS_SEQ_CST};
	static const tsr_views_scope_t scopes[] = {TSR_VIEWS_THREAD, TSR_VIEWS_WAVE,
						   TSR_VIEWS_BLOCK, TSR_VIEWS_DEVICE,
						   TSR_VIEWS_SYSTEM};
	const litmus_instruction_t *code = context->code;
	const tsr_shadow_word_t word = {run->region, (size_t)location * WORD, WORD};
	const tsr_views_access_t access = {
		.kind = code->op == LITMUS_LOAD    ? TSR_VIEWS_LOAD
			: code->op == LITMUS_STORE ? TSR_VIEWS_STORE
			: code->op == LITMUS_FENCE ? TSR_VIEWS_FENCE
						   : TSR_VIEWS_UPDATE,
		.order = orders[code->order],
		.failure = orders[code->op == LITMUS_CAS ? code->failure : code->order],
		.scope = scopes[code->scope],
		.value = (uint64_t)evaluate(run, context->thread, &code->value),
		.update = update,
		.context = context,
	};
	tsr_views_event_t event;
	int choices = 1;

	cr_assert(tsr_shadow_choices(run->shadow, operation, &access, &word, &choices) == TSR_OK);
	cr_assert(tsr_shadow_act(run->shadow, operation, &access, &word, choose(run, choices),
				 &event) == TSR_OK);
	run->races |= event.races;
	if (code->op != LITMUS_STORE && code->op != LITMUS_FENCE)
		run->reg[context->thread][code->reg] = (int64_t)event.value;
}

/** False: it uses as an address what is none, and the run does not count. */
static bool act(run_t *run, int thread)
{
	const context_t context = {run, &run->test->thread[thread].code[run->pc[thread]], thread};
	int location = 0;
	uint32_t operation;

	if (context.code->op != LITMUS_FENCE)
		location =
			litmus_location(run->test, evaluate(run, thread, &context.code->address));
	if (location < 0)
		return false;
	cr_assert(tsr_shadow_operation(run->shadow, thread, &operation) == TSR_OK);
	if (context.code->op != LITMUS_FENCE && context.code->order == LITMUS_NA)
		plain_access(run, operation, context.code, thread, location);
	else
		ordered_access(run, operation, &context, location);
	run->pc[thread]++;
	return advance(run, thread);
}

/** Who goes on: what concerns nobody else need not be interleaved. -1: nobody is left. */
static int pick(run_t *run)
{
	int ready[LITMUS_MAX_THREADS], count = 0;

	for (int t = 0; t < run->test->threads; t++) {
		const litmus_thread_t *program = &run->test->thread[t];
		if (run->pc[t] >= program->count)
			continue;
		const litmus_instruction_t *code = &program->code[run->pc[t]];
		if (code->op == LITMUS_FENCE && code->order != LITMUS_SC)
			return t;
		ready[count++] = t;
	}
	return count ? ready[choose(run, count)] : -1;
}

static void begin(run_t *run)
{
	tsr_views_place_t places[LITMUS_MAX_THREADS];

	for (int t = 0; t < run->test->threads; t++) {
		for (int s = 0; s < LITMUS_SCOPES; s++)
			places[t].instance[s] = run->test->thread[t].instance[s];
		memcpy(run->reg[t], run->test->thread[t].initial, sizeof run->reg[t]);
	}
	for (int x = 0; x < run->test->locations; x++)
		memcpy(run->memory + x * WORD, &run->test->initial[x], WORD);
	cr_assert(tsr_views_create(places, run->test->threads, 0, 0, &run->views) == TSR_OK);
	cr_assert(tsr_shadow_create(run->views, true, &run->shadow) == TSR_OK);
	cr_assert(tsr_shadow_add_region(run->shadow, run->memory, sizeof run->memory,
					&run->region) == TSR_OK);
	cr_assert(tsr_shadow_given(run->shadow, run->region, 0, sizeof run->memory) == TSR_OK);
}

static void finish(const run_t *run, litmus_result_t *result)
{
	const litmus_test_t *test = run->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		if (what->thread >= 0)
			values[i] = run->reg[what->thread][what->index];
		else
			memcpy(&values[i], run->memory + what->index * WORD, WORD);
	}
	if (test->filter >= 0 && !litmus_holds(test, test->filter, values))
		return;
	result->races |= run->races;
	if (!litmus_result_has(test, result, values))
		cr_assert(litmus_result_add(test, result, values, 1) == TSR_OK);
}

static void run_once(const litmus_test_t *test, script_t *script, litmus_result_t *result)
{
	run_t run = {.test = test, .script = script};
	bool counts = true;
	int thread;

	begin(&run);
	for (int t = 0; t < test->threads; t++)
		counts = advance(&run, t) && counts;
	while (counts && (thread = pick(&run)) >= 0)
		counts = act(&run, thread);
	if (counts)
		finish(&run, result);
	tsr_shadow_destroy(run.shadow);
	tsr_views_destroy(run.views);
}

/* ------------------------------------------------------------------ the oracle */

/** Whether all runs were made: some tests have too many for a search that keeps no states. */
static bool explore(const litmus_test_t *test, litmus_result_t *result)
{
	script_t script = {.length = 0};
	int runs = 0;

	do
		run_once(test, &script, result);
	while (next(&script) && ++runs < MAX_RUNS);
	return script.length == 0;
}

static void compare(const litmus_test_t *test, int *compared, int *racy)
{
	const litmus_options_t options = {.unroll = UNROLL};
	litmus_result_t views = {0}, shadow = {0};

	cr_assert(litmus_views.run(test, &options, &views) == TSR_OK);
	if (explore(test, &shadow)) {
		cr_expect_eq(shadow.races != 0, views.races != 0, "%s: races %u, but %u",
			     test->name, shadow.races, views.races);
		cr_expect(views.races || shadow.count == views.count, "%s: %d outcomes, not %d",
			  test->name, shadow.count, views.count);
		for (int i = 0; i < shadow.count && !views.races; i++)
			cr_expect(litmus_result_has(test, &views, shadow.states[i].values), "%s",
				  test->name);
		++*compared;
		*racy += views.races != 0;
	}
	litmus_result_free(&views);
	litmus_result_free(&shadow);
}

static bool parse(const char *folder, const char *name, litmus_test_t *test)
{
	static char text[1 << 16];
	char path[512];

	if (!strstr(name, ".litmus"))
		return false;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "r");
	cr_assert(file != NULL, "%s", path);
	text[fread(text, 1, sizeof text - 1, file)] = 0;
	fclose(file);
	cr_assert(litmus_parse(name, text, test) == TSR_OK, "%s", tsr_last_error());
	return true;
}

static void compare_folder(const char *folder, int *compared, int *racy, int *seen)
{
	litmus_test_t *test = malloc(sizeof *test);
	DIR *directory = opendir(folder);
	struct dirent *entry;

	cr_assert(directory != NULL, "%s", folder);
	while ((entry = readdir(directory)) != NULL) {
		if (!parse(folder, entry->d_name, test))
			continue;
		++*seen;
		compare(test, compared, racy);
	}
	closedir(directory);
	free(test);
}

Test(shadow_oracle, words_and_ranges_show_what_the_view_machine_shows, .timeout = 600)
{
	int compared = 0, racy = 0, seen = 0;

	compare_folder("model/memory/oracle/core", &compared, &racy, &seen);
	cr_expect_eq(seen, 477);
	cr_expect(compared == seen && racy > 200 && racy < seen - 150, "%d of %d compared, %d race",
		  compared, seen, racy);
}

Test(shadow_oracle, so_they_do_for_the_suite, .timeout = 600)
{
	int compared = 0, racy = 0, seen = 0;

	compare_folder("tests/litmus", &compared, &racy, &seen);
	cr_expect(compared > seen / 2 && racy > 10, "%d of %d compared, %d race", compared, seen,
		  racy);
}
