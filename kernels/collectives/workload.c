/* Collectives as a workload for the tools. */
#include "kernels/workload.h"

#include <inttypes.h>

#include "kernels/collectives/collectives.h"
#include "kernels/host/matrices.h"
#include "kernels/host/plan.h"

extern const workload_t collectives;
WORKLOAD_REGISTER(collectives);

static const workload_param_t params[] = {
	[COLL_OPERATION] =
		{.name = "operation",
		 .letters = "NAME",
		 .help = "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, "
			 "gather, scatter or reduce; rank 0 is the root of the last four",
		 .kind = WORKLOAD_NAME,
		 .preset = "all-reduce",
		 .least = 1,
		 .most = COLL_REDUCE,
		 .names = coll_names,
		 .problem = true},
	[COLL_BYTES] = {.name = "bytes",
			.letters = "B",
			.help = "bytes of a shard, which a rank has for another; of all-reduce, "
				"broadcast and reduce: of the whole; rounded up to whole rows",
			.preset = "1048576",
			.least = 1,
			.most = INT64_C(1) << 40,
			.problem = true},
	[COLL_ROWS] = {.name = "rows",
		       .letters = "R",
		       .help = "rows of a shard",
		       .preset = "1",
		       .least = 1,
		       .most = INT64_C(1) << 40,
		       .problem = true},
	[COLL_GAP] =
		{.name = "gap",
		 .letters = "B",
		 .help = "bytes between a row and the next, which do not belong to the tensors; "
			 "rounded up to whole elements. The baseline's rows have none",
		 .preset = "0",
		 .least = 0,
		 .most = INT64_C(1) << 40,
		 .problem = true},
	[COLL_DTYPE] = {.name = "dtype",
			.letters = "D",
			.help = "element type: bf16, f16 or f32; sums are f32",
			.kind = WORKLOAD_DTYPE,
			.preset = "bf16",
			.problem = true},
	{.name = NULL},
};

/* In one step and in two; whole lines and not; a case of every operation. */
static const char *const cases[] = {
	"--operation all-reduce --bytes 4096",
	"--operation all-reduce --bytes 200002",
	"--operation all-reduce --bytes 131 --dtype f32",
	"--operation all-gather --bytes 7000",
	"--operation all-gather --bytes 270002",
	"--operation reduce-scatter --bytes 7000 --dtype f32",
	"--operation reduce-scatter --bytes 270004 --dtype f32",
	"--operation all-to-all --bytes 999 --dtype f16",
	"--operation all-to-all --bytes 270002 --dtype f16",
	"--operation broadcast --bytes 5000",
	"--operation gather --bytes 3000",
	"--operation scatter --bytes 3000",
	"--operation reduce --bytes 6000 --dtype f16",
	"--operation all-reduce --bytes 3003 --rows 7 --gap 6",
	"--operation all-gather --bytes 270002 --rows 13 --gap 34",
	"--operation reduce-scatter --bytes 270004 --rows 33 --gap 16 --dtype f32",
	"--operation all-to-all --bytes 1024 --rows 128 --gap 512 --dtype f16",
	NULL,
};

static const char *const large_cases[] = {
	"--operation all-reduce --bytes 65536",    "--operation all-reduce --bytes 67108866",
	"--operation all-gather --bytes 16777216", "--operation reduce-scatter --bytes 16777216",
	"--operation all-to-all --bytes 16777216", NULL,
};

static const char *pattern(int64_t number)
{
	return number == 0 ? "one-call" : NULL;
}

static const char *kernel(int64_t number, int index)
{
	(void)number, (void)index;
	return NULL; /* the library's own */
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const coll_config_t c = coll_config_of(config);
	if (c.what < COLL_ALL_REDUCE || c.what > COLL_REDUCE || config->pattern != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "there is no collective of this number; 'tessera bench --list' "
				 "says which there are");
	if (c.dtype != TSR_BF16 && c.dtype != TSR_F16 && c.dtype != TSR_F32)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "collectives are measured in bf16, f16 and f32, not in %s",
				 tsr_dtype_name(c.dtype));
	if (c.bytes < 1 || c.rows < 1 || c.rows > INT64_MAX / ranks / ranks || c.pitch < c.cols ||
	    !matrix_fits(c.dtype, c.rows * ranks * ranks, c.pitch))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a shard of %" PRId64 " bytes in %" PRId64
				 " rows: it has at least 1 of each, and all shards must fit into "
				 "2^63 with what lies between their rows",
				 c.bytes, c.rows);
	return TSR_OK;
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	(void)config, (void)inputs; /* sums of as many addends as there are ranks are exact */
	return TSR_OK;
}

/** Bytes of rank `rank`'s links: what it stores to others and loads from them, at least. */
static double link_bytes(const coll_config_t *c, int rank, int ranks)
{
	const double others = ranks - 1, shard = (double)c->bytes;
	switch (c->what) {
	case COLL_ALL_REDUCE:
	case COLL_REDUCE:
		return 2 * others / ranks * shard;
	case COLL_BROADCAST:
		return others / ranks * shard;
	case COLL_GATHER:
	case COLL_SCATTER:
		return rank == COLL_ROOT ? others * shard : ranks > 1 ? shard : 0;
	default:
		return others * shard;
	}
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const coll_config_t c = coll_config_of(config);
	const int64_t shards = coll_src_shards(c.what, ranks) + coll_dst_shards(c.what, ranks);
	return (workload_cost_t){.operations = 0,
				 .memory_bytes = (double)shards * (double)c.bytes,
				 .link_bytes = link_bytes(&c, rank, ranks),
				 .launches = 1,
				 .meetings = 2};
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	(void)place; /* one step or two, and the blocks: the library chooses */
	*config_out = *config;
	return TSR_OK;
}

static int64_t rows_to_root(const workload_config_t *config, int source, int target, int ranks)
{
	(void)source, (void)ranks;
	return target == COLL_ROOT ? coll_config_of(config).rows : 0;
}

static int64_t rows_from_root(const workload_config_t *config, int source, int target, int ranks)
{
	(void)target, (void)ranks;
	return source == COLL_ROOT ? coll_config_of(config).rows : 0;
}

/** Gather and scatter as users of NCCL write them: a group of sends and receives. */
static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	static const workload_op_t ops[] = {
		[COLL_ALL_REDUCE] = WORKLOAD_ALL_REDUCE,
		[COLL_ALL_GATHER] = WORKLOAD_ALL_GATHER,
		[COLL_REDUCE_SCATTER] = WORKLOAD_REDUCE_SCATTER,
		[COLL_ALL_TO_ALL] = WORKLOAD_ALL_TO_ALL,
		[COLL_BROADCAST] = WORKLOAD_BROADCAST,
		[COLL_GATHER] = WORKLOAD_ALL_TO_ALL,
		[COLL_SCATTER] = WORKLOAD_ALL_TO_ALL,
	};
	const collective_t what = coll_config_of(config).what;
	if (what < COLL_ALL_REDUCE || what >= COLL_REDUCE)
		return 0; /* no engine has a sum for one rank */
	steps_out[0] = (workload_step_t){.op = ops[what],
					 .name = coll_names[what - 1],
					 .what = coll_names[what - 1],
					 .from = COLL_SRC,
					 .with = -1,
					 .to = COLL_DST,
					 .rounds = coll_combines(what),
					 .rows = what == COLL_GATHER    ? rows_to_root
						 : what == COLL_SCATTER ? rows_from_root
									: NULL};
	return 1;
}

const workload_t collectives = {
	.size = sizeof(workload_t),
	.name = "collectives",
	.title = "Collectives",
	.summary = "one collective of the library, on a stream: sums and moves of tensors",
	.source = "ParallelKittens, appendices B and C; the library's tsr_stream_*",
	.params = params,
	.compute_pattern = -1,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = check,
	.check_inputs = check_inputs,
	.matrix = coll_matrix,
	.expect = coll_expect,
	.cost = cost,
	.choose = choose,
	.baseline = baseline,
	.open = coll_open,
	.reconfigure = plan_reconfigure,
	.explain = plan_explain,
	.start = plan_start,
	.sync = plan_sync,
	.close = plan_close,
	.stream = plan_stream,
	.chosen = plan_chosen,
	.view = plan_view,
};
