/*
 * The exploring executor as a witness: each test is a program of its own, whose
 * schedules are all run, and which is listened to.
 */
#include "tools/litmus/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/memory/budget.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/crew.h"
#include "src/explore/wire/finding.h"
#include "tessera/program.h"

enum { LINE_BYTES = 1 << 16, LOOK_NS = 500000000 };

#define DEADLINE_NS UINT64_C(2000000000) /* for its end, after its last word */

/** What is known of a test while its program speaks. */
typedef struct hearing {
	const litmus_test_t *test;
	litmus_result_t *result;
	budget_t budget;
	tsr_status_t status;
	bool complete;  /* all schedules were run */
	char why[512];  /* the search broke off; empty: it did not */
	unsigned races; /* of the schedule that runs: they count where its end does */
	size_t used;
	char text[LINE_BYTES]; /* a line that is not whole yet */
} hearing_t;

/* ------------------------------------------------------------------ lines */

/**
 * What is no race is not to be found in a test, but that its stores are not
 * flushed, and what it is made for.
 */
static void hear_finding(hearing_t *h, const json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "class"));
	const char *message = json_string_value(json_object_get(line, "message"));
	tsr_finding_class_t class;

	if (!name || !tsr_finding_class_parse(name, &class))
		class = TSR_FINDING_PROGRAM_FAILURE;
	switch (class) {
	case TSR_FINDING_DATA_RACE:
	case TSR_FINDING_REUSE:
		h->races |= LITMUS_DATA_RACE;
		break;
	case TSR_FINDING_SCOPE_RACE:
		h->races |= LITMUS_SCOPE_RACE;
		break;
	case TSR_FINDING_LOAD_BUFFERING:
		h->result->warned = true;
		break;
	/* a thread of a test is one thread, whatever the coop that plays it might be */
	case TSR_FINDING_COOP_RACE:
		break;
	default:
		h->status = tsr_error(
			TSR_ERR_KERNEL,
			"%s: the executor finds '%s' in it, which no litmus test can have: %s",
			h->test->name, name ? name : "nothing that is known",
			message ? message : "no more is known");
	}
}

static void hear_state(hearing_t *h, const json_t *line)
{
	const json_t *list = json_object_get(line, "values");
	int64_t values[LITMUS_MAX_OBSERVED] = {0};

	for (int i = 0; i < h->test->observed_count; i++)
		values[i] = json_integer_value(json_array_get(list, (size_t)i));
	if (h->test->filter >= 0 && !litmus_holds(h->test, h->test->filter, values))
		return;
	h->result->races |= h->races;
	if (h->status == TSR_OK)
		h->status = litmus_result_add(h->test, h->result, values, 1);
}

static void hear_line(hearing_t *h, const char *text, size_t length)
{
	json_t *line = json_loadb(text, length, 0, NULL);
	const char *type = json_string_value(json_object_get(line, "type"));

	if (!type) {
		h->status = tsr_error(TSR_ERR_KERNEL,
				      "%s: the executor says what is no line of its protocol",
				      h->test->name);
	} else if (strcmp(type, "begin") == 0) {
		h->races = 0;
	} else if (strcmp(type, "finding") == 0) {
		hear_finding(h, line);
	} else if (strcmp(type, "state") == 0) {
		hear_state(h, line);
	} else if (strcmp(type, "schedule") == 0) {
		h->result->schedules++;
		h->result->pruned += json_is_true(json_object_get(line, "pruned"));
	} else if (strcmp(type, "end") == 0) {
		const char *why = json_string_value(json_object_get(line, "why"));
		h->complete = json_is_true(json_object_get(line, "complete"));
		(void)snprintf(h->why, sizeof h->why, "%s", why ? why : "");
	}
	json_decref(line);
}

static void hear_text(hearing_t *h)
{
	char *begin = h->text, *end;

	for (; (end = memchr(begin, '\n', h->used - (size_t)(begin - h->text))); begin = end + 1)
		if (end > begin && h->status == TSR_OK)
			hear_line(h, begin, (size_t)(end - begin));
	h->used -= (size_t)(begin - h->text);
	memmove(h->text, begin, h->used);
	if (h->used == sizeof h->text) {
		h->status =
			tsr_error(TSR_ERR_KERNEL, "%s: a line of the executor is longer than any",
				  h->test->name);
		h->used = 0;
	}
}

/** Until the program ends, says what is wrong, or its time is up. */
static void listen_to(hearing_t *h, int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (h->status == TSR_OK) {
		const int ready = tsr_fd_poll(&poll_fd, 1, tsr_now_ns() + LOOK_NS);
		if (budget_look(&h->budget)) {
			h->status = budget_give_up(&h->budget);
			return;
		}
		if (ready == 0)
			continue;
		const ssize_t got = tsr_fd_read(fd, h->text + h->used, sizeof h->text - h->used);
		if (got < 0)
			h->status = tsr_error(TSR_ERR_SYSTEM,
					      "%s: what the executor says cannot be read: %s",
					      h->test->name, strerror(errno));
		if (got <= 0)
			return;
		h->used += (size_t)got;
		hear_text(h);
	}
}

/* ------------------------------------------------------------------ the program */

/**
 * In a process of its own, since what fibres held when their last schedule was
 * run is never given back.
 */
static tsr_status_t run_process(const litmus_plan_t *plan, const tsr_check_options_t *options,
				hearing_t *h)
{
	tsr_crew_t crew;
	int fds[2];

	/* or each schedule would write what is still in there */
	fflush(stdout);
	/* before the pipe is there, or its guardian would keep it open */
	if (!tsr_crew_begin(&crew, DEADLINE_NS))
		return tsr_error(TSR_ERR_SYSTEM, "no process for %s: %s", h->test->name,
				 strerror(errno));
	const bool piped = pipe2(fds, O_CLOEXEC) == 0;
	const pid_t pid = piped ? tsr_crew_fork(&crew) : -1;
	if (pid == 0) {
		tsr_check_options_t own = *options;
		own.report_fd = fds[1];
		close(fds[0]);
		_exit(litmus_explore_play(plan, &own));
	}
	if (pid < 0)
		h->status = tsr_error(TSR_ERR_SYSTEM, "no process for %s: %s", h->test->name,
				      strerror(errno));
	if (piped)
		close(fds[1]);
	listen_to(h, fds[0]);
	if (piped)
		close(fds[0]);
	const int code = h->status == TSR_OK ? tsr_crew_wait(&crew) : 0;
	tsr_crew_end(&crew);
	if (h->status == TSR_OK && code != 0)
		h->status =
			tsr_error(TSR_ERR_KERNEL, "%s: its program failed, and has said why above",
				  h->test->name);
	return h->status;
}

static tsr_status_t explore(const litmus_test_t *test, const litmus_options_t *options,
			    tsr_check_weak_t weak, litmus_result_t *result)
{
	tsr_check_options_t check = tsr_check_options_default();
	hearing_t h = {.test = test, .result = result, .budget = budget_begin(test, options)};
	litmus_plan_t plan;
	tsr_status_t status = litmus_plan(test, &plan);

	if (status != TSR_OK)
		return status;
	check.ranks = plan.devices;
	check.strategy = TSR_CHECK_EXHAUSTIVE;
	check.weak = weak;
	check.seeds = (uint64_t)options->runs;
	status = run_process(&plan, &check, &h);
	for (int i = 0; i < result->count; i++)
		result->states[i].count = 1; /* several ways to one state are no frequency */
	if (status == TSR_OK && *h.why)
		status = tsr_error(TSR_ERR_KERNEL, "%s: the search broke off: %s", test->name,
				   h.why);
	else if (status == TSR_OK && !h.complete)
		status = tsr_error(TSR_ERR_KERNEL,
				   "%s has more than %lld schedules: allow more of them by --runs",
				   test->name, (long long)options->runs);
	return status;
}

/* ------------------------------------------------------------------ the witnesses */

static tsr_status_t run_weak(const litmus_test_t *test, const litmus_options_t *options,
			     litmus_result_t *result)
{
	return explore(test, options, TSR_CHECK_WEAK_VIEW, result);
}

static tsr_status_t run_interleaved(const litmus_test_t *test, const litmus_options_t *options,
				    litmus_result_t *result)
{
	return explore(test, options, TSR_CHECK_WEAK_OFF, result);
}

const litmus_witness_t litmus_explore = {
	.name = "explore",
	.summary = "the emulator's exploring executor: every schedule",
	.exhaustive = true,
	.runs = true,
	.like = &litmus_views,
	.run = run_weak,
};
const litmus_witness_t litmus_interleaved = {
	.name = "explore",
	.summary = "the same, where memory does nothing but interleave",
	.runs = true,
	.like = &litmus_views,
	.run = run_interleaved,
};
