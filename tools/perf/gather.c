/* all-gather: tsr_all_gather by the kernels of all ranks, out of place and in place; by size. */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };

typedef struct gather {
	perf_run_t *run;
	perf_gather_args_t args;
	tsr_tensor_t source; /* a piece on each rank, of random bits of its own */
	int blocks;
	uint64_t repeats; /* operations of a sample */
} gather_t;

/** Bytes that each rank gives if all give `size_bytes`: whole elements, at least one. */
static size_t piece_of(const gather_t *g, size_t size_bytes)
{
	const size_t element = tsr_dtype_bytes(g->run->options->dtype),
		     ranks = (size_t)g->run->size;
	const size_t count = size_bytes / element / ranks;

	return (count > 0 ? count : 1) * element;
}

static tsr_status_t prepare(gather_t *g)
{
	perf_run_t *run = g->run;
	const size_t piece = piece_of(g, run->options->max_bytes);
	const int64_t words = (int64_t)((piece + 7) / 8);
	TSR_HEAP void *missed;

	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &g->source));
	PERF_TRY(perf_alloc_clear(run, tsr_all_gather_state_bytes(run->size), "perf gather",
				  &g->args.state));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	g->args.missed = (TSR_HEAP uint64_t *)missed;
	return tsr_heap_alloc(run->world, piece * (size_t)run->size + GUARD_BYTES, 0,
			      "perf gathered", &g->args.dst);
}

static tsr_status_t release(gather_t *g)
{
	tsr_world_t *world = g->run->world;

	PERF_TRY(tsr_heap_free(world, g->args.dst));
	PERF_TRY(tsr_heap_free(world, g->args.missed));
	PERF_TRY(tsr_heap_free(world, g->args.state));
	return tsr_tensor_free(world, &g->source);
}

/** Refuses more blocks than are resident at a time, because the blocks wait for each other. */
static tsr_status_t choose_blocks(gather_t *g)
{
	const perf_options_t *options = g->run->options;
	tsr_device_props_t props = {.size = sizeof props};

	PERF_TRY(tsr_world_device(g->run->world, &props));
	size_t room = (size_t)props.resident_blocks, blocks = (size_t)options->blocks;
	if (blocks > room)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "-V %zu: the blocks of an all-gather wait for each other, and "
				 "this device holds %zu: ask for no more",
				 blocks, room);
	if (blocks == 0) {
		room = perf_on_host(g->run) ? 1 : room;
		blocks = (g->args.piece_bytes + PERF_BLOCK_BYTES - 1) / PERF_BLOCK_BYTES;
		blocks = blocks < room ? blocks : room;
	}
	g->blocks = (int)blocks;
	return TSR_OK;
}

/** Runs `repeats` operations on every rank; all ranks begin together. */
static tsr_status_t gather_often(void *ctx, uint64_t repeats, double *ns_out)
{
	gather_t *g = ctx;
	perf_gather_args_t lead = g->args;

	PERF_TRY(tsr_barrier(g->run->world));
	lead.repeats = perf_lead(repeats);
	g->args.repeats = repeats;
	return perf_time(g->run, &perf_all_gather, g->blocks, &lead, &g->args, ns_out);
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	gather_t *g = ctx;
	double ns;

	PERF_TRY(gather_often(g, g->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)g->repeats);
	return TSR_OK;
}

static void fill_piece(unsigned char *piece, size_t size_bytes, int rank)
{
	for (size_t at = 0; at < size_bytes; at += 8) {
		int64_t word = tsr_random_int((uint64_t)rank, at / 8, INT64_MIN, INT64_MAX);
		memcpy(piece + at, &word, size_bytes - at < 8 ? size_bytes - at : 8);
	}
}

/** Counts the elements of rank `rank`'s piece that differ from what that rank gave. */
static tsr_status_t count_in_piece(gather_t *g, int rank, unsigned char *expected,
				   unsigned char *found, int64_t *wrong)
{
	const size_t size = g->args.piece_bytes, element = tsr_dtype_bytes(g->run->options->dtype);
	TSR_HEAP unsigned char *piece = (TSR_HEAP unsigned char *)g->args.dst + (size_t)rank * size;

	fill_piece(expected, size, rank);
	PERF_TRY(tsr_memcpy_from_heap(g->run->world, found, piece, size));
	for (size_t at = 0; at < size; at += element)
		*wrong += memcmp(found + at, expected + at, element) != 0;
	return TSR_OK;
}

/** Runs one operation into poisoned memory. Counts wrong elements, and bytes behind the end. */
static tsr_status_t gather_once(gather_t *g, unsigned char *expected, unsigned char *found,
				int64_t *wrong)
{
	perf_run_t *run = g->run;
	const size_t size = g->args.piece_bytes, all = size * (size_t)run->size;
	perf_gather_args_t once = g->args;
	unsigned char guard[GUARD_BYTES];

	PERF_TRY(tsr_barrier(run->world)); /* nobody stores here any more */
	PERF_TRY(tsr_memset_heap(run->world, g->args.dst, POISON, all + GUARD_BYTES));
	if (g->args.src != g->source.data) { /* in place */
		fill_piece(expected, size, run->rank);
		PERF_TRY(tsr_memcpy_to_heap(run->world, g->args.src, expected, size));
	}
	PERF_TRY(tsr_barrier(run->world));
	once.repeats = 1;
	PERF_TRY(tsr_launch(run->stream, &perf_all_gather, g->blocks, &once));
	PERF_TRY(tsr_stream_sync(run->stream));
	for (int r = 0; r < run->size; r++)
		PERF_TRY(count_in_piece(g, r, expected, found, wrong));
	PERF_TRY(tsr_memcpy_from_heap(run->world, guard,
				      (TSR_HEAP unsigned char *)g->args.dst + all, sizeof guard));
	for (int i = 0; i < GUARD_BYTES; i++)
		*wrong += guard[i] != POISON;
	return TSR_OK;
}

static tsr_status_t count_wrong(gather_t *g, int64_t *wrong_out)
{
	perf_run_t *run = g->run;
	const size_t size = g->args.piece_bytes;
	unsigned char *expected = malloc(size), *found = malloc(size);
	int64_t wrong = 0;
	tsr_status_t status = TSR_OK;

	if (expected && found)
		status = gather_once(g, expected, found, &wrong);
	else
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "no host memory to verify %s: choose a smaller -e, or -c 0",
				   TSR_SIZE(size));
	free(found);
	free(expected);
	PERF_TRY(status);
	return perf_sum(run, wrong, wrong_out);
}

/** Counts the calls of all ranks that did not end well since the last look. */
static tsr_status_t count_missed(gather_t *g, int64_t *missed_out)
{
	uint64_t missed = 0;

	PERF_TRY(tsr_memcpy_from_heap(g->run->world, &missed, g->args.missed, sizeof missed));
	PERF_TRY(tsr_memset_heap(g->run->world, g->args.missed, 0, sizeof missed));
	return perf_sum(g->run, (int64_t)missed, missed_out);
}

static tsr_status_t measure(gather_t *g, size_t piece_bytes, bool in_place)
{
	perf_run_t *run = g->run;
	int64_t wrong = -1, missed = 0;
	perf_pair_t pair;

	g->args.piece_bytes = piece_bytes;
	g->args.src =
		in_place ? (TSR_HEAP unsigned char *)g->args.dst + (size_t)run->rank * piece_bytes
			 : g->source.data;
	PERF_TRY(choose_blocks(g));
	/* Before the samples, which would hide what one operation leaves out. */
	if (run->options->check)
		PERF_TRY(count_wrong(g, &wrong));
	PERF_TRY(perf_choose(g->run, perf_enough(1, 10000 + (double)g->args.piece_bytes / 8),
			     gather_often, g, &g->repeats));
	PERF_TRY(perf_sample(run, true, sample, g, &pair));
	if (run->options->check)
		PERF_TRY(count_missed(g, &missed));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = {
		.what = in_place ? "in place" : "out of place",
		.size_bytes = piece_bytes * (size_t)run->size,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = tsr_dtype_bytes(run->options->dtype),
		.link_bytes = piece_bytes * (size_t)(run->size - 1),
		.still = in_place && run->size == 1,
		.pieces = run->size,
		.wrong = wrong + missed,
	};
	return perf_report_row(run->report, &row, &pair);
}

tsr_status_t perf_run_all_gather(perf_run_t *run)
{
	gather_t g = {.run = run};
	size_t last = 0;

	PERF_TRY(prepare(&g));
	for (size_t s = run->options->min_bytes; s; s = perf_next_size(run->options, s)) {
		size_t piece = piece_of(&g, s);
		if (run->report)
			tool_progress_step(&run->report->progress, "all-gather of %zu bytes", s);
		for (int in_place = 0; in_place < 2 && piece != last; in_place++)
			PERF_TRY(measure(&g, piece, in_place));
		last = piece;
	}
	return release(&g);
}
