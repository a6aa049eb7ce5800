/* Collectives by the kernels of all ranks, out of place and in place; by size. */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };

/** What a collective has on its two sides: a piece, or one of each rank. */
typedef struct shape {
	const tsr_kernel_t *kernel;
	bool whole_dst, whole_src;
	bool cut;     /* a side is cut into pieces, so all ranks' pieces have one size */
	bool to_root; /* only the root's dst is written */
	bool apart;   /* never in place */
} shape_t;

static const shape_t shapes[] = {
	[PERF_ALL_GATHER] = {.kernel = &perf_all_gather, .whole_dst = true, .cut = true},
	[PERF_ALL_TO_ALL] = {.kernel = &perf_all_to_all,
			     .whole_dst = true,
			     .whole_src = true,
			     .cut = true,
			     .apart = true},
	[PERF_BROADCAST] = {.kernel = &perf_broadcast, .whole_dst = true, .whole_src = true},
	[PERF_GATHER] = {.kernel = &perf_gather, .whole_dst = true, .cut = true, .to_root = true},
	[PERF_SCATTER] = {.kernel = &perf_scatter, .whole_src = true, .cut = true},
	[PERF_ALL_REDUCE] = {.kernel = &perf_all_reduce, .whole_dst = true, .whole_src = true},
	[PERF_REDUCE] = {.kernel = &perf_reduce,
			 .whole_dst = true,
			 .whole_src = true,
			 .to_root = true},
	[PERF_REDUCE_SCATTER] = {.kernel = &perf_reduce_scatter, .whole_src = true, .cut = true},
};

typedef struct collective {
	perf_run_t *run;
	perf_op_t op;
	shape_t shape;
	perf_collective_args_t args;
	TSR_HEAP unsigned char *area[2]; /* for the largest size, and a guard behind it */
	size_t area_bytes;
	size_t element;       /* bytes */
	int64_t piece, whole; /* elements of a piece, and of what all ranks have */
	bool in_place;
	int blocks;
	uint64_t repeats; /* operations of a sample */
} collective_t;

/** How many elements `size_bytes` are: whole pieces if it is cut, at least one of each rank. */
static void cut(collective_t *c, size_t size_bytes)
{
	const int64_t ranks = c->run->size, count = (int64_t)(size_bytes / c->element),
		      least = c->shape.cut ? ranks : 1;
	c->piece = (count > least ? count : least) / ranks;
	c->whole = c->shape.cut ? c->piece * ranks : count > least ? count : least;
}

static tsr_status_t prepare(collective_t *c)
{
	perf_run_t *run = c->run;
	const size_t state = c->op == PERF_ALL_GATHER ? tsr_all_gather_state_bytes(run->size)
						      : tsr_collective_state_bytes(run->size);
	TSR_HEAP void *missed, *area;

	cut(c, run->options->max_bytes);
	c->area_bytes = (size_t)c->whole * c->element + GUARD_BYTES;
	PERF_TRY(perf_alloc_clear(run, state, "perf collective", &c->args.state));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	c->args.missed = (TSR_HEAP uint64_t *)missed;
	for (int i = 0; i < 2; i++) {
		PERF_TRY(tsr_heap_alloc(run->world, c->area_bytes, 0, "perf elements", &area));
		c->area[i] = (TSR_HEAP unsigned char *)area;
	}
	return TSR_OK;
}

static tsr_status_t release(collective_t *c)
{
	tsr_world_t *world = c->run->world;

	for (int i = 0; i < 2; i++)
		PERF_TRY(tsr_heap_free(world, c->area[i]));
	PERF_TRY(tsr_heap_free(world, c->args.missed));
	return tsr_heap_free(world, c->args.state);
}

static tsr_view_t row_at(const collective_t *c, TSR_HEAP unsigned char *data, int64_t count)
{
	return (tsr_view_t){.data = data,
			    .rows = 1,
			    .cols = count,
			    .ld = count,
			    .dtype = (int32_t)c->run->options->dtype,
			    .space = TSR_SPACE_HEAP};
}

/** In place, the smaller side is my piece of the larger one. */
static void place(collective_t *c)
{
	const shape_t *shape = &c->shape;
	TSR_HEAP unsigned char *mine = c->area[0] + (size_t)(c->run->rank * c->piece) * c->element;

	c->args.dst = row_at(c, c->in_place && !shape->whole_dst ? mine : c->area[0],
			     shape->whole_dst ? c->whole : c->piece);
	c->args.src = row_at(c,
			     !c->in_place        ? c->area[1]
			     : !shape->whole_src ? mine
						 : c->area[0],
			     shape->whole_src ? c->whole : c->piece);
	c->args.src_bytes = (uint64_t)c->args.src.cols * c->element;
}

/** Refuses more blocks than are resident at a time, because the blocks wait for each other. */
static tsr_status_t choose_blocks(collective_t *c)
{
	const perf_options_t *options = c->run->options;
	tsr_device_props_t props = {.size = sizeof props};

	PERF_TRY(tsr_world_device(c->run->world, &props));
	size_t room = (size_t)props.resident_blocks, blocks = (size_t)options->blocks;
	if (blocks > room)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "-V %zu: the blocks of a collective wait for each other, and this "
				 "device holds %zu: ask for no more",
				 blocks, room);
	if (blocks == 0) {
		const size_t bytes = (size_t)(c->shape.cut ? c->piece : c->whole) * c->element;
		room = perf_on_host(c->run) ? 1 : room;
		blocks = (bytes + PERF_BLOCK_BYTES - 1) / PERF_BLOCK_BYTES;
		blocks = blocks < room ? blocks : room;
	}
	c->blocks = (int)blocks;
	return TSR_OK;
}

/** Runs `repeats` operations on every rank; all ranks begin together. */
static tsr_status_t run_often(void *ctx, uint64_t repeats, double *ns_out)
{
	collective_t *c = ctx;
	perf_collective_args_t lead = c->args;

	PERF_TRY(tsr_barrier(c->run->world));
	lead.repeats = perf_lead(repeats);
	c->args.repeats = repeats;
	return perf_time(c->run, c->shape.kernel, c->blocks, &lead, &c->args, ns_out);
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	collective_t *c = ctx;
	double ns;

	PERF_TRY(run_often(c, c->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)c->repeats);
	return TSR_OK;
}

/* ------------------------------------------------------------------ verification */

/**
 * Element `i` of what rank `rank` gives: a small number, which every type has. The
 * sum of all ranks' is exact, or is rounded or saturated once.
 */
static double given(const collective_t *c, int rank, int64_t i)
{
	uint64_t bits = ((uint64_t)i << 8 | (uint64_t)rank) * 0x9e3779b97f4a7c15u;

	bits ^= bits >> 29;
	bits *= 0xbf58476d1ce4e5b9u;
	return (double)(bits >> (perf_op_sums(c->op) ? 62 : 57)); /* 0 to 3, or 0 to 127 */
}

/** Element `i` of my dst. */
static double expected(const collective_t *c, int64_t i)
{
	const int64_t mine = c->run->rank * c->piece;
	double sum = 0;

	switch (c->op) {
	case PERF_ALL_GATHER:
	case PERF_GATHER:
		return given(c, (int)(i / c->piece), i % c->piece);
	case PERF_ALL_TO_ALL:
		return given(c, (int)(i / c->piece), mine + i % c->piece);
	case PERF_BROADCAST:
		return given(c, PERF_ROOT, i);
	case PERF_SCATTER:
		return given(c, PERF_ROOT, mine + i);
	default:
		for (int r = 0; r < c->run->size; r++)
			sum += given(c, r, c->shape.whole_dst ? i : mine + i);
		return sum;
	}
}

/** Poisons both areas, and writes what I give. */
static tsr_status_t fill(collective_t *c, void *room)
{
	perf_run_t *run = c->run;

	for (int i = 0; i < 2; i++)
		PERF_TRY(tsr_memset_heap(run->world, c->area[i], POISON, c->area_bytes));
	for (int64_t i = 0; i < c->args.src.cols; i++)
		tsr_dtype_set(run->options->dtype, room, (size_t)i, given(c, run->rank, i));
	return tsr_memcpy_to_heap(run->world, c->args.src.data, room, c->args.src_bytes);
}

/**
 * Counts the elements of my dst that are wrong, and, out of place, bytes behind
 * it that were written. Who is not the root has what was there before.
 */
static tsr_status_t count_in_dst(collective_t *c, unsigned char *room, int64_t *wrong)
{
	perf_run_t *run = c->run;
	const size_t bytes = (size_t)c->args.dst.cols * c->element;
	const bool kept = c->shape.to_root && run->rank != PERF_ROOT;
	unsigned char element[8], poison[8];

	if (kept && c->in_place)
		return TSR_OK;
	memset(poison, POISON, sizeof poison);
	PERF_TRY(tsr_memcpy_from_heap(run->world, room, c->args.dst.data,
				      bytes + (c->in_place ? 0 : GUARD_BYTES)));
	for (int64_t i = 0; i < c->args.dst.cols; i++) {
		if (!kept)
			tsr_dtype_set(run->options->dtype, element, 0, expected(c, i));
		*wrong += memcmp(room + (size_t)i * c->element, kept ? poison : element,
				 c->element) != 0;
	}
	for (size_t i = 0; i < GUARD_BYTES && !c->in_place; i++)
		*wrong += room[bytes + i] != POISON;
	return TSR_OK;
}

/** Runs one operation in poisoned memory, and looks at what it left. */
static tsr_status_t run_once(collective_t *c, void *room, int64_t *wrong)
{
	perf_run_t *run = c->run;
	perf_collective_args_t once = c->args;

	PERF_TRY(tsr_barrier(run->world)); /* nobody stores here any more */
	PERF_TRY(fill(c, room));
	PERF_TRY(tsr_barrier(run->world));
	once.repeats = 1;
	PERF_TRY(tsr_launch_sized(run->stream, c->shape.kernel, c->blocks, &once, sizeof once));
	PERF_TRY(tsr_stream_sync(run->stream));
	PERF_TRY(tsr_barrier(run->world)); /* all have stored to me */
	return count_in_dst(c, room, wrong);
}

static tsr_status_t count_wrong(collective_t *c, int64_t *wrong_out)
{
	void *room = malloc(c->area_bytes);
	int64_t wrong = 0;

	if (!room)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory to verify %s: choose a smaller -e, or -c 0",
				 TSR_SIZE(c->area_bytes));
	const tsr_status_t status = run_once(c, room, &wrong);
	free(room);
	PERF_TRY(status);
	return perf_sum(c->run, wrong, wrong_out);
}

/** Counts the calls of all ranks that did not end well since the last look. */
static tsr_status_t count_missed(collective_t *c, int64_t *missed_out)
{
	uint64_t missed = 0;

	PERF_TRY(tsr_memcpy_from_heap(c->run->world, &missed, c->args.missed, sizeof missed));
	PERF_TRY(tsr_memset_heap(c->run->world, c->args.missed, 0, sizeof missed));
	return perf_sum(c->run, (int64_t)missed, missed_out);
}

/* ------------------------------------------------------------------ measurement */

/**
 * Bytes that the busiest link carries at least, as nccl-tests counts them: of a
 * broadcast and a reduction all, of an all-reduce each share twice.
 */
static size_t link_bytes(const collective_t *c)
{
	const size_t all = (size_t)c->whole * c->element, ranks = (size_t)c->run->size;

	if (c->shape.cut)
		return all / ranks * (ranks - 1);
	if (c->op == PERF_ALL_REDUCE)
		return 2 * all * (ranks - 1) / ranks;
	return ranks > 1 ? all : 0;
}

static tsr_status_t report(collective_t *c, perf_pair_t *pair, int64_t wrong)
{
	const perf_run_t *run = c->run;
	const perf_row_t row = {
		.what = c->in_place ? "in place" : "out of place",
		.size_bytes = (size_t)c->whole * c->element,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = c->element,
		.link_bytes = link_bytes(c),
		.still = c->in_place && run->size == 1,
		.pieces = c->shape.cut ? run->size : 1,
		.wrong = wrong,
	};
	return perf_report_row(run->report, &row, pair);
}

static tsr_status_t measure(collective_t *c, bool in_place)
{
	perf_run_t *run = c->run;
	int64_t wrong = -1, missed = 0;
	perf_pair_t pair;

	c->in_place = in_place;
	place(c);
	PERF_TRY(choose_blocks(c));
	/* Before the samples, which would hide what one operation leaves out. */
	if (run->options->check)
		PERF_TRY(count_wrong(c, &wrong));
	PERF_TRY(perf_choose(run, perf_enough(1, 10000 + (double)c->args.src_bytes / 8), run_often,
			     c, &c->repeats));
	PERF_TRY(perf_sample(run, true, sample, c, &pair));
	if (run->options->check)
		PERF_TRY(count_missed(c, &missed));
	return run->report ? report(c, &pair, wrong + missed) : TSR_OK;
}

tsr_status_t perf_run_collective(perf_run_t *run)
{
	const perf_options_t *options = run->options;
	collective_t c = {.run = run,
			  .op = options->op,
			  .shape = shapes[options->op],
			  .element = tsr_dtype_bytes(options->dtype)};
	int64_t last = 0;

	PERF_TRY(prepare(&c));
	for (size_t s = options->min_bytes; s; s = perf_next_size(options, s)) {
		cut(&c, s);
		if (run->report)
			tool_progress_step(&run->report->progress, "%s of %zu bytes",
					   perf_op_name(options->op), s);
		for (int in_place = 0; in_place < (c.shape.apart ? 1 : 2) && c.whole != last;
		     in_place++)
			PERF_TRY(measure(&c, in_place));
		last = c.whole;
	}
	return release(&c);
}
