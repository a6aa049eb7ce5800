/*
 * put --via: messages of a size by threads, by the copy engines of
 * multiprocessors or by the device's, by the number of blocks. What figures 2
 * and 3 and table 1 of the ParallelKittens paper show.
 */
#include <stdio.h>
#include <string.h>

#include "tools/perf/move.h"

/* An operation's messages go to different places in a window of this size. */
enum { WINDOW_ON_HOST = 4 << 20, WINDOW = 64 << 20 };
enum { MESSAGES_ON_HOST = 64, MESSAGES = 4096 };

/** Why the backend has no such way; null: it has. */
static const char *lacks(const perf_run_t *run, perf_via_t via)
{
	return via == PERF_VIA_BULK && strcmp(tsr_world_backend(run->world), "cuda") != 0
		       ? "only multiprocessors of NVIDIA's GPUs, from Hopper on, have copy engines"
		       : NULL;
}

/** Number of messages in an operation. */
static size_t messages_of(const perf_run_t *run, size_t message_bytes)
{
	const bool on_host = perf_on_host(run);
	const size_t window = on_host ? WINDOW_ON_HOST : WINDOW,
		     most = on_host ? MESSAGES_ON_HOST : MESSAGES, room = window / message_bytes;

	return room < 1 ? 1 : room < most ? room : most;
}

static size_t window_of(const perf_run_t *run)
{
	const perf_options_t *o = run->options;
	size_t largest = 0;

	for (size_t s = o->min_bytes; s; s = perf_next_size(o, s)) {
		const size_t bytes = s * messages_of(run, s);
		largest = bytes > largest ? bytes : largest;
	}
	return largest;
}

/** The number of blocks after `blocks`: powers of two, then all that are resident; 0: no more. */
static int next_blocks(const perf_options_t *options, int blocks, int most)
{
	if (options->blocks || blocks >= most)
		return 0;
	return 2 * blocks < most ? 2 * blocks : most;
}

static tsr_status_t measure_row(perf_move_t *move, size_t size_bytes, perf_via_t via, int blocks)
{
	perf_run_t *run = move->run;
	perf_pair_t pair;
	int64_t wrong;
	char what[48];

	move->kernel = via == PERF_VIA_THREADS ? &perf_put
		       : via == PERF_VIA_BULK  ? &perf_bulk_put
					       : NULL;
	perf_move_divided(move, size_bytes, messages_of(run, size_bytes), blocks);
	PERF_TRY(perf_move_measure(move, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	const int used = move->kernel ? blocks : 0;
	if (used > 0)
		snprintf(what, sizeof what, "%s, %d block%s", perf_via_name(via), used,
			 used == 1 ? "" : "s");
	else
		snprintf(what, sizeof what, "%s", perf_via_name(via));
	const perf_row_t row = {
		.what = what,
		.size_bytes = size_bytes,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = tsr_dtype_bytes(run->options->dtype),
		.link_bytes = move->from != move->to ? size_bytes : 0,
		.via = perf_via_name(via),
		.blocks = used,
		.wrong = run->options->check ? wrong : -1,
	};
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t measure_size(perf_move_t *move, size_t size_bytes, perf_via_t via, int resident)
{
	const perf_options_t *o = move->run->options;
	const size_t messages = messages_of(move->run, size_bytes);
	/* more blocks than messages would leave blocks idle */
	const int most = messages < (size_t)resident ? (int)messages : resident;

	if (via == PERF_VIA_COPY_ENGINE)
		return measure_row(move, size_bytes, via, 1);
	for (int blocks = o->blocks ? (int)o->blocks : 1; blocks > 0;
	     blocks = next_blocks(o, blocks, most))
		PERF_TRY(measure_row(move, size_bytes, via, blocks));
	return TSR_OK;
}

static tsr_status_t measure_via(perf_move_t *move, perf_via_t via, int resident)
{
	perf_run_t *run = move->run;
	const perf_options_t *o = run->options;

	for (size_t s = o->min_bytes; s; s = perf_next_size(o, s)) {
		if (run->report)
			tool_progress_step(&run->report->progress, "messages of %zu bytes by %s", s,
					   perf_via_name(via));
		PERF_TRY(measure_size(move, s, via, resident));
	}
	return TSR_OK;
}

static tsr_status_t measure_vias(perf_move_t *move)
{
	perf_run_t *run = move->run;
	const unsigned vias = run->options->vias;
	tsr_device_props_t props = {.size = sizeof props};

	PERF_TRY(tsr_world_device(run->world, &props));
	PERF_TRY(perf_move_open(move, window_of(run), true));
	for (int via = 0; via < PERF_VIAS; via++) {
		const char *lack = lacks(run, (perf_via_t)via);
		if (!(vias >> via & 1))
			continue;
		if (!lack)
			PERF_TRY(measure_via(move, (perf_via_t)via, props.resident_blocks));
		else if (run->report)
			printf("# no %s: %s\n", perf_via_name((perf_via_t)via), lack);
	}
	return TSR_OK;
}

tsr_status_t perf_check_vias(const perf_run_t *run)
{
	for (int via = 0; via < PERF_VIAS; via++) {
		const char *lack = lacks(run, (perf_via_t)via);
		if (lack && run->options->vias == 1u << via)
			return tsr_error(TSR_ERR_UNSUPPORTED,
					 "--via %s on %s: %s; choose --via threads or copy-engine",
					 perf_via_name((perf_via_t)via),
					 tsr_world_backend(run->world), lack);
	}
	return TSR_OK;
}

tsr_status_t perf_run_vias(perf_run_t *run)
{
	perf_move_t move = perf_move_of(run, 0, 1 % run->size);

	return perf_move_close(&move, measure_vias(&move));
}
