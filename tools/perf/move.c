/*
 * put, get, copy, load and store: bandwidth by size, beside memcpy, plain stores
 * or the measured limit, between the same buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/move.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };
/* the largest chunk: some rounds of a block's threads */
enum { CHUNK_BYTES = 512 << 10 };
enum { LINE_BYTES = 128 };

perf_move_t perf_move_of(perf_run_t *run, int actor, int other)
{
	perf_move_t move = {.run = run, .actor = actor, .from = actor, .to = other, .messages = 1};

	switch (run->options->op) {
	case PERF_PUT:
		move.kernel = &perf_put;
		break;
	case PERF_STORE:
		move.kernel = &perf_store;
		break;
	case PERF_GET:
	case PERF_LOAD:
		move.kernel = run->options->op == PERF_GET ? &perf_get : &perf_load;
		move.from = other;
		move.to = actor;
		break;
	default: /* from the other rank to the rank behind it */
		move.kernel = &perf_copy;
		move.from = other;
		move.to = (other + 1) % run->size;
	}
	return move;
}

/** Makes what rank `to` must find, and room for what it has found. */
static tsr_status_t expect(perf_move_t *move, int64_t words, size_t whole)
{
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

tsr_status_t perf_move_open(perf_move_t *move, size_t size_bytes, bool checks)
{
	perf_run_t *run = move->run;
	int64_t words = (int64_t)((size_bytes + 7) / 8);
	size_t whole = (size_t)words * 8 + GUARD_BYTES;

	/* random bits, of another seed on each rank */
	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &move->source));
	PERF_TRY(tsr_heap_alloc(run->world, whole, 0, "perf destination", &move->destination));
	return checks && run->options->check && run->rank == move->to ? expect(move, words, whole)
								      : TSR_OK;
}

static tsr_status_t free_heap(perf_move_t *move)
{
	PERF_TRY(tsr_barrier(move->run->world)); /* before that, a rank may still move data */
	PERF_TRY(tsr_heap_free(move->run->world, move->destination));
	return tsr_tensor_free(move->run->world, &move->source);
}

tsr_status_t perf_move_close(perf_move_t *move, tsr_status_t status)
{
	free(move->expected);
	free(move->received);
	return status == TSR_OK ? free_heap(move) : status;
}

static tsr_status_t poison(perf_move_t *move)
{
	if (move->run->rank != move->to)
		return TSR_OK;
	return tsr_memset_heap(move->run->world, move->destination, POISON,
			       move->args.size_bytes + GUARD_BYTES);
}

/** Counts elements that differ from what was sent, and bytes behind them that were written. */
static tsr_status_t count_wrong(perf_move_t *move, int64_t *wrong_out)
{
	const size_t size_bytes = move->args.size_bytes;
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
 * Chooses the number of blocks, and the chunk that a block moves at a time, so
 * that all blocks move the same number of chunks.
 */
static tsr_status_t share_out(perf_move_t *move, size_t size_bytes)
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
 * Finds the addresses of both ends, as this device sees them, for the plain
 * kernel. No bytes if the host's memcpy is the reference instead, or an end is on
 * another node.
 */
static tsr_status_t find_plain(perf_move_t *move)
{
	perf_run_t *run = move->run;
	const uint64_t size_bytes = move->args.size_bytes;

	move->plain = move->args;
	move->plain.size_bytes = 0;
	if (perf_on_host(run) || size_bytes % 16 ||
	    tsr_world_node(run->world, move->from) != tsr_world_node(run->world, move->to))
		return TSR_OK;
	move->plain.size_bytes = size_bytes;
	PERF_TRY(tsr_heap_translate(run->world, move->destination, move->to, &move->plain.dst));
	return tsr_heap_translate(run->world, move->source.data, move->from, &move->plain.src);
}

static void set_args(perf_move_t *move, size_t size_bytes)
{
	move->args = (perf_move_args_t){.dst = move->destination,
					.src = move->source.data,
					.size_bytes = size_bytes,
					.src_peer = move->from,
					.dst_peer = move->to};
}

size_t perf_move_bytes(perf_op_t op, size_t size_bytes)
{
	const size_t row = PERF_TILE_COLS * sizeof(float);

	return perf_op_tiles(op) && size_bytes > row ? size_bytes / row * row : size_bytes;
}

tsr_status_t perf_move_whole(perf_move_t *move, size_t size_bytes)
{
	size_bytes = perf_move_bytes(move->run->options->op, size_bytes);
	set_args(move, size_bytes);
	move->messages = 1;
	PERF_TRY(share_out(move, size_bytes));
	return find_plain(move);
}

void perf_move_divided(perf_move_t *move, size_t message_bytes, size_t messages, int blocks)
{
	set_args(move, message_bytes * messages);
	move->args.chunk_bytes = message_bytes;
	move->messages = messages;
	move->blocks = blocks;
}

/** Times `repeats` moves by one of the kernels. */
static tsr_status_t time_kernel(const perf_move_t *move, const tsr_kernel_t *kernel,
				perf_move_args_t args, uint64_t repeats, double *ns_out)
{
	perf_move_args_t lead = args;

	if (move->run->options->each) {
		args.repeats = 1;
		return perf_time_launches(move->run, kernel, move->blocks, &args, repeats, ns_out);
	}
	lead.repeats = perf_lead(repeats);
	args.repeats = repeats;
	return perf_time(move->run, kernel, move->blocks, &lead, &args, ns_out);
}

/** Queues copies of all messages, `times` times: one call of the host for each message. */
static tsr_status_t queue_copies(const perf_move_t *move, uint64_t times)
{
	const size_t bytes = move->args.size_bytes / move->messages;
	const int64_t cols = (int64_t)bytes;

	for (uint64_t i = 0; i < times * move->messages; i++) {
		const size_t at = i % move->messages * bytes;
		tsr_view_t dst = {.rows = 1, .cols = cols, .ld = cols, .dtype = TSR_U8}, src = dst;
		dst.data = (TSR_HEAP char *)move->args.dst + at;
		src.data = (TSR_HEAP char *)move->args.src + at;
		PERF_TRY(tsr_stream_put_2d(move->run->stream, dst, src, move->to));
	}
	return TSR_OK;
}

tsr_status_t perf_move_time(const perf_move_t *move, uint64_t repeats, double *ns_out)
{
	perf_run_t *run = move->run;
	uint64_t ns;

	if (move->kernel)
		return time_kernel(move, move->kernel, move->args, repeats, ns_out);
	PERF_TRY(queue_copies(move, perf_lead(repeats)));
	PERF_TRY(tsr_event_record(run->begin, run->stream));
	PERF_TRY(queue_copies(move, repeats));
	PERF_TRY(tsr_event_record(run->end, run->stream));
	PERF_TRY(tsr_event_sync(run->end));
	PERF_TRY(tsr_stream_sync(run->stream));
	PERF_TRY(tsr_event_elapsed_ns(run->begin, run->end, &ns));
	*ns_out = (double)ns;
	return TSR_OK;
}

uint64_t perf_move_guess(const perf_run_t *run, size_t size_bytes)
{
	const double bytes = (double)size_bytes;
	return run->far ? perf_enough(1, 20000 + bytes) : perf_enough(1, 20 + bytes / 64);
}

/** Number of operations in the first launch. */
static uint64_t guess(const perf_move_t *move)
{
	const double call_ns = 2000, bytes = (double)move->args.size_bytes;

	if (!move->kernel)
		return perf_enough(1, call_ns * (double)move->messages + bytes / 64);
	return move->run->options->each ? 100 : perf_move_guess(move->run, move->args.size_bytes);
}

tsr_status_t perf_move_warm_up(perf_move_t *move)
{
	const perf_options_t *options = move->run->options;
	double fastest = 0;

	move->repeats = options->repeats ? (uint64_t)options->repeats : guess(move);
	for (long i = 0; i < options->warmup + 1; i++) {
		double ns;
		PERF_TRY(perf_move_time(move, move->repeats, &ns));
		fastest = i == 0 || ns < fastest ? ns : fastest;
	}
	if (!options->repeats)
		move->repeats = perf_enough(move->repeats, fastest);
	return TSR_OK;
}

/** Times the host's memcpy between the buffers that the kernel uses. */
static double copy_messages(const perf_move_t *move, char *destination, const char *source,
			    uint64_t times)
{
	const size_t bytes = move->args.size_bytes / move->messages;
	uint64_t begin = perf_now_ns();

	for (uint64_t i = 0; i < times; i++)
		for (size_t at = 0; at < move->args.size_bytes; at += bytes) {
			memcpy(destination + at, source + at, bytes);
			__asm__ volatile("" ::: "memory"); /* every copy is made */
		}
	return (double)(perf_now_ns() - begin);
}

double perf_move_time_memcpy(const perf_move_t *move, uint64_t repeats)
{
	char *destination = perf_host_address(move->run, move->destination, move->to);
	const char *source = perf_host_address(move->run, move->source.data, move->from);

	if (!destination || !source)
		return 0;
	(void)copy_messages(move, destination, source, perf_lead(repeats));
	return copy_messages(move, destination, source, repeats);
}

/** Times the reference for one sample. 0: there is none. */
static tsr_status_t time_reference(const perf_move_t *move, double *ns_out)
{
	const perf_limits_t *limits = &move->run->limits;
	const double limit = move->from == move->to ? limits->memory : limits->link;

	if (limit > 0) {
		*ns_out = (double)move->args.size_bytes * (double)move->repeats / limit;
		return TSR_OK;
	}
	*ns_out = perf_move_time_memcpy(move, move->repeats);
	return move->plain.size_bytes > 0
		       ? time_kernel(move, &perf_plain, move->plain, move->repeats, ns_out)
		       : TSR_OK;
}

/** Samples kernel and reference in turn, so that other work disturbs both alike. */
tsr_status_t perf_move_sample(void *ctx, perf_pair_t *pair)
{
	const perf_move_t *move = ctx;
	const double count = (double)move->repeats * (double)move->messages;
	double ns;

	PERF_TRY(perf_move_time(move, move->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / count);
	PERF_TRY(time_reference(move, &ns));
	if (ns > 0)
		perf_samples_add(&pair->host, ns / count);
	return TSR_OK;
}

/** Moves once and keeps the tiles, so that the host can verify them. */
static tsr_status_t keep_tiles(const perf_move_t *move)
{
	perf_move_args_t args = move->args;

	args.keeps = PERF_KEEPS_TILES;
	args.repeats = 1;
	PERF_TRY(tsr_launch(move->run->stream, move->kernel, move->blocks, &args));
	return tsr_stream_sync(move->run->stream);
}

tsr_status_t perf_move_measure(perf_move_t *move, perf_pair_t *pair_out, int64_t *wrong_out)
{
	perf_run_t *run = move->run;
	const bool acts = run->rank == move->actor, tiles = perf_op_tiles(run->options->op);
	int64_t wrong = 0;

	PERF_TRY(tsr_barrier(run->world)); /* a rank may still be at the size before */
	PERF_TRY(poison(move));
	PERF_TRY(tsr_barrier(run->world));
	if (acts)
		PERF_TRY(tiles ? keep_tiles(move) : perf_move_warm_up(move));
	PERF_TRY(tsr_barrier(run->world));
	/* Before memcpy has been there, which would hide what the kernel left out. */
	PERF_TRY(count_wrong(move, &wrong));
	PERF_TRY(perf_sum(run, wrong, wrong_out));
	if (acts && tiles)
		PERF_TRY(perf_move_warm_up(move));
	return acts ? perf_sample(run, false, perf_move_sample, move, pair_out) : TSR_OK;
}

/* ------------------------------------------------------------------ sizes */

static tsr_status_t measure_size(perf_move_t *move, size_t size_bytes)
{
	perf_run_t *run = move->run;
	int64_t wrong;
	perf_pair_t pair;

	PERF_TRY(perf_move_whole(move, size_bytes));
	PERF_TRY(perf_move_measure(move, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = {
		.size_bytes = move->args.size_bytes,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = tsr_dtype_bytes(run->options->dtype),
		.link_bytes = move->from != move->to ? move->args.size_bytes : 0,
		.wrong = run->options->check ? wrong : -1,
	};
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t measure_sizes(perf_move_t *move)
{
	const perf_options_t *options = move->run->options;

	PERF_TRY(perf_move_open(move, options->max_bytes, true));
	for (size_t s = options->min_bytes; s; s = perf_next_size(options, s)) {
		if (move->run->report)
			tool_progress_step(&move->run->report->progress, "%s of %zu bytes",
					   perf_op_name(options->op), s);
		PERF_TRY(measure_size(move, s));
	}
	return TSR_OK;
}

tsr_status_t perf_run_move(perf_run_t *run)
{
	perf_move_t move = perf_move_of(run, 0, 1 % run->size);

	return perf_move_close(&move, measure_sizes(&move));
}
