/* --baseline: what a user would pick instead, measured in the same processes on the same A and B, and the floor under all of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"

/** One step of the baseline, to be sampled. */
typedef struct sampled_step {
	bench_baseline_t *baseline;
	bench_step_t step;
} sampled_step_t;

static tsr_status_t time_step(void *ctx, uint64_t *ns_out)
{
	const sampled_step_t *sampled = ctx;
	return bench_baseline_time(sampled->baseline, sampled->step, ns_out);
}

static tsr_status_t time_steps(const bench_gas_session_t *session, bench_baseline_t *theirs, bench_gas_baseline_t *found)
{
	const bench_sampling_t sampling = {session->options->iterations, session->options->warmup, 0};
	tsr_status_t status = TSR_OK;
	for (int step = 0; status == TSR_OK && step < BENCH_STEPS; step++) {
		sampled_step_t sampled = {theirs, (bench_step_t)step};
		const char *missing = bench_baseline_missing(theirs, sampled.step);
		if (missing)
			(void)snprintf(found->missing[step], sizeof found->missing[step], "%s", missing);
		else
			status = bench_sample(session->world, &sampling, time_step, &sampled, &found->times[step]);
	}
	return status;
}

/** C of the baseline against the patterns' own reference. */
static tsr_status_t judge(const bench_gas_session_t *session, bench_baseline_t *theirs, bench_judgement_t *judgement)
{
	static const char *const runs[] = {"timed runs"};
	const gas_config_t *c = &session->options->config;
	gas_verdict_t verdict = {.wrong = 0};
	*judgement = (bench_judgement_t){.wrong_rank = -1};
	if (!session->reference || bench_baseline_missing(theirs, BENCH_LAYOUT))
		return TSR_OK;
	void *host = malloc((size_t)(c->m * c->n) * tsr_dtype_bytes(c->dtype));
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a copy of the baseline's C; free some");
	tsr_status_t status = bench_baseline_read(theirs, host);
	if (status == TSR_OK)
		gas_reference_judge(session->reference, host, &verdict);
	free(host);
	return status == TSR_OK ? bench_gas_agree(session->world, true, runs, 0, &verdict, judgement) : status;
}

/** 10^9 bytes a second; 0 where nothing was measured. */
static double rate(size_t bytes, const bench_times_t *times)
{
	uint64_t ns = bench_median_ns(times);
	return ns ? (double)bytes / (double)ns : 0.0;
}

/** What the largest part takes to all other ranks, one behind the other, at the rate of plain stores. */
static void find_floor(const bench_gas_session_t *session, bench_gas_baseline_t *found)
{
	const gas_config_t *c = &session->options->config;
	size_t others = (size_t)tsr_world_size(session->world) - 1;
	int64_t most = 0;
	for (int r = 0; r < tsr_world_size(session->world); r++) {
		gas_share_t share = gas_share(c->n, r, tsr_world_size(session->world));
		most = share.cols > most ? share.cols : most;
	}
	double bytes = (double)others * (double)most * (double)c->m * (double)tsr_dtype_bytes(c->dtype);
	uint64_t product_ns = bench_median_ns(&found->times[BENCH_PRODUCT]);
	found->pair_gbps = rate(found->push_bytes, &found->times[BENCH_PUSH_PAIR]);
	found->all_gbps = rate(others * found->push_bytes, &found->times[BENCH_PUSH_ALL]);
	found->exchange_ns = found->pair_gbps > 0.0 ? (uint64_t)(bytes / found->pair_gbps) : 0;
	if (product_ns && (others == 0 || found->exchange_ns))
		found->floor_ns = product_ns > found->exchange_ns ? product_ns : found->exchange_ns;
}

static tsr_status_t measure(bench_gas_session_t *session, bench_baseline_t *theirs, bench_gas_baseline_t *found)
{
	const bench_sampling_t sampling = {session->options->iterations, session->options->warmup, 0};
	(void)snprintf(found->name, sizeof found->name, "%s", bench_baseline_name(theirs));
	found->push_bytes = bench_baseline_push_bytes(theirs);
	tsr_status_t status = time_steps(session, theirs, found);
	if (status == TSR_OK)
		status = judge(session, theirs, &found->judgement);
	if (status == TSR_OK)
		status = bench_gas_time(session, gas_plan_run_product, &sampling, &found->product);
	found->product_config = *gas_plan_config(session->plan);
	find_floor(session, found);
	found->measured = status == TSR_OK;
	return status;
}

/** With the tile and split that the pattern would be run with. */
static tsr_status_t adapt_to_product(bench_gas_session_t *session)
{
	bench_gas_result_t ignored = {.remembered = false};
	gas_config_t config = session->options->config;
	tsr_status_t status = TSR_OK;
	config.pattern = GAS_BULK_SYNCHRONOUS;
	if (!session->options->no_tuned)
		status = bench_gas_recall(session, &config, &ignored);
	return status == TSR_OK ? gas_plan_adapt(session->plan, &config) : status;
}

tsr_status_t bench_gas_baseline(bench_gas_session_t *session, bench_gas_baseline_t *found)
{
	const gas_config_t *c = &session->options->config;
	char sentence[1024];
	bench_baseline_t *theirs = NULL;
	tsr_status_t status = adapt_to_product(session);
	if (status != TSR_OK)
		return status;
	const bench_task_t task = {
		.m = c->m, .n = c->n, .k = c->k, .dtype = c->dtype, .a = gas_plan_a(session->plan), .b = gas_plan_b(session->plan)};
	status = bench_baseline_open(session->world, &task, &theirs);
	if (status == TSR_OK)
		status = measure(session, theirs, found);
	(void)snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	tsr_status_t closed = bench_baseline_close(theirs, status != TSR_OK);
	return status == TSR_OK ? closed : tsr_error(status, "%s", sentence);
}

void bench_gas_baseline_free(bench_gas_baseline_t *baseline)
{
	for (int step = 0; step < BENCH_STEPS; step++)
		bench_times_free(&baseline->times[step]);
	bench_times_free(&baseline->product);
}
