/*
 * The plain main loop of attention and the calls on states, with the layouts of
 * both ports, lane by lane on the CPU: compared with a softmax in double, at the
 * edges of tiles, causal and not, in one piece and in three that are merged in
 * the three ways that there are. ci/checks/lockstep runs it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TSR_UNIT "lockstep"
#include "tessera/dev.h"

#include "block.h"

#if defined(__HIP__)
enum { BLOCK_THREADS = TSR_HIP_SOLE_THREADS, CONSUMERS = BLOCK_THREADS };
#else
enum { BLOCK_THREADS = TSR_CUDA_MAIN_THREADS, CONSUMERS = TSR_CUDA_CONSUMER_THREADS };
#endif

enum { QUERIES = 67, MOST_KEYS = 523, PARTS = 3, MOST_BYTES = 1 << 18 };

typedef struct attend_args {
	tsr_view_t q, k, v, o, lse, part_o, part_lse;
	void *saved[PARTS];
	float scale;
	int keys, parts, causal, diagonal, group;
} attend_args_t;

typedef struct attend_run {
	const attend_args_t *args;
	int64_t m, done;
} attend_run_t;

/* The parts of a tile one after the other. */
TSR_FN tsr_span_t attend_span(int64_t task, const void *ctx)
{
	const attend_run_t *run = (const attend_run_t *)ctx;
	const attend_args_t *a = run->args;
	const int64_t part = task % a->parts, row = task / a->parts * run->m;
	const tsr_span_t span = {{row, 0},
				 {0, 0},
				 QUERIES - row,
				 a->keys * part / a->parts,
				 a->keys * (part + 1) / a->parts,
				 a->causal,
				 a->group,
				 row,
				 a->diagonal};
	return span;
}

/* Part 0 is saved and loaded by part 1, whose output part 2 merges with its own, saved. */
#define ATTEND(name_, dtype_, M_, N_, D_)                                                         \
	TSR_ATTEND_TILE(name_, dtype_, M_, N_, D_);                                               \
	TSR_FN void start_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t, void *ctx)  \
	{                                                                                         \
		const attend_run_t *run = (const attend_run_t *)ctx;                              \
		if (run->done % run->args->parts == 1)                                            \
			tsr_state_load(me, state, run->args->saved[0]);                           \
		else                                                                              \
			tsr_state_neutral(me, state);                                             \
	}                                                                                         \
	TSR_FN void store_##name_(tsr_coop_t *me, const name_##_state_t *state, tsr_view_t o,     \
				  tsr_view_t lse, tsr_pos_t at)                                   \
	{                                                                                         \
		TSR_FRAG(name_, out, me);                                                         \
		TSR_FRAG_ROWS(name_, logarithms, me);                                             \
		tsr_state_finish(me, state, out, logarithms);                                     \
		tsr_tile_store(me, o, at, (const name_##_frag_t *)out);                           \
		tsr_rows_store(me, lse, at, (const name_##_rows_t *)logarithms, 0);               \
	}                                                                                         \
	TSR_FN void keep_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,         \
				 void *ctx)                                                       \
	{                                                                                         \
		attend_run_t *run = (attend_run_t *)ctx;                                          \
		const attend_args_t *a = run->args;                                               \
		const int64_t part = run->done++ % a->parts;                                      \
		if (part == a->parts - 1 && a->parts > 1) {                                       \
			tsr_state_save(me, a->saved[2], state);                                   \
			tsr_state_neutral(me, state);                                             \
			tsr_state_merge_output(me, state, a->part_o, span.q, a->part_lse, span.q, \
					       0);                                                \
			tsr_state_merge_saved(me, state, a->saved[2]);                            \
		}                                                                                 \
		if (part == a->parts - 1)                                                         \
			store_##name_(me, state, a->o, a->lse, span.q);                           \
		else if (part == 0)                                                               \
			tsr_state_save(me, a->saved[0], state);                                   \
		else                                                                              \
			store_##name_(me, state, a->part_o, a->part_lse, span.q);                 \
		tsr_sync(me);                                                                     \
	}                                                                                         \
	TSR_KERNEL(attend_##name_, attend_args_t, args)                                           \
	{                                                                                         \
		attend_run_t run = {args, M_, 0};                                                 \
		const tsr_tasks_t tasks = {0, 1, tsr_tiles(QUERIES, M_) * args->parts};           \
		tsr_attend(name_, block, args->q, args->k, args->v, args->scale, tasks,           \
			   attend_span, TSR_NO_KEYS_GATE, start_##name_, keep_##name_, &run);     \
	}
ATTEND(bf16_128x64x64, bf16, 128, 64, 64)
ATTEND(f16_32x16x64, f16, 32, 16, 64)
ATTEND(f32_64x32x16, f32, 64, 32, 16)
ATTEND(f16_16x64x128, f16, 16, 64, 128) /* CUDA's loop for few queries */
ATTEND(bf16_16x64x64, bf16, 16, 64, 64)

typedef void (*entry_fn)(tsr_gpu_context_t, attend_args_t);

typedef struct tile {
	const char *name;
	entry_fn entry;
	tsr_dtype_t dtype;
	int d, keys;
	double rounding;
} tile_t;

static const tile_t tiles[] = {
	{"bf16 128x64x64", tsr_entry_attend_bf16_128x64x64, TSR_BF16, 64, 45, 0x1p-7},
	{"f16 32x16x64", tsr_entry_attend_f16_32x16x64, TSR_F16, 64, 45, 0x1p-10},
	{"f32 64x32x16", tsr_entry_attend_f32_64x32x16, TSR_F32, 16, 45, 0x1p-18},
	/* of few queries a warp has several steps, and the last is not whole */
	{"f16 16x64x128", tsr_entry_attend_f16_16x64x128, TSR_F16, 128, MOST_KEYS, 0x1p-10},
	{"bf16 16x64x64", tsr_entry_attend_bf16_16x64x64, TSR_BF16, 64, 389, 0x1p-7},
};

static int wrong_in_row(const tile_t *tile, const attend_args_t *a, int row, const float *o,
			float lse)
{
	const int own = row / a->group + a->diagonal + 1,
		  limit = a->causal && own < a->keys ? own : a->keys;
	double p[MOST_KEYS], top = -INFINITY, sum = 0;
	int wrong = 0;
	for (int key = 0; key < limit; key++) {
		p[key] = 0;
		for (int d = 0; d < tile->d; d++)
			p[key] += (double)lockstep_number(0, row, d) *
				  (double)lockstep_number(1, key, d);
		p[key] *= (double)a->scale;
		top = fmax(top, p[key]);
	}
	for (int key = 0; key < limit; key++)
		sum += p[key] = exp(p[key] - top);
	for (int d = 0; d < tile->d; d++) {
		double want = 0, weight = 0;
		for (int key = 0; key < limit; key++) {
			const double x = p[key] / sum * (double)lockstep_number(2, key, d);
			want += x;
			weight += fabs(x);
		}
		/* factors of f16 are multiples of 2^-24, and values are 4 at most */
		const double small = tile->dtype == TSR_F16 ? a->keys * 0x1p-24 * 4 : 0;
		wrong += !(fabs((double)o[d] - want) <= tile->rounding * weight + small);
	}
	if (limit <= 0)
		return wrong + (lse != -INFINITY);
	return wrong + !(fabs((double)lse - top - log(sum)) <= 1e-4);
}

static char memory[12][MOST_BYTES] __attribute__((aligned(16)));

static int run_case(const tile_t *tile, int parts, int causal, int diagonal, int group)
{
	const int d = tile->d;
	const int32_t dtype = tile->dtype, heap = TSR_SPACE_HEAP;
	const attend_args_t args = {{memory[0], QUERIES, d, d, dtype, heap},
				    {memory[1], tile->keys, d, d, dtype, heap},
				    {memory[2], tile->keys, d, d, dtype, heap},
				    {memory[3], QUERIES, d, d, TSR_F32, heap},
				    {memory[4], QUERIES, 1, 1, TSR_F32, heap},
				    {memory[5], QUERIES, d, d, TSR_F32, heap},
				    {memory[6], QUERIES, 1, 1, TSR_F32, heap},
				    {memory[7], memory[8], memory[9]},
				    0.125f,
				    tile->keys,
				    parts,
				    causal,
				    diagonal,
				    group};
	for (int row = 0; row < QUERIES; row++)
		for (int col = 0; col < d; col++)
			lockstep_put(tile->dtype, memory[0], row * d + col,
				     lockstep_number(0, row, col));
	for (int which = 1; which < 3; which++)
		for (int row = 0; row < tile->keys; row++)
			for (int col = 0; col < d; col++)
				lockstep_put(tile->dtype, memory[which], row * d + col,
					     lockstep_number(which, row, col));
	for (int which = 3; which < 10; which++)
		memset(memory[which], 0xff, MOST_BYTES);
	tsr_gpu_context_t context = {};
	int64_t peer_offset[1] = {0};
	context.size = context.blocks = 1;
	context.peer_offset = peer_offset;
	lockstep_run(tile->entry, BLOCK_THREADS, CONSUMERS, &context, &args);
	int wrong = 0;
	for (int row = 0; row < QUERIES; row++)
		wrong += wrong_in_row(tile, &args, row, (const float *)memory[3] + row * d,
				      ((const float *)memory[4])[row]);
	if (wrong)
		printf("%s, %d parts, causal %d at %d, groups of %d: %d wrong elements\n",
		       tile->name, parts, causal, diagonal, group, wrong);
	return wrong != 0;
}

int main(void)
{
	int failed = 0, run = 0;
	for (const tile_t &tile : tiles) {
		failed += run_case(&tile, 1, 0, 0, 1) + run_case(&tile, PARTS, 0, 0, 1) +
			  run_case(&tile, 1, 1, -7, 1) + run_case(&tile, PARTS, 1, 20, 3);
		run += 4;
	}
	printf("%d of %d attentions right\n", run - failed, run);
	return failed != 0;
}
