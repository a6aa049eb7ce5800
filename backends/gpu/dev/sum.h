/*
 * Body of tsr_sum_rows (dev/sum.h). Each thread sums columns of its own, two groups
 * of sixteen bytes of four rows at a time, and stores what it has: no thread waits
 * for another. D is how the rows hold elements, and E how the sum is stored.
 */
#ifndef TESSERA_GPU_DEV_SUM_H
#define TESSERA_GPU_DEV_SUM_H

#include "gpu/dev/far.h"
#include "gpu/dev/memory.h"
#include "gpu/dev/record.h"

/* Rows of which a thread has elements in flight, and groups of columns of each. */
enum { TSR_GPU_SUMMED = 4, TSR_GPU_SUMMED_GROUPS = 2 };

/** What is summed: addresses in my memory, and where the sum goes. */
typedef struct tsr_gpu_summing {
	const char *src;
	char *dst;
	const int32_t *rows;
	const float *weights;
	int64_t src_pitch, src_rows;
	int32_t count, dtype; /* of the rows that are chosen; of the sum */
} tsr_gpu_summing_t;

/** Adjacent elements that are moved together. */
template <typename S, int N> struct __attribute__((aligned(N * sizeof(S)))) tsr_gpu_adjacent {
	S element[N];
};

/** N elements, sixteen bytes or one, as they are loaded. */
template <typename S, int N> struct tsr_gpu_summed {
	typedef typename tsr_gpu_loaded<S, true>::type type; /* on all ports: fewer registers */
	TSR_DEV S element(const type &loaded, int i)
	{
		return tsr_gpu_loaded_element<S>(loaded, i);
	}
};
template <typename S> struct tsr_gpu_summed<S, 1> {
	typedef S type;
	TSR_DEV S element(const type &loaded, int)
	{
		return loaded;
	}
};

/**
 * Adds groups of N columns of the rows i .. i + 3; negative ones are left out. The
 * first group begins at column `col`, and the second one `behind` bytes behind it.
 */
template <typename D, int N>
TSR_DEV void tsr_gpu_sum_few(const tsr_gpu_summing_t &s, int64_t col, int64_t behind, int i,
			     float (&sum)[TSR_GPU_SUMMED_GROUPS][N])
{
	typedef typename D::stored_t stored_t;
	typedef tsr_gpu_summed<stored_t, N> summed_t;
	typedef typename summed_t::type group_t;
	int32_t row[TSR_GPU_SUMMED];
	group_t group[TSR_GPU_SUMMED][TSR_GPU_SUMMED_GROUPS];
	TSR_GPU_UNROLL
	for (int k = 0; k < TSR_GPU_SUMMED; k++)
		row[k] = i + k < s.count ? s.rows[i + k] : -1;
	TSR_GPU_UNROLL
	for (int k = 0; k < TSR_GPU_SUMMED; k++)
		if (row[k] >= 0) {
			const char *from =
				s.src + row[k] * s.src_pitch + col * (int64_t)sizeof(stored_t);
			TSR_GPU_UNROLL
			for (int g = 0; g < TSR_GPU_SUMMED_GROUPS; g++)
				group[k][g] = *(const group_t *)(from + g * behind);
		}
	TSR_GPU_UNROLL
	for (int k = 0; k < TSR_GPU_SUMMED; k++)
		if (row[k] >= 0) {
			const float weight = s.weights ? s.weights[i + k] : 1.0f;
			TSR_GPU_UNROLL
			for (int j = 0; j < TSR_GPU_SUMMED_GROUPS * N; j++) {
				const stored_t x = summed_t::element(group[k][j / N], j % N);
				sum[j / N][j % N] += weight * tsr_gpu_decode<float, D>(x);
			}
		}
}

/** Stores N sums, at most 16 bytes at a time. */
template <typename E, int N>
TSR_DEV void tsr_gpu_store_sums(char *row, int64_t col, const float (&sum)[N])
{
	typedef typename E::stored_t stored_t;
	constexpr int MOST = 16 / (int)sizeof(stored_t), EACH = N < MOST ? N : MOST;
	typedef tsr_gpu_adjacent<stored_t, EACH> group_t;
	group_t *to = (group_t *)((stored_t *)row + col);
	TSR_GPU_UNROLL
	for (int i = 0; i < N / EACH; i++) {
		group_t group;
		TSR_GPU_UNROLL
		for (int j = 0; j < EACH; j++)
			group.element[j] = tsr_gpu_encode<E>(sum[i * EACH + j]);
		to[i] = group;
	}
}

/** Stores a group of N sums as the dtype of the sum. */
template <int N>
TSR_DEV void tsr_gpu_store_group(const tsr_gpu_summing_t &s, int64_t col, const float (&sum)[N])
{
	if (s.dtype == TSR_F32)
		tsr_gpu_store_sums<tsr_gpu_f32, N>(s.dst, col, sum);
	else if (s.dtype == TSR_F16)
		tsr_gpu_store_sums<tsr_gpu_f16, N>(s.dst, col, sum);
	else
		tsr_gpu_store_sums<tsr_gpu_bf16, N>(s.dst, col, sum);
}

/** The columns from `first` on, two groups of N at a time. */
template <typename D, int N>
TSR_DEV void tsr_gpu_sum_columns(const tsr_coop_t *coop, const tsr_gpu_summing_t &s, int64_t first,
				 int64_t last)
{
	const int64_t stride = (int64_t)coop->threads * N;
	TSR_GPU_NO_UNROLL
	for (int64_t col = first + coop->thread * N; col < last;
	     col += TSR_GPU_SUMMED_GROUPS * stride) {
		const bool more = col + stride < last; /* otherwise the first group counts twice */
		float sum[TSR_GPU_SUMMED_GROUPS][N];
		TSR_GPU_UNROLL
		for (int j = 0; j < TSR_GPU_SUMMED_GROUPS * N; j++)
			sum[j / N][j % N] = 0.0f;
		TSR_GPU_NO_UNROLL
		for (int i = 0; i < s.count; i += TSR_GPU_SUMMED)
			tsr_gpu_sum_few<D, N>(s, col,
					      more ? stride * (int64_t)sizeof(typename D::stored_t)
						   : 0,
					      i, sum);
		tsr_gpu_store_group<N>(s, col, sum[0]);
		if (more)
			tsr_gpu_store_group<N>(s, col + stride, sum[1]);
	}
}

template <typename D>
TSR_DEV void tsr_gpu_sum_row(const tsr_coop_t *coop, const tsr_gpu_summing_t &s, int64_t cols)
{
	constexpr int N = 16 / (int)sizeof(typename D::stored_t);
	const uint64_t places = (uint64_t)(uintptr_t)s.dst | (uint64_t)(uintptr_t)s.src |
				(uint64_t)(s.src_rows > 1 ? s.src_pitch : 0);
	const int64_t whole = places % 16 == 0 ? cols / N * N : 0;
	tsr_gpu_sum_columns<D, N>(coop, s, 0, whole);
	tsr_gpu_sum_columns<D, 1>(coop, s, whole, cols);
}

TSR_DEV void tsr_gpu_sum_one(const tsr_coop_t *coop, const tsr_gpu_summing_t &s, int32_t dtype,
			     int64_t cols)
{
	if (dtype == TSR_F32)
		tsr_gpu_sum_row<tsr_gpu_f32>(coop, s, cols);
	else if (dtype == TSR_F16)
		tsr_gpu_sum_row<tsr_gpu_f16>(coop, s, cols);
	else
		tsr_gpu_sum_row<tsr_gpu_bf16>(coop, s, cols);
}

/** To a rank of another node: as many columns at a time as fit a room. */
TSR_DEV void tsr_gpu_far_sum(tsr_coop_t *coop, const tsr_gpu_summing_t &s, tsr_view_t dst,
			     int32_t dtype, int64_t cols, int to)
{
	enum { MOST = TSR_GPU_ROOM_BYTES / 4 };
	const int64_t read = tsr_gpu_dtype_bytes(dtype), written = tsr_gpu_dtype_bytes(dst.dtype);
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	TSR_GPU_NO_UNROLL
	for (int64_t first = 0; first < cols && a.room; first += MOST) {
		const int64_t some = cols - first < MOST ? cols - first : (int64_t)MOST;
		tsr_gpu_summing_t part = s;
		part.src += first * read;
		part.dst = a.room;
		tsr_gpu_sum_one(coop, part, dtype, some);
		tsr_gpu_far_send(coop, &a,
				 tsr_gpu_far_rows(coop, TSR_GPU_ASK_PUT,
						  (char *)dst.data + first * written, 0,
						  some * written, 1, to));
	}
	tsr_gpu_far_end(coop, a);
}

/** Whether rows of the view can be summed, or a sum stored there. Debug builds note a mistake. */
TSR_DEV bool tsr_gpu_sums(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
#if defined(TSR_DEBUG)
	if (view.dtype != TSR_F32 && view.dtype != TSR_F16 && view.dtype != TSR_BF16) {
		tsr_gpu_fault(coop, TSR_GPU_NOTE_DTYPE, view.data, 0, view.dtype);
		return false;
	}
#endif
	return tsr_gpu_accepts_view(coop, view, peer);
}

/** Whether the view has all chosen rows. Debug builds note a mistake; others do not look. */
TSR_DEV bool tsr_gpu_accepts_rows_of(const tsr_coop_t *coop, tsr_view_t src, const int32_t *rows,
				     int count)
{
#if defined(TSR_DEBUG)
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < count; i++)
		if (rows[i] >= src.rows) {
			tsr_gpu_fault(coop, TSR_GPU_NOTE_INDEX, 0, (uint64_t)src.rows, rows[i]);
			return false;
		}
#else
	(void)coop, (void)src, (void)rows, (void)count;
#endif
	return true;
}

/** Rows that are read. Only for the record of a run. */
TSR_DEV int64_t tsr_gpu_chosen(const tsr_coop_t *coop, const int32_t *rows, int count)
{
	int64_t chosen = 0;
#if defined(TSR_RECORDED)
	TSR_GPU_NO_UNROLL
	for (int i = 0; tsr_gpu_leads(coop) && i < count; i++)
		chosen += rows[i] >= 0;
#else
	(void)coop, (void)rows, (void)count;
#endif
	return chosen;
}

TSR_DEV void tsr_sum_rows(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, const int32_t *rows,
			  const float *weights, int count, int to)
{
	const int me = tsr_rank(coop);
	const int64_t cols = dst.cols < src.cols ? dst.cols : src.cols,
		      read = tsr_gpu_dtype_bytes(src.dtype);
	tsr_gpu_summing_t s;
	tsr_port_settle(coop);
	count = count > 0 ? count : 0;
	if (cols < 1 || dst.rows < 1 || !tsr_gpu_sums(coop, dst, to) ||
	    (count > 0 && !tsr_gpu_sums(coop, src, me)) ||
	    !tsr_gpu_accepts_rows_of(coop, src, rows, count))
		return;
	const uint64_t begun = tsr_gpu_record_now();
	s.src = tsr_gpu_view_address(coop, src, me);
	s.dst = tsr_gpu_view_address(coop, dst, to);
	s.rows = rows;
	s.weights = weights;
	s.src_pitch = src.ld * read;
	s.src_rows = src.rows;
	s.count = count;
	s.dtype = dst.dtype;
	if (dst.space == TSR_SPACE_HEAP && tsr_gpu_is_far(coop, to))
		tsr_gpu_far_sum(coop, s, dst, src.dtype, cols, to);
	else
		tsr_gpu_sum_one(coop, s, src.dtype, cols);
	tsr_gpu_record_read(coop, me,
			    src.space == TSR_SPACE_HEAP
				    ? (uint64_t)(tsr_gpu_chosen(coop, rows, count) * cols * read)
				    : 0);
	tsr_gpu_record_written(coop, begun, to,
			       dst.space == TSR_SPACE_HEAP
				       ? (uint64_t)(cols * tsr_gpu_dtype_bytes(dst.dtype))
				       : 0);
}

#endif
