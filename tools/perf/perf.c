/*
 * tessera perf: starts the world and hands each rank its part. What the
 * measurements share is here, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/input.h"
#include "tools/perf/perf.h"
#include "tools/usage.h"

/**
 * Written before the ranks start and only read afterwards: an entry gets no
 * pointer of its own, and ranks may be threads.
 */
static perf_options_t perf_options;

/* ------------------------------------------------------------------ what the measurements share */

tsr_status_t perf_time(perf_run_t *run, const tsr_kernel_t *kernel, int blocks, const void *lead,
		       const void *args, double *ns_out)
{
	uint64_t ns;

	PERF_TRY(tsr_launch(run->stream, kernel, blocks, lead));
	PERF_TRY(tsr_event_record(run->begin, run->stream));
	PERF_TRY(tsr_launch(run->stream, kernel, blocks, args));
	PERF_TRY(tsr_event_record(run->end, run->stream));
	PERF_TRY(tsr_event_sync(run->end));
	PERF_TRY(tsr_stream_sync(run->stream));
	PERF_TRY(tsr_event_elapsed_ns(run->begin, run->end, &ns));
	*ns_out = (double)ns;
	return TSR_OK;
}

tsr_status_t perf_time_launches(perf_run_t *run, const tsr_kernel_t *kernel, int blocks,
				const void *args, uint64_t launches, double *ns_out)
{
	uint64_t ns;

	for (uint64_t i = 0; i < perf_lead(launches); i++)
		PERF_TRY(tsr_launch(run->stream, kernel, blocks, args));
	PERF_TRY(tsr_event_record(run->begin, run->stream));
	for (uint64_t i = 0; i < launches; i++)
		PERF_TRY(tsr_launch(run->stream, kernel, blocks, args));
	PERF_TRY(tsr_event_record(run->end, run->stream));
	PERF_TRY(tsr_event_sync(run->end));
	PERF_TRY(tsr_stream_sync(run->stream));
	PERF_TRY(tsr_event_elapsed_ns(run->begin, run->end, &ns));
	*ns_out = (double)ns;
	return TSR_OK;
}

uint64_t perf_lead(uint64_t repeats)
{
	return 1 + repeats / 16;
}

uint64_t perf_enough(uint64_t repeats, double ns)
{
	const double sample_ns = 3e6; /* shorter than a time slice, much longer than a launch */
	double ratio = ns > 0 ? sample_ns / ns : 1;

	if (ratio > 0.5 && ratio < 2)
		return repeats;
	double enough = (double)repeats * ratio;
	return enough < 1 ? 1 : (uint64_t)enough;
}

tsr_status_t perf_choose(const perf_run_t *run, uint64_t first, perf_play_fn play, void *ctx,
			 uint64_t *times_out)
{
	const perf_options_t *options = run->options;
	uint64_t times = options->repeats ? (uint64_t)options->repeats : first;
	double ns, fastest = 0;

	for (long i = 0; i < options->warmup + 1; i++) {
		PERF_TRY(play(ctx, times, &ns));
		fastest = i == 0 || ns < fastest ? ns : fastest;
	}
	*times_out = options->repeats ? times : perf_enough(times, fastest);
	return tsr_team_broadcast(tsr_world_team(run->world), times_out, sizeof *times_out, 0);
}

bool perf_on_host(const perf_run_t *run)
{
	return strcmp(tsr_world_backend(run->world), "cpuemu") == 0;
}

void *perf_host_address(const perf_run_t *run, TSR_HEAP void *pointer, int rank)
{
	TSR_HEAP void *address;

	if (!perf_on_host(run))
		return NULL;
	if (tsr_heap_translate(run->world, pointer, rank, &address) != TSR_OK)
		return NULL;
	return (void *)(uintptr_t)address;
}

tsr_status_t perf_alloc_clear(perf_run_t *run, size_t size_bytes, const char *name,
			      TSR_HEAP void **pointer_out)
{
	TSR_HEAP void *pointer;

	PERF_TRY(tsr_heap_alloc(run->world, size_bytes, 0, name, &pointer));
	PERF_TRY(tsr_memset_heap(run->world, pointer, 0, size_bytes));
	PERF_TRY(tsr_barrier(run->world));
	*pointer_out = pointer;
	return TSR_OK;
}

tsr_status_t perf_sum(perf_run_t *run, int64_t mine, int64_t *sum_out)
{
	int64_t all[TSR_MAX_RANKS], sum = 0;

	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	for (int r = 0; r < run->size; r++)
		sum += all[r];
	*sum_out = sum;
	return TSR_OK;
}

/* ------------------------------------------------------------------ one rank */

static tsr_status_t run_operation(perf_run_t *run)
{
	if (run->options->vias)
		return perf_run_vias(run);
	if (run->options->pairs)
		return perf_run_pairs(run);
	switch (run->options->op) {
	case PERF_SIGNAL:
		return run->options->scope == PERF_SCOPE_SYSTEM ? perf_run_signal(run)
								: perf_run_local_signal(run);
	case PERF_MARKED:
		return perf_run_marked(run);
	case PERF_PUT_SIGNAL:
		return perf_run_put_signal(run);
	case PERF_ATOMIC:
		return perf_run_atomic(run);
	case PERF_BARRIER:
		return perf_run_barrier(run);
	default:
		return perf_op_collects(run->options->op) ? perf_run_collective(run)
							  : perf_run_move(run);
	}
}

static tsr_status_t measure(perf_run_t *run)
{
	PERF_TRY(tsr_stream_create(tsr_world_team(run->world), &run->stream));
	PERF_TRY(tsr_event_create(run->world, &run->begin));
	PERF_TRY(tsr_event_create(run->world, &run->end));
	/* nothing but the operations themselves reaches another node's GPU */
	if (perf_has_limits(run->options, perf_on_host(run)) && tsr_world_nodes(run->world) == 1)
		PERF_TRY(perf_measure_limits(run));
	PERF_TRY(run_operation(run));
	PERF_TRY(tsr_event_destroy(run->end));
	PERF_TRY(tsr_event_destroy(run->begin));
	return tsr_stream_destroy(run->stream);
}

static int rank_main(tsr_world_t *world, int argc, char **argv)
{
	perf_report_t report;
	perf_run_t run = {
		.world = world,
		.options = &perf_options,
		.rank = tsr_world_rank(world),
		.size = tsr_world_size(world),
		.far = tsr_world_nodes(world) > 1,
	};
	int64_t wrong = 0;

	(void)argc;
	(void)argv;
	TSR_TRY(perf_check_vias(&run));
	if (run.rank == 0) {
		run.report = &report;
		TSR_TRY(perf_report_begin(&report, &perf_options, world));
	}
	TSR_TRY(measure(&run));
	if (run.report) {
		TSR_TRY(perf_report_end(&report));
		wrong = report.wrong;
	}
	return wrong ? TOOL_FAILED : TOOL_OK;
}

/* ------------------------------------------------------------------ the command */

/** A heap that holds the buffers, where the user has not said how large it is to be. */
static void make_room(const perf_options_t *options)
{
	const size_t usual = (size_t)1 << 30, rest = (size_t)16 << 20,
		     buffers =
			     options->op == PERF_MARKED ? (size_t)perf_op_buffers(PERF_MARKED) : 3;
	char text[32];

	if (!perf_op_sized(options->op) || options->max_bytes <= (usual - rest) / buffers)
		return;
	snprintf(text, sizeof text, "%zu", buffers * options->max_bytes + rest);
	setenv("TESSERA_HEAP_SIZE", text, 0);
}

/**
 * Whether a file can be written, said before anything is measured; `*new_out`:
 * it was not there.
 */
static int check_file(const char *path, bool *new_out)
{
	if (!path)
		return TOOL_OK;
	*new_out = access(path, F_OK) != 0;
	FILE *file = fopen(path, "a");
	if (!file)
		return tool_misuse("perf", "cannot write '%s': %s", path, strerror(errno));
	fclose(file);
	return TOOL_OK;
}

/** Removes a file that was made for nothing. */
static void remove_empty(const char *path)
{
	FILE *file = tool_fopen_input(path);
	bool empty = file && fgetc(file) == EOF;

	if (file)
		fclose(file);
	if (empty)
		unlink(path);
}

int tsr_cmd_perf(int argc, char **argv)
{
	bool help, new_json = false, new_csv = false;

	int misused = perf_options_parse(argc, argv, &perf_options, &help);
	if (misused || help)
		return misused;
	misused = check_file(perf_options.json, &new_json);
	if (!misused)
		misused = check_file(perf_options.csv, &new_csv);
	if (misused)
		return misused;
	if (perf_options.picture) {
		FILE *file = fopen(perf_options.picture, "w");
		if (!file)
			return tool_misuse("perf", "cannot write '%s': %s", perf_options.picture,
					   strerror(errno));
		fclose(file);
	}
	make_room(&perf_options);
	int code = tsr_launch_world(&perf_options.launcher, argc, argv, rank_main);
	if (code == TOOL_FAILED && new_json)
		remove_empty(perf_options.json);
	if (code == TOOL_FAILED && new_csv)
		remove_empty(perf_options.csv);
	return code;
}
