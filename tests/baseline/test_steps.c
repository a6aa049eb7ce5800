/*
 * Each step of a baseline against what its contract says (kernels/workload.h),
 * by every engine: OpenBLAS and memcpy on the emulator, and both vendors' calls
 * against libraries that compute on the host. Values are small whole numbers,
 * so that sums are exact in every dtype.
 */
#include "kernels/host/matrices.h"
#include "tests/baseline/engines.h"

/* ------------------------------------------------------------ a workload of steps */

/** What is tried: a step, or a few in a row. */
enum { REDUCED, EQUAL, UNEQUAL, SENT, COPIED, CHAINED, ROUTED, ASKEW, STEPS_TRIED };

/** The matrices of all of them. */
enum { X, B, INDEX, Y, G, P, MATRICES };

/** Parameters: what is tried, and the extents; the dtype; whether an index is wrong. */
enum { WHAT, DTYPE, ASTRAY };

static int what_of(const workload_config_t *config)
{
	return (int)config->value[WHAT].x[0];
}

/** Some ranks send nothing, and some get nothing. */
static int64_t unequal(const workload_config_t *config, int source, int target, int ranks)
{
	const int64_t m = config->value[WHAT].x[1];
	(void)ranks;
	const bool none = source % 3 == 2 || target % 4 == 3 || m == 0;
	return none ? 0 : (source + 2 * target + m) % 4;
}

static int64_t sent(const workload_config_t *config, int source, int target, int ranks)
{
	return what_of(config) == UNEQUAL ? unequal(config, source, target, ranks)
					  : config->value[WHAT].x[1];
}

static int64_t sum_of(const workload_config_t *config, int rank, int ranks, bool from_rank)
{
	int64_t rows = 0;
	for (int r = 0; r < ranks; r++)
		rows += from_rank ? sent(config, rank, r, ranks) : sent(config, r, rank, ranks);
	return rows;
}

/** Parts of different sizes to gather: empty ones too. */
static int64_t gathered_rows(const workload_config_t *config, int rank)
{
	return config->value[WHAT].x[1] * (rank % 3);
}

static int64_t rows_of(const workload_config_t *config, int matrix, int rank, int ranks)
{
	const int64_t m = config->value[WHAT].x[1], n = config->value[WHAT].x[2];
	const int what = what_of(config);
	int64_t gathered = 0;
	for (int r = 0; r < ranks; r++)
		gathered += gathered_rows(config, r);
	if (matrix == B)
		return n;
	if (what == CHAINED)
		return matrix == X ? gathered_rows(config, rank) : gathered;
	if (what == EQUAL || what == UNEQUAL)
		return sum_of(config, rank, ranks, matrix == X);
	if (what == SENT)
		return rank == 0 || matrix != X ? m : 0;
	if (what == ROUTED)
		return matrix == X ? m : ranks * m;
	if (what == ASKEW && matrix == G)
		return 1;
	if (what == COPIED && matrix != X)
		return m == 0 ? 0 : 2 * m + 1;
	return m;
}

/** As many on every rank, but where what is gathered lies askew. */
static int64_t cols_of(const workload_config_t *config, int matrix, int rank, int ranks)
{
	enum { WIDE = 16 };
	const int64_t m = config->value[WHAT].x[1];
	if (matrix == INDEX)
		return 1;
	if (what_of(config) != ASKEW)
		return config->value[WHAT].x[2];
	return matrix == G ? m * (1 + (ranks - 1) * WIDE) : rank == 0 ? 1 : WIDE;
}

/** Which matrices are inputs: the others come from steps. */
static bool is_input(int matrix)
{
	return matrix <= INDEX;
}

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	static const char *const names[MATRICES] = {"X", "B", "index", "Y", "G", "P"};
	if (index >= MATRICES)
		return false;
	const int64_t rows = rows_of(config, index, rank, ranks),
		      cols = cols_of(config, index, rank, ranks);
	*matrix_out = (workload_matrix_t){
		.name = names[index],
		.use = is_input(index) ? WORKLOAD_INPUT
		       : index == Y    ? WORKLOAD_OUTPUT
				       : WORKLOAD_BETWEEN,
		.dtype = index == INDEX ? TSR_I32 : (tsr_dtype_t)config->value[DTYPE].x[0],
		.rows = rows,
		.cols = cols,
		.part_rows = rows,
		.part_cols = cols};
	return true;
}

static workload_step_t step_of(workload_op_t op, int from, int with, int to)
{
	return (workload_step_t){
		.op = op, .name = "it", .what = "it", .from = from, .with = with, .to = to};
}

static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	switch (what_of(config)) {
	case REDUCED:
		steps_out[0] = step_of(WORKLOAD_ALL_REDUCE, X, -1, Y);
		return 1;
	case EQUAL:
		steps_out[0] = step_of(WORKLOAD_ALL_TO_ALL, X, -1, Y);
		return 1;
	case UNEQUAL:
		steps_out[0] = step_of(WORKLOAD_ALL_TO_ALL, X, -1, Y);
		steps_out[0].rows = unequal;
		return 1;
	case SENT:
		steps_out[0] = step_of(WORKLOAD_BROADCAST, X, -1, Y);
		return 1;
	case COPIED:
		steps_out[0] = step_of(WORKLOAD_COPY_ROWS, X, INDEX, Y);
		return 1;
	case CHAINED: /* an input is gathered, what was gathered multiplied */
		steps_out[0] = step_of(WORKLOAD_ALL_GATHER, X, -1, G);
		steps_out[1] = step_of(WORKLOAD_PRODUCT, G, B, P);
		steps_out[2] = step_of(WORKLOAD_ALL_REDUCE, P, -1, Y);
		return 3;
	case ASKEW: /* rows are copied from among gathered parts, where they have no alignment */
		steps_out[0] = step_of(WORKLOAD_COPY_ROWS, X, INDEX, P);
		steps_out[1] = step_of(WORKLOAD_ALL_GATHER, P, -1, G);
		steps_out[2] = step_of(WORKLOAD_COPY_ROWS, P, INDEX, Y);
		return 3;
	default: /* ROUTED: as tokens go to experts */
		steps_out[0] = step_of(WORKLOAD_COPY_ROWS, X, INDEX, G);
		steps_out[1] = step_of(WORKLOAD_ALL_TO_ALL, G, -1, Y);
		return 2;
	}
}

/** The inputs of the run: that is all that a run has here. */
typedef struct inputs {
	TSR_HEAP void *memory[MATRICES];
	tsr_view_t view[MATRICES];
} inputs_t;

static tsr_view_t view(const workload_run_t *run, int matrix)
{
	return ((const inputs_t *)(const void *)run)->view[matrix];
}

static const workload_t steps_workload = {.size = sizeof(workload_t),
					  .name = "steps",
					  .matrix = matrix,
					  .baseline = baseline,
					  .view = view};

/* ------------------------------------------------------------ what must come out */

/** An element of an input. A product's are -1, 0 or 1, so that its sums stay small. */
static int value_at(const workload_config_t *config, int matrix, int rank, int64_t row, int64_t col)
{
	const int most = what_of(config) == CHAINED ? 1 : 4;
	const int64_t rows = config->value[WHAT].x[1];
	const uint64_t index = (uint64_t)((rank * 1000 + row) * 1000 + col);
	if (matrix == INDEX) {
		const bool astray = config->value[ASTRAY].x[0] && row == 1;
		return astray ? (int)rows : (int)tsr_random_int(3, index, 0, (int)rows);
	}
	return (int)tsr_random_int((uint64_t)matrix, index, -most, most + 1);
}

/** The rank whose row `row` of what was gathered is, and the row there. */
static int gathered_from(const workload_config_t *config, int64_t *row)
{
	int rank = 0;
	while (*row >= gathered_rows(config, rank))
		*row -= gathered_rows(config, rank++);
	return rank;
}

/** The rank that row `row` of rank `rank`'s part came from, and the row there. */
static int sent_from(const workload_config_t *config, int rank, int ranks, int64_t *row)
{
	int source = 0;
	while (*row >= sent(config, source, rank, ranks))
		*row -= sent(config, source++, rank, ranks);
	for (int r = 0; r < rank; r++)
		*row += sent(config, source, r, ranks);
	return source;
}

static int product_at(const workload_config_t *config, int rank, int64_t row, int64_t col)
{
	const int from = gathered_from(config, &row);
	int sum = 0;
	for (int64_t i = 0; i < config->value[WHAT].x[2]; i++)
		sum += value_at(config, X, from, row, i) * value_at(config, B, rank, i, col);
	return sum;
}

/** What Y must be. */
static int expected_at(const workload_config_t *config, int rank, int ranks, int64_t row,
		       int64_t col)
{
	const int what = what_of(config);
	int sum = 0, source;
	switch (what) {
	case SENT:
		return value_at(config, X, 0, row, col);
	case COPIED:
		return value_at(config, X, rank, value_at(config, INDEX, rank, row, 0), col);
	case ASKEW:
		row = value_at(config, INDEX, rank, row, 0);
		return value_at(config, X, rank, value_at(config, INDEX, rank, row, 0), col);
	case EQUAL:
	case UNEQUAL:
		source = sent_from(config, rank, ranks, &row);
		return value_at(config, X, source, row, col);
	case ROUTED:
		source = sent_from(config, rank, ranks, &row);
		return value_at(config, X, source, value_at(config, INDEX, source, row, 0), col);
	default:
		for (int r = 0; r < ranks; r++)
			sum += what == CHAINED ? product_at(config, r, row, col)
					       : value_at(config, X, r, row, col);
		return sum;
	}
}

/* ------------------------------------------------------------ one of them */

typedef struct tried {
	workload_config_t config;
	inputs_t inputs;
	bench_task_t task;
	bench_baseline_t *baseline;
} tried_t;

/** A part of an input, in the heap, where its rows may be padded. */
static int put_input(tsr_world_t *world, tried_t *t, int number)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	workload_matrix_t part;
	(void)matrix(&t->config, number, rank, ranks, &part);
	CHECK(tsr_heap_alloc(world, 1 << 16, 0, part.name, &t->inputs.memory[number]) == TSR_OK);
	t->inputs.view[number] =
		matrix_view(t->inputs.memory[number], part.dtype, part.part_rows, part.part_cols);
	const size_t elements = (size_t)(part.part_rows * part.part_cols);
	CHECK(matrix_bytes(part.dtype, part.part_rows, part.part_cols) <= 1 << 16);
	char *host = malloc(elements * tsr_dtype_bytes(part.dtype) + 1);
	CHECK(host != NULL);
	for (size_t i = 0; i < elements; i++)
		tsr_dtype_set(part.dtype, host, i,
			      value_at(&t->config, number, rank, (int64_t)i / part.part_cols,
				       (int64_t)i % part.part_cols));
	const tsr_status_t status =
		elements > 0 ? matrix_write(world, t->inputs.view[number], host) : TSR_OK;
	free(host);
	return status == TSR_OK ? 0 : 1;
}

static int open_tried(tsr_world_t *world, const engine_t *engine, tried_t *t)
{
	for (int i = 0; i < MATRICES; i++)
		if (is_input(i) && put_input(world, t, i))
			return 1;
	t->task = (bench_task_t){&steps_workload, &t->config,
				 (const workload_run_t *)(const void *)&t->inputs};
	CHECK(bench_baseline_open_by(engine->runs, world, &t->task, &t->baseline) == TSR_OK, "%s",
	      tsr_last_error());
	return 0;
}

static int close_tried(tsr_world_t *world, tried_t *t)
{
	CHECK(bench_baseline_close(t->baseline, false) == TSR_OK);
	for (int i = 0; i < MATRICES; i++)
		CHECK(tsr_heap_free(world, t->inputs.memory[i]) == TSR_OK);
	return 0;
}

/** Before the steps have run Y is NaN, and after them what it must be. */
static int check_result(tsr_world_t *world, const tried_t *t, bool ran)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	workload_matrix_t part;
	(void)matrix(&t->config, Y, rank, ranks, &part);
	const int64_t elements = part.part_rows * part.part_cols;
	char *host = malloc((size_t)elements * tsr_dtype_bytes(part.dtype) + 1);
	CHECK(host && bench_baseline_read(t->baseline, Y, host) == TSR_OK);
	for (int64_t i = 0; i < elements; i++) {
		const int64_t row = i / part.part_cols, col = i % part.part_cols;
		const double got = tsr_dtype_get(part.dtype, host, (size_t)i);
		const int wanted = expected_at(&t->config, rank, ranks, row, col);
		CHECK(ran ? got == wanted : got != got,
		      "what %d, %s, (%d, %d) of %d x %d is %g and not %d", what_of(&t->config),
		      tsr_dtype_name(part.dtype), (int)row, (int)col, (int)part.part_rows,
		      (int)part.part_cols, got, wanted);
	}
	free(host);
	return 0;
}

static int try_steps(tsr_world_t *world, const engine_t *engine, tried_t *t)
{
	int count;
	uint64_t ns;
	if (open_tried(world, engine, t))
		return 1;
	(void)bench_baseline_steps(t->baseline, &count);
	const bench_timed_t all = {0, count, BENCH_NO_PUSH};
	CHECK(!bench_baseline_missing(t->baseline, &all), "%s",
	      bench_baseline_missing(t->baseline, &all));
	if (check_result(world, t, false))
		return 1;
	CHECK(bench_baseline_time(t->baseline, &all, &ns) == TSR_OK, "%s", tsr_last_error());
	return check_result(world, t, true) || close_tried(world, t);
}

/**
 * Rows of one element, of odd numbers of them, of such that move in wide units,
 * none of them, and none in them.
 */
static int steps(tsr_world_t *world, int argc, char **argv)
{
	static const int64_t shapes[][2] = {{5, 7}, {1, 1}, {0, 3}, {4, 0}, {6, 16}, {3, 2}};
	static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	(void)argc;
	for (int i = 0; i < STEPS_TRIED * SHAPES; i++) {
		const int what = i / SHAPES, shape = i % SHAPES;
		tried_t t = {.config = {.pattern = 0}};
		t.config.value[WHAT] =
			(workload_value_t){{what, shapes[shape][0], shapes[shape][1]}};
		t.config.value[DTYPE].x[0] = dtypes[(what + shape) % 3];
		if (try_steps(world, engine_of(argv[1]), &t))
			return 1;
	}
	return 0;
}

Test(steps, openblas_and_memcpy_do_what_is_promised)
{
	use_fakes("nvidia", "whole");
	world_each(steps, "openblas");
}

Test(steps, cublas_and_nccl_do_what_is_promised)
{
	use_fakes("nvidia", "whole");
	world_each(steps, "nvidia");
}

Test(steps, hipblaslt_and_rccl_do_what_is_promised)
{
	use_fakes("amd", "whole");
	world_each(steps, "amd");
}

/* ------------------------------------------------------------ an index that is none */

static int astray(tsr_world_t *world, int argc, char **argv)
{
	const engine_t *engine = engine_of(argv[1]);
	const bench_timed_t all = {0, 1, BENCH_NO_PUSH};
	tried_t t = {.config = {.value = {[WHAT] = {{COPIED, 4, 3}},
					  [DTYPE] = {{TSR_F32}},
					  [ASTRAY] = {{1}}}}};
	float got[9 * 3];
	uint64_t ns;
	(void)argc;
	if (open_tried(world, engine, &t))
		return 1;
	const tsr_status_t status = bench_baseline_time(t.baseline, &all, &ns);
	CHECK(status == (engine->runs == &bench_openblas ? TSR_ERR_ARGUMENT : TSR_OK));
	CHECK(status == TSR_OK || strstr(tsr_last_error(), "the index of row 1 is 4 on rank "),
	      "%s", tsr_last_error());
	CHECK(bench_baseline_read(t.baseline, Y, got) == TSR_OK);
	for (int i = 0; status == TSR_OK && i < 9 * 3; i++)
		CHECK((got[i] != got[i]) == (i / 3 == 1), "element %d is %g", i, (double)got[i]);
	return close_tried(world, &t);
}

Test(steps, an_index_without_a_row)
{
	for (int i = 0; i < ENGINES; i++) {
		use_fakes(engines[i].vendor, "whole");
		cr_expect(world_run(2, TSR_PLACE_THREAD, astray, engines[i].word) == 0, "%s",
			  engines[i].word);
	}
}

/* ------------------------------------------------------------ what is missing */

/** argv[1]: the engine, a blank, a digit (what is tried), and words of the sentence. */
static int lacks(tsr_world_t *world, int argc, char **argv)
{
	const char *rest = strchr(argv[1], ' ') + 1;
	tried_t t = {
		.config = {.value = {[WHAT] = {{rest[0] - '0', 4, 3}}, [DTYPE] = {{TSR_F32}}}}};
	const bench_timed_t first = {0, 1, BENCH_NO_PUSH};
	(void)argc;
	if (open_tried(world, engine_of(argv[1]), &t))
		return 1;
	const char *missing = bench_baseline_missing(t.baseline, &first);
	CHECK(rest[1] ? missing && strstr(missing, rest + 2) : !missing, "%s",
	      missing ? missing : "there");
	return close_tried(world, &t);
}

Test(steps, rows_are_copied_without_the_libraries)
{
	_Static_assert(COPIED == 4 && REDUCED == 0, "the digits below");
	use_fakes("nvidia", "no_collectives");
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, "nvidia 4") == 0);
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, "nvidia 0 the NCCL here has no nccl") == 0);
	use_fakes("amd", "no_products");
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, "amd 4") == 0);
	use_fakes("amd", "whole");
	(void)setenv("FAKE_NO_COMPILER", "1", 1);
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks,
			    "amd 4 hiprtcCompileProgram failed on the kernels that copy rows") ==
		  0);
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, "amd 0") == 0);
	(void)unsetenv("FAKE_NO_COMPILER");
}
