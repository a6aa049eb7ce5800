/*
 * How much slower a schedule is than the same program by the parallel executor:
 * both from the first launch to the end of the process.
 */
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "src/base/os/clock.h"
#include "tools/check/check.h"

/*
 * These runs are a favour: they may cost no more than so long, whatever the
 * program does, and short ones are made several times.
 */
static const uint64_t longest_ns = UINT64_C(10000000000), again_ns = UINT64_C(1000000000);
enum { RUNS = 3 };

/* ---------------------------------------------------------------- schedules */

/**
 * They go from the "begin" of the first to the "end" behind the last: with
 * forking and ending, which are part of what each costs.
 */
void check_pace_line(check_pace_t *pace, int job, const json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type"));
	check_lap_t *lap = &pace->lap[job];
	if (type == NULL)
		return;
	if (strcmp(type, "begin") == 0 && lap->begin_ns == 0)
		lap->begin_ns = tsr_now_ns();
	lap->schedules += strcmp(type, "schedule") == 0;
	if (lap->begin_ns != 0)
		lap->last_ns = tsr_now_ns();
}

static double schedule_seconds(const check_pace_t *pace)
{
	uint64_t ns = 0, schedules = 0;
	for (int job = 0; job < CHECK_MOST_JOBS; job++) {
		ns += pace->lap[job].last_ns - pace->lap[job].begin_ns;
		schedules += pace->lap[job].schedules;
	}
	return schedules > 0 ? (double)ns / (double)schedules / 1e9 : 0;
}

/* ---------------------------------------------------------------- the parallel executor */

typedef struct comparison {
	uint64_t launched_ns, ended_ns; /* 0: not yet */
	bool untimed;                   /* a launch did not say when it was */
} comparison_t;

/**
 * The first launch is that which was made first. When its line is read says
 * nothing: on a busy machine that is a while later.
 */
static bool hear_launch(void *context, int job, json_t *object)
{
	comparison_t *comparison = context;
	const char *type = json_string_value(json_object_get(object, "type"));
	const json_int_t at_ns = json_integer_value(json_object_get(object, "at_ns"));
	(void)job;
	if (type == NULL || strcmp(type, "launch") != 0)
		return true;
	if (at_ns <= 0 || (uint64_t)at_ns > tsr_now_ns())
		comparison->untimed = true;
	else if (comparison->launched_ns == 0 || (uint64_t)at_ns < comparison->launched_ns)
		comparison->launched_ns = (uint64_t)at_ns;
	return true;
}

static void hear_end(void *context, int job)
{
	comparison_t *comparison = context;
	(void)job;
	comparison->ended_ns = tsr_now_ns();
}

static int usable_cpus(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/** Why there is nothing to compare with; null: there is. */
static const char *judge(const comparison_t *comparison, const check_outcome_t *outcome)
{
	switch (outcome->end) {
	case CHECK_ENDED:
		if (outcome->code != 0)
			return "the program fails where the parallel executor runs it";
		if (comparison->untimed)
			return "the program does not say when it launches its first kernel: link "
			       "it with the library of this "
			       "command";
		return comparison->launched_ns != 0 && comparison->ended_ns != 0
			       ? NULL
			       : "run by the parallel executor, it launches no kernel";
	case CHECK_SILENT:
	case CHECK_TIME_IS_UP:
		return "the program takes too long where the parallel executor runs it";
	case CHECK_INTERRUPTED:
		return "the run by the parallel executor was interrupted";
	default:
		return "the program could not be run by the parallel executor";
	}
}

/** One run. Null, and its time; or why there is none. */
static const char *run_once(const check_case_t *subject, uint64_t deadline_ns, double *seconds_out)
{
	comparison_t comparison = {.launched_ns = 0};
	/* borrows */
	check_case_t parallel = {.options = subject->options, .program = subject->program};
	check_outcome_t outcome;
	parallel.options.parallel = true;
	parallel.options.seeds = 1;
	const check_run_t run = {.subject = &parallel,
				 .jobs = 1,
				 .deadline_ns = deadline_ns,
				 .quiet_limit_ns = longest_ns,
				 .listener = {hear_launch, hear_end, &comparison}};
	check_run(&run, &outcome);
	const char *reason = judge(&comparison, &outcome);
	if (reason == NULL)
		*seconds_out = (double)(comparison.ended_ns - comparison.launched_ns) / 1e9;
	return reason;
}

void check_compare(const check_case_t *subject, const check_pace_t *pace, uint64_t deadline_ns,
		   check_slowdown_t *slowdown_out)
{
	const uint64_t begin_ns = tsr_now_ns(), latest_ns = begin_ns + longest_ns;
	const uint64_t end_ns =
		deadline_ns != 0 && deadline_ns < latest_ns ? deadline_ns : latest_ns;
	check_slowdown_t s = {
		.asked = true, .schedule_seconds = schedule_seconds(pace), .cpus = usable_cpus()};
	for (int i = 0;
	     i < RUNS && s.reason == NULL && (i == 0 || tsr_now_ns() - begin_ns < again_ns); i++) {
		double seconds = 0;
		const char *reason = run_once(subject, end_ns, &seconds);
		if (reason != NULL && i > 0)
			break; /* one measurement is there */
		s.reason = reason;
		if (reason == NULL && (i == 0 || seconds < s.parallel_seconds))
			s.parallel_seconds = seconds; /* the shortest is the least disturbed */
	}
	*slowdown_out = s;
}
