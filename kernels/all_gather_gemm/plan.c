/* The memory, streams and arguments of a plan. */
#include "kernels/all_gather_gemm/plan.h"

#include <string.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

static int computing_blocks(const agg_config_t *c)
{
	return c->blocks - c->comm_blocks;
}

static agg_plan_t *plan_of(const plan_t *plan)
{
	return (agg_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const product_t product = agg_product(&plan_of(plan)->config);
	product_words(&product, words_out);
}

/** Words that carry a row of the largest shard. */
static int64_t row_words(const agg_config_t *c, int ranks)
{
	return TSR_MARKED_WORDS(agg_extents(c, ranks).shard_cols *
				(int64_t)tsr_dtype_bytes(c->dtype));
}

bool agg_gathers_by_nodes(const agg_plan_t *self, const agg_config_t *c)
{
	return c->pattern == AGG_BULK_SYNCHRONOUS && tsr_world_nodes(self->plan.world) > 1;
}

/** Takes the configuration, and describes the buffers. */
static void prepare(plan_t *plan)
{
	const agg_config_t config = agg_config_of(&plan->config), *c = &config;
	const int ranks = plan->ranks;
	const agg_extents_t e = agg_extents(c, ranks);
	const bool of_a = agg_gathered(c) == AGG_A;
	const int64_t c_rows = of_a ? c->m : share_largest(c->m, ranks),
		      c_cols = of_a ? share_largest(c->n, ranks) : c->n;
	const bool has_flags = c->pattern != AGG_BULK_SYNCHRONOUS && c->pattern != AGG_PULL,
		   has_sums = c->pattern != AGG_BULK_SYNCHRONOUS && c->along != AGG_BY_ROWS;
	const bool is_marked = c->pattern == AGG_MARKED;
	const size_t inbox = is_marked ? 2 * (size_t)ranks *
						 (size_t)(agg_extents(c, ranks).shard_rows + 1) *
						 (size_t)row_words(c, ranks)
				       : 0;
	const size_t flags = has_flags ? (size_t)(ranks * agg_most_chunks(c, ranks)) : 0,
		     tile = (size_t)c->tile.m * (size_t)c->tile.n * sizeof(float),
		     sums = has_sums ? (size_t)computing_blocks(c) : 0;
	const buffer_t buffers[AGG_BUFFERS] = {
		[AGG_BUFFER_WHOLE] = {.name = of_a ? "A" : "B",
				      .size_bytes = matrix_bytes(c->dtype, e.rows, e.cols)},
		[AGG_BUFFER_OWN] = {.name = of_a ? "B" : "A",
				    .size_bytes = of_a ? matrix_bytes(c->dtype, c->k, c_cols)
						       : matrix_bytes(c->dtype, c_rows, c->k)},
		[AGG_BUFFER_C] = {.name = "C",
				  .size_bytes = matrix_bytes(c->dtype, c_rows, c_cols)},
		[AGG_SYNC] = {.name = "all_gather_gemm.sync",
			      .size_bytes = sizeof(handshake_t),
			      .is_cleared = true},
		[AGG_COME] = {.name = "all_gather_gemm.come",
			      .size_bytes = flags * sizeof(uint64_t),
			      .is_cleared = true},
		[AGG_FIRST_SUMS] = {.name = "all_gather_gemm.first_sums",
				    .size_bytes = sums * tile},
		[AGG_WORDS] = {.name = "all_gather_gemm.words",
			       .size_bytes = inbox * sizeof(uint64_t),
			       .is_cleared = true},
		[AGG_COUNTED] = {.name = "all_gather_gemm.counted",
				 .size_bytes = is_marked ? flags * sizeof(uint64_t) : 0,
				 .is_cleared = true},
		[AGG_TOKEN] = {.name = "all_gather_gemm.token",
			       .size_bytes = is_marked ? 2 * sizeof(uint32_t) : 0,
			       .is_cleared = true},
		[AGG_STATE] = {.name = "all_gather_gemm.state",
			       .size_bytes = agg_gathers_by_nodes(plan_of(plan), c)
						     ? tsr_collective_state_bytes(ranks)
						     : 0,
			       .is_cleared = true},
	};
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = c->dtype;
	plan->tile = c->tile;
	plan_of(plan)->config = config;
}

/** The view of this rank's part of a matrix that has a buffer of its own. */
static tsr_view_t dense_view(const agg_plan_t *self, int matrix, int buffer)
{
	const plan_t *plan = &self->plan;
	const workload_matrix_t part = agg_matrix(&self->config, matrix, plan->rank, plan->ranks);
	return matrix_view(plan->buffer[buffer].data, plan->dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(plan_t *plan)
{
	agg_plan_t *self = plan_of(plan);
	agg_args_t *args = &self->args;
	const bool of_a = agg_gathered(&self->config) == AGG_A;
	const tsr_view_t own = dense_view(self, of_a ? AGG_B : AGG_A, AGG_BUFFER_OWN);
	args->whole = dense_view(self, AGG_WHOLE, AGG_BUFFER_WHOLE);
	args->a = of_a ? args->whole : own;
	args->b = of_a ? own : args->whole;
	args->c = dense_view(self, AGG_C, AGG_BUFFER_C);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[AGG_SYNC].data;
	args->along = self->config.along;
	const int64_t extent = args->along == AGG_BY_ROWS ? self->config.m : self->config.k;
	for (int rank = 0; rank < plan->ranks; rank++)
		args->begin[rank] = (int32_t)share_of(extent, rank, plan->ranks).first;
	args->begin[plan->ranks] = (int32_t)extent;
}

/** Where this rank's tasks begin; 0 if no unit begins in its shard. */
static void set_turn(agg_plan_t *self)
{
	agg_args_t *args = &self->args;
	const bool by_rows = args->along == AGG_BY_ROWS;
	const int unit = by_rows ? self->config.tile.m : self->config.tile.k;
	const int64_t turn = tiles_of(args->begin[self->plan.rank], unit) * unit;
	args->turn = turn < args->begin[self->plan.ranks] ? (int32_t)turn : 0;
	args->divides_first = !by_rows && args->turn > 0;
}

/** Sets the others: tiles, chunks, and what ranks and blocks exchange. */
static void set_exchange(plan_t *plan)
{
	agg_plan_t *self = plan_of(plan);
	const agg_config_t *c = &self->config;
	agg_args_t *args = &self->args;
	args->tiling = (tiling_t){.tiles_m = (uint32_t)tiles_of(args->c.rows, c->tile.m),
				  .tiles_n = (uint32_t)tiles_of(args->c.cols, c->tile.n),
				  .group = TILING_GROUP,
				  .blocks = computing_blocks(c),
				  .parts = 1};
	set_turn(self);
	args->chunk_rows = (int32_t)c->chunk_rows;
	args->chunks = (int32_t)agg_most_chunks(c, plan->ranks);
	args->in_turn = c->arrival == AGG_IN_TURN;
	args->come = (TSR_HEAP uint64_t *)plan->buffer[AGG_COME].data;
	args->inbox_rows = (int32_t)agg_extents(c, plan->ranks).shard_rows;
	args->row_words = (int32_t)row_words(c, plan->ranks);
	args->element_bytes = (int32_t)tsr_dtype_bytes(c->dtype);
	args->words = (TSR_HEAP uint64_t *)plan->buffer[AGG_WORDS].data;
	args->counted = (TSR_HEAP uint64_t *)plan->buffer[AGG_COUNTED].data;
	args->token = (TSR_HEAP uint32_t *)plan->buffer[AGG_TOKEN].data;
	args->first_sums = (TSR_HEAP unsigned char *)plan->buffer[AGG_FIRST_SUMS].data;
}

tsr_view_t agg_view(const plan_t *plan, int matrix)
{
	const agg_plan_t *self = plan_of(plan);
	const int gathered = agg_gathered(&self->config);
	if (matrix != gathered)
		return matrix == AGG_C   ? self->args.c
		       : matrix == AGG_A ? self->args.a
					 : self->args.b;
	const workload_matrix_t part = agg_matrix(&self->config, gathered, plan->rank, plan->ranks);
	tsr_view_t view = self->args.whole;
	view.data = (TSR_HEAP char *)view.data + (part.first_row * view.ld + part.first_col) *
							 (int64_t)tsr_dtype_bytes(part.dtype);
	view.rows = part.part_rows;
	view.cols = part.part_cols;
	return view;
}

static void place(plan_t *plan, int matrix, tsr_view_t view)
{
	agg_plan_t *self = plan_of(plan);
	agg_args_t *args = &self->args;
	*(matrix == AGG_A ? &args->a : matrix == AGG_B ? &args->b : &args->c) = view;
	if (matrix == agg_gathered(&self->config))
		args->whole = view;
}

int agg_copiers(const agg_config_t *config, int ranks)
{
	if (config->pattern != AGG_COPY_ENGINES)
		return 0;
	return ranks - 1 < STREAMS_SIDES ? ranks - 1 : STREAMS_SIDES;
}

static void count_streams(const plan_t *plan, int *sides_out, int *marks_out)
{
	*sides_out = agg_copiers(&plan_of(plan)->config, plan->ranks);
	*marks_out = *sides_out > 0 ? 1 : 0;
}

const plan_kind_t agg_plan_kind = {
	.workload = &all_gather_gemm,
	.size_bytes = sizeof(agg_plan_t),
	.buffers = AGG_BUFFERS,
	.kept = AGG_EXCHANGE,
	.words = words,
	.prepare = prepare,
	.set_problem = set_product,
	.set_exchange = set_exchange,
	.count_streams = count_streams,
	.run = agg_run,
	.compute = agg_compute,
	.view = agg_view,
	.place = place,
};
