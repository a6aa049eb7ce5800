/* The memory and arguments of a plan. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

/* The buffers of a plan. The matrices' come first, in their order. */
enum {
	BUFFER_STAGED = MOE_MATRICES, /* the first that depends on more than the problem */
	BUFFER_ROWS,
	BUFFER_Y1,
	BUFFER_Y2,
	BUFFER_BACK,
	BUFFER_PLACES,
	BUFFER_WEIGHED,
	BUFFER_COUNTS,
	BUFFER_GROUPS,
	BUFFER_ORIGIN,
	BUFFER_OVERFLOW,
	BUFFER_WORDS,
	BUFFER_FLAGS,
	BUFFER_SYNC, /* two handshakes, whose epochs the flags hold */
	BUFFERS
};

/*
 * Tokens that come back together. Of 8192 tokens a rank, two ranks have 4096 batches
 * for the 1600 workers of a Hopper; each is a chain of loads that wait for each other.
 */
enum { BATCH = 4 };

static moe_plan_t *plan_of(const plan_t *plan)
{
	return (moe_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const moe_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS,
		       "%" PRId64 " tokens a rank at %" PRId64 " experts of %" PRId64 "x%" PRId64
		       " in %s",
		       c->tokens, c->experts, c->hidden, c->inner, tsr_dtype_name(c->dtype));
}

/* ------------------------------------------------------------ memory */

/** Rows of what the ranks have for each other; none on one rank. */
static int64_t exchanged(const moe_config_t *c, int ranks)
{
	return ranks > 1 ? ranks * c->tokens : 0;
}

static int64_t batches(const moe_config_t *c)
{
	return (c->tokens + BATCH - 1) / BATCH;
}

/* Where each kind of flag begins, in u64; behind the last, their number. */
enum {
	FLAGS_COUNTED,
	FLAGS_TAKEN,
	FLAGS_STEPS,
	FLAGS_READY,
	FLAGS_PLANNED,
	FLAGS_COME,
	FLAGS_FILLED,
	FLAGS_RETURNED,
	FLAGS_DONE,
	FLAGS_END,
	FLAGS_KINDS
};

static void flag_places(const moe_config_t *c, int ranks, int64_t places_out[FLAGS_KINDS])
{
	const int64_t counts[FLAGS_END] = {[FLAGS_COUNTED] = 1,
					   [FLAGS_TAKEN] = 1,
					   [FLAGS_STEPS] = 1,
					   [FLAGS_READY] = moe_capacity(c, ranks) / c->tile.m,
					   [FLAGS_PLANNED] = ranks,
					   [FLAGS_COME] = ranks * moe_chunks(c),
					   [FLAGS_FILLED] = moe_capacity(c, ranks) / c->tile.m,
					   [FLAGS_RETURNED] =
						   c->is_layer ? ranks * batches(c) * c->bands : 0,
					   [FLAGS_DONE] = c->bands};
	places_out[0] = 0;
	for (int i = 0; i < FLAGS_END; i++)
		places_out[i + 1] = places_out[i] + counts[i];
}

/** The buffers of inputs and outputs, with room for the largest part of any rank. */
static void describe_matrices(plan_t *plan, const moe_config_t *c)
{
	static const char *const names[MOE_MATRICES] = {"X", "W1", "experts", "O", "W2", "weights"};
	const int64_t experts = share_largest(c->experts, plan->ranks);
	const size_t sizes[MOE_MATRICES] = {
		[MOE_X] = matrix_bytes(c->dtype, c->tokens, c->hidden),
		[MOE_W1] = matrix_bytes(c->dtype, experts * c->hidden, c->inner),
		[MOE_CHOSEN] = matrix_bytes(TSR_I32, c->tokens, c->top_k),
		[MOE_OUT] = c->is_layer ? matrix_bytes(c->dtype, c->tokens, c->hidden)
					: matrix_bytes(c->dtype, moe_capacity(c, plan->ranks),
						       c->inner),
		[MOE_W2] = matrix_bytes(c->dtype, experts * c->inner, c->hidden),
		[MOE_WEIGHTS] = matrix_bytes(TSR_F32, c->tokens, c->top_k)};
	for (int i = 0; i < MOE_MATRICES; i++)
		plan->buffer[i] = (buffer_t){
			.name = names[i], .size_bytes = c->is_layer || i <= MOE_OUT ? sizes[i] : 0};
}

/**
 * Those for rows, and for what ranks exchange. Rows are cleared: padding is read, and
 * what comes of it is not used.
 */
static void describe_rows(plan_t *plan, const moe_config_t *c)
{
	const int64_t rows = moe_capacity(c, plan->ranks), layer_rows = c->is_layer ? rows : 0,
		      tokens = exchanged(c, plan->ranks);
	plan->buffer[BUFFER_STAGED] = (buffer_t){
		.name = "moe.staged", .size_bytes = matrix_bytes(c->dtype, tokens, c->hidden)};
	plan->buffer[BUFFER_ROWS] =
		(buffer_t){.name = "moe.rows",
			   .size_bytes = matrix_bytes(c->dtype, rows, c->hidden),
			   .is_cleared = true};
	plan->buffer[BUFFER_Y1] = (buffer_t){
		.name = "moe.y1", .size_bytes = matrix_bytes(c->dtype, layer_rows, c->inner)};
	plan->buffer[BUFFER_Y2] = (buffer_t){
		.name = "moe.y2", .size_bytes = matrix_bytes(c->dtype, layer_rows, c->hidden)};
	plan->buffer[BUFFER_BACK] = (buffer_t){
		.name = "moe.back",
		.size_bytes = matrix_bytes(c->dtype, c->is_layer ? tokens : 0, c->hidden)};
}

/**
 * Those of the plan: tables, words and flags. What later launches find rows by is
 * cleared: when a wait has expired, a kernel goes on with what is there, and the
 * products alone may run before any plan.
 */
static void describe_tables(plan_t *plan, const moe_config_t *c)
{
	const int64_t tokens = plan->ranks * c->tokens;
	int64_t flags[FLAGS_KINDS];
	flag_places(c, plan->ranks, flags);
	plan->buffer[BUFFER_PLACES] =
		(buffer_t){.name = "moe.places",
			   .size_bytes = matrix_bytes(TSR_I32, tokens, c->top_k),
			   .is_cleared = true};
	plan->buffer[BUFFER_WEIGHED] =
		(buffer_t){.name = "moe.weighed",
			   .size_bytes = matrix_bytes(TSR_F32, c->is_layer ? tokens : 0, c->top_k)};
	plan->buffer[BUFFER_COUNTS] = (buffer_t){
		.name = "moe.counts",
		.size_bytes = matrix_bytes(TSR_I32, moe_pieces(c, c->tokens), c->experts)};
	plan->buffer[BUFFER_GROUPS] = (buffer_t){
		.name = "moe.groups", .size_bytes = sizeof(moe_groups_t), .is_cleared = true};
	plan->buffer[BUFFER_ORIGIN] =
		(buffer_t){.name = "moe.origin",
			   .size_bytes = (size_t)moe_capacity(c, plan->ranks) * sizeof(int32_t),
			   .is_cleared = true};
	plan->buffer[BUFFER_OVERFLOW] = (buffer_t){
		.name = "moe.overflow", .size_bytes = 2 * sizeof(int32_t), .is_cleared = true};
	plan->buffer[BUFFER_WORDS] = (buffer_t){
		.name = "moe.words",
		.size_bytes = 2 * (size_t)plan->ranks * (size_t)(c->experts + 1) * sizeof(uint64_t),
		.is_cleared = true};
	plan->buffer[BUFFER_FLAGS] =
		(buffer_t){.name = "moe.flags",
			   .size_bytes = (size_t)flags[FLAGS_END] * sizeof(uint64_t),
			   .is_cleared = true};
}

/** Takes the configuration, and describes the buffers. */
static void prepare(plan_t *plan)
{
	const moe_config_t config = moe_config_of(&plan->config);
	memset(plan->buffer, 0, sizeof plan->buffer);
	describe_matrices(plan, &config);
	describe_rows(plan, &config);
	describe_tables(plan, &config);
	plan->buffer[BUFFER_SYNC] = (buffer_t){
		.name = "moe.sync", .size_bytes = 2 * sizeof(handshake_t), .is_cleared = true};
	plan->dtype = config.dtype;
	plan->tile = config.tile;
	plan_of(plan)->config = config;
}

/* ------------------------------------------------------------ arguments */

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)moe_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	return matrix_view(plan->buffer[matrix].data, part.dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the problem alone. */
static void set_problem(plan_t *plan)
{
	moe_plan_t *self = plan_of(plan);
	const moe_config_t *c = &self->config;
	moe_args_t *args = &self->args;
	args->x = view(plan, MOE_X);
	args->experts = view(plan, MOE_CHOSEN);
	args->w1 = matrix_view(plan->buffer[MOE_W1].data, c->dtype, c->hidden, c->inner);
	if (c->is_layer) {
		args->weights = view(plan, MOE_WEIGHTS);
		args->w2 = matrix_view(plan->buffer[MOE_W2].data, c->dtype, c->inner, c->hidden);
		args->out = view(plan, MOE_OUT);
	} else {
		args->weights = matrix_view(NULL, TSR_F32, 0, c->top_k);
	}
	args->me = plan->rank;
	args->ranks = plan->ranks;
	args->tokens = (int32_t)moe_tokens_of(c, plan->rank, plan->ranks);
	args->tokens_most = (int32_t)c->tokens;
	args->choices = (int32_t)c->top_k;
	args->all_experts = (int32_t)c->experts;
	args->padding = (int32_t)moe_padding(c, plan->ranks);
	args->capacity = (int32_t)moe_capacity(c, plan->ranks);
	args->activation = c->activation;
	args->piece = (int32_t)moe_piece(c);
	args->pieces = (int32_t)moe_pieces(c, args->tokens);
	args->batch = BATCH;
	args->batches = (int32_t)batches(c);
}

static tsr_view_t rows_view(const plan_t *plan, int buffer, int64_t rows, int64_t cols)
{
	return matrix_view(plan->buffer[buffer].data, plan->dtype, rows, cols);
}

static void set_rows(plan_t *plan)
{
	moe_plan_t *self = plan_of(plan);
	const moe_config_t *c = &self->config;
	moe_args_t *args = &self->args;
	const int64_t rows = args->capacity, tokens = exchanged(c, plan->ranks);
	args->staged = rows_view(plan, BUFFER_STAGED, tokens, c->hidden);
	args->rows = rows_view(plan, BUFFER_ROWS, rows, c->hidden);
	args->y1 = rows_view(plan, c->is_layer ? (int)BUFFER_Y1 : (int)MOE_OUT, rows, c->inner);
	args->y2 = rows_view(plan, BUFFER_Y2, c->is_layer ? rows : 0, c->hidden);
	args->back = rows_view(plan, BUFFER_BACK, c->is_layer ? tokens : 0, c->hidden);
}

static void set_tables(plan_t *plan)
{
	moe_plan_t *self = plan_of(plan);
	const moe_config_t *c = &self->config;
	moe_args_t *args = &self->args;
	const int64_t tokens = plan->ranks * c->tokens;
	args->places = matrix_view(plan->buffer[BUFFER_PLACES].data, TSR_I32, tokens, c->top_k);
	args->weighed = matrix_view(plan->buffer[BUFFER_WEIGHED].data, TSR_F32,
				    c->is_layer ? tokens : 0, c->top_k);
	args->counts = matrix_view(plan->buffer[BUFFER_COUNTS].data, TSR_I32,
				   moe_pieces(c, c->tokens), c->experts);
	args->groups = matrix_view(plan->buffer[BUFFER_GROUPS].data, TSR_I32, 1, MOE_GROUP_WORDS);
	args->origin = (TSR_HEAP int32_t *)plan->buffer[BUFFER_ORIGIN].data;
	args->overflow = (TSR_HEAP int32_t *)plan->buffer[BUFFER_OVERFLOW].data;
	args->words = (TSR_HEAP uint64_t *)plan->buffer[BUFFER_WORDS].data;
}

static void set_flags(plan_t *plan)
{
	moe_plan_t *self = plan_of(plan);
	moe_args_t *args = &self->args;
	TSR_HEAP uint64_t *flags = (TSR_HEAP uint64_t *)plan->buffer[BUFFER_FLAGS].data;
	int64_t places[FLAGS_KINDS];
	flag_places(&self->config, plan->ranks, places);
	args->counted = flags + places[FLAGS_COUNTED];
	args->taken = flags + places[FLAGS_TAKEN];
	args->steps = flags + places[FLAGS_STEPS];
	args->ready = flags + places[FLAGS_READY];
	args->planned = flags + places[FLAGS_PLANNED];
	args->come = flags + places[FLAGS_COME];
	args->filled = flags + places[FLAGS_FILLED];
	args->returned = flags + places[FLAGS_RETURNED];
	args->done = flags + places[FLAGS_DONE];
	args->plan = (TSR_HEAP handshake_t *)plan->buffer[BUFFER_SYNC].data;
	args->meeting = args->plan + 1;
}

/** Sets the others. */
static void set_exchange(plan_t *plan)
{
	moe_plan_t *self = plan_of(plan);
	const moe_config_t *c = &self->config;
	moe_args_t *args = &self->args;
	const int64_t pieces = moe_pieces(c, c->tokens), tiles = tiles_of(c->hidden, c->tile.n);
	set_rows(plan);
	set_tables(plan);
	set_flags(plan);
	args->plan_blocks = (int32_t)(pieces < c->blocks ? pieces : c->blocks);
	args->chunk = (int32_t)c->chunk_rows;
	args->chunks = (int32_t)moe_chunks(c);
	args->early =
		(int32_t)(share_of(c->experts, plan->rank, plan->ranks).count * c->early / 100);
	args->band_tiles = (int32_t)((tiles + c->bands - 1) / c->bands);
	args->bands = (int32_t)tiles_of(tiles, args->band_tiles); /* none is empty */
	args->senders = c->senders;
	args->expanders = c->expanders;
}

static void count_streams(const plan_t *plan, int *sides_out, int *marks_out)
{
	*sides_out = moe_copiers(&plan_of(plan)->config, plan->ranks);
	*marks_out = 0;
}

const plan_kind_t moe_plan_kind = {
	.workload = &moe,
	.size_bytes = sizeof(moe_plan_t),
	.buffers = BUFFERS,
	.kept = BUFFER_STAGED,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.count_streams = count_streams,
	.run = moe_run,
	.compute = moe_compute,
	.ended = moe_ended,
	.view = view,
};
