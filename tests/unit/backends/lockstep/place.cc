/*
 * Placements, scattered puts and sums of rows of both ports, run lane by lane on
 * the CPU (hip/dev/port.h and cuda/dev/port.h beside this), by blocks, workers
 * and parts of a split block: keys are sorted by their places, and what comes
 * out is compared with what a plain loop makes. ci/checks/lockstep runs it.
 */
#include <stdio.h>
#include <string.h>

#define TSR_UNIT "lockstep"
#include "tessera/dev.h"

#include "block.h"

enum { MOST_KEYS = 2047, MOST_BINS = 257, ROWS = 9, MOST_COLS = 203, MOST_SUMMED = 9 };
enum { POISON = -12345 };

/* shared memory of the one block; the heap of the one rank is anywhere */
static int32_t keys[MOST_KEYS], places[MOST_KEYS], numbers[MOST_KEYS], totals[MOST_BINS];
static int32_t sorted[MOST_KEYS];

typedef struct place_args {
	int32_t count, bins;
	bool in_place, counts_alone;
	tsr_view_t dst, src;
	int32_t summed;
	bool weighed;
	const int32_t *rows;
	const float *weights;
} place_args_t;

/** About an eighth has no place; runs of one key, and all keys of a warp. */
TSR_FN int32_t key_of(int i, int bins)
{
	const uint32_t mixed = (uint32_t)(i % 3 ? i : i / 100) * 2654435761u;
	return mixed >> 29 ? (int32_t)(mixed >> 12) % bins : -1 - i;
}

/** The first place of each bin has been counted before: by the same call. */
TSR_FN void place_all(tsr_coop_t *coop, const place_args_t *a)
{
	TSR_EACH(coop, i, a->count) {
		keys[i] = key_of(i, a->bins);
		numbers[i] = i;
	}
	TSR_EACH(coop, i, a->bins)
		totals[i] = 0;
	tsr_coop_place(coop, 0, keys, a->count, totals, a->bins);
	if (!a->counts_alone) {
		tsr_coop_scan(coop, totals, a->bins);
		int32_t *to = a->in_place ? keys : places;
		tsr_coop_place(coop, to, keys, a->count, totals, a->bins);
		tsr_put_scattered(coop, sorted, to, numbers, a->count, 0);
	}
	tsr_sum_rows(coop, a->dst, a->src, a->rows, a->weighed ? a->weights : nullptr, a->summed,
		     0);
}

TSR_KERNEL(by_block, place_args_t, args)
{
	place_all(block, args);
}

TSR_KERNEL_SPLIT(by_worker, 2, uint64_t, place_args_t, args)
{
	if (tsr_worker_index(worker) == 1)
		place_all(worker, args);
}

TSR_KERNEL(by_part, place_args_t, args)
{
	tsr_coop_t part = tsr_split(block);
	if (tsr_worker_index(&part) == 2)
		place_all(&part, args);
}

typedef struct coop_kind {
	const char *name;
	void (*entry)(tsr_gpu_context_t, place_args_t);
	int threads;
} coop_kind_t;

static const coop_kind_t kinds[] = {
	{"block", tsr_entry_by_block, TSR_PORT_BLOCK_THREADS(1)},
	{"worker", tsr_entry_by_worker, TSR_PORT_BLOCK_THREADS(2)},
	{"part", tsr_entry_by_part, TSR_PORT_BLOCK_THREADS(1)},
};

/* ---- what must come out */

static int check_places(const place_args_t *a)
{
	static int32_t want[MOST_KEYS];
	int32_t next[MOST_BINS + 1] = {};
	int wrong = 0;
	for (int i = 0; i < a->count; i++)
		if (key_of(i, a->bins) >= 0)
			next[key_of(i, a->bins) + 1]++;
	for (int bin = 0; bin < a->bins; bin++) {
		wrong += a->counts_alone && totals[bin] != next[bin + 1];
		next[bin + 1] += next[bin];
		wrong += !a->counts_alone && totals[bin] != next[bin + 1];
	}
	for (int i = 0; i < MOST_KEYS; i++)
		want[i] = POISON;
	for (int i = 0; i < a->count && !a->counts_alone; i++) {
		const int32_t key = key_of(i, a->bins), place = key < 0 ? -1 : next[key]++;
		wrong += (a->in_place ? keys : places)[i] != place;
		if (place >= 0)
			want[place] = i;
	}
	for (int i = 0; i < MOST_KEYS; i++)
		wrong += sorted[i] != want[i];
	return wrong;
}

typedef struct sum_case {
	tsr_dtype_t src, dst;
	int cols, skip, ld, summed; /* skip: elements of `dst` before the row; ld: of `src` */
} sum_case_t;

static const sum_case_t sums[] = {
	{TSR_BF16, TSR_BF16, 200, 0, 208, 8}, {TSR_BF16, TSR_F32, 203, 0, 208, 9},
	{TSR_F32, TSR_BF16, 64, 0, 67, 3},    {TSR_F16, TSR_F16, 33, 1, 40, 5},
	{TSR_F32, TSR_F32, 40, 4, 44, 0},     {TSR_F16, TSR_F32, 17, 0, 17, 1},
	{TSR_F32, TSR_F16, 31, 0, 36, 4},
};

static float row_get(tsr_dtype_t dtype, const char *at, int64_t index)
{
	uint16_t half;
	float x;
	memcpy(&half, at + index * 2, 2);
	memcpy(&x, dtype == TSR_F32 ? at + index * 4 : at, 4);
	return dtype == TSR_F32   ? x
	       : dtype == TSR_F16 ? tsr_port_widen_f16(half)
				  : __builtin_bit_cast(float, (uint32_t)half << 16);
}

enum { PITCH = (MOST_COLS + 7) / 8 * 8 };
alignas(16) static char src[ROWS * PITCH * 4], dst[PITCH * 4];
static int32_t rows[MOST_SUMMED];
static float weights[MOST_SUMMED];

/** Row 0 is not a number and never chosen; weights are quarters, or of no row. */
static void sum_inputs(const sum_case_t *c, place_args_t *a)
{
	for (int row = 0; row < ROWS; row++)
		for (int col = 0; col < c->cols; col++)
			lockstep_put(c->src, src, row * c->ld + col,
				     row == 0 ? __builtin_nanf("") : lockstep_number(2, row, col));
	for (int i = 0; i < PITCH; i++)
		lockstep_put(c->dst, dst, i, (float)POISON);
	for (int i = 0; i < MOST_SUMMED; i++) {
		rows[i] = i % 4 == 2 ? -1 : 1 + i * 5 % (ROWS - 1);
		weights[i] = rows[i] < 0 ? __builtin_nanf("") : lockstep_number(3, i, 0) / 4;
	}
	const int bytes = c->dst == TSR_F32 ? 4 : 2;
	a->src = {src, ROWS, c->cols, c->ld, c->src, TSR_SPACE_HEAP};
	a->dst = {dst + c->skip * bytes, 1, c->cols, c->cols, c->dst, TSR_SPACE_HEAP};
	a->rows = rows;
	a->weights = weights;
	a->summed = c->summed;
}

static int check_sum(const sum_case_t *c, const place_args_t *a)
{
	char poison[4];
	int wrong = 0;
	lockstep_put(c->dst, poison, 0, (float)POISON);
	for (int i = 0; i < PITCH; i++) {
		const int col = i - c->skip;
		float want = 0;
		for (int k = 0; k < c->summed && col >= 0; k++)
			if (rows[k] >= 0)
				want += (a->weighed ? weights[k] : 1) *
					lockstep_number(2, rows[k], col);
		if (col < 0 || col >= c->cols)
			want = row_get(c->dst, poison, 0);
		wrong += row_get(c->dst, dst, i) != want;
	}
	return wrong;
}

static int run_case(const coop_kind_t *kind, int which, int count, int bins)
{
	static const int64_t peer_offset[1] = {0};
	const sum_case_t *c = &sums[which % (int)(sizeof sums / sizeof *sums)];
	place_args_t args = {count, bins, which % 3 == 1, which % 3 == 2, {},
			     {},    0,    which % 2 == 0, nullptr,        nullptr};
	tsr_gpu_context_t context = {};
	context.size = context.blocks = 1;
	context.peer_offset = peer_offset;
	sum_inputs(c, &args);
	for (int i = 0; i < MOST_KEYS; i++)
		keys[i] = places[i] = sorted[i] = POISON;
	lockstep_run(kind->entry, kind->threads, TSR_PORT_MOVER_THREADS, &context, &args);
	const int misplaced = check_places(&args), missummed = check_sum(c, &args);
	if (misplaced || missummed)
		printf("%s, %d keys, %d bins: %d places and %d sums are wrong\n", kind->name, count,
		       bins, misplaced, missummed);
	return misplaced || missummed;
}

int main(void)
{
	static const int cases[][2] = {{0, 1},     {1, 2},    {31, 3},     {33, 1},
				       {127, 256}, {385, 31}, {1000, 257}, {2047, 16}};
	int failed = 0, run = 0;
	for (const coop_kind_t &kind : kinds)
		for (const int(&c)[2] : cases) {
			failed += run_case(&kind, run, c[0], c[1]);
			run++;
		}
	printf("%d of %d placements right\n", run - failed, run);
	return failed != 0;
}
