/*
 * The ports' main loops and epilogues, run lane by lane on the CPU (hip/dev/ and
 * cuda/dev/ beside this): products of whole numbers, compared with the plain
 * product, of every shape that takes another path. ci/checks/lockstep runs it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TSR_UNIT "lockstep"
#include "tessera/dev.h"

#include "block.h"
#include "tests/harness/part.h"

#if defined(__HIP__)
enum { CONSUMERS = 0 }; /* all threads of the worker */
#else
enum { CONSUMERS = TSR_CUDA_CONSUMER_THREADS };
#endif

enum { RANKS = LOCKSTEP_RANKS, MOST_GATES = 64, POISON = -12345 };

typedef struct gate_call {
	int64_t row, col, k0, k1;
} gate_call_t;

/** What gates have been passed, as the first lane saw it. */
typedef struct gate_log {
	int calls;
	gate_call_t call[MOST_GATES];
} gate_log_t;

typedef struct product_args {
	tsr_view_t a, b, c;
	int64_t tile_m, tile_n, tile_k;
	gate_log_t *log;
	int64_t depth; /* K */
	int64_t parts; /* of it: a task each, the last one's to store their sum */
	char *sums;
} product_args_t;

typedef struct product_run {
	const product_args_t *args;
	int64_t task;
} product_run_t;

TSR_FN tsr_part_t product_order(int64_t task, const void *ctx)
{
	const product_args_t *args = ((const product_run_t *)ctx)->args;
	int64_t tiles_n = tsr_tiles(args->c.cols, args->tile_n), tile = task / args->parts;
	tsr_pos_t at = {tile / tiles_n * args->tile_m, tile % tiles_n * args->tile_n};
	return part_of(at, task % args->parts, args->parts, args->depth, args->tile_k);
}

/* Chunks of A and of B come from the ranks, each in its own turn. */
static inline int rank_of_a(int64_t k0)
{
	return (int)((k0 + 1) % RANKS);
}

static inline int rank_of_b(int64_t k0)
{
	return (int)((k0 / 16 + 1) % RANKS);
}

TSR_FN tsr_from_t product_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	gate_log_t *log = ((const product_run_t *)ctx)->args->log;
	if (loader->thread == 0 && log->calls < MOST_GATES)
		log->call[log->calls++] = {chunk.at.row, chunk.at.col, chunk.k0, chunk.k1};
	return tsr_from(rank_of_a(chunk.k0), rank_of_b(chunk.k0));
}

#define PRODUCT(name_, dtype_, M_, N_, K_) \
	PRODUCT_MAJOR(name_, dtype_, M_, N_, K_, TSR_ROW_MAJOR, TSR_ROW_MAJOR)
#define PRODUCT_MAJOR(name_, dtype_, M_, N_, K_, a_major_, b_major_)                               \
	TSR_TILE_MAJOR(name_, dtype_, M_, N_, K_, a_major_, b_major_);                             \
	TSR_FN void keep_##name_(tsr_coop_t *me, name_##_frag_t *acc, tsr_pos_t at, void *ctx)     \
	{                                                                                          \
		product_run_t *run = (product_run_t *)ctx;                                         \
		const int64_t part = run->task++ % run->args->parts;                               \
		if (part + 1 < run->args->parts) {                                                 \
			tsr_frag_save(me, run->args->sums + part * (int64_t)TSR_FRAG_BYTES(name_), \
				      acc);                                                        \
			return;                                                                    \
		}                                                                                  \
		for (int64_t from = 0; from < part; from++)                                        \
			tsr_frag_add(me, acc,                                                      \
				     run->args->sums + from * (int64_t)TSR_FRAG_BYTES(name_));     \
		tsr_tile_store(me, run->args->c, at, acc);                                         \
		tsr_sync(me); /* the next tile's sums go to the same place */                      \
	}                                                                                          \
	TSR_FN void run_##name_(tsr_coop_t *me, const product_args_t *a)                           \
	{                                                                                          \
		product_run_t run = {a, 0};                                                        \
		tsr_tasks_t tasks = {                                                              \
			0, 1, tsr_tiles(a->c.rows, M_) * tsr_tiles(a->c.cols, N_) * a->parts};     \
		if (a->log)                                                                        \
			tsr_gemm(name_, me, a->a, a->b, tasks, product_order, product_gate,        \
				 keep_##name_, &run);                                              \
		else                                                                               \
			tsr_gemm(name_, me, a->a, a->b, tasks, product_order, TSR_NO_GATE,         \
				 keep_##name_, &run);                                              \
	}                                                                                          \
	TSR_KERNEL(block_##name_, product_args_t, a)                                               \
	{                                                                                          \
		run_##name_(block, a);                                                             \
	}                                                                                          \
	TSR_KERNEL_SPLIT(worker_##name_, 2, uint64_t, product_args_t, a)                           \
	{                                                                                          \
		if (tsr_worker_index(worker) == 0)                                                 \
			run_##name_(worker, a);                                                    \
	}
PRODUCT(bf16_128x256x64, bf16, 128, 256, 64)
PRODUCT(bf16_16x16x16, bf16, 16, 16, 16)
#define PRODUCT_MAJORS(dtype_, M_, N_, K_)                                                 \
	PRODUCT_MAJOR(dtype_##_##M_##x##N_##x##K_##_rc, dtype_, M_, N_, K_, TSR_ROW_MAJOR, \
		      TSR_COL_MAJOR)                                                       \
	PRODUCT_MAJOR(dtype_##_##M_##x##N_##x##K_##_cr, dtype_, M_, N_, K_, TSR_COL_MAJOR, \
		      TSR_ROW_MAJOR)                                                       \
	PRODUCT_MAJOR(dtype_##_##M_##x##N_##x##K_##_cc, dtype_, M_, N_, K_, TSR_COL_MAJOR, \
		      TSR_COL_MAJOR)
#if defined(__HIP__)
PRODUCT(bf16_64x64x32, bf16, 64, 64, 32)
PRODUCT(bf16_32x32x16, bf16, 32, 32, 16)
PRODUCT(f16_64x64x32, f16, 64, 64, 32)
PRODUCT(f16_64x96x48, f16, 64, 96, 48)
PRODUCT(f32_64x64x32, f32, 64, 64, 32)
PRODUCT(f32_32x32x16, f32, 32, 32, 16)
PRODUCT_MAJORS(bf16, 64, 64, 32)
PRODUCT_MAJORS(bf16, 16, 16, 16)
PRODUCT_MAJORS(f16, 64, 96, 48)
PRODUCT_MAJORS(f32, 32, 64, 32)
#else /* Hopper's pipeline; two are flat: the transposed product */
PRODUCT(bf16_128x128x64, bf16, 128, 128, 64)
PRODUCT(f16_128x192x64, f16, 128, 192, 64)
PRODUCT(bf16_64x128x64, bf16, 64, 128, 64)
PRODUCT(f16_16x256x64, f16, 16, 256, 64)
PRODUCT_MAJORS(bf16, 128, 128, 64)
PRODUCT_MAJORS(f16, 16, 256, 64)
#endif

typedef void (*entry_fn)(tsr_gpu_context_t, product_args_t);

typedef struct tile {
	const char *name;
	entry_fn entry;
	tsr_dtype_t dtype;
	int m, n, k, threads;
	bool a_turned, b_turned; /* column-major */
} tile_t;

#define TILE(kind_, threads_, dtype_, code_, m_, n_, k_, majors_, a_turned_, b_turned_)            \
	{                                                                                          \
#kind_ " " #dtype_ " " #m_ "x" #n_ "x" #k_ #majors_,                               \
			tsr_entry_##kind_##_##dtype_##_##m_##x##n_##x##k_##majors_, code_, m_, n_, \
			k_, threads_, a_turned_, b_turned_                                         \
	}
#define BLOCK(dtype_, code_, m_, n_, k_) \
	TILE(block, TSR_PORT_BLOCK_THREADS(1), dtype_, code_, m_, n_, k_, , false, false)
#define WORKER(dtype_, code_, m_, n_, k_) \
	TILE(worker, 128, dtype_, code_, m_, n_, k_, , false, false)
#define MAJORS(kind_, threads_, dtype_, code_, m_, n_, k_)                          \
	TILE(kind_, threads_, dtype_, code_, m_, n_, k_, _rc, false, true),         \
		TILE(kind_, threads_, dtype_, code_, m_, n_, k_, _cr, true, false), \
		TILE(kind_, threads_, dtype_, code_, m_, n_, k_, _cc, true, true)

static const tile_t tiles[] = {
	BLOCK(bf16, TSR_BF16, 128, 256, 64),
	BLOCK(bf16, TSR_BF16, 16, 16, 16), /* the plain main loop */
#if defined(__HIP__)
	BLOCK(bf16, TSR_BF16, 64, 64, 32),
	BLOCK(bf16, TSR_BF16, 32, 32, 16),
	BLOCK(f16, TSR_F16, 64, 64, 32),
	BLOCK(f16, TSR_F16, 64, 96, 48),
	BLOCK(f32, TSR_F32, 64, 64, 32),
	BLOCK(f32, TSR_F32, 32, 32, 16),
	WORKER(bf16, TSR_BF16, 64, 64, 32),
	WORKER(bf16, TSR_BF16, 32, 32, 16),
	WORKER(bf16, TSR_BF16, 16, 16, 16),
	WORKER(f16, TSR_F16, 64, 64, 32),
	WORKER(f32, TSR_F32, 64, 64, 32),
	MAJORS(block, TSR_PORT_BLOCK_THREADS(1), bf16, TSR_BF16, 64, 64, 32),
	MAJORS(block, TSR_PORT_BLOCK_THREADS(1), bf16, TSR_BF16, 16, 16, 16),
	MAJORS(block, TSR_PORT_BLOCK_THREADS(1), f16, TSR_F16, 64, 96, 48),
	MAJORS(worker, 128, f32, TSR_F32, 32, 64, 32),
#else
	BLOCK(bf16, TSR_BF16, 128, 128, 64),
	BLOCK(f16, TSR_F16, 128, 192, 64),
	BLOCK(bf16, TSR_BF16, 64, 128, 64),
	BLOCK(f16, TSR_F16, 16, 256, 64),
	MAJORS(block, TSR_PORT_BLOCK_THREADS(1), bf16, TSR_BF16, 128, 128, 64),
	MAJORS(block, TSR_PORT_BLOCK_THREADS(1), f16, TSR_F16, 16, 256, 64),
#endif
};

/**
 * A shape: tiles in each direction and what is added to them, elements between
 * rows and before the first.
 */
typedef struct shape {
	const char *name;
	int tiles_m, tiles_n, tiles_k, more_m, more_n, more_k, pad, offset;
	bool gated, shared, infinite;
	int parts; /* of K; 0: whole */
} shape_t;

static const shape_t shapes[] = {
	{"whole tiles", 1, 2, 3, 0, 0, 0, 0, 0, false, false, false, 0},
	{"one chunk", 1, 1, 1, 0, 0, 0, 0, 0, false, false, false, 0},
	{"edges of whole units, gated", 1, 1, 2, 8, 8, 8, 0, 0, true, false, false, 0},
	{"odd edges, rows that are aligned", 1, 1, 2, 3, 5, 7, 16, 0, false, false, false, 0},
	{"odd everything, gated", 1, 0, 1, 1, 3, 1, 0, 1, true, false, false, 0},
	{"less than a unit of K", 0, 1, 0, 5, 1, 3, 8, 0, true, false, false, 0},
	{"infinity beside the edge", 1, 1, 1, 0, 0, 3, 8, 0, false, false, true, 0},
	{"operands in shared memory", 1, 1, 1, 0, 3, 5, 0, 0, false, true, false, 0},
	{"two parts", 1, 2, 3, 0, 0, 0, 0, 0, false, false, false, 2},
	{"four parts of odd everything, gated", 1, 0, 2, 1, 3, 1, 0, 1, true, false, false, 4},
	{"two parts of one chunk", 1, 1, 1, 0, 0, 0, 0, 0, true, false, false, 2},
};

/* ---- operands of a launch, and what it should give */

enum { OF_A, OF_B };

/**
 * Element (row, col) of an operand. Infinite: the last column of A, by ones of
 * B, so that zeros times it are seen too.
 */
static float element(int kind, const product_args_t *args, bool infinite, int rank, int64_t row,
		     int64_t col)
{
	if (infinite && kind == OF_A && col + 1 == args->depth)
		return __builtin_inff();
	return infinite && kind == OF_B && row + 1 == args->depth
		       ? 1.0f
		       : lockstep_number(kind, row, col, rank);
}

/**
 * Fills a matrix of `rank`; what lies between its rows is not a number, so that
 * nobody may multiply it.
 */
static void fill(int kind, bool turned, const product_args_t *args, bool infinite, char *data,
		 int rank)
{
	tsr_view_t view = kind == OF_A ? args->a : args->b;
	for (int64_t row = 0; row < view.rows; row++)
		for (int64_t col = 0; col < (row + 1 < view.rows ? view.ld : view.cols); col++)
			lockstep_put((tsr_dtype_t)view.dtype, data, row * view.ld + col,
				     col >= view.cols ? __builtin_nanf("")
				     : turned ? element(kind, args, infinite, rank, col, row)
					      : element(kind, args, infinite, rank, row, col));
}

static int wrong_elements(const tile_t *tile, const shape_t *shape, const product_args_t *args,
			  const float *c)
{
	int wrong = 0;
	for (int64_t row = 0; row < args->c.rows; row++)
		for (int64_t col = 0; col < args->c.ld; col++) {
			float want = col < args->c.cols ? 0 : POISON;
			for (int64_t k = 0; k < args->depth && col < args->c.cols; k++) {
				int64_t k0 = k / tile->k * tile->k;
				want += element(OF_A, args, shape->infinite,
						shape->gated ? rank_of_a(k0) : 0, row, k) *
					element(OF_B, args, shape->infinite,
						shape->gated ? rank_of_b(k0) : 0, k, col);
			}
			wrong += c[row * args->c.ld + col] != want;
		}
	return wrong;
}

/** Every chunk of every tile has one gate, in order. */
static int wrong_gates(const tile_t *tile, const product_args_t *args)
{
	const gate_log_t *log = args->log;
	int at = 0;
	for (int64_t row = 0; row < args->c.rows; row += tile->m)
		for (int64_t col = 0; col < args->c.cols; col += tile->n)
			for (int64_t k = 0; k < args->depth; k += tile->k, at++) {
				int64_t end = k + tile->k < args->depth ? k + tile->k : args->depth;
				const gate_call_t *call = &log->call[at];
				if (at >= log->calls || call->row != row || call->col != col ||
				    call->k0 != k || call->k1 != end)
					return 1;
			}
	return at != log->calls;
}

static int run_case(const tile_t *tile, const shape_t *shape)
{
	enum { HEAP_BYTES = 1 << 20 };
	static char *heap[RANKS];
	static float *c;
	alignas(16) static char sums[3 * 128 * 256 * sizeof(float)];
	gate_log_t log = {};
	int64_t m = shape->tiles_m * tile->m + shape->more_m,
		n = shape->tiles_n * tile->n + shape->more_n;
	int64_t k = shape->tiles_k * tile->k + shape->more_k;
	int64_t bytes = tile->dtype == TSR_F32 ? 4 : 2,
		at_b = ((m + shape->pad) * (k + shape->pad) + 64) / 64 * 64;
	for (int rank = 0; rank < RANKS && !heap[rank]; rank++)
		heap[rank] = (char *)aligned_alloc(4096, HEAP_BYTES);
	c = c ? c : (float *)aligned_alloc(4096, HEAP_BYTES);
	char *data_a = heap[0] + shape->offset * bytes, *data_b = data_a + at_b * bytes;
	int32_t space = shape->shared ? TSR_SPACE_SHARED : TSR_SPACE_HEAP;
	const tsr_view_t a = {data_a, m, k, k + shape->pad, tile->dtype, space},
			 a_turned = {data_a, k, m, m + shape->pad, tile->dtype, space};
	const tsr_view_t b = {data_b, k, n, n + shape->pad, tile->dtype, space},
			 b_turned = {data_b, n, k, k + shape->pad, tile->dtype, space};
	product_args_t args = {tile->a_turned ? a_turned : a,
			       tile->b_turned ? b_turned : b,
			       {c, m, n, n + shape->pad, TSR_F32, TSR_SPACE_HEAP},
			       tile->m,
			       tile->n,
			       tile->k,
			       shape->gated ? &log : nullptr,
			       k,
			       shape->parts ? shape->parts : 1,
			       sums};
	for (int64_t i = 0; i < m * args.c.ld; i++)
		c[i] = POISON;
	for (int rank = 0; rank < RANKS; rank++) {
		fill(OF_A, tile->a_turned, &args, shape->infinite, heap[rank] + (data_a - heap[0]),
		     rank);
		fill(OF_B, tile->b_turned, &args, shape->infinite, heap[rank] + (data_b - heap[0]),
		     rank);
	}
	tsr_gpu_context_t context = {};
	context.size = RANKS;
	context.blocks = 1;
	int64_t peer_offset[RANKS];
	for (int rank = 0; rank < RANKS; rank++)
		peer_offset[rank] = heap[rank] - heap[0];
	context.peer_offset = peer_offset;
	lockstep_give_workspace(&context);
	lockstep_run(tile->entry, tile->threads, CONSUMERS ? CONSUMERS : tile->threads, &context,
		     &args);
	int wrong = wrong_elements(tile, shape, &args, c),
	    gates = shape->gated && wrong_gates(tile, &args);
	if (wrong || gates)
		printf("%s, %s: %d wrong elements%s\n", tile->name, shape->name, wrong,
		       gates ? ", gates not as the contract says" : "");
	return wrong || gates;
}

int main(int argc, char **argv)
{
	int failed = 0, run = 0;
	for (const tile_t &tile : tiles)
		for (const shape_t &shape : shapes) {
			if (argc > 1 && !strstr(tile.name, argv[1]))
				continue;
			failed += run_case(&tile, &shape);
			run++;
		}
	printf("%d of %d products right\n", run - failed, run);
	return failed != 0 || run == 0;
}
