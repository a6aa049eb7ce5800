/* One pattern: its runs, their times, and the verdicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/progress.h"

/** The runs of a pattern after which outputs are judged. */
enum { STAGE_FIRST, STAGE_REPEATED, STAGE_TIMED };

static const char *const stage_names[] = {[STAGE_FIRST] = "first run",
					  [STAGE_REPEATED] = "repeated runs",
					  [STAGE_TIMED] = "timed runs"};

workload_config_t bench_chosen(const bench_session_t *session)
{
	workload_config_t config;
	memset(&config, 0, sizeof config);
	session->workload->chosen(session->run, &config);
	return config;
}

static const char *pattern_of(const bench_session_t *session)
{
	return session->workload->pattern(bench_chosen(session).pattern);
}

static tsr_status_t run_and_wait(const bench_session_t *session, int times)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < times; i++)
		status = session->workload->start(session->run);
	return status == TSR_OK ? session->workload->sync(session->run) : status;
}

tsr_status_t bench_rank_0_only(tsr_world_t *world, tsr_status_t status)
{
	if (status != TSR_OK)
		tsr_abort(world, tsr_last_error());
	return status;
}

/* ---------------------------------------------------------------- the stages of a pattern */

static tsr_status_t print_record(bench_session_t *session)
{
	bench_recording_t recording;
	tsr_status_t status = bench_record_gather(session->world, false, &recording);
	if (status != TSR_OK)
		return status;
	if (tsr_world_rank(session->world) == 0) {
		(void)printf("%s, what each worker did in one run:\n", pattern_of(session));
		bench_print_record(&recording);
	}
	bench_record_free(&recording);
	return TSR_OK;
}

/** Rank 0 writes the files of --trace and --picture. */
static tsr_status_t write_files(const bench_session_t *session, const bench_recording_t *recording)
{
	const bench_options_t *options = session->options;
	const workload_config_t config = bench_chosen(session);
	char problem[BENCH_PROBLEM_TEXT], path[BENCH_PATH_BYTES];
	const bench_caption_t caption = {session->workload->name, pattern_of(session),
					 bench_problem_text(session->workload, &config, problem),
					 tsr_world_backend(session->world)};
	tsr_status_t status = TSR_OK;
	if (options->trace) {
		status = bench_pattern_path(options, config.pattern, options->trace, path);
		if (status == TSR_OK)
			status = bench_write_trace(path, &caption, recording);
	}
	if (status == TSR_OK && options->picture) {
		status = bench_pattern_path(options, config.pattern, options->picture, path);
		if (status == TSR_OK)
			status = bench_draw_picture(path, &caption, recording);
	}
	return status;
}

/**
 * One more run for --trace and --picture, behind the timed ones: all memory has
 * been touched, and all ranks begin together.
 */
static tsr_status_t traced_run(bench_session_t *session)
{
	tsr_world_t *world = session->world;
	bench_recording_t recording;
	tsr_status_t status = tsr_record_start(world);
	if (status == TSR_OK)
		status = tsr_barrier(world);
	if (status == TSR_OK)
		status = run_and_wait(session, 1);
	if (status == TSR_OK)
		status = tsr_record_stop(world);
	if (status == TSR_OK)
		status = bench_record_gather(world, true, &recording);
	if (status != TSR_OK)
		return status;
	if (tsr_world_rank(world) == 0)
		status = bench_rank_0_only(world, write_files(session, &recording));
	bench_record_free(&recording);
	return status;
}

/** One run with a record. A backend or a kernel without one is no error: the columns say so. */
static tsr_status_t recorded_run(bench_session_t *session, bench_traffic_t *traffic_out)
{
	tsr_world_t *world = session->world;
	tsr_status_t status = bench_poison(session);
	if (status != TSR_OK)
		return status;
	status = tsr_record_start(world);
	bool recorded = status == TSR_OK;
	if (recorded || status == TSR_ERR_UNSUPPORTED)
		status = tsr_barrier(
			world); /* ranks begin together, so that moments can be compared */
	if (status == TSR_OK)
		status = run_and_wait(session, 1);
	if (recorded && status == TSR_OK) {
		status = tsr_record_stop(world);
		recorded = status == TSR_OK;
		if (status == TSR_ERR_UNSUPPORTED && !session->options->record)
			status = TSR_OK;
	}
	if (recorded && status == TSR_OK)
		status = bench_record_sum(world, traffic_out);
	if (recorded && status == TSR_OK && session->options->record)
		status = print_record(session);
	return status;
}

/**
 * Two runs in a row, without waiting and with nothing reset: what is left of
 * one must not serve the other.
 */
static tsr_status_t repeated_run(bench_session_t *session)
{
	if (!session->expected)
		return TSR_OK;
	tsr_status_t status = bench_poison(session);
	return status == TSR_OK ? run_and_wait(session, 2) : status;
}

/* ---------------------------------------------------------------- time */

/** What one sample needs. */
typedef struct timing {
	bench_session_t *session;
	bench_start_fn start;
	tool_progress_t progress;
} timing_t;

/**
 * The second of two runs in a row. By then all ranks have met in the first, and
 * the device is awake.
 */
static tsr_status_t time_run(void *ctx, uint64_t *ns_out)
{
	timing_t *timing = ctx;
	bench_session_t *session = timing->session;
	tsr_stream_t *stream = session->workload->stream(session->run);
	tool_progress_step(&timing->progress, "%s", pattern_of(session));
	tsr_status_t status = tsr_barrier(session->world);
	tsr_span_begin("run", pattern_of(session));
	if (status == TSR_OK)
		status = timing->start(session->run);
	if (status == TSR_OK)
		status = tsr_event_record(session->begin, stream);
	if (status == TSR_OK)
		status = timing->start(session->run);
	if (status == TSR_OK)
		status = tsr_event_record(session->end, stream);
	if (status == TSR_OK)
		status = session->workload->sync(session->run);
	tsr_span_end();
	return status == TSR_OK ? tsr_event_elapsed_ns(session->begin, session->end, ns_out)
				: status;
}

tsr_status_t bench_time(bench_session_t *session, bench_start_fn start,
			const bench_sampling_t *sampling, bench_times_t *times_out)
{
	timing_t timing = {.session = session, .start = start};
	if (tsr_world_rank(session->world) == 0)
		timing.progress = tool_progress_begin(sampling->warmup + sampling->iterations);
	tsr_status_t status = bench_sample(session->world, sampling, time_run, &timing, times_out);
	tool_progress_clear(&timing.progress);
	return status;
}

tsr_status_t bench_run(bench_session_t *session, bench_result_t *result)
{
	const bench_options_t *options = session->options;
	const bench_sampling_t sampling = {options->iterations, options->warmup, 0};
	bench_finding_t finding = {.verdict = {.wrong = 0}};
	tsr_status_t status = recorded_run(session, &result->traffic);
	if (status == TSR_OK)
		status = bench_judge(session, STAGE_FIRST, &finding);
	if (status == TSR_OK)
		status = repeated_run(session);
	if (status == TSR_OK)
		status = bench_judge(session, STAGE_REPEATED, &finding);
	if (status == TSR_OK && session->expected)
		status = bench_poison(session);
	if (status == TSR_OK)
		status = bench_time(session, session->workload->start, &sampling, &result->times);
	if (status == TSR_OK)
		status = bench_judge(session, STAGE_TIMED, &finding);
	if (status == TSR_OK && (options->trace || options->picture))
		status = traced_run(session);
	if (status != TSR_OK)
		return status;
	result->config = bench_chosen(session);
	return bench_agree_on(session, session->expected != NULL, stage_names, &finding,
			      &result->judgement);
}
