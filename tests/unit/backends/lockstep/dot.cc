/*
 * The products of fragments of both ports, run lane by lane on the CPU
 * (hip/dev/port.h and cuda/dev/port.h beside this): whole numbers, compared with
 * the plain product, of tiles that the matrix cores take, as they are and at a
 * view's edges, with the right operand transposed and not. ci/checks/lockstep
 * runs it.
 */
#include <stdio.h>
#include <string.h>

#define TSR_UNIT "lockstep"
#include "tessera/dev.h"

#include "block.h"

#if defined(__HIP__)
enum {
	BLOCK_THREADS = TSR_HIP_SOLE_THREADS,
	MOST_THREADS = BLOCK_THREADS,
	SPLIT_THREADS = TSR_HIP_BLOCK_THREADS(2)
};
#else
enum {
	BLOCK_THREADS = TSR_CUDA_MAIN_THREADS,
	MOST_THREADS = TSR_CUDA_WIDE_THREADS,
	SPLIT_THREADS = TSR_CUDA_BLOCK_THREADS(2)
};
#endif

enum { POISON = -12345, MOST = 1 << 16 };

typedef struct dot_args {
	tsr_view_t a, b, c;
	int transposed;
} dot_args_t;

TSR_FN float doubled(float x, int64_t, int64_t, const void *)
{
	return 2 * x;
}

/* A is doubled, and stored where it stands: several waves hold it, and none loads it later. */
#define DOT(name_, dtype_, M_, N_, K_)                                  \
	TSR_TILE(name_, dtype_, M_, N_, K_);                            \
	TSR_FN void run_##name_(tsr_coop_t *me, const dot_args_t *args) \
	{                                                               \
		const tsr_pos_t origin = {0, 0};                        \
		TSR_FRAG(name_, acc, me);                               \
		tsr_frag_zero(me, acc);                                 \
		for (int64_t k = 0; k < args->a.cols; k += K_) {        \
			const tsr_pos_t at_a = {0, k}, at_b = {k, 0};   \
			TSR_FRAG_A(name_, a, me);                       \
			TSR_FRAG_B(name_, b, me);                       \
			TSR_FRAG_BT(name_, bt, me);                     \
			tsr_tile_load(me, a, args->a, at_a);            \
			tsr_frag_map(me, a, at_a, doubled, nullptr);    \
			tsr_tile_store(me, args->a, at_a, a);           \
			if (args->transposed) {                         \
				tsr_tile_load(me, bt, args->b, at_a);   \
				tsr_tile_dot_bt(me, acc, a, bt);        \
			} else {                                        \
				tsr_tile_load(me, b, args->b, at_b);    \
				tsr_tile_dot(me, acc, a, b);            \
			}                                               \
		}                                                       \
		tsr_tile_store(me, args->c, origin, acc);               \
	}                                                               \
	TSR_KERNEL(block_##name_, dot_args_t, args)                     \
	{                                                               \
		run_##name_(block, args);                               \
	}                                                               \
	TSR_KERNEL_SPLIT(worker_##name_, 2, uint64_t, dot_args_t, args) \
	{                                                               \
		if (tsr_worker_index(worker) == 1)                      \
			run_##name_(worker, args);                      \
	}
#if !defined(__HIP__)
/* A main loop's consumers; and a block of all threads that there can be. */
#define CONSUMERS(name_)                                       \
	TSR_KERNEL(consumers_##name_, dot_args_t, args)        \
	{                                                      \
		tsr_coop_t me = *block;                        \
		me.threads = TSR_CUDA_CONSUMER_THREADS;        \
		me.whole = 0;                                  \
		if (block->thread < TSR_CUDA_CONSUMER_THREADS) \
			run_##name_(&me, args);                \
	}
#define WIDE(name_)                                     \
	TSR_KERNEL_WIDE(wide_##name_, dot_args_t, args) \
	{                                               \
		run_##name_(block, args);               \
	}
DOT(bf16_128x128x64, bf16, 128, 128, 64)
CONSUMERS(bf16_128x128x64)
DOT(bf16_16x128x64, bf16, 16, 128, 64)
CONSUMERS(bf16_16x128x64)
DOT(bf16_33x17x5, bf16, 33, 17, 5)
DOT(f16_80x24x48, f16, 80, 24, 48)
WIDE(f16_80x24x48)
#endif
DOT(bf16_64x64x64, bf16, 64, 64, 64)
DOT(bf16_32x128x16, bf16, 32, 128, 16)
DOT(f16_64x96x48, f16, 64, 96, 48)
DOT(f32_64x32x16, f32, 64, 32, 16)
DOT(bf16_16x16x16, bf16, 16, 16, 16)

typedef void (*entry_fn)(tsr_gpu_context_t, dot_args_t);

typedef struct tile {
	const char *name;
	entry_fn entry;
	tsr_dtype_t dtype;
	int m, n, k, threads;
} tile_t;

#define ENTRY(coop_, dtype_, code_, m_, n_, k_, threads_)                                     \
	{                                                                                     \
#coop_ " " #dtype_ " " #m_ "x" #n_ "x" #k_,                                   \
			tsr_entry_##coop_##_##dtype_##_##m_##x##n_##x##k_, code_, m_, n_, k_, \
			threads_                                                              \
	}
#define TILE(dtype_, code_, m_, n_, k_)                         \
	ENTRY(block, dtype_, code_, m_, n_, k_, BLOCK_THREADS), \
		ENTRY(worker, dtype_, code_, m_, n_, k_, SPLIT_THREADS)

static const tile_t tiles[] = {
	TILE(bf16, TSR_BF16, 64, 64, 64),
	TILE(bf16, TSR_BF16, 32, 128, 16),
	TILE(f16, TSR_F16, 64, 96, 48),
	TILE(f32, TSR_F32, 64, 32, 16),
	TILE(bf16, TSR_BF16, 16, 16, 16),
#if !defined(__HIP__)
	TILE(bf16, TSR_BF16, 128, 128, 64),
	TILE(bf16, TSR_BF16, 33, 17, 5),
	TILE(f16, TSR_F16, 80, 24, 48),
	ENTRY(consumers, bf16, TSR_BF16, 128, 128, 64, BLOCK_THREADS),
	ENTRY(consumers, bf16, TSR_BF16, 16, 128, 64, BLOCK_THREADS),
	ENTRY(wide, f16, TSR_F16, 80, 24, 48, MOST_THREADS),
#endif
};

static float get(tsr_dtype_t dtype, const char *at, int64_t index)
{
	uint16_t half;
	float x;
	memcpy(&half, at + index * 2, 2);
	memcpy(&x, dtype == TSR_F32 ? at + index * 4 : at, 4);
	return dtype == TSR_F32   ? x
	       : dtype == TSR_F16 ? tsr_port_widen_f16(half)
				  : __builtin_bit_cast(float, (uint32_t)half << 16);
}

/**
 * `less` rows and columns are cut off the last tile of each extent, and rows lie
 * `pad` elements further apart.
 */
static int run_case(const tile_t *tile, int less, int pad, int transposed)
{
	alignas(16) static char a[MOST], b[MOST];
	alignas(16) static float c[MOST / 4];
	const int m = tile->m - less, n = tile->n - less, k = 2 * tile->k - less;
	dot_args_t args = {{a, m, k, k + pad, tile->dtype, TSR_SPACE_HEAP},
			   {},
			   {c, m, n, n + pad, TSR_F32, TSR_SPACE_HEAP},
			   transposed};
	const int b_rows = transposed ? n : k, b_cols = transposed ? k : n;
	int wrong = 0;
	args.b = {b, b_rows, b_cols, b_cols + pad, tile->dtype, TSR_SPACE_HEAP};
	for (int row = 0; row < m; row++)
		for (int col = 0; col < k; col++)
			lockstep_put(tile->dtype, a, row * (k + pad) + col,
				     lockstep_number(0, row, col));
	for (int row = 0; row < b_rows; row++)
		for (int col = 0; col < b_cols; col++)
			lockstep_put(tile->dtype, b, row * (b_cols + pad) + col,
				     lockstep_number(1, row, col));
	for (int i = 0; i < m * (n + pad); i++)
		c[i] = POISON;
	tsr_gpu_context_t context = {};
	int64_t peer_offset[1] = {0};
	context.size = context.blocks = 1;
	context.peer_offset = peer_offset;
	const bool consumers = strncmp(tile->name, "consumers", 9) == 0;
	lockstep_run(tile->entry, tile->threads, consumers ? 256 : 128, &context, &args);
	for (int row = 0; row < m; row++) {
		for (int col = 0; col < n + pad; col++) {
			float want = col < n ? 0 : POISON;
			for (int i = 0; i < k && col < n; i++)
				want += 2 * lockstep_number(0, row, i) *
					(transposed ? lockstep_number(1, col, i)
						    : lockstep_number(1, i, col));
			wrong += c[row * (n + pad) + col] != want;
		}
		for (int col = 0; col < k; col++)
			wrong += get(tile->dtype, a, row * (k + pad) + col) !=
				 2 * lockstep_number(0, row, col);
	}
	if (wrong)
		printf("%s, %d less, pad %d, transposed %d: %d wrong elements\n", tile->name, less,
		       pad, transposed, wrong);
	return wrong != 0;
}

int main(void)
{
	int failed = 0, run = 0;
	for (const tile_t &tile : tiles)
		for (int transposed = 0; transposed < 2; transposed++) {
			failed += run_case(&tile, 0, 0, transposed) +
				  run_case(&tile, 3, 5, transposed);
			run += 2;
		}
	printf("%d of %d products of fragments right\n", run - failed, run);
	return failed != 0;
}
