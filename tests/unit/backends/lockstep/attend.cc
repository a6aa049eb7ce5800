/*
 * The main loops of attention and the calls on states, with the layouts of both
 * ports, lane by lane on the CPU: compared with a softmax in double, at the edges
 * of tiles and of views, causal and not, with a gate and without, in one piece and
 * in three that are merged in the three ways that there are. What is NaN reaches the
 * queries that see it, and no other. The plain loop, CUDA's
 * of few queries and that of Hopper's pipeline, and HIP's on matrix cores.
 * ci/checks/lockstep runs it.
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

enum { MOST_KEYS = 523, PARTS = 3, MOST_BYTES = 1 << 18 };

typedef struct attend_args {
	tsr_view_t q, k, v, o, lse, part_o, part_lse;
	void *saved[PARTS];
	float scale;
	int col; /* of the head */
	int keys, parts, causal, diagonal, group;
	int continues; /* the task of a part goes on with the state of the part before */
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
	const tsr_span_t span = {{row, a->col},
				 {0, a->col},
				 a->q.rows - row,
				 a->keys * part / a->parts,
				 a->keys * (part + 1) / a->parts,
				 a->causal,
				 a->group,
				 row,
				 a->diagonal};
	return span;
}

/*
 * What the gates of a launch were called for: its leading thread notes it, by
 * atomics, so that the compiler does not read it for the other threads.
 */
static int64_t gated_keys, gated_to, wrong_gates;

TSR_DEV void note(int64_t *count, int64_t more)
{
	__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

/* Two runs pass at a time. A span begins with its first key, and they follow each other. */
template <int KEYS>
TSR_DEV tsr_keys_from_t attend_gate(tsr_coop_t *loader, tsr_span_t run, const void *ctx)
{
	const attend_args_t *a = ((const attend_run_t *)ctx)->args;
	const tsr_keys_from_t from = {tsr_rank(loader), run.k0 + 2 * KEYS};
	if (loader->thread != 0)
		return from;
	bool expected = run.k0 == __atomic_exchange_n(&gated_to, from.until, __ATOMIC_RELAXED);
	for (int part = 0; part < a->parts; part++)
		expected = expected || run.k0 == a->keys * part / a->parts;
	note(&wrong_gates, !expected || run.k1 <= run.k0 || run.k1 - run.k0 > KEYS);
	note(&gated_keys, run.k1 - run.k0);
	return from;
}

/* Part 0 is saved and loaded by part 1, whose output part 2 merges with its own, saved. */
#define ATTEND(name_, dtype_, M_, N_, D_, gate_)                                                   \
	TSR_ATTEND_TILE(name_, dtype_, M_, N_, D_);                                                \
	TSR_FN void start_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t, void *ctx)   \
	{                                                                                          \
		const attend_run_t *run = (const attend_run_t *)ctx;                               \
		const int64_t part = run->done % run->args->parts;                                 \
		if (run->args->continues && part > 0)                                              \
			return;                                                                    \
		if (part == 1)                                                                     \
			tsr_state_load(me, state, run->args->saved[0]);                            \
		else                                                                               \
			tsr_state_neutral(me, state);                                              \
	}                                                                                          \
	TSR_FN void store_##name_(tsr_coop_t *me, const name_##_state_t *state, tsr_view_t o,      \
				  tsr_view_t lse, tsr_pos_t at)                                    \
	{                                                                                          \
		TSR_FRAG(name_, out, me);                                                          \
		TSR_FRAG_ROWS(name_, logarithms, me);                                              \
		tsr_state_finish(me, state, out, logarithms);                                      \
		tsr_tile_store(me, o, at, (const name_##_frag_t *)out);                            \
		tsr_rows_store(me, lse, at, (const name_##_rows_t *)logarithms, 0);                \
	}                                                                                          \
	TSR_FN void keep_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,          \
				 void *ctx)                                                        \
	{                                                                                          \
		attend_run_t *run = (attend_run_t *)ctx;                                           \
		const attend_args_t *a = run->args;                                                \
		const int64_t part = run->done++ % a->parts;                                       \
		const tsr_pos_t at = {span.q.row, 0};                                              \
		if (a->continues && part < a->parts - 1)                                           \
			return;                                                                    \
		if (part == a->parts - 1 && a->parts > 1 && !a->continues) {                       \
			tsr_state_save(me, a->saved[2], state);                                    \
			tsr_state_neutral(me, state);                                              \
			tsr_state_merge_output(me, state, a->part_o, at, a->part_lse, at, 0);      \
			tsr_state_merge_saved(me, state, a->saved[2]);                             \
		}                                                                                  \
		if (part == a->parts - 1)                                                          \
			store_##name_(me, state, a->o, a->lse, at);                                \
		else if (part == 0)                                                                \
			tsr_state_save(me, a->saved[0], state);                                    \
		else                                                                               \
			store_##name_(me, state, a->part_o, a->part_lse, at);                      \
		tsr_sync(me);                                                                      \
	}                                                                                          \
	TSR_KERNEL(attend_##name_, attend_args_t, args)                                            \
	{                                                                                          \
		attend_run_t run = {args, M_, 0};                                                  \
		const tsr_tasks_t tasks = {0, 1, tsr_tiles(args->q.rows, M_) * args->parts};       \
		/* the second time in shared memory that another loop has left */                  \
		const int times = args->parts == 1 && gate_ == TSR_NO_KEYS_GATE ? 2 : 1;           \
		for (int time = 0; time < times; time++)                                           \
			if (args->parts == 1)                                                      \
				tsr_attend(name_, block, args->q, args->k, args->v, args->scale,   \
					   tasks, attend_span, gate_, TSR_NO_START, keep_##name_,  \
					   &run);                                                  \
			else                                                                       \
				tsr_attend(name_, block, args->q, args->k, args->v, args->scale,   \
					   tasks, attend_span, gate_, start_##name_, keep_##name_, \
					   &run);                                                  \
	}
ATTEND(bf16_128x64x64, bf16, 128, 64, 64, TSR_NO_KEYS_GATE)
ATTEND(f16_32x16x64, f16, 32, 16, 64, TSR_NO_KEYS_GATE)
ATTEND(f32_64x32x16, f32, 64, 32, 16, attend_gate<32>)
ATTEND(f16_16x64x128, f16, 16, 64, 128, TSR_NO_KEYS_GATE) /* CUDA's loop for few queries */
ATTEND(bf16_16x64x64, bf16, 16, 64, 64, TSR_NO_KEYS_GATE)
/* on matrix cores and in Hopper's pipeline, as the first */
ATTEND(f16_128x128x64, f16, 128, 128, 64, attend_gate<128>)
ATTEND(bf16_128x128x128, bf16, 128, 128, 128, TSR_NO_KEYS_GATE)
ATTEND(f16_128x32x128, f16, 128, 32, 128, attend_gate<32>)

typedef void (*entry_fn)(tsr_gpu_context_t, attend_args_t);

typedef struct tile {
	const char *name;
	entry_fn entry;
	tsr_dtype_t dtype;
	int m, queries, d, keys;
	int step; /* keys of a run, behind a gate; 0: there is none */
	double rounding;
} tile_t;

static const tile_t tiles[] = {
	{"bf16 128x64x64", tsr_entry_attend_bf16_128x64x64, TSR_BF16, 128, 67, 64, 45, 0, 0x1p-7},
	{"f16 32x16x64", tsr_entry_attend_f16_32x16x64, TSR_F16, 32, 67, 64, 45, 0, 0x1p-10},
	{"f32 64x32x16", tsr_entry_attend_f32_64x32x16, TSR_F32, 64, 67, 16, 45, 32, 0x1p-18},
	/* of few queries a warp has several steps, and the last is not whole */
	{"f16 16x64x128", tsr_entry_attend_f16_16x64x128, TSR_F16, 16, 67, 128, MOST_KEYS, 0,
	 0x1p-10},
	{"bf16 16x64x64", tsr_entry_attend_bf16_16x64x64, TSR_BF16, 16, 67, 64, 389, 0, 0x1p-7},
	{"f16 128x128x64", tsr_entry_attend_f16_128x128x64, TSR_F16, 128, 133, 64, 269, 128,
	 0x1p-10},
	{"bf16 128x128x128", tsr_entry_attend_bf16_128x128x128, TSR_BF16, 128, 133, 128, 163, 0,
	 0x1p-7},
	{"f16 128x32x128", tsr_entry_attend_f16_128x32x128, TSR_F16, 128, 131, 128, 127, 32,
	 0x1p-10},
};

/*
 * Parts of the keys; the mask; columns on the left of the head, and behind it; as
 * above; and in which eighth of the keys one's value is NaN, from 1 on: 0: in none.
 */
typedef struct attend_case {
	int parts, causal, diagonal, group, left, right, continues, nan;
} attend_case_t;

static const attend_case_t cases[] = {
	{1, 0, 0, 1, 0, 0, 0, 0},      {PARTS, 0, 0, 1, 8, 0, 0, 0},
	{1, 1, -7, 1, 0, 16, 0, 0},    {1, 1, 20, 1, 8, 3, 0, 0}, /* rows are not aligned */
	{PARTS, 1, 20, 3, 0, 0, 0, 0}, {PARTS, 0, 0, 1, 0, 0, 1, 0},
	{1, 1, -130, 1, 0, 0, 0, 0}, /* the first tile of 128 queries sees no keys */
	{1, 1, -7, 1, 0, 0, 0, 1},     {1, 1, 20, 1, 8, 3, 0, 3},
	{PARTS, 1, 20, 1, 0, 0, 0, 4}, {1, 1, 100, 3, 0, 0, 0, 8},
	{PARTS, 0, 0, 1, 0, 0, 1, 8},
};

/* The key whose value is NaN in column 1; -1: none. */
static int nan_key(const attend_case_t *c, int keys)
{
	return c->nan ? keys * c->nan / 8 - 1 : -1;
}

static int wrong_in_row(const tile_t *tile, const attend_args_t *a, int row, int bad_key,
			const float *o, float lse)
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
		if (d == 1 && bad_key >= 0 && bad_key < limit) {
			wrong += o[d] == o[d];
			continue;
		}
		for (int key = 0; key < limit; key++) {
			const double x = p[key] / sum * (double)lockstep_number(2, key, d);
			want += x;
			weight += fabs(x);
		}
		/* factors of f16 are multiples of 2^-24, those of bf16 below 2^-126 may be zeros;
		 * and values are 4 at most */
		const double small = a->keys * (tile->dtype == TSR_F16 ? 0x1p-24 : 0x1p-126) * 4;
		wrong += !(fabs((double)o[d] - want) <= tile->rounding * weight + small);
	}
	if (limit <= 0)
		return wrong + (lse != -INFINITY);
	return wrong + !(fabs((double)lse - top - log(sum)) <= 1e-4);
}

static char memory[12][MOST_BYTES] __attribute__((aligned(16)));

/* Poison: where no element is there are no numbers. */
static void fill_operands(const tile_t *tile, const attend_args_t *a, int bad_key)
{
	const tsr_view_t view[] = {a->q, a->k, a->v};
	for (int which = 0; which < 10; which++)
		memset(memory[which], 0xff, MOST_BYTES);
	for (int which = 0; which < 3; which++)
		for (int row = 0; row < view[which].rows; row++)
			for (int col = 0; col < tile->d; col++)
				lockstep_put(tile->dtype, memory[which],
					     row * view[which].ld + a->col + col,
					     which == 2 && row == bad_key && col == 1
						     ? (float)NAN
						     : lockstep_number(which, row, col));
}

static attend_args_t args_of(const tile_t *tile, const attend_case_t *c, int keys)
{
	const int d = tile->d, queries = tile->queries, ld = c->left + d + c->right;
	const int32_t dtype = tile->dtype, heap = TSR_SPACE_HEAP;
	const attend_args_t args = {{memory[0], queries, c->left + d, ld, dtype, heap},
				    {memory[1], keys, c->left + d, ld, dtype, heap},
				    {memory[2], keys, c->left + d, ld, dtype, heap},
				    {memory[3], queries, d, d, TSR_F32, heap},
				    {memory[4], queries, 1, 1, TSR_F32, heap},
				    {memory[5], queries, d, d, TSR_F32, heap},
				    {memory[6], queries, 1, 1, TSR_F32, heap},
				    {memory[7], memory[8], memory[9]},
				    0.125f,
				    c->left,
				    keys,
				    c->parts,
				    c->causal,
				    c->diagonal,
				    c->group,
				    c->continues};
	return args;
}

/* The keys that a launch calls gates for: those of every second run. */
static int64_t keys_to_gate(const tile_t *tile, const attend_args_t *args)
{
	const attend_run_t run = {args, tile->m, 0};
	int64_t keys = 0;
	for (int64_t task = 0; task < tsr_tiles(tile->queries, tile->m) * args->parts; task++) {
		const tsr_span_t span =
			tsr_span_cut(attend_span(task, &run), tile->m, args->k.rows);
		for (int64_t k = span.k0; tile->step && k < span.k1; k += 2 * tile->step)
			keys += k + tile->step < span.k1 ? tile->step : span.k1 - k;
	}
	return keys;
}

static int run_case(const tile_t *tile, const attend_case_t *c, int keys)
{
	const attend_args_t args = args_of(tile, c, keys);
	const int bad_key = nan_key(c, keys);
	fill_operands(tile, &args, bad_key);
	tsr_gpu_context_t context = {};
	int64_t peer_offset[1] = {0};
	context.size = context.blocks = 1;
	context.peer_offset = peer_offset;
	lockstep_give_workspace(&context);
	gated_keys = wrong_gates = 0;
	gated_to = -1;
	lockstep_run(tile->entry, BLOCK_THREADS, CONSUMERS, &context, &args);
	int wrong = (int)wrong_gates + (gated_keys != keys_to_gate(tile, &args));
	for (int row = 0; row < tile->queries; row++)
		wrong += wrong_in_row(tile, &args, row, bad_key,
				      (const float *)memory[3] + row * tile->d,
				      ((const float *)memory[4])[row]);
	if (wrong)
		printf("%s, %d keys in %d parts, causal %d at %d, groups of %d, between %d and %d"
		       " columns, NaN at key %d: %d wrong elements\n",
		       tile->name, keys, c->parts, c->causal, c->diagonal, c->group, c->left,
		       c->right, bad_key, wrong);
	return wrong != 0;
}

int main(void)
{
	int failed = 0, run = 0;
	for (const tile_t &tile : tiles) {
		for (const attend_case_t &c : cases) {
			failed += run_case(&tile, &c, tile.keys);
			run++;
		}
		failed += run_case(&tile, &cases[1], 2); /* one part has no keys */
		run++;
	}
	printf("%d of %d attentions right\n", run - failed, run);
	return failed != 0;
}
