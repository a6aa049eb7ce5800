/*
 * What `tessera check` prints and writes: findings, the command that replays
 * them, counts, and what was modelled.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/check/check.h"
#include "tools/check/finding_json.h"
#include "tools/check/finding_text.h"
#include "tools/document.h"
#include "tools/json_rows.h"

/** As many as have a rank. */
static int nodes_of(const tsr_check_options_t *o)
{
	return o->nodes < o->ranks ? o->nodes : o->ranks;
}

check_fidelity_t check_fidelity(const tsr_check_options_t *options)
{
	static const check_fidelity_t nodes = {
		"happens-before by order and scope; meetings, streams, launches, collectives; "
		"residency",
		"old values, of plain data too: those that store buffers and write-back caches "
		"hold, and what is under way to another node, in one queue from each rank to each; "
		"a load comes after the newest store of the value that it sees; time: a deadline "
		"expires when the schedule says so",
		"what programs do otherwise on several nodes, such as windows; reads that are "
		"under way while others are asked; caches that fetch lines nobody asked for; copy "
		"engines; load buffering; more than two workers of tsr_split; speed"};
	static const check_fidelity_t modes[] = {
		[TSR_CHECK_WEAK_OFF] = {"happens-before by order and scope, so all races; "
					"meetings, streams, launches, collectives; "
					"residency",
					"time: a deadline expires when the schedule says so",
					"memory that shows old values: every load sees the newest; "
					"load buffering; speed"},
		[TSR_CHECK_WEAK_CACHE] = {"happens-before by order and scope; meetings, streams, "
					  "launches, collectives; residency",
					  "old values, of plain data too: those that store buffers "
					  "and write-back caches of a block and a "
					  "device hold, about half of what the memory model "
					  "allows; a load comes after the newest store of "
					  "the value that it sees; time: a deadline expires when "
					  "the schedule says so",
					  "caches that fetch lines nobody asked for; copy engines; "
					  "load buffering; more than two workers of tsr_split; "
					  "speed"},
		[TSR_CHECK_WEAK_VIEW] = {"the memory model with orders and scopes, old values "
					 "included; meetings, streams, launches, "
					 "collectives; residency",
					 "load buffering: warned of, not shown; time: a deadline "
					 "expires when the schedule says so",
					 "seq_cst operations in an order other than that of "
					 "execution; more than two workers of tsr_split; speed"},
	};
	return options->nodes > 1 ? nodes : modes[options->weak];
}

/* ---------------------------------------------------------------- commands to copy */

/** A word as a shell takes it. */
static void print_word(FILE *out, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
	if (*word != '\0' && strspn(word, plain) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word != '\0'; word++)
		fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
	fputc('\'', out);
}

static void print_options(FILE *out, const tsr_check_options_t *o)
{
	const tsr_check_options_t usual = tsr_check_options_default();
	fprintf(out, "tessera check -n %d", o->ranks);
	if (o->strategy != usual.strategy)
		fprintf(out, " --strategy %s", tsr_check_strategy_name(o->strategy));
	if (o->strategy == TSR_CHECK_PCT && o->depth != usual.depth)
		fprintf(out, " --depth %d", o->depth);
	if (o->weak != usual.weak)
		fprintf(out, " --weak %s", tsr_check_weak_name(o->weak));
	if (nodes_of(o) > 1)
		fprintf(out, " --nodes %d", nodes_of(o));
	if (o->resident_blocks != usual.resident_blocks)
		fprintf(out, " --resident-blocks %d", o->resident_blocks);
}

char *check_replay_command(const check_case_t *subject, uint64_t seed,
			   const tsr_check_script_t *script)
{
	char *text = NULL, *words = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return NULL;
	print_options(out, &subject->options);
	if (script != NULL)
		words = tsr_check_script_text(script);
	if (words != NULL)
		fprintf(out, " --replay %s", words);
	else
		fprintf(out, " --replay %" PRIu64, seed);
	for (char **word = subject->program; *word != NULL; word++) {
		fputc(' ', out);
		print_word(out, *word);
	}
	free(words);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *check_found_command(const check_case_t *of_any_world, const check_found_t *found)
{
	check_case_t here = *of_any_world; /* borrows */
	const check_case_t *subject = &here;
	here.options.ranks = found->ranks;
	/* A seed says it in one number, but not where the schedule was given or searched for. */
	const bool seeded = !subject->scripted && subject->options.strategy != TSR_CHECK_EXHAUSTIVE;
	if ((seeded && !found->common) || !found->scripted)
		return check_replay_command(subject, found->finding->seed,
					    subject->scripted ? &subject->script : NULL);
	return check_replay_command(subject, 0, &found->shortest);
}

/* ---------------------------------------------------------------- text */

/** "kernel.c:40 and kernel.c:28". */
static void print_sites(const tsr_finding_t *finding, FILE *out)
{
	const char *between = " at ";
	for (int i = 0; i < finding->accesses && i < 2; i++) {
		if (finding->access[i].call == NULL || finding->access[i].file == NULL)
			continue;
		fprintf(out, "%s%s:%d", between, finding->access[i].file, finding->access[i].line);
		between = " and ";
	}
}

void check_print_found(const check_case_t *subject, const check_found_t *found,
		       const check_found_t *cause, FILE *out)
{
	char *command = check_found_command(subject, found);
	tsr_finding_print(found->finding, out);
	if (cause != NULL) {
		fprintf(out, "  cause        likely that of the %s",
			tsr_finding_class_name(cause->finding->class));
		print_sites(cause->finding, out);
		fprintf(out, " above: cure that first\n");
	}
	fprintf(out, "  replay       %s\n\n", command != NULL ? command : "(no memory to say how)");
	free(command);
	(void)fflush(out);
}

/** "1.5 MiB". */
static const char *bytes_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	int unit = 0;
	for (; value >= 1024 && unit < 4; unit++)
		value /= 1024;
	(void)snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
	return text;
}

/** "in 5 of 9 schedules, first with seed 1", and which of them was shown. */
static void print_schedules(const check_tally_t *tally, const check_found_t *found, FILE *out)
{
	if (found->common) {
		fprintf(out, ": before the first kernel, so in all schedules");
		return;
	}
	fprintf(out, ": in %" PRIu64 " of %" PRIu64 " schedules, first with seed %" PRIu64,
		found->schedules, tally->worlds[found->world].schedules, found->first_seed);
	if (found->finding->seed != found->first_seed)
		fprintf(out, " (shown with seed %" PRIu64 ", which tells more)",
			found->finding->seed);
}

static void print_table(const check_result_t *result, FILE *out)
{
	for (int i = 0; i < result->tally->found_count; i++) {
		const check_found_t *found = &result->tally->found[i];
		fprintf(out, "%s", tsr_finding_class_name(found->finding->class));
		print_sites(found->finding, out);
		if (result->tally->world_count > 1)
			fprintf(out, ": %d rank%s", found->ranks, found->ranks == 1 ? "" : "s");
		print_schedules(result->tally, found, out);
		if (found->scripted && !found->common)
			fprintf(out, ", at least %zu deviation%s", found->shortest.count,
				found->shortest.count == 1 ? "" : "s");
		if (found->cause == i && found->group_size > 1)
			fprintf(out, "; the cause of %d more", found->group_size - 1);
		fputc('\n', out);
	}
}

static void print_warnings(int warnings, FILE *out)
{
	if (warnings > 0)
		fprintf(out, ", %d warning%s", warnings, warnings == 1 ? "" : "s");
}

/** "no finding", "2 findings, 1 warning". */
static void print_errors(int errors, int warnings, FILE *out)
{
	if (errors == 0)
		fprintf(out, "no finding");
	else
		fprintf(out, "%d finding%s", errors, errors == 1 ? "" : "s");
	print_warnings(warnings, out);
}

/** A line for each of several worlds, and why one of them was left early. */
static void print_worlds(const check_tally_t *tally, FILE *out)
{
	for (int w = 0; w < tally->world_count; w++) {
		const check_world_t *world = &tally->worlds[w];
		if (tally->world_count > 1) {
			fprintf(out,
				"%d rank%s: %" PRIu64 " schedule%s, %zu distinct: ", world->ranks,
				world->ranks == 1 ? "" : "s", world->schedules,
				world->schedules == 1 ? "" : "s", world->distinct);
			print_errors(world->errors, world->warnings, out);
			fputc('\n', out);
		}
		if (world->saturated)
			fprintf(out,
				"the last %" PRIu64 " schedules of %d rank%s showed nothing new, "
				"so it stopped there; --all-seeds goes on\n",
				world->schedules - world->last_new, world->ranks,
				world->ranks == 1 ? "" : "s");
	}
}

/** "4 ranks", "worlds of 2, 3 ranks". */
static void print_ranks(const check_tally_t *tally, FILE *out)
{
	const int last = tally->worlds[tally->world_count - 1].ranks;
	if (tally->world_count > 1)
		fprintf(out, "worlds of ");
	for (int w = 0; w < tally->world_count - 1; w++)
		fprintf(out, "%d, ", tally->worlds[w].ranks);
	fprintf(out, "%d rank%s", last, last == 1 && tally->world_count == 1 ? "" : "s");
}

static void print_counts(const check_result_t *result, FILE *out)
{
	const check_tally_t *tally = result->tally;
	const tsr_check_options_t *o = &result->subject->options;
	const double seconds = (double)result->elapsed_ns / 1e9;
	char shadow[32], heap[32];
	fprintf(out, "%" PRIu64 " schedule%s, %zu distinct", tally->schedules,
		tally->schedules == 1 ? "" : "s", check_tally_distinct(tally));
	if (tally->pruned > 0)
		fprintf(out, ", %" PRIu64 " left early as known", tally->pruned);
	fprintf(out, ", in %.2f s: %.0f a second; ", seconds,
		seconds > 0 ? (double)tally->schedules / seconds : 0);
	print_ranks(tally, out);
	fprintf(out, ", %s, memory %s",
		result->subject->scripted ? "replayed" : tsr_check_strategy_name(o->strategy),
		tsr_check_weak_name(o->weak));
	if (o->nodes > 1)
		fprintf(out, " on %d nodes", o->nodes);
	fprintf(out, "%s\n",
		tally->complete && o->strategy == TSR_CHECK_EXHAUSTIVE ? "; these are all there are"
								       : "");
	fprintf(out,
		"memory: at most %s of heap touched, %s of shadow; at most %" PRIu64 " tasks\n",
		bytes_text(tally->heap_bytes, heap, sizeof heap),
		bytes_text(tally->shadow_bytes, shadow, sizeof shadow), tally->tasks);
}

static void print_slowdown(const check_slowdown_t *s, FILE *out)
{
	if (!s->asked)
		return;
	if (s->reason != NULL)
		fprintf(out, "slowdown: not measured: %s\n", s->reason);
	else
		fprintf(out,
			"slowdown: %.1f: a schedule takes %.1f ms, the parallel executor %.1f ms "
			"on %d processor%s, "
			"both from the first launch on\n",
			s->schedule_seconds / s->parallel_seconds, 1e3 * s->schedule_seconds,
			1e3 * s->parallel_seconds, s->cpus, s->cpus == 1 ? "" : "s");
}

/** The last line: without a finding, it says why that does not mean that there is none. */
static void print_verdict(const check_result_t *result, FILE *out)
{
	const check_tally_t *tally = result->tally;
	const bool failed = tally->errors == 0 && result->failure != NULL;
	if (tally->errors == 0 && tally->schedules == 0)
		fprintf(out, "nothing was explored");
	else if (failed)
		fprintf(out, "no verdict");
	else
		print_errors(tally->errors, 0, out);
	print_warnings(tally->warnings, out);
	if (failed)
		fprintf(out, ": %s", result->verdict);
	fputc('\n', out);
}

void check_print_summary(const check_result_t *result, FILE *out)
{
	const check_tally_t *tally = result->tally;
	const check_fidelity_t fidelity = check_fidelity(&result->subject->options);
	print_table(result, out);
	print_worlds(tally, out);
	print_counts(result, out);
	print_slowdown(&result->slowdown, out);
	fprintf(out, "fidelity: exact: %s\n          approximate: %s\n          not modelled: %s\n",
		fidelity.exactly, fidelity.approximately, fidelity.not_at_all);
	if (result->cut)
		fprintf(out, "the time limit came before the last schedule\n");
	print_verdict(result, out);
}

/* ---------------------------------------------------------------- JSON */

static json_t *found_json(const check_case_t *subject, const check_found_t *found)
{
	json_t *object = tsr_finding_json(found->finding);
	char *command = check_found_command(subject, found);
	char *script = found->scripted ? tsr_check_script_text(&found->shortest) : NULL;
	json_t *more =
		json_pack("{s:i, s:I, s:I, s:s?, s:s?, s:i}", "ranks", found->ranks, "schedules",
			  (json_int_t)found->schedules, "first_seed", (json_int_t)found->first_seed,
			  "replay", command, "shortest", script, "cause", found->cause);
	if (object == NULL || more == NULL || json_object_update(object, more) != 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(more);
	free(script);
	free(command);
	return object;
}

/** All of one severity. */
static json_t *all_found_json(const check_result_t *result, tsr_finding_severity_t severity)
{
	json_t *array = json_array();
	for (int i = 0; i < result->tally->found_count && array != NULL; i++) {
		const check_found_t *found = &result->tally->found[i];
		if (found->finding->severity != severity)
			continue;
		if (json_array_append_new(array, found_json(result->subject, found)) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

static json_t *worlds_json(const check_tally_t *tally)
{
	json_t *array = json_array();
	for (int w = 0; w < tally->world_count && array != NULL; w++) {
		const check_world_t *world = &tally->worlds[w];
		json_t *object =
			json_pack("{s:i, s:I, s:I, s:b, s:i, s:i}", "ranks", world->ranks,
				  "schedules", (json_int_t)world->schedules, "distinct",
				  (json_int_t)world->distinct, "saturated", world->saturated,
				  "findings", world->errors, "warnings", world->warnings);
		if (json_array_append_new(array, object) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

static json_t *program_json(char **program)
{
	json_t *array = json_array();
	for (; *program != NULL; program++)
		(void)json_array_append_new(array, json_string(*program));
	return array;
}

/** Null in JSON: it was not asked for. */
static json_t *slowdown_json(const check_slowdown_t *s)
{
	if (!s->asked)
		return json_null();
	if (s->reason != NULL)
		return json_pack("{s:s}", "not_measured", s->reason);
	return json_pack("{s:f, s:f, s:f, s:i}", "factor",
			 s->schedule_seconds / s->parallel_seconds, "schedule_seconds",
			 s->schedule_seconds, "parallel_seconds", s->parallel_seconds, "processors",
			 s->cpus);
}

static json_t *result_json(const check_result_t *result)
{
	const tsr_check_options_t *o = &result->subject->options;
	const check_tally_t *t = result->tally;
	const check_fidelity_t fidelity = check_fidelity(o);
	const double seconds = (double)result->elapsed_ns / 1e9;
	json_t *root =
		json_pack("{s:o, s:o?, s:o?, s:s, s:s, s:i, s:i, s:I, s:I}", "program",
			  program_json(result->subject->program), "ranks",
			  t->world_count > 1 ? json_null() : json_integer(o->ranks), "worlds",
			  worlds_json(t), "strategy", tsr_check_strategy_name(o->strategy), "weak",
			  tsr_check_weak_name(o->weak), "nodes", o->nodes, "resident_blocks",
			  o->resident_blocks, "first_seed", (json_int_t)o->first, "seeds",
			  (json_int_t)o->seeds);
	json_t *counts =
		json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:f, s:f, s:I, s:I, s:I, s:I, s:I}",
			  "schedules", (json_int_t)t->schedules, "distinct",
			  (json_int_t)check_tally_distinct(t), "pruned", (json_int_t)t->pruned,
			  "failed", (json_int_t)t->failed, "complete", t->complete, "cut",
			  result->cut, "seconds", seconds, "schedules_per_second",
			  seconds > 0 ? (double)t->schedules / seconds : 0.0, "choices",
			  (json_int_t)t->choices, "steps", (json_int_t)t->steps, "tasks",
			  (json_int_t)t->tasks, "shadow_bytes", (json_int_t)t->shadow_bytes,
			  "heap_bytes", (json_int_t)t->heap_bytes);
	json_t *said = json_pack("{s:{s:s, s:s, s:s}, s:o?, s:o?, s:o?, s:i, s:s?, s:s?}",
				 "fidelity", "exact", fidelity.exactly, "approximate",
				 fidelity.approximately, "not_modelled", fidelity.not_at_all,
				 "findings", all_found_json(result, TSR_FINDING_ERROR), "warnings",
				 all_found_json(result, TSR_FINDING_WARNING), "slowdown",
				 slowdown_json(&result->slowdown), "exit", result->code, "failure",
				 result->failure, "smaller", result->smaller);
	if (root == NULL || json_object_update(root, counts) != 0 ||
	    json_object_update(root, said) != 0) {
		json_decref(root);
		root = NULL;
	}
	json_decref(counts);
	json_decref(said);
	return root;
}

tsr_status_t check_write_json(const check_result_t *result, const char *path)
{
	json_t *root = result_json(result);
	if (root == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the findings as JSON; free some");
	json_t *document = json_document("tessera-check/1", root);
	errno = 0;
	const int failed = json_dump_file(document, path, JSON_INDENT(2));
	json_decref(document);
	json_decref(root);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--json: '%s' cannot be written: %s", path,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

tsr_status_t check_write_csv(const check_result_t *result, const char *path)
{
	json_t *worlds = worlds_json(result->tally);
	if (worlds == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the counts as CSV; free some");
	errno = 0;
	const int failed = csv_rows_dump_file(worlds, NULL, path);
	json_decref(worlds);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--csv: '%s' cannot be written: %s", path,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}
