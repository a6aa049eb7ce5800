/* tessera check: starts the program, hears it, and says what is wrong with it. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "tessera/program.h"
#include "tools/check/check.h"
#include "tools/check/finding_text.h"
#include "tools/commands.h"

enum { SENTENCE_BYTES = 1024, RESIDENT_DEFAULT = 64 };

/** What a check is doing. */
typedef struct check {
	check_options_t *options;
	check_tally_t tally;
	check_pace_t pace;
	check_outcome_t outcome; /* of the last world */
	bool cut;                /* the time limit came before the last schedule of a world */
	check_trace_t *trace;    /* null: none */
	uint64_t begin_ns, deadline_ns, shown_ns;
	bool progress; /* stderr is a terminal */
	char failure[SENTENCE_BYTES];
	char verdict[128]; /* the part of it that says what happened; empty: all of it */
	/* what went wrong with the run for the timeline; empty: nothing is known */
	char untraced[SENTENCE_BYTES];
	char *smaller; /* the command that shrinking has come to */
} check_t;

/* ---------------------------------------------------------------- hearing */

static void clear_progress(const check_t *check)
{
	if (check->progress && check->shown_ns != 0)
		fputs("\r\033[K", stderr);
}

static void show_progress(check_t *check)
{
	const uint64_t now = tsr_now_ns();
	if (!check->progress || now - check->shown_ns < 200000000u)
		return;
	check->shown_ns = now;
	fprintf(stderr, "\r\033[K%" PRIu64 " schedules, %zu distinct, %d findings",
		check->tally.schedules, check_tally_distinct(&check->tally), check->tally.errors);
	(void)fflush(stderr);
}

static check_run_t run_of(const check_t *check, const check_case_t *subject, int jobs)
{
	return (check_run_t){.subject = subject,
			     .jobs = jobs,
			     .deadline_ns = check->deadline_ns,
			     .quiet_limit_ns = check->options->quiet_limit_ns};
}

/** A schedule of the finding once more, by itself. Borrows. */
static check_case_t case_of(const check_t *check, const check_found_t *found)
{
	check_case_t subject = check->options->subject;
	subject.options.trace = false;
	subject.options.seeds = 1;
	subject.options.ranks = found->ranks;
	if (found->scripted && subject.options.strategy == TSR_CHECK_EXHAUSTIVE) {
		subject.scripted = true;
		subject.script = found->shortest;
	} else if (!found->common) {
		subject.options.first = found->finding->seed;
	}
	return subject;
}

/**
 * A program that fails whatever its loops leave is not told that they are the
 * cause: its schedule runs once more, in which they leave what all passes have.
 */
static void acquit_loops(check_t *check)
{
	for (int i = 0; i < check->tally.found_count; i++) {
		const check_found_t *found = &check->tally.found[i];
		check_outcome_t outcome;
		check_found_t again;
		if (!found->finding->blames_loop || check->outcome.end == CHECK_INTERRUPTED)
			continue;
		check_case_t subject = case_of(check, found);
		subject.options.whole = true;
		const check_run_t run = run_of(check, &subject, 1);
		if (!check_search(&run, found->key, &again, &outcome))
			continue;
		check_found_clear(&again);
		check_acquit_loop(found->finding);
	}
}

/** All that was found, the causes first; of what several worlds have in common the first. */
static void print_findings(check_t *check)
{
	check_tally_t *tally = &check->tally;
	tally->exhausted |= !check_tally_rank(tally);
	for (int i = 0; i < tally->found_count; i++) {
		const check_found_t *found = &tally->found[i], *cause = &tally->found[found->cause];
		if (found->fresh)
			check_print_found(&check->options->subject, found,
					  cause == found ? NULL : cause, stdout);
	}
}

static bool has_enough(const check_t *check)
{
	return check->tally.errors + check->tally.warnings >= check->options->max_findings;
}

/**
 * Whether it ends where nothing new is seen: a search that leaves nothing out
 * knows by itself when it is through.
 */
static bool saturates(const check_options_t *options)
{
	return !options->all_seeds && !options->replay &&
	       options->subject.options.strategy != TSR_CHECK_EXHAUSTIVE;
}

static bool hear_line(void *context, int job, json_t *object)
{
	check_t *check = context;
	check_tally_line(&check->tally, job, object);
	check_pace_line(&check->pace, job, object);
	if (check->trace != NULL)
		check_trace_line(check->trace, object);
	show_progress(check);
	check_world_t *world = check_tally_here(&check->tally);
	world->saturated = saturates(check->options) && check_tally_saturated(&check->tally);
	return !world->saturated && !has_enough(check);
}

static void hear_end(void *context, int job)
{
	check_t *check = context;
	check_tally_ended(&check->tally, job);
}

/** Explores the world that the subject has, within its share of the budget. */
static void explore(check_t *check, const check_share_t *share)
{
	check_case_t subject = check->options->subject; /* borrows */
	subject.options.seeds = share->seeds;
	check_run_t run = run_of(check, &subject, check->options->jobs);
	run.deadline_ns = share->deadline_ns;
	run.shown = check->options->replay;
	run.listener = (check_listener_t){hear_line, hear_end, check};
	check_tally_world(&check->tally, subject.options.ranks);
	check->pace = (check_pace_t){.lap = {{.begin_ns = 0}}};
	check_run(&run, &check->outcome);
	check->cut |= check->outcome.end == CHECK_TIME_IS_UP;
	for (int job = 0; job < run.jobs; job++)
		check_tally_ended(&check->tally, job); /* those that were ended, too */
	clear_progress(check);
}

/* ---------------------------------------------------------------- judging */

/**
 * How many jobs have not said that nothing more comes; `seed_out` of the first
 * that has a schedule in flight.
 */
static int unfinished(const check_t *check, bool *in_flight_out, uint64_t *seed_out)
{
	int count = 0;
	*in_flight_out = false;
	for (int job = 0; job < check->options->jobs; job++) {
		const check_flight_t *flight = &check->tally.flight[job];
		count += !flight->finished;
		if (!flight->finished && flight->open && !*in_flight_out) {
			*in_flight_out = true;
			*seed_out = flight->seed;
		}
	}
	return count;
}

/** What did not come within the limit. */
static void say_silence(const check_t *check, bool in_flight, uint64_t seed, char *what,
			size_t bytes)
{
	const check_tally_t *tally = &check->tally;
	const double seconds = (double)check->options->quiet_limit_ns / 1e9;
	if (in_flight)
		snprintf(what, bytes, "the schedule of seed %" PRIu64 " did not end within %g s",
			 seed, seconds);
	else if (*tally->hang != '\0' && !tally->spoke)
		snprintf(what, bytes, "no kernel was launched within %g s", seconds);
	else if (*tally->hang != '\0')
		snprintf(what, bytes,
			 "the default schedule, which pct runs first, did not end within %g s",
			 seconds);
	else
		snprintf(what, bytes, "the program said nothing for %g s", seconds);
}

/** More time helps a long schedule; of a program that may hang it is the last resort. */
static void judge_silence(check_t *check, bool in_flight, uint64_t seed)
{
	const check_tally_t *tally = &check->tally;
	char *what = check->verdict;
	say_silence(check, in_flight, seed, what, sizeof check->verdict);
	if (*tally->hang != '\0')
		snprintf(check->failure, SENTENCE_BYTES, "%s, and the program was ended: %s; %s",
			 what, tally->hang,
			 tally->goes_on
				 ? "--quiet-limit gives it longer"
				 : "let that code end or call Tessera; if it is only slow, raise "
				   "--quiet-limit");
	else if (in_flight)
		snprintf(check->failure, SENTENCE_BYTES,
			 "%s, and the program was ended: does it loop without a call of Tessera? "
			 "If it is only slow, raise --quiet-limit",
			 what);
	else
		snprintf(check->failure, SENTENCE_BYTES,
			 "%s, and was ended: %sif it is only slow, raise --quiet-limit", what,
			 tally->spoke ? ""
				      : "let it be linked with Tessera and start a world, or, ");
}

/** A program that ended by itself, and should have said more. */
static void judge_end(check_t *check, int left, bool in_flight, uint64_t seed)
{
	char how[96], where[64] = "";
	const int code = check->outcome.code;
	if (code > 128)
		snprintf(how, sizeof how, "was ended by signal %d (%s)", code - 128,
			 strsignal(code - 128));
	else
		snprintf(how, sizeof how, "ended with exit code %d", code);
	if (in_flight)
		snprintf(where, sizeof where, ", in the schedule of seed %" PRIu64, seed);
	if (!check->tally.spoke && code == 0)
		snprintf(check->failure, SENTENCE_BYTES,
			 "the program ended without a word of what it explored: is it linked with "
			 "Tessera, does it start a world, and does it launch a kernel?");
	else if (!check->tally.spoke)
		snprintf(check->failure, SENTENCE_BYTES, "the program %s before its first kernel",
			 how);
	else if (left > 0)
		snprintf(check->failure, SENTENCE_BYTES,
			 "the program %s before its last schedule%s", how, where);
	else if (check_tally_here(&check->tally)->schedules == 0)
		snprintf(check->failure, SENTENCE_BYTES, "the program ran no schedule");
}

static void judge(check_t *check)
{
	const check_tally_t *tally = &check->tally;
	bool in_flight;
	uint64_t seed = 0;
	const int left = unfinished(check, &in_flight, &seed);
	if (check->outcome.end == CHECK_NOT_STARTED)
		snprintf(check->failure, SENTENCE_BYTES, "%s", tsr_last_error());
	else if (check->outcome.end == CHECK_INTERRUPTED)
		snprintf(check->failure, SENTENCE_BYTES, "ended by signal %d (%s)",
			 check->outcome.code, strsignal(check->outcome.code));
	else if (check->outcome.end == CHECK_SILENT && left > 0)
		judge_silence(check, in_flight, seed);
	else if (check->outcome.end == CHECK_ENDED)
		judge_end(check, left, in_flight, seed);
	else if (check->outcome.end == CHECK_TIME_IS_UP &&
		 tally->worlds[tally->world_count - 1].schedules == 0)
		snprintf(check->failure, SENTENCE_BYTES,
			 "the time limit came before the end of the first schedule");
	if (*check->failure != '\0')
		return;
	if (tally->exhausted)
		snprintf(check->failure, SENTENCE_BYTES,
			 "the host has no memory to keep all that was said");
	else if (tally->refused > 0)
		snprintf(check->failure, SENTENCE_BYTES,
			 "%" PRIu64 " of the program's lines could not be understood: %s",
			 tally->refused, tally->refusal);
	else if (check->outcome.damaged > tally->died)
		snprintf(check->failure, SENTENCE_BYTES,
			 "%" PRIu64 " of the program's lines are damaged", check->outcome.damaged);
	else if (*tally->broken != '\0')
		snprintf(check->failure, SENTENCE_BYTES,
			 "the search broke off after %" PRIu64 " schedule%s: %s", tally->schedules,
			 tally->schedules == 1 ? "" : "s", tally->broken);
}

/** Says in which of several worlds it was. */
static void name_world(check_t *check)
{
	char text[SENTENCE_BYTES];
	if (*check->failure == '\0' || check->options->worlds.count == 1)
		return;
	snprintf(text, sizeof text, "%s", check->failure);
	snprintf(check->failure, SENTENCE_BYTES, "in the world of %d: %.900s",
		 check->options->subject.options.ranks, text);
}

/** All worlds in turn, up to the first of which nothing can be said. */
static void explore_worlds(check_t *check)
{
	const check_worlds_t *worlds = &check->options->worlds;
	check_budget_t budget = check_budget_begin(check->options, check->begin_ns);
	for (int w = 0; w < worlds->count && *check->failure == '\0' && !has_enough(check); w++) {
		const check_share_t share = check_budget_share(&budget);
		check->options->subject.options.ranks = worlds->ranks[w];
		explore(check, &share);
		check_budget_spend(&budget, check_tally_here(&check->tally)->schedules);
		judge(check);
		name_world(check);
	}
}

static int code_of(const check_t *check)
{
	if (check->outcome.end == CHECK_INTERRUPTED)
		return 128 + check->outcome.code;
	if (check->tally.errors > 0)
		return TOOL_FAILED;
	return *check->failure != '\0' ? CHECK_UNKNOWN : TOOL_OK;
}

/** What the program wrote to stderr last, where that says more than the command can. */
static void print_words(const check_t *check)
{
	const char *words = check->outcome.words;
	if (*words == '\0' || (*check->failure == '\0' && check->tally.failed == 0))
		return;
	fprintf(stderr, "tessera check: the program's last words:\n%s%s", words,
		words[strlen(words) - 1] == '\n' ? "" : "\n");
}

/* ---------------------------------------------------------------- shrinking */

typedef struct smaller {
	check_t *check;
	const char *key;    /* of what must be found again */
	check_found_t last; /* as it was found last */
	bool over;          /* interrupted, or no time left */
} smaller_t;

/** Explores a candidate until the finding comes up again, and notes how. */
static bool finds_again(void *context, check_case_t *candidate)
{
	smaller_t *smaller = context;
	const check_t *check = smaller->check;
	check_outcome_t outcome;
	check_found_t found;
	const uint64_t now = tsr_now_ns();
	if (smaller->over || (check->deadline_ns != 0 && now >= check->deadline_ns))
		return false;
	const check_run_t run =
		run_of(check, candidate, candidate->scripted ? 1 : check->options->jobs);
	const bool again = check_search(&run, smaller->key, &found, &outcome);
	smaller->over |= outcome.end == CHECK_INTERRUPTED;
	if (!again)
		return false;
	/* What is replayed goes on by the script that was given: one that came to the finding in
	 * fewer deviations is taken. */
	if (found.scripted &&
	    (!candidate->scripted || found.shortest.count <= candidate->script.count)) {
		tsr_check_script_clear(&candidate->script);
		candidate->scripted =
			tsr_check_script_copy(&found.shortest, &candidate->script) == TSR_OK;
	}
	candidate->seed = found.finding->seed;
	check_found_clear(&smaller->last);
	smaller->last = found;
	return true;
}

static int resident_default(void)
{
	const char *text = getenv("TESSERA_CPUEMU_RESIDENT_BLOCKS");
	long blocks;
	if (text == NULL ||
	    tsr_parse_int("TESSERA_CPUEMU_RESIDENT_BLOCKS", text, 1, 65536, &blocks) != TSR_OK)
		return RESIDENT_DEFAULT;
	return (int)blocks;
}

/** The case of the first finding, as small as it goes; how to replay it. */
static void shrink(check_t *check, const check_found_t *first)
{
	const uint64_t several = tsr_check_options_default().seeds;
	check_case_t smallest;
	smaller_t smaller = {.check = check, .key = first->key};
	if (!check_case_copy(&check->options->subject, &smallest))
		return;
	smallest.options.ranks = first->ranks;
	smallest.seed = first->finding->seed;
	/* in a smaller world one seed means another schedule, so several are tried; 0: all */
	if (smallest.options.seeds > 0 && smallest.options.seeds < several)
		smallest.options.seeds = several;
	if (first->scripted) {
		tsr_check_script_clear(&smallest.script);
		smallest.scripted =
			tsr_check_script_copy(&first->shortest, &smallest.script) == TSR_OK;
	}
	const int tried = check_shrink(&smallest, resident_default(), finds_again, &smaller);
	check->smaller = check_replay_command(&smallest, smallest.seed,
					      smallest.scripted ? &smallest.script : NULL);
	if (smaller.last.finding != NULL && !first->finding->blames_loop)
		check_acquit_loop(smaller.last.finding);
	printf("shrunk in %d runs%s:\n", tried, smaller.over ? ", before it was interrupted" : "");
	tsr_finding_print(smaller.last.finding != NULL ? smaller.last.finding : first->finding,
			  stdout);
	printf("  replay       %s\n\n",
	       check->smaller != NULL ? check->smaller : "(no memory to say how)");
	check_found_clear(&smaller.last);
	check_case_clear(&smallest);
}

/* ---------------------------------------------------------------- timelines */

/** A timeline that is being made, and what went wrong with the run that it is of. */
typedef struct timeline {
	check_trace_t *trace;
	char why[SENTENCE_BYTES];
} timeline_t;

static bool trace_line(void *context, int job, json_t *object)
{
	timeline_t *timeline = context;
	const char *message = json_string_value(json_object_get(object, "message"));
	(void)job;
	if (message != NULL && *timeline->why == '\0')
		(void)snprintf(timeline->why, sizeof timeline->why, "%s", message);
	check_trace_line(timeline->trace, object);
	return true;
}

static void trace_end(void *context, int job)
{
	(void)context;
	(void)job;
}

/** One schedule more, for the timeline: that of the first finding, or the first. */
static void trace_first(check_t *check)
{
	const check_found_t *first = check_tally_first(&check->tally);
	check_case_t subject = first != NULL ? case_of(check, first) : check->options->subject;
	check_outcome_t outcome;
	subject.options.trace = true;
	subject.options.seeds = 1;
	check_run_t run = run_of(check, &subject, 1);
	timeline_t timeline = {.trace = check->trace};
	run.listener = (check_listener_t){trace_line, trace_end, &timeline};
	check_run(&run, &outcome);
	const char *why = outcome.end == CHECK_NOT_STARTED ? tsr_last_error()
			  : *timeline.why                  ? timeline.why
							   : outcome.words;
	(void)snprintf(check->untraced, sizeof check->untraced, "%.1000s", why);
}

/** Ends the timeline. False: it could not be written, and that was said. */
static bool close_trace(check_t *check)
{
	uint64_t events = 0;
	if (check_trace_close(check->trace, &events) != TSR_OK) {
		fprintf(stderr, "tessera check: %s\n", tsr_last_error());
		return false;
	}
	if (check->trace != NULL)
		printf("timeline: %" PRIu64 " events in %s (open it at https://ui.perfetto.dev)\n",
		       events, check->options->trace);
	const bool none = check->trace != NULL && events == 0 && check->tally.spoke;
	if (none)
		fprintf(stderr, "tessera check: the program sent no events for the timeline%s%s\n",
			*check->untraced ? ": " : "", check->untraced);
	check->trace = NULL;
	return !none;
}

/* ---------------------------------------------------------------- the command */

/** Whether to run the program plainly as well: one that is wrong might do anything. */
static bool is_comparable(const check_t *check)
{
	const check_world_t *last = &check->tally.worlds[check->tally.world_count - 1];
	return !check->options->uncompared && !check->options->replay && check->tally.errors == 0 &&
	       *check->failure == '\0' && last->schedules > 0 &&
	       (check->outcome.end == CHECK_ENDED || last->saturated);
}

/** All but the exploring, which is what the time is measured of. Returns the exit code. */
static int report(check_t *check)
{
	const check_found_t *first = check_tally_first(&check->tally);
	check_result_t result = {.subject = &check->options->subject,
				 .tally = &check->tally,
				 .elapsed_ns = tsr_now_ns() - check->begin_ns,
				 .cut = check->cut};
	if (check->options->shrink && first != NULL && check->outcome.end != CHECK_INTERRUPTED)
		shrink(check, first);
	if (check->trace != NULL && !check->options->replay && check->tally.spoke &&
	    check->outcome.end != CHECK_INTERRUPTED)
		trace_first(check);
	bool written = close_trace(check);
	if (is_comparable(check))
		check_compare(&check->options->subject, &check->pace, check->deadline_ns,
			      &result.slowdown);
	result.code = code_of(check);
	result.failure = *check->failure != '\0' ? check->failure : NULL;
	result.verdict = *check->verdict != '\0' ? check->verdict : result.failure;
	result.smaller = check->smaller;
	if (check->tally.spoke || check->tally.world_count > 1)
		check_print_summary(&result, stdout);
	(void)fflush(stdout);
	print_words(check);
	if (result.failure != NULL)
		fprintf(stderr, "tessera check: %s\n", result.failure);
	if (check->options->json != NULL &&
	    check_write_json(&result, check->options->json) != TSR_OK) {
		fprintf(stderr, "tessera check: %s\n", tsr_last_error());
		written = false;
	}
	if (check->options->csv != NULL &&
	    check_write_csv(&result, check->options->csv) != TSR_OK) {
		fprintf(stderr, "tessera check: %s\n", tsr_last_error());
		written = false;
	}
	return result.code == TOOL_OK && !written ? CHECK_UNKNOWN : result.code;
}

static int check_program(check_options_t *options)
{
	check_t check = {.options = options,
			 .begin_ns = tsr_now_ns(),
			 .progress = isatty(STDERR_FILENO) == 1 && !options->replay};
	if (options->time_limit_ns != 0)
		check.deadline_ns = check.begin_ns + options->time_limit_ns;
	if (options->trace != NULL && check_trace_open(options->trace, &check.trace) != TSR_OK)
		return tool_misuse_last_error("check");
	options->subject.options.trace = options->replay && options->trace != NULL;
	explore_worlds(&check);
	acquit_loops(&check);
	print_findings(&check);
	const int code = report(&check);
	check_tally_clear(&check.tally);
	free(check.smaller);
	return code;
}

int tsr_cmd_check(int argc, char **argv)
{
	check_options_t options;
	int code = check_options_read(argc, argv, &options);
	if (code == TOOL_OK && options.help)
		check_options_help();
	else if (code == TOOL_OK)
		code = check_program(&options);
	check_options_clear(&options);
	return code;
}
