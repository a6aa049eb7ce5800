/* Mixture of experts as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/host/product_params.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

WORKLOAD_REGISTER(moe);

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const moe_config_t c = moe_config_of(config);
	tile_size_t tile;
	/* of the tiles whose rows fit the padding */
	for (int i = 0, fits = -1; fits < index; i++) {
		if (!variant_candidate(moe_patterns[c.pattern].kernels[0], c.dtype, i, &tile))
			return false;
		fits += moe_padding(&c, place->ranks) % tile.m == 0;
	}
	*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
	return true;
}

/** The `index`-th of `count` numbers, if the pattern has use for them; else 0 alone. */
static bool try_number(const int *numbers, int count, bool has_use, int index,
		       workload_value_t *value_out)
{
	if (index >= (has_use ? count : 1))
		return false;
	*value_out = (workload_value_t){{has_use ? numbers[index] : 0}};
	return true;
}

static bool try_senders(const workload_config_t *config, const workload_place_t *place, int index,
			workload_value_t *value_out)
{
	static const int numbers[] = {1, 2, 4, 6, 8};
	(void)place;
	return try_number(numbers, sizeof numbers / sizeof *numbers, config->pattern == MOE_FUSED,
			  index, value_out);
}

static bool try_expanders(const workload_config_t *config, const workload_place_t *place, int index,
			  workload_value_t *value_out)
{
	static const int numbers[] = {4, 8, 12, 16, 24};
	(void)place;
	return try_number(numbers, sizeof numbers / sizeof *numbers,
			  config->pattern != MOE_BULK_SYNCHRONOUS, index, value_out);
}

static bool try_bands(const workload_config_t *config, const workload_place_t *place, int index,
		      workload_value_t *value_out)
{
	static const int numbers[] = {1, 2, 4, 7};
	const moe_config_t c = moe_config_of(config);
	(void)place;
	return try_number(numbers, sizeof numbers / sizeof *numbers,
			  c.is_layer && c.pattern != MOE_BULK_SYNCHRONOUS, index, value_out);
}

static const char *const activations[] = {"none", "relu", NULL};
static const char *const routings[] = {"uniform", "zipf", "first", NULL};
static const char *const spreads[] = {"even", "ramp", NULL};

#define MOE_NUMBER(name_, letters_, preset_, least_, most_, help_)                    \
	.name = (name_), .letters = (letters_), .help = (help_), .preset = (preset_), \
	.least = (least_), .most = (most_)

#define MOE_OF(name_, preset_, names_, most_, help_)                                \
	.name = (name_), .letters = "NAME", .help = (help_), .kind = WORKLOAD_NAME, \
	.preset = (preset_), .least = 1, .most = (most_), .names = (names_), .problem = true

enum { MOST = 1 << 20 };

static const workload_param_t params[] = {
	[MOE_TOKENS] = {MOE_NUMBER("tokens", "T", "256", 1, MOST, "tokens of a rank"),
			.problem = true},
	[MOE_LAYER] = {.name = "layer",
		       .letters = "ExHxF",
		       .help = "experts, which the ranks divide; width of a token; width between "
			       "an expert's two products",
		       .kind = WORKLOAD_SHAPE,
		       .preset = "16x256x128",
		       .least = 1,
		       .most = 1 << 30,
		       .problem = true,
		       .axes = "ehf"},
	[MOE_TOP_K] = {MOE_NUMBER("top-k", "K", "2", 1, MOE_CHOICES, "experts of a token"),
		       .problem = true},
	[MOE_PRODUCTS] = {MOE_NUMBER("products", "N", "2", 1, 2,
				     "1: dispatch and the first product; 2: the whole layer"),
			  .problem = true},
	[MOE_ACTIVATION] = {MOE_OF("activation", "none", activations, MOE_RELU,
				   "what the first product's results go through: none or relu")},
	[MOE_ROUTING] = {MOE_OF("routing", "uniform", routings, WORKLOAD_FIRST,
				"how tokens choose: uniform; zipf (with weights 1, 1/2, 1/3 ...); "
				"first: all the same first K experts")},
	[MOE_ROUTING_SEED] = {MOE_NUMBER("routing-seed", "S", "1", 0, INT32_MAX,
					 "seed of the choices"),
			      .problem = true},
	[MOE_SPREAD] = {MOE_OF("spread", "even", spreads, MOE_RAMP,
			       "how many tokens ranks have: even: T each; ramp: from none on rank "
			       "0 to T on the last")},
	[MOE_PADDING] = {MOE_NUMBER("padding", "R", "0", 0, 1 << 16,
				    "an expert's rows are padded to a multiple of R; 0: 64 or 128, "
				    "by the tokens of an expert, and 16 in f32"),
			 .problem = true},
	[MOE_CAPACITY] = {MOE_NUMBER("capacity", "R", "0", 0, 1 << 30,
				     "rows that a rank has for its experts' tokens; 0: enough for "
				     "any choices"),
			  .problem = true},
	[MOE_DTYPE] = {.name = "dtype",
		       .letters = "D",
		       .help = "element type of tokens and experts' weights: bf16, f16 or f32; "
			       "sums are f32",
		       .kind = WORKLOAD_DTYPE,
		       .preset = "bf16",
		       .problem = true},
	[MOE_TILE] = PRODUCT_TILE(try_tile),
	[MOE_BLOCKS] = {MOE_NUMBER("blocks", "B", NULL, 1, MOST,
				   "blocks of a rank (default: all that are resident at one time)"),
			.heading = "blocks", .width = 6},
	[MOE_SENDERS] = {MOE_NUMBER("comm-blocks", "C", NULL, 1, MOST,
				    "in fused, how many of these send, and then fill rows "
				    "(default: half of those that move)"),
			 .heading = "sending", .width = 7, .stage = 2, .candidate = try_senders},
	[MOE_EXPANDERS] =
		{MOE_NUMBER("fill-blocks", "C", NULL, 1, MOST,
			    "in fused and copy-engines, how many only copy tokens to where "
			    "their experts read them (default: by the bytes)"),
		 .heading = "filling", .width = 7, .stage = 2, .candidate = try_expanders},
	[MOE_CHUNK_ROWS] = {MOE_NUMBER("chunk-rows", "R", NULL, 1, MOST,
				       "tokens that have a flag together (default: 64 flags, or 4 "
				       "MiB for copy engines)")},
	[MOE_EARLY] = {MOE_NUMBER("own-first", "P", NULL, 1, 100,
				  "in the same, per cent of a rank's experts whose own tokens are "
				  "multiplied before others' "
				  "(default: until the others' have come)")},
	[MOE_BANDS] =
		{MOE_NUMBER("bands", "N", NULL, 1, MOST,
			    "in the same, bands of columns of the second product, returned one "
			    "by one (default: up to 4)"),
		 .heading = "bands", .width = 5, .stage = 2, .candidate = try_bands},
	{.name = NULL},
};

/* Experts, tokens and widths that divide nothing; ranks without experts, or without tokens. */
static const char *const cases[] = {
	"--tokens 37 --layer 7x40x24 --top-k 3 --products 1 --padding 16 --tile 16x16x16 "
	"--blocks 3",
	"--tokens 37 --layer 7x40x24 --top-k 3 --padding 32 --tile 16x16x16 --blocks 3 "
	"--activation relu --chunk-rows 5 --bands 3",
	"--tokens 21 --layer 5x33x17 --top-k 5 --spread ramp --dtype f32 --blocks 3 "
	"--comm-blocks 1 --fill-blocks 1 --own-first 50",
	"--tokens 50 --layer 12x16x48 --top-k 1 --routing first --padding 16 --tile 16x16x16 "
	"--blocks 3 --chunk-rows 7",
	"--tokens 1 --layer 3x8x8 --top-k 2 --padding 16 --tile 16x16x16 --blocks 3 --dtype f16",
	"--tokens 300 --layer 16x24x16 --top-k 8 --routing zipf --products 1 --spread ramp "
	"--routing-seed 7 --dtype f32 --blocks 3 --chunk-rows 16",
	NULL,
};

static const char *const large_cases[] = {
	"--tokens 1000 --layer 16x512x256 --top-k 4 --products 1 --blocks 9",
	"--tokens 700 --layer 9x264x200 --top-k 3 --activation relu --routing zipf --blocks 9",
	"--tokens 257 --layer 8x1024x512 --top-k 2 --padding 128 --spread ramp --dtype f16",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number >= 0 && number < MOE_PATTERNS ? moe_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return number >= 0 && number < MOE_PATTERNS && index < PLAN_KERNELS
		       ? moe_patterns[number].kernels[index]
		       : NULL;
}

/* ------------------------------------------------------------ cost */

/** Launches of a run: the plan's, and those of steps or of products; copies signal, too. */
static int launches(const moe_config_t *c, int ranks)
{
	const int parts = c->is_layer ? 2 : 1;
	if (c->pattern == MOE_BULK_SYNCHRONOUS)
		return ranks > 1 ? 1 + 3 * parts : 1 + 2 * parts;
	const int said = c->pattern == MOE_COPY_ENGINES && c->chunk_rows > 0
				 ? (ranks - 1) * (int)moe_chunks(c)
				 : 0;
	return 1 + parts + said;
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const moe_config_t c = moe_config_of(config);
	moe_load_t loads[TSR_MAX_RANKS];
	moe_count_loads(&c, ranks, loads);
	const double element = (double)tsr_dtype_bytes(c.dtype), h = (double)c.hidden,
		     f = (double)c.inner, rows = (double)loads[rank].rows,
		     experts = (double)loads[rank].experts, parts = c.is_layer ? 2 : 1,
		     /* results go back to the ranks that the tokens came from */
		moved = (double)(loads[rank].sent + (c.is_layer ? loads[rank].received : 0));
	return (workload_cost_t){
		.operations = 2 * parts * rows * h * f,
		.memory_bytes = element * (parts * experts * h * f + rows * (h + f)),
		.link_bytes = element * moved * h,
		.between_bytes = 2 * element * (rows * h + (c.is_layer ? rows * (f + h) : 0)),
		.launches = launches(&c, ranks),
		.meetings = c.pattern == MOE_BULK_SYNCHRONOUS ? (int)parts : 0};
}

static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	const moe_config_t c = moe_config_of(config);
	return moe_fastest(&c, place);
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&moe_plan_kind, world, config, run_out);
}

const workload_t moe = {
	.size = sizeof(workload_t),
	.name = "moe",
	.title = "mixture of experts",
	.summary = "tokens go to the ranks of their experts, through their products, and back",
	.source = "ParallelKittens, section 4.3",
	.params = params,
	.compute_pattern = MOE_BULK_SYNCHRONOUS,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = moe_check,
	.check_inputs = moe_check_inputs,
	.matrix = moe_matrix,
	.expect = moe_expect,
	.cost = cost,
	.choose = moe_choose,
	.fastest = fastest,
	.open = open_run,
	PLAN_FUNCTIONS,
};
