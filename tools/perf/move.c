/* put, get and copy: bandwidth by size, beside memcpy or plain stores between the same buffers. */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels.h"
#include "tools/perf/perf.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };
/* the most a block moves before it goes on: some rounds of its threads */
enum { CHUNK_BYTES = 512 << 10 };
enum { LINE_BYTES = 128 };

/** Source and destination on every rank; rank 0 moves from one rank's to another's. */
typedef struct move {
	perf_run_t *run;
	tsr_tensor_t source;
	TSR_HEAP void *destination;
	int from, to;
	const tsr_kernel_t *kernel;
	perf_move_args_t args, plain; /* plain: what the other kernel gets, where there is one */
	int blocks;
	uint64_t repeats;                   /* operations of a sample */
	unsigned char *expected, *received; /* on rank `to`, where it verifies */
} move_t;

static void choose_ranks(move_t *move)
{
	perf_run_t *run = move->run;
	int one = 1 % run->size, two = 2 % run->size;

	switch (run->options->op) {
	case PERF_PUT:
		move->kernel = &perf_put;
		move->to = one;
		break;
	case PERF_GET:
		move->kernel = &perf_get;
		move->from = one;
		break;
	default:
		move->kernel = &perf_copy;
		move->from = one;
		move->to = two;
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

/** Warms up, and finds how many operations make a sample long enough: on rank 0. */
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
 * other. On rank 0.
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

static tsr_status_t measure_size(move_t *move, size_t size_bytes)
{
	perf_run_t *run = move->run;
	int64_t wrong = 0;
	perf_pair_t pair;

	move->args.dst = move->destination;
	move->args.src = move->source.data;
	move->args.size_bytes = size_bytes;
	move->args.src_peer = move->from;
	move->args.dst_peer = move->to;
	PERF_TRY(share_out(move, size_bytes));
	PERF_TRY(find_plain(move, size_bytes));
	PERF_TRY(tsr_barrier(run->world)); /* rank 0 may still be at the size before */
	PERF_TRY(poison(move, size_bytes));
	PERF_TRY(tsr_barrier(run->world));
	if (run->rank == 0)
		PERF_TRY(warm_up(move));
	PERF_TRY(tsr_barrier(run->world));
	/* Before memcpy has been there, which would hide what the kernel left out. */
	PERF_TRY(count_wrong(move, size_bytes, &wrong));
	PERF_TRY(perf_sum(run, wrong, &wrong));
	if (run->rank != 0)
		return TSR_OK;
	PERF_TRY(perf_sample(run, false, sample, move, &pair));
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

	choose_ranks(&move);
	tsr_status_t status = measure_sizes(&move);
	free(move.expected);
	free(move.received);
	return status;
}
