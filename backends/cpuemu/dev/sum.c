/* Body of tsr_sum_rows (dev/sum.h): each thread sums a share of the columns. */
#include "cpuemu/dev/arithmetic/convert.h"
#include "cpuemu/dev/memory/memory.h"
#include "cpuemu/events.h"

/** Columns that a thread sums at a time. */
enum { STAGE = 256 };

typedef struct summing {
	tsr_mem_t to, from;
	tsr_view_t dst, src;
	int32_t rows[TSR_SUM_ROWS_MOST];
	float weights[TSR_SUM_ROWS_MOST];
	int count, chosen; /* of rows; of those that are not negative */
} summing_t;

static bool sums(int32_t dtype)
{
	return dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
}

static bool in_block(const tsr_coop_t *coop, const void *p)
{
	return (uintptr_t)p - (uintptr_t)coop->block->shared < coop->block->shared_bytes;
}

static bool in_heap(const tsr_coop_t *coop, const void *p)
{
	const tsr_cpu_window_t *window = tsr_cpu_window_of(coop->block->team, (uintptr_t)p);
	return (uintptr_t)p - (uintptr_t)window->mine < window->bytes;
}

/** An argument that is an array of words: in shared memory, or a variable. */
static bool take_words(tsr_coop_t *coop, const char *call, const char *what, const void *words,
		       int count, void *taken)
{
	const size_t bytes = (size_t)count * sizeof(int32_t);
	tsr_mem_t mem;
	if (in_heap(coop, words))
		return tsr_cpu_misuse(coop, call,
				      "hand it an array of the block's shared memory, "
				      "or a variable",
				      "of %s in the heap", what);
	if (!in_block(coop, words)) {
		memcpy(taken, words, bytes);
		return true;
	}
	if (!tsr_mem_reach_shared(coop, call, what, words, count, TSR_MEM_READ, &mem))
		return false;
	tsr_mem_read(&mem, taken, mem.at, bytes);
	return true;
}

/** Rows and weights, in memory of the thread. False: a misuse was noted. */
static bool take_arrays(tsr_coop_t *coop, const char *call, summing_t *s, const int32_t *rows,
			const float *weights)
{
	if (!take_words(coop, call, "rows", rows, s->count, s->rows) ||
	    (weights && !take_words(coop, call, "weights", weights, s->count, s->weights)))
		return false;
	for (int i = 0; i < s->count; i++) {
		if (s->rows[i] >= s->src.rows)
			return tsr_cpu_misuse(coop, call, "choose rows that the view has",
					      "of row %d of a view of %lld", (int)s->rows[i],
					      (long long)s->src.rows);
		s->chosen += s->rows[i] >= 0;
		if (!weights)
			s->weights[i] = 1;
	}
	return true;
}

/** Whether the call takes the views; they may be empty. False: a misuse was noted. */
static bool fits(tsr_coop_t *coop, const char *call, const summing_t *s)
{
	if (!sums(s->dst.dtype) || !sums(s->src.dtype))
		return tsr_cpu_misuse(coop, call, "sum f32, f16 or bf16, to one of them",
				      "of %s to %s", tsr_dtype_name((tsr_dtype_t)s->src.dtype),
				      tsr_dtype_name((tsr_dtype_t)s->dst.dtype));
	if (s->dst.rows > 1)
		return tsr_cpu_misuse(coop, call, "the sum is one row: tsr_view_part gives it",
				      "to a view of %lld rows", (long long)s->dst.rows);
	if (s->count > TSR_SUM_ROWS_MOST)
		return tsr_cpu_misuse(coop, call, "sum them in several calls, into rows of f32",
				      "of %d rows; at most %d", s->count, (int)TSR_SUM_ROWS_MOST);
	return true;
}

/** At most a stage of columns. */
static void sum_stage(const summing_t *s, int64_t first, size_t cols)
{
	const size_t read = tsr_cpu_bytes(s->src.dtype), written = tsr_cpu_bytes(s->dst.dtype);
	unsigned char row[STAGE * sizeof(float)];
	float sum[STAGE] = {0}, x[STAGE];
	for (int i = 0; i < s->count; i++) {
		const int64_t at = s->rows[i] * s->src.ld + first;
		if (s->rows[i] < 0)
			continue;
		tsr_mem_read(&s->from, row, s->from.at + (size_t)at * read, cols * read);
		tsr_row_widen(TSR_F32, x, s->src.dtype, row, cols);
		for (size_t j = 0; j < cols; j++)
			sum[j] += s->weights[i] * x[j];
	}
	tsr_row_narrow(s->dst.dtype, row, TSR_F32, sum, cols);
	tsr_mem_write(&s->to, s->to.at + (size_t)first * written, row, cols * written);
}

static void sum_share(tsr_coop_t *coop, const summing_t *s)
{
	int64_t first, last;
	tsr_cpu_share(coop, s->dst.cols, &first, &last);
	if (first == last)
		return;
	if (s->chosen > 0)
		tsr_mem_count(coop, &s->from, TSR_MEM_READ,
			      (uint64_t)s->chosen * (uint64_t)(last - first) *
				      tsr_cpu_bytes(s->src.dtype));
	tsr_mem_count(coop, &s->to, TSR_MEM_WRITE,
		      (uint64_t)(last - first) * tsr_cpu_bytes(s->dst.dtype));
	for (int64_t at = first; at < last; at += STAGE)
		sum_stage(s, at, (size_t)(last - at < STAGE ? last - at : STAGE));
	tsr_cpu_event_sent(coop);
}

void tsr_sum_rows(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, const int32_t *rows,
		  const float *weights, int count, int to)
{
	summing_t s = {.dst = dst, .src = src, .count = count > 0 ? count : 0};
	s.dst.cols = s.src.cols = dst.cols < src.cols ? dst.cols : src.cols;
	if (!fits(coop, __func__, &s) || !take_arrays(coop, __func__, &s, rows, weights))
		return;
	if (s.dst.rows < 1 || s.dst.cols < 1 ||
	    !tsr_mem_reach_view(coop, __func__, s.dst, to, TSR_MEM_WRITE, &s.to) ||
	    (s.chosen > 0 &&
	     !tsr_mem_reach_view(coop, __func__, s.src, tsr_rank(coop), TSR_MEM_READ, &s.from)))
		return;
	sum_share(coop, &s);
}
