/* put, get and copy: bandwidth by size, beside memcpy or plain stores between the same buffers. */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels.h"
#include "tools/perf/perf.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };
/* the most a block moves before it goes on: some rounds of its threads */
enum { CHUNK_BYTES = 512 << 10 };
enum { LINE_BYTES = 128 };

/** Source and destination on every rank; one rank moves from one rank's to another's. */
typedef struct move {
	perf_run_t *run;
	int actor; /* who moves */
	tsr_tensor_t source;
	TSR_HEAP void *destination;
	int from, to;
	const tsr_kernel_t *kernel;
	perf_move_args_t args, plain; /* plain: what the other kernel gets, where there is one */
	int blocks;
	uint64_t repeats;                   /* operations of a sample */
	unsigned char *expected, *received; /* on rank `to`, where it verifies */
} move_t;

/** `actor` puts to `other`, gets from it, or copies from it to the rank behind it. */
static void choose_ranks(move_t *move, int actor, int other)
{
	perf_run_t *run = move->run;

	move->actor = actor;
	switch (run->options->op) {
	case PERF_PUT:
		move->kernel = &perf_put;
		move->from = actor;
		move->to = other;
		break;
	case PERF_GET:
		move->kernel = &perf_get;
		move->from = other;
		move->to = actor;
		break;
	default:
		move->kernel = &perf_copy;
		move->from = other;
		move->to = (other + 1) % run->size;
	}
}

/** Random bits, of another seed on each rank. */
static tsr_status_t prepare(move_t *move)
{
	perf_run_t *run = move->run;
	int64_t words = (int64_t)((run->options->max_bytes + 7) / 8);
	size_t whole = (size_t)words * 8 + GUARD_BYTES;

	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &move->source));
	PERF_TRY(tsr_heap_alloc(run->world, whole, 0, "perf destination", &move->destination));
	if (!run->options->check || run->rank != move->to)
		return TSR_OK;
	move->expected = malloc(whole);
	move->received = malloc(whole);
	if (!move->expected || !move->received)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory to verify %s: choose a smaller -e, or -c 0",
				 TSR_SIZE(whole));
	for (int64_t i = 0; i < words; i++) {
		int64_t word =
			tsr_random_int((uint64_t)move->from, (uint64_t)i, INT64_MIN, INT64_MAX);
		memcpy(move->expected + 8 * i, &word, sizeof word);
	}
	return TSR_OK;
}

static tsr_status_t poison(move_t *move, size_t size_bytes)
{
	if (move->run->rank != move->to)
		return TSR_OK;
	return tsr_memset_heap(move->run->world, move->destination, POISON,
			       size_bytes + GUARD_BYTES);
}

/** Elements that differ from what was sent, and bytes behind them that were touched. */
static tsr_status_t count_wrong(move_t *move, size_t size_bytes, int64_t *wrong_out)
{
	size_t element = tsr_dtype_bytes(move->run->options->dtype);
	int64_t wrong = 0;

	*wrong_out = 0;
	if (!move->expected)
		return TSR_OK;
	PERF_TRY(tsr_memcpy_from_heap(move->run->world, move->received, move->destination,
				      size_bytes + GUARD_BYTES));
	for (size_t at = 0; at < size_bytes; at += element)
		wrong += memcmp(move->received + at, move->expected + at, element) != 0;
	for (size_t at = size_bytes; at < size_bytes + GUARD_BYTES; at++)
		wrong += move->received[at] != POISON;
	*wrong_out = wrong;
	return TSR_OK;
}

/**
 * How many blocks, and how much of the move each takes at a time: as much as
 * gives all of them the same number of turns.
 */
static tsr_status_t share_out(move_t *move, size_t size_bytes)
{
	const perf_options_t *options = move->run->options;
	const bool on_host = perf_on_host(move->run);
	tsr_device_props_t props = {.size = sizeof props};

	PERF_TRY(tsr_world_device(move->run->world, &props));
	size_t blocks = (size_t)options->blocks, most = on_host ? 1 : (size_t)props.resident_blocks;
	if (blocks == 0) {
		blocks = (size_bytes + PERF_BLOCK_BYTES - 1) / PERF_BLOCK_BYTES;
		blocks = blocks < most ? blocks : most;
	}
	size_t each = (size_bytes + blocks - 1) / blocks;
	size_t turns = on_host ? 1 : (each + CHUNK_BYTES - 1) / CHUNK_BYTES;
	size_t chunk = (each + turns - 1) / turns;
	move->blocks = (int)blocks;
	move->args.chunk_bytes = (chunk + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	return TSR_OK;
}

/**
 * The addresses that this device has for the two ends, for a kernel without the
 * library; none where the host does as well.
 */
static tsr_status_t find_plain(move_t *move, size_t size_bytes)
{
	perf_run_t *run = move->run;

	move->plain = move->args;
	move->plain.size_bytes = 0;
	if (perf_on_host(run) || size_bytes % 16)
		return TSR_OK;
	move->plain.size_bytes = size_bytes;
	PERF_TRY(tsr_heap_translate(run->world, move->destination, move->to, &move->plain.dst));
	return tsr_heap_translate(run->world, move->source.data, move->from, &move->plain.src);
}

/** `repeats` moves by one of the kernels. */
static tsr_status_t time_kernel(move_t *move, const tsr_kernel_t *kernel, perf_move_args_t args,
				double *ns_out)
{
	perf_move_args_t lead = args;

	if (move->run->options->each) {
		args.repeats = 1;
		return perf_time_launches(move->run, kernel, move->blocks, &args, move->repeats,
					  ns_out);
	}
	lead.repeats = perf_lead(move->repeats);
	args.repeats = move->repeats;
	return perf_time(move->run, kernel, move->blocks, &lead, &args, ns_out);
}

/** Warms up, and finds how many operations make a sample long enough: on the rank that moves. */
static tsr_status_t warm_up(move_t *move)
{
	const perf_options_t *options = move->run->options;
	double fastest = 0;

	/* A guess at a fast machine, so that launches hardly count when it is put right. */
	move->repeats = options->repeats ? (uint64_t)options->repeats
			: options->each  ? 100
					 : perf_enough(1, 20 + (double)move->args.size_bytes / 64);
	for (long i = 0; i < options->warmup + 1; i++) {
		double ns;
		PERF_TRY(time_kernel(move, move->kernel, move->args, &ns));
		fastest = i == 0 || ns < fastest ? ns : fastest;
	}
	if (!options->repeats)
		move->repeats = perf_enough(move->repeats, fastest);
	return TSR_OK;
}

/** The host's memcpy between the very buffers that the kernel uses. */
static double time_memcpy(void *destination, const void *source, size_t size_bytes,
			  uint64_t repeats)
{
	uint64_t begin = perf_now_ns();

	for (uint64_t i = 0; i < repeats; i++) {
		memcpy(destination, source, size_bytes);
		__asm__ volatile("" ::: "memory"); /* every copy is made */
	}
	return (double)(perf_now_ns() - begin);
}

/**
 * One of the kernel and one of the other means: what disturbs one disturbs the
 * other. On the rank that moves.
 */
static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	move_t *move = ctx;
	perf_run_t *run = move->run;
	void *destination = perf_host_address(run, move->destination, move->to);
	const void *source = perf_host_address(run, move->source.data, move->from);
	double ns;

	PERF_TRY(time_kernel(move, move->kernel, move->args, &ns));
	perf_samples_add(&pair->kernel, ns / (double)move->repeats);
	if (destination && source) {
		(void)time_memcpy(destination, source, move->args.size_bytes,
				  perf_lead(move->repeats));
		ns = time_memcpy(destination, source, move->args.size_bytes, move->repeats);
	} else if (move->plain.size_bytes > 0)
		PERF_TRY(time_kernel(move, &perf_plain, move->plain, &ns));
	else
		return TSR_OK;
	perf_samples_add(&pair->host, ns / (double)move->repeats);
	return TSR_OK;
}

/** Verifies and measures; `*pair_out` on the rank that moves. Collective. */
static tsr_status_t measure_once(move_t *move, size_t size_bytes, perf_pair_t *pair_out,
				 int64_t *wrong_out)
{
	perf_run_t *run = move->run;
	int64_t wrong = 0;

	move->args.dst = move->destination;
	move->args.src = move->source.data;
	move->args.size_bytes = size_bytes;
	move->args.src_peer = move->from;
	move->args.dst_peer = move->to;
	PERF_TRY(share_out(move, size_bytes));
	PERF_TRY(find_plain(move, size_bytes));
	PERF_TRY(tsr_barrier(run->world)); /* it may still be at the size before */
	PERF_TRY(poison(move, size_bytes));
	PERF_TRY(tsr_barrier(run->world));
	if (run->rank == move->actor)
		PERF_TRY(warm_up(move));
	PERF_TRY(tsr_barrier(run->world));
	/* Before memcpy has been there, which would hide what the kernel left out. */
	PERF_TRY(count_wrong(move, size_bytes, &wrong));
	PERF_TRY(perf_sum(run, wrong, wrong_out));
	return run->rank == move->actor ? perf_sample(run, false, sample, move, pair_out) : TSR_OK;
}

static tsr_status_t measure_size(move_t *move, size_t size_bytes)
{
	perf_run_t *run = move->run;
	int64_t wrong;
	perf_pair_t pair;

	PERF_TRY(measure_once(move, size_bytes, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = {
		.size_bytes = size_bytes,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = tsr_dtype_bytes(run->options->dtype),
		.link_bytes = move->from != move->to ? size_bytes : 0,
		.wrong = run->options->check ? wrong : -1,
	};
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t measure_sizes(move_t *move)
{
	const perf_options_t *options = move->run->options;

	PERF_TRY(prepare(move));
	for (size_t s = options->min_bytes; s; s = perf_next_size(options, s)) {
		if (move->run->report)
			tool_progress_step(&move->run->report->progress, "%s of %zu bytes",
					   perf_op_name(options->op), s);
		PERF_TRY(measure_size(move, s));
	}
	PERF_TRY(tsr_heap_free(move->run->world, move->destination));
	return tsr_tensor_free(move->run->world, &move->source);
}

tsr_status_t perf_run_move(perf_run_t *run)
{
	move_t move = {.run = run};

	choose_ranks(&move, 0, 1 % run->size);
	tsr_status_t status = measure_sizes(&move);
	free(move.expected);
	free(move.received);
	return status;
}

tsr_status_t perf_measure_move(perf_run_t *run, int actor, int other, perf_pair_t *pair_out,
			       int64_t *wrong_out)
{
	move_t move = {.run = run};

	choose_ranks(&move, actor, other);
	tsr_status_t status = prepare(&move);
	if (status == TSR_OK)
		status = measure_once(&move, run->options->max_bytes, pair_out, wrong_out);
	/* nobody frees what is still moved */
	if (status == TSR_OK)
		status = tsr_barrier(run->world);
	if (status == TSR_OK)
		status = tsr_heap_free(run->world, move.destination);
	if (status == TSR_OK)
		status = tsr_tensor_free(run->world, &move.source);
	free(move.expected);
	free(move.received);
	return status;
}

/* ------------------------------------------------------------------ all at once */

/** Every rank moves at the same time; the slowest rank's time. Collective. */
static tsr_status_t move_together(void *ctx, uint64_t repeats, double *ns_out)
{
	move_t *move = ctx;
	double mine, all[TSR_MAX_RANKS];

	move->repeats = repeats;
	PERF_TRY(tsr_barrier(move->run->world));
	PERF_TRY(time_kernel(move, move->kernel, move->args, &mine));
	PERF_TRY(tsr_team_gather_all(tsr_world_team(move->run->world), &mine, all, sizeof mine));
	*ns_out = 0;
	for (int r = 0; r < move->run->size; r++)
		*ns_out = all[r] > *ns_out ? all[r] : *ns_out;
	return TSR_OK;
}

static tsr_status_t sample_together(void *ctx, perf_pair_t *pair)
{
	move_t *move = ctx;
	double ns;

	PERF_TRY(move_together(move, move->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)move->repeats);
	return TSR_OK;
}

tsr_status_t perf_measure_moves_together(perf_run_t *run, perf_pair_t *pair_out)
{
	const size_t size_bytes = run->options->max_bytes;
	move_t move = {.run = run};
	uint64_t repeats;

	choose_ranks(&move, run->rank, (run->rank + 1) % run->size);
	const int to = move.to;
	move.to = -1; /* nothing is verified */
	PERF_TRY(prepare(&move));
	move.to = to;
	move.args = (perf_move_args_t){.dst = move.destination,
				       .src = move.source.data,
				       .size_bytes = size_bytes,
				       .src_peer = move.from,
				       .dst_peer = move.to};
	PERF_TRY(share_out(&move, size_bytes));
	PERF_TRY(perf_choose(run, perf_enough(1, 20 + (double)size_bytes / 64), move_together,
			     &move, &repeats));
	move.repeats = repeats;
	PERF_TRY(perf_sample(run, true, sample_together, &move, pair_out));
	PERF_TRY(tsr_heap_free(run->world, move.destination));
	return tsr_tensor_free(run->world, &move.source);
}
