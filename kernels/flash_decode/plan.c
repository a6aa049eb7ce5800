/* The memory and arguments of a plan, and its launches. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/flash_decode/args.h"
#include "kernels/flash_decode/flash_decode.h"
#include "kernels/host/matrices.h"

extern const workload_t flash_decode;

/* The buffers. Those behind FD_BUFFER_SYNC depend on pattern and blocks. */
enum {
	FD_BUFFER_SYNC = FD_MATRICES,
	FD_BUFFER_STATES, /* of parts */
	FD_BUFFER_MINE,   /* results of this rank's keys */
	FD_BUFFER_THEIRS, /* of all ranks' */
	FD_BUFFER_FLAGS,  /* of groups: results that are here, or the number of parts */
	FD_BUFFER_WORDS,  /* results in words */
	FD_BUFFER_GATHER, /* the state of an all-gather */
	FD_BUFFERS
};

/*
 * Blocks of the kernel that gathers: results are some KiB, and each block signals
 * every rank twice. (Computed; not measured.)
 */
enum { GATHERING_BLOCKS = 4 };

typedef struct fd_plan {
	plan_t plan;
	fd_config_t config;
	fd_args_t args;
	tsr_tensor_t mine, theirs; /* for the library's collective */
} fd_plan_t;

static fd_plan_t *plan_of(const plan_t *plan)
{
	return (fd_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const fd_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS,
		       "flash decode of %" PRId64 " x %" PRId64 " heads, %" PRId64 " keys in %s",
		       c->batch, c->heads, fd_all_keys(c, plan->ranks), tsr_dtype_name(c->dtype));
}

/* ------------------------------------------------------------ memory */

/** Each rank allocates as much as the one with the most keys. */
static size_t most_bytes(const plan_t *plan, int matrix)
{
	const fd_config_t c = fd_config_of(&plan->config);
	workload_matrix_t part;
	(void)fd_matrix(&plan->config, matrix, 0, plan->ranks, &part);
	if (matrix == FD_K || matrix == FD_V)
		part.part_rows = c.batch * c.key_heads * fd_most_keys(&c, plan->ranks);
	return matrix_bytes(part.dtype, part.part_rows, part.cols);
}

/** 64-bit words of a group's result. */
static int64_t group_words(const fd_config_t *c)
{
	const int64_t rows = fd_share(c) < c->tile.m ? fd_share(c) : c->tile.m;
	return (int64_t)TSR_MARKED_WORDS((size_t)(rows * fd_result_floats(c)) * sizeof(float));
}

/** Places for each rank's results: two where no meeting says that they are free. */
static int64_t places(fd_pattern_t pattern)
{
	return pattern == FD_FINE_WAITS || pattern == FD_FUSED ? 2 : 1;
}

/** The state of the all-gather of a pattern that has one. */
static size_t gather_bytes(fd_pattern_t pattern, int ranks)
{
	return pattern == FD_BULK_SYNCHRONOUS ? tsr_collective_state_bytes(ranks)
	       : pattern == FD_OWN_ALL_GATHER ? tsr_all_gather_state_bytes(ranks)
					      : 0;
}

/** The buffers that depend on pattern and blocks. */
static void prepare_exchange(buffer_t *buffer, const fd_config_t *c, int ranks_)
{
	const size_t result = (size_t)(c->batch * c->heads * fd_result_floats(c)) * sizeof(float),
		     states = (size_t)(fd_groups(c) + c->blocks) * (size_t)fd_state_bytes(c),
		     groups = (size_t)fd_groups(c) * sizeof(uint64_t), ranks = (size_t)ranks_;
	const bool is_one = c->pattern == FD_ONE_LAUNCH, waits = places(c->pattern) > 1;
	buffer[FD_BUFFER_STATES] = (buffer_t){.name = "flash_decode.states", .size_bytes = states};
	/* columns behind the logarithms are sent too, so they are zero at first */
	buffer[FD_BUFFER_MINE] = (buffer_t){.name = "flash_decode.mine",
					    .size_bytes = c->pattern == FD_FUSED ? 0 : result,
					    .is_cleared = true};
	buffer[FD_BUFFER_THEIRS] =
		(buffer_t){.name = "flash_decode.theirs",
			   .size_bytes = result * ranks * (size_t)places(c->pattern)};
	buffer[FD_BUFFER_FLAGS] = (buffer_t){.name = "flash_decode.flags",
					     .size_bytes = is_one  ? groups
							   : waits ? ranks * groups
								   : 0,
					     .is_cleared = true};
	buffer[FD_BUFFER_WORDS] =
		(buffer_t){.name = "flash_decode.words",
			   .size_bytes = is_one ? 2 * ranks * groups * (size_t)group_words(c) : 0,
			   .is_cleared = true};
	buffer[FD_BUFFER_GATHER] = (buffer_t){.name = "flash_decode.state",
					      .size_bytes = gather_bytes(c->pattern, ranks_),
					      .is_cleared = true};
}

static void prepare(plan_t *plan)
{
	static const char *const names[FD_MATRICES] = {"Q", "K", "V", "O", "L"};
	const fd_config_t c = fd_config_of(&plan->config);
	memset(plan->buffer, 0, sizeof plan->buffer);
	for (int i = 0; i < FD_MATRICES; i++)
		plan->buffer[i] = (buffer_t){.name = names[i], .size_bytes = most_bytes(plan, i)};
	plan->buffer[FD_BUFFER_SYNC] = (buffer_t){
		.name = "flash_decode.sync", .size_bytes = sizeof(handshake_t), .is_cleared = true};
	prepare_exchange(plan->buffer, &c, plan->ranks);
	plan->dtype = c.dtype;
	plan->tile = c.tile;
	plan_of(plan)->config = c;
}

/* ------------------------------------------------------------ arguments */

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)fd_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	return matrix_view(plan->buffer[matrix].data, part.dtype, part.part_rows, part.part_cols);
}

static void set_problem(plan_t *plan)
{
	fd_plan_t *self = plan_of(plan);
	const fd_config_t *c = &self->config;
	self->args = (fd_args_t){.q = view(plan, FD_Q),
				 .k = view(plan, FD_K),
				 .v = view(plan, FD_V),
				 .o = view(plan, FD_O),
				 .lse = view(plan, FD_LSE),
				 .scale = (float)fd_scale(c),
				 .keys = (int32_t)fd_keys(c, plan->rank, plan->ranks).count,
				 .share = (int32_t)fd_share(c),
				 .sync = (TSR_HEAP handshake_t *)plan->buffer[FD_BUFFER_SYNC].data};
}

/** Results of `ranks` ranks, below each other. Null: a view without rows. */
static tsr_view_t results(const fd_config_t *c, const buffer_t *buffer, int64_t ranks)
{
	return (tsr_view_t){.data = buffer->data,
			    .rows = buffer->data ? ranks * c->batch * c->heads : 0,
			    .cols = fd_result_floats(c),
			    .ld = fd_result_floats(c),
			    .dtype = TSR_F32,
			    .space = TSR_SPACE_HEAP};
}

static tsr_tensor_t tensor(tsr_view_t view)
{
	return (tsr_tensor_t){.data = view.data,
			      .dtype = TSR_F32,
			      .dims = 2,
			      .shape = {view.rows, view.cols},
			      .stride = {view.ld, 1}};
}

static void set_exchange(plan_t *plan)
{
	fd_plan_t *self = plan_of(plan);
	const fd_config_t *c = &self->config;
	const buffer_t *buffer = plan->buffer;
	const int64_t units = fd_units(c, plan->rank, plan->ranks);
	fd_args_t *args = &self->args;
	args->groups = (uint32_t)fd_groups(c);
	args->tiles = (uint32_t)tiles_of(fd_share(c), c->tile.m);
	args->units = (uint32_t)units;
	args->each = (uint32_t)(units / c->blocks);
	args->rest = (uint32_t)(units % c->blocks);
	args->states = (TSR_HEAP unsigned char *)buffer[FD_BUFFER_STATES].data;
	args->mine = results(c, &buffer[FD_BUFFER_MINE], 1);
	args->theirs = results(c, &buffer[FD_BUFFER_THEIRS], plan->ranks * places(c->pattern));
	args->come = (TSR_HEAP uint64_t *)buffer[FD_BUFFER_FLAGS].data;
	args->counted = args->come;
	args->words = (TSR_HEAP uint64_t *)buffer[FD_BUFFER_WORDS].data;
	args->group_words = (int32_t)group_words(c);
	args->gather = buffer[FD_BUFFER_GATHER].data;
	self->mine = tensor(args->mine);
	self->theirs = tensor(args->theirs);
}

/* ------------------------------------------------------------ runs */

/** Blocks of the launch of kernel `index`. Those that merge have a group each, if they fit. */
static int blocks_of(const fd_plan_t *self, int index)
{
	const fd_config_t *c = &self->config;
	const int gathering = c->blocks < GATHERING_BLOCKS ? c->blocks : (int)GATHERING_BLOCKS;
	if (index == 0)
		return c->blocks;
	if (c->pattern == FD_OWN_ALL_GATHER && index == 2)
		return gathering;
	return fd_groups(c) < c->blocks ? (int)fd_groups(c) : c->blocks;
}

/** Launches kernels `first` to before `end` of the pattern, one behind the other. */
static tsr_status_t launch(const fd_plan_t *self, int first, int end)
{
	const plan_t *plan = &self->plan;
	tsr_status_t status = TSR_OK;
	for (int i = first; status == TSR_OK && i < end && plan->kernels[i]; i++)
		status = tsr_launch(plan->streams.main, plan->kernels[i], blocks_of(self, i),
				    &self->args);
	return status;
}

/** The collective of the library is between the second kernel and the third. */
static tsr_status_t run(plan_t *plan)
{
	const fd_plan_t *self = plan_of(plan);
	if (self->config.pattern != FD_BULK_SYNCHRONOUS)
		return launch(self, 0, PLAN_KERNELS);
	tsr_status_t status = launch(self, 0, 2);
	if (status == TSR_OK)
		status = tsr_stream_all_gather(
			plan->streams.main, &self->theirs, &self->mine, 0,
			(TSR_HEAP tsr_collective_state_t *)plan->buffer[FD_BUFFER_GATHER].data);
	return status == TSR_OK ? launch(self, 2, PLAN_KERNELS) : status;
}

/** The results of this rank's keys. */
static tsr_status_t compute(plan_t *plan)
{
	return launch(plan_of(plan), 0, 2);
}

const plan_kind_t fd_plan_kind = {
	.workload = &flash_decode,
	.size_bytes = sizeof(fd_plan_t),
	.buffers = FD_BUFFERS,
	.kept = FD_BUFFER_STATES,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.run = run,
	.compute = compute,
	.view = view,
};
