/*
 * --baseline: what a user would pick instead, measured in the same processes on
 * the same inputs, and the floor under all of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

/* ---------------------------------------------------------------- lines */

static bench_line_t *add_line(bench_theirs_t *theirs, bench_timed_t timed, const char *key,
			      const char *what)
{
	bench_line_t *line = &theirs->line[theirs->count++];
	line->timed = timed;
	(void)snprintf(line->key, sizeof line->key, "%s", key);
	(void)snprintf(line->what, sizeof line->what, "%s", what);
	return line;
}

/** The names of steps before `end`, with `between` in between. */
static void join(const workload_step_t *steps, int end, bool as_key, char *text, size_t size)
{
	size_t used = 0;
	for (int i = 0; i < end && used < size; i++) {
		char key[BENCH_KEY_TEXT];
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 i == 0   ? ""
					 : as_key ? "_"
						  : " + ",
					 as_key ? bench_key(steps[i].name, key) : steps[i].what);
	}
}

/** The step that multiplies; without one, the first. -1: there are no steps. */
static int main_step(const workload_step_t *steps, int count)
{
	for (int i = 0; i < count; i++)
		if (steps[i].op == WORKLOAD_PRODUCT)
			return i;
	return count > 0 ? 0 : -1;
}

/**
 * Each step that users need by itself, all of them, these with those that they
 * may do without; and stores.
 */
static void list_lines(const bench_baseline_t *b, bench_theirs_t *theirs)
{
	int count, needed = 0;
	char key[BENCH_VALUE_TEXT], what[BENCH_VALUE_TEXT], bytes[BENCH_SHORT_TEXT];
	const workload_step_t *steps = bench_baseline_steps(b, &count);
	while (needed < count && !steps[needed].extra)
		needed++;
	for (int i = 0; i < needed; i++)
		(void)add_line(theirs, (bench_timed_t){i, 1, BENCH_NO_PUSH},
			       bench_key(steps[i].name, key), steps[i].what);
	theirs->product = main_step(steps, needed);
	theirs->whole = needed > 0 ? theirs->count - 1 : -1;
	for (int end = needed > 1 ? needed : needed + 1; end <= count; end++) {
		join(steps, end, true, key, sizeof key);
		if (end == needed) {
			join(steps, end, false, what, sizeof what - 16);
			(void)snprintf(what + strlen(what), 16, ": the baseline");
			theirs->whole = theirs->count;
		} else {
			(void)snprintf(what, sizeof what, "the same, + %s", steps[end - 1].what);
		}
		(void)add_line(theirs, (bench_timed_t){0, end, BENCH_NO_PUSH}, key, what);
	}
	for (int i = 0; i < theirs->count; i++)
		theirs->line[i].judged =
			theirs->line[i].timed.first == 0 && theirs->line[i].timed.count == count;
	(void)bench_bytes_text(theirs->push_bytes, bytes);
	(void)snprintf(what, sizeof what, "plain stores, rank 0 to 1, %s", bytes);
	theirs->pair = theirs->count;
	(void)add_line(theirs, (bench_timed_t){0, 0, BENCH_PUSH_PAIR}, "store_one_pair", what);
	(void)snprintf(what, sizeof what, "plain stores, each to each, %s", bytes);
	theirs->all = theirs->count;
	(void)add_line(theirs, (bench_timed_t){0, 0, BENCH_PUSH_ALL}, "store_each_to_each", what);
}

/** What is timed of one line. */
typedef struct sampled_line {
	bench_baseline_t *baseline;
	const bench_timed_t *timed;
} sampled_line_t;

static tsr_status_t time_line(void *ctx, uint64_t *ns_out)
{
	const sampled_line_t *sampled = ctx;
	return bench_baseline_time(sampled->baseline, sampled->timed, ns_out);
}

static tsr_status_t time_lines(const bench_session_t *session, bench_baseline_t *b,
			       bench_theirs_t *theirs)
{
	const bench_sampling_t sampling = {session->options->iterations, session->options->warmup,
					   0};
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < theirs->count; i++) {
		bench_line_t *line = &theirs->line[i];
		sampled_line_t sampled = {b, &line->timed};
		const char *missing = bench_baseline_missing(b, &line->timed);
		if (missing)
			(void)snprintf(line->missing, sizeof line->missing, "%s", missing);
		else
			status = bench_sample(session->world, &sampling, time_line, &sampled,
					      &line->times);
	}
	return status;
}

/* ---------------------------------------------------------------- right, and how fast at best */

static tsr_status_t judge_output(const bench_session_t *session, bench_baseline_t *b, int matrix,
				 bench_finding_t *finding)
{
	workload_matrix_t part;
	verdict_t verdict;
	(void)bench_matrix(session, matrix, &part);
	void *host =
		malloc((size_t)(part.part_rows * part.part_cols) * tsr_dtype_bytes(part.dtype) + 1);
	if (!host)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"the host has no memory for a copy of the baseline's %s; free some",
			part.name);
	tsr_status_t status = bench_baseline_read(b, matrix, host);
	if (status == TSR_OK) {
		judge_array(session->judges[matrix], host, &verdict);
		if (verdict.wrong)
			*finding = (bench_finding_t){0, matrix, verdict};
	}
	free(host);
	return status;
}

/** Outputs of the baseline against what the patterns' must be. */
static tsr_status_t judge(const bench_session_t *session, bench_baseline_t *b,
			  bench_judgement_t *judgement)
{
	static const char *const runs[] = {"timed runs"};
	bench_finding_t finding = {.verdict = {.wrong = 0}};
	int count;
	tsr_status_t status = TSR_OK;
	const workload_step_t *steps = bench_baseline_steps(b, &count);
	for (int i = 0; i < count; i++)
		if (steps[i].rounds)
			count = 0;
	const bench_timed_t all = {0, count, BENCH_NO_PUSH};
	*judgement = (bench_judgement_t){.wrong_rank = -1};
	if (!session->expected || count == 0 || bench_baseline_missing(b, &all))
		return TSR_OK;
	for (int i = 0; status == TSR_OK && i < WORKLOAD_MATRICES; i++)
		if (session->judges[i] && finding.verdict.wrong == 0)
			status = judge_output(session, b, i, &finding);
	return status == TSR_OK ? bench_agree_on(session, true, runs, &finding, judgement) : status;
}

workload_cost_t bench_cost(const bench_session_t *session, const workload_config_t *config,
			   int rank)
{
	return session->workload->cost(config, rank, tsr_world_size(session->world));
}

uint64_t bench_theirs_ns(const bench_theirs_t *theirs)
{
	return theirs->measured && theirs->whole >= 0
		       ? bench_median_ns(&theirs->line[theirs->whole].times)
		       : 0;
}

/** 10^9 bytes a second; 0 where nothing was measured. */
static double rate(size_t bytes, const bench_times_t *times)
{
	const uint64_t ns = bench_median_ns(times);
	return ns ? (double)bytes / (double)ns : 0.0;
}

/** What any rank sends to others, at the rate of plain stores to one. */
static void find_floor(const bench_session_t *session, bench_theirs_t *theirs)
{
	const int ranks = tsr_world_size(session->world);
	const size_t others = (size_t)ranks - 1;
	double most = 0;
	for (int r = 0; r < ranks; r++) {
		const double bytes = bench_cost(session, &session->options->config, r).link_bytes;
		most = bytes > most ? bytes : most;
	}
	const uint64_t product_ns =
		theirs->product >= 0 ? bench_median_ns(&theirs->line[theirs->product].times) : 0;
	theirs->pair_gbps = rate(theirs->push_bytes, &theirs->line[theirs->pair].times);
	theirs->all_gbps = rate(others * theirs->push_bytes, &theirs->line[theirs->all].times);
	theirs->exchange_ns = theirs->pair_gbps > 0.0 ? (uint64_t)(most / theirs->pair_gbps) : 0;
	if (product_ns && (others == 0 || theirs->exchange_ns))
		theirs->floor_ns =
			product_ns > theirs->exchange_ns ? product_ns : theirs->exchange_ns;
}

/* ---------------------------------------------------------------- measuring */

tsr_status_t bench_own_measure(bench_session_t *session, workload_config_t *config_out,
			       bench_times_t *times_out)
{
	const workload_t *workload = session->workload;
	const bench_sampling_t sampling = {session->options->iterations, session->options->warmup,
					   0};
	bench_result_t ignored = {.remembered = false};
	workload_config_t config = session->options->config;
	tsr_status_t status = TSR_OK;
	if (!workload->compute || workload->compute_pattern < 0)
		return TSR_OK;
	config.pattern = workload->compute_pattern;
	if (!session->options->no_tuned)
		status = bench_recall(session, &config, &ignored);
	if (status == TSR_OK)
		status = workload->reconfigure(session->run, &config);
	if (status == TSR_OK)
		status = bench_time(session, workload->compute, &sampling, times_out);
	*config_out = bench_chosen(session);
	return status;
}

static tsr_status_t measure(bench_session_t *session, bench_baseline_t *b, bench_theirs_t *theirs)
{
	(void)snprintf(theirs->name, sizeof theirs->name, "%s", bench_baseline_name(b));
	theirs->push_bytes = bench_baseline_push_bytes(b);
	list_lines(b, theirs);
	tsr_status_t status = time_lines(session, b, theirs);
	if (status == TSR_OK)
		status = judge(session, b, &theirs->judgement);
	if (status == TSR_OK)
		status = bench_own_measure(session, &theirs->own_config, &theirs->own);
	find_floor(session, theirs);
	theirs->measured = status == TSR_OK;
	return status;
}

tsr_status_t bench_theirs_measure(bench_session_t *session, bench_theirs_t *theirs)
{
	char sentence[1024];
	bench_baseline_t *b = NULL;
	const bench_task_t task = {session->workload, &session->options->config, session->run};
	tsr_status_t status = bench_baseline_open(session->world, &task, &b);
	if (status == TSR_OK)
		status = measure(session, b, theirs);
	(void)snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	tsr_status_t closed = bench_baseline_close(b, status != TSR_OK);
	return status == TSR_OK ? closed : tsr_error(status, "%s", sentence);
}

void bench_theirs_free(bench_theirs_t *theirs)
{
	for (int i = 0; i < theirs->count; i++)
		bench_times_free(&theirs->line[i].times);
	bench_times_free(&theirs->own);
}
