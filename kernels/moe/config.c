/* What can be said of a configuration without a device. */
#include <inttypes.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

const moe_pattern_kernels_t moe_patterns[MOE_PATTERNS] = {
	[MOE_BULK_SYNCHRONOUS] = {"bulk-synchronous",
				  {"moe_plan_marked", "moe_move", "moe_first", "moe_second"}},
	[MOE_FUSED] = {"fused", {"moe_plan_marked", "moe_dispatch", "moe_combine"}},
	[MOE_COPY_ENGINES] = {"copy-engines",
			      {"moe_plan_marked", "moe_dispatch", "moe_combine", "moe_say"}},
};

moe_config_t moe_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	const int64_t *tile = v[MOE_TILE].x, *layer = v[MOE_LAYER].x;
	return (moe_config_t){.tokens = v[MOE_TOKENS].x[0],
			      .experts = layer[0],
			      .hidden = layer[1],
			      .inner = layer[2],
			      .top_k = v[MOE_TOP_K].x[0],
			      .is_layer = v[MOE_PRODUCTS].x[0] == 2,
			      .activation = (int)v[MOE_ACTIVATION].x[0],
			      .odds = (workload_odds_t)v[MOE_ROUTING].x[0],
			      .routing_seed = v[MOE_ROUTING_SEED].x[0],
			      .spread = (int)v[MOE_SPREAD].x[0],
			      .padding = v[MOE_PADDING].x[0],
			      .capacity = v[MOE_CAPACITY].x[0],
			      .dtype = (tsr_dtype_t)v[MOE_DTYPE].x[0],
			      .pattern = (moe_pattern_t)config->pattern,
			      .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
			      .blocks = (int)v[MOE_BLOCKS].x[0],
			      .senders = (int)v[MOE_SENDERS].x[0],
			      .expanders = (int)v[MOE_EXPANDERS].x[0],
			      .chunk_rows = v[MOE_CHUNK_ROWS].x[0],
			      .early = v[MOE_EARLY].x[0],
			      .bands = v[MOE_BANDS].x[0]};
}

/* ------------------------------------------------------------ tokens and rows */

int64_t moe_tokens_of(const moe_config_t *c, int rank, int ranks)
{
	if (c->spread == MOE_EVEN || ranks == 1)
		return c->tokens;
	return c->tokens * rank / (ranks - 1);
}

int64_t moe_tokens_before(const moe_config_t *c, int rank, int ranks)
{
	int64_t before = 0;
	for (int r = 0; r < rank; r++)
		before += moe_tokens_of(c, r, ranks);
	return before;
}

/*
 * Rows of a tile of f32, and of the two kinds of tiles of 16 bits. The larger one
 * is chosen where experts have half as many tokens on average.
 */
enum { SMALL_PADDING = 16, NARROW_PADDING = 64, WIDE_PADDING = 128 };

int64_t moe_padding(const moe_config_t *c, int ranks)
{
	if (c->padding > 0)
		return c->padding;
	const int64_t each = moe_tokens_before(c, ranks, ranks) * c->top_k / c->experts;
	return c->dtype == TSR_F32       ? SMALL_PADDING
	       : each < WIDE_PADDING / 2 ? NARROW_PADDING
					 : WIDE_PADDING;
}

int64_t moe_capacity(const moe_config_t *c, int ranks)
{
	const int64_t padding = moe_padding(c, ranks), here = share_largest(c->experts, ranks),
		      each = c->top_k < here ? c->top_k : here,
		      most = moe_tokens_before(c, ranks, ranks) * each + here * (padding - 1),
		      rows = c->capacity > 0 ? c->capacity : most;
	return rows < padding ? padding : rows / padding * padding;
}

/* Pieces that the most tokens make, about: so many blocks place them. */
enum { PIECES = 16 };

int64_t moe_piece(const moe_config_t *c)
{
	const int64_t most = MOE_KEYS / c->top_k, wanted = (c->tokens + PIECES - 1) / PIECES;
	return wanted < most ? wanted : most;
}

int64_t moe_pieces(const moe_config_t *c, int64_t tokens)
{
	return (tokens + moe_piece(c) - 1) / moe_piece(c);
}

int64_t moe_chunks(const moe_config_t *c)
{
	return (c->tokens + c->chunk_rows - 1) / c->chunk_rows;
}

/* ------------------------------------------------------------ matrices */

/** Rows and columns of a rank's part: the whole matrix has as many columns. */
static void set_extents(const moe_config_t *c, int index, int rank, int ranks,
			workload_matrix_t *matrix)
{
	const share_t experts = share_of(c->experts, rank, ranks);
	const int64_t rows = index == MOE_W2 ? c->inner : c->hidden;
	switch (index) {
	case MOE_W1:
	case MOE_W2:
		matrix->rows = c->experts * rows;
		matrix->first_row = experts.first * rows;
		matrix->part_rows = experts.count * rows;
		matrix->cols = index == MOE_W1 ? c->inner : c->hidden;
		break;
	default:
		matrix->rows = moe_tokens_before(c, ranks, ranks);
		matrix->first_row = moe_tokens_before(c, rank, ranks);
		matrix->part_rows = moe_tokens_of(c, rank, ranks);
		matrix->cols = index == MOE_CHOSEN || index == MOE_WEIGHTS ? c->top_k : c->hidden;
	}
}

/** The first product's result: the padded rows of each rank's experts. */
static void set_rows(const moe_config_t *c, int rank, int ranks, workload_matrix_t *matrix)
{
	const int64_t capacity = moe_capacity(c, ranks);
	moe_load_t loads[TSR_MAX_RANKS];
	moe_count_loads(c, ranks, loads);
	for (int r = 0; r < ranks; r++) {
		const int64_t padded = loads[r].padded,
			      rows = padded < capacity ? padded : capacity;
		matrix->first_row = r == rank ? matrix->rows : matrix->first_row;
		matrix->part_rows = r == rank ? rows : matrix->part_rows;
		matrix->rows += rows;
	}
	matrix->cols = c->inner;
}

bool moe_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out)
{
	static const char *const names[MOE_MATRICES] = {"X", "W1", "experts", "O", "W2", "weights"};
	const moe_config_t c = moe_config_of(config);
	if (index < 0 || index >= (c.is_layer ? MOE_MATRICES : MOE_W2))
		return false;
	workload_matrix_t matrix = {.name = names[index],
				    .use = index == MOE_OUT ? WORKLOAD_OUTPUT : WORKLOAD_INPUT,
				    .dtype = index == MOE_CHOSEN    ? TSR_I32
					     : index == MOE_WEIGHTS ? TSR_F32
								    : c.dtype,
				    .stream = (uint64_t)index};
	if (index == MOE_CHOSEN)
		matrix.draw = (workload_draw_t){
			.below = c.experts, .odds = c.odds, .seed = (uint64_t)c.routing_seed};
	if (index == MOE_OUT && !c.is_layer)
		set_rows(&c, rank, ranks, &matrix);
	else
		set_extents(&c, index, rank, ranks, &matrix);
	matrix.part_cols = matrix.cols;
	*matrix_out = matrix;
	return true;
}

/* ------------------------------------------------------------ limits */

static tsr_status_t check_layer(const moe_config_t *c)
{
	if (c->experts > MOE_EXPERTS)
		return tsr_error(TSR_ERR_ARGUMENT, "%" PRId64 " experts are too many: at most %d",
				 c->experts, MOE_EXPERTS);
	if (c->top_k > c->experts || c->top_k > MOE_CHOICES)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a token cannot choose %" PRId64 " of %" PRId64
				 " experts: a token's choices differ, and are at most %d",
				 c->top_k, c->experts, MOE_CHOICES);
	return TSR_OK;
}

/** Whether a tile that can be chosen has rows that divide the padding; or none is built at all. */
static bool has_tile(const moe_config_t *c, int64_t padding)
{
	const char *kernel = moe_patterns[c->pattern].kernels[0];
	tile_size_t tile;
	int index = 0, built = 0;
	if (c->tile.m > 0)
		return padding % c->tile.m == 0;
	for (; variant_at(&index, kernel, c->dtype, &tile); built++)
		if (padding % tile.m == 0)
			return true;
	return built == 0; /* variant_check says so */
}

/* Extents are counted in 32 bits on GPUs. */
enum { MOST = 1 << 30 };

static tsr_status_t check_sizes(const moe_config_t *c, int ranks)
{
	const int64_t rows = moe_capacity(c, ranks), padding = moe_padding(c, ranks);
	if (!has_tile(c, padding))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"rows padded to %" PRId64 " fit no tile of %s: take a --padding "
			"that is a multiple of a tile's rows, such as 128, or another --tile",
			padding, tsr_dtype_name(c->dtype));
	if (c->hidden > MOST / c->experts || c->inner > MOST / c->experts || rows > MOST / ranks ||
	    c->tokens > MOST / ranks / c->top_k || !matrix_fits(c->dtype, rows, c->hidden) ||
	    !matrix_fits(c->dtype, rows, c->inner))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%" PRId64 " tokens a rank at %" PRId64 " experts of %" PRId64
				 "x%" PRId64 " are too many: rows of all ranks, and of all "
				 "experts' weights, are counted to 2^30",
				 c->tokens, c->experts, c->hidden, c->inner);
	return TSR_OK;
}

/** Where O has all rows of the first product, they must fit. A layer says so behind a run. */
static tsr_status_t check_capacity(const moe_config_t *c, int ranks)
{
	moe_load_t loads[TSR_MAX_RANKS];
	if (c->is_layer || c->capacity == 0)
		return TSR_OK;
	moe_count_loads(c, ranks, loads);
	for (int rank = 0; rank < ranks; rank++)
		if (loads[rank].padded > moe_capacity(c, ranks))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "rank %d's experts have %" PRId64
					 " rows with padding: set --capacity to that at least, or "
					 "leave it out",
					 rank, loads[rank].padded);
	return TSR_OK;
}

/** Blocks that move must leave one that computes. */
static tsr_status_t check_blocks(const moe_config_t *c, int ranks)
{
	const int senders = c->pattern == MOE_FUSED && ranks > 1 ? c->senders : 0,
		  movers = c->pattern == MOE_BULK_SYNCHRONOUS ? 0 : senders + c->expanders;
	if (c->blocks == 0 || movers < c->blocks)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%d blocks that send and %d that fill rows leave none of %d to compute: "
			 "take fewer",
			 senders, c->expanders, c->blocks);
}

tsr_status_t moe_check(const workload_config_t *config, int ranks)
{
	if (config->pattern < 0 || config->pattern >= MOE_PATTERNS)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "moe has no pattern %" PRId64 ": take one of 0 to %d",
				 config->pattern, MOE_PATTERNS - 1);
	const moe_config_t c = moe_config_of(config);
	tsr_status_t status = check_layer(&c);
	if (status == TSR_OK)
		status = check_sizes(&c, ranks);
	if (status == TSR_OK)
		status = check_capacity(&c, ranks);
	if (status == TSR_OK)
		status = check_blocks(&c, ranks);
	return status != TSR_OK
		       ? status
		       : variant_check("moe", moe_patterns[c.pattern].kernels[0], c.dtype, c.tile);
}
