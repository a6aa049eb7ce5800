/* One pattern of `tessera bench gemm-all-scatter`: its runs, their times, and the verdicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"
#include "tools/progress.h"

/** The runs of a pattern after which C is judged. */
typedef enum stage { STAGE_FIRST, STAGE_REPEATED, STAGE_TIMED } stage_t;

static const char *const stage_names[] = {
	[STAGE_FIRST] = "first run", [STAGE_REPEATED] = "repeated runs", [STAGE_TIMED] = "timed runs"};

/** The first verdict of this rank that found something wrong, and the stage. */
typedef struct finding {
	stage_t stage;
	gas_verdict_t verdict;
} finding_t;

static const char *pattern_of(const bench_gas_session_t *session)
{
	return gas_pattern_name(gas_plan_config(session->plan)->pattern);
}

static tsr_status_t run_and_wait(gas_plan_t *plan, int times)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < times; i++)
		status = gas_plan_run(plan);
	return status == TSR_OK ? gas_plan_sync(plan) : status;
}

tsr_status_t bench_rank_0_only(tsr_world_t *world, tsr_status_t status)
{
	if (status != TSR_OK)
		tsr_abort(world, tsr_last_error());
	return status;
}

/* ---------------------------------------------------------------- verdicts */

/** Compares this rank's C; keeps the first verdict that finds something wrong. */
static tsr_status_t judge(const bench_gas_session_t *session, stage_t stage, finding_t *finding)
{
	gas_verdict_t verdict;
	if (!session->reference || finding->verdict.wrong)
		return TSR_OK;
	tsr_status_t status = gas_reference_check(session->reference, session->world, session->plan, &verdict);
	if (status == TSR_OK && verdict.wrong)
		*finding = (finding_t){stage, verdict};
	return status;
}

tsr_status_t bench_gas_agree(tsr_world_t *world, bool verified, const char *const *runs, int run, const gas_verdict_t *verdict,
			     bench_judgement_t *judgement_out)
{
	struct {
		int run;
		gas_verdict_t verdict;
	} mine, all[TSR_MAX_RANKS];
	memset(&mine, 0, sizeof mine); /* padding travels too */
	mine.run = run;
	mine.verdict = *verdict;
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine);
	*judgement_out = (bench_judgement_t){.verified = verified, .wrong_rank = -1};
	for (int r = 0; status == TSR_OK && judgement_out->wrong_rank < 0 && r < tsr_world_size(world); r++) {
		if (all[r].verdict.wrong == 0)
			continue;
		judgement_out->wrong_rank = r;
		judgement_out->wrong_run = runs[all[r].run];
		judgement_out->verdict = all[r].verdict;
	}
	return status;
}

/* ---------------------------------------------------------------- the stages of a pattern */

static tsr_status_t print_record(bench_gas_session_t *session)
{
	tsr_record_entry_t *entries;
	int *counts;
	tsr_status_t status = bench_record_gather(session->world, &entries, &counts);
	if (status != TSR_OK)
		return status;
	if (tsr_world_rank(session->world) == 0) {
		(void)printf("%s, what each worker did in one run:\n", pattern_of(session));
		bench_print_record(tsr_world_size(session->world), entries, counts);
	}
	free(entries);
	free(counts);
	return TSR_OK;
}

/** One run with a record. A backend without one is no error: the columns say so. */
static tsr_status_t recorded_run(bench_gas_session_t *session, bench_traffic_t *traffic_out)
{
	tsr_world_t *world = session->world;
	tsr_status_t status = gas_plan_poison(session->plan, world);
	if (status != TSR_OK)
		return status;
	status = tsr_record_start(world);
	bool recorded = status == TSR_OK;
	if (recorded || status == TSR_ERR_UNSUPPORTED)
		status = run_and_wait(session->plan, 1);
	if (recorded && status == TSR_OK)
		status = tsr_record_stop(world);
	if (recorded && status == TSR_OK)
		status = bench_record_sum(world, traffic_out);
	if (recorded && status == TSR_OK && session->options->record)
		status = print_record(session);
	return status;
}

/** Two runs in a row, without waiting and with nothing reset: what is left of one must not serve the other. */
static tsr_status_t repeated_run(bench_gas_session_t *session)
{
	if (!session->reference)
		return TSR_OK;
	tsr_status_t status = gas_plan_poison(session->plan, session->world);
	return status == TSR_OK ? run_and_wait(session->plan, 2) : status;
}

/* ---------------------------------------------------------------- time */

/** What one sample of the plan needs. */
typedef struct timing {
	bench_gas_session_t *session;
	bench_gas_start_fn start;
	tool_progress_t progress;
} timing_t;

/** The second of two runs in a row. By then all ranks have met in the first, and the device is awake. */
static tsr_status_t time_run(void *ctx, uint64_t *ns_out)
{
	timing_t *timing = ctx;
	bench_gas_session_t *session = timing->session;
	tsr_stream_t *stream = gas_plan_stream(session->plan);
	tool_progress_step(&timing->progress, "%s", pattern_of(session));
	tsr_status_t status = tsr_barrier(session->world);
	if (status == TSR_OK)
		status = timing->start(session->plan);
	if (status == TSR_OK)
		status = tsr_event_record(session->begin, stream);
	if (status == TSR_OK)
		status = timing->start(session->plan);
	if (status == TSR_OK)
		status = tsr_event_record(session->end, stream);
	if (status == TSR_OK)
		status = gas_plan_sync(session->plan);
	return status == TSR_OK ? tsr_event_elapsed_ns(session->begin, session->end, ns_out) : status;
}

tsr_status_t bench_gas_time(bench_gas_session_t *session, bench_gas_start_fn start, const bench_sampling_t *sampling,
			    bench_times_t *times_out)
{
	timing_t timing = {.session = session, .start = start};
	if (tsr_world_rank(session->world) == 0)
		timing.progress = tool_progress_begin(sampling->warmup + sampling->iterations);
	tsr_status_t status = bench_sample(session->world, sampling, time_run, &timing, times_out);
	tool_progress_clear(&timing.progress);
	return status;
}

tsr_status_t bench_gas_run(bench_gas_session_t *session, bench_gas_result_t *result)
{
	const bench_gas_options_t *options = session->options;
	const bench_sampling_t sampling = {options->iterations, options->warmup, 0};
	finding_t finding = {.verdict = {.wrong = 0}};
	tsr_status_t status = recorded_run(session, &result->traffic);
	if (status == TSR_OK)
		status = judge(session, STAGE_FIRST, &finding);
	if (status == TSR_OK)
		status = repeated_run(session);
	if (status == TSR_OK)
		status = judge(session, STAGE_REPEATED, &finding);
	if (status == TSR_OK && session->reference)
		status = gas_plan_poison(session->plan, session->world);
	if (status == TSR_OK)
		status = bench_gas_time(session, gas_plan_run, &sampling, &result->times);
	if (status == TSR_OK)
		status = judge(session, STAGE_TIMED, &finding);
	if (status != TSR_OK)
		return status;
	result->config = *gas_plan_config(session->plan);
	return bench_gas_agree(session->world, session->reference != NULL, stage_names, (int)finding.stage, &finding.verdict,
			       &result->judgement);
}
