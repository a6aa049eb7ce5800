/* Fragments: how a tile's elements are dealt to threads, and their exchange through shared memory. */
#ifndef TESSERA_GPU_DEV_FRAG_H
#define TESSERA_GPU_DEV_FRAG_H

#include "gpu/dev/convert.h"
#include "gpu/dev/coop.h"

enum { TSR_GPU_BAND_ROWS = 4 }; /* a band is a multiple of so many rows, where so many fit */

enum { TSR_GPU_ACCUMULATOR, TSR_GPU_OPERAND_A, TSR_GPU_OPERAND_B, TSR_GPU_ROWS };

/** What sums of a configuration's products are kept in. */
template <typename D> struct tsr_gpu_sum {
	typedef typename D::value_t type;
};

/**
 * A fragment of configuration T. Element e, counted row by row, is v[e / threads] of thread e % threads of its coop, unless the
 * port deals it as its matrix unit does (tsr_port_layout). Once inlined the number of threads is a constant, and what the larger
 * coops leave of `v` is never laid down.
 */
template <typename T, int ROLE> struct tsr_gpu_frag {
	typedef T tile_t;
	typedef typename T::dtype_t dtype_t;
	typedef typename dtype_t::value_t value_t;
	enum {
		role = ROLE,
		operand = ROLE == TSR_GPU_OPERAND_A || ROLE == TSR_GPU_OPERAND_B,
		rows = ROLE == TSR_GPU_OPERAND_B ? (int)T::K : (int)T::M,
		cols = ROLE == TSR_GPU_ROWS        ? 1
		       : ROLE == TSR_GPU_OPERAND_A ? (int)T::K
						   : (int)T::N,
		elements = rows * cols,
		capacity = (elements + TSR_GPU_FEWEST_THREADS - 1) / TSR_GPU_FEWEST_THREADS,
		/* rows that the scratch memory holds at a time */
		fit = TSR_GPU_SCRATCH_BYTES / (cols * (int)sizeof(value_t)),
		band = fit >= rows               ? rows
		       : fit > TSR_GPU_BAND_ROWS ? fit / TSR_GPU_BAND_ROWS *TSR_GPU_BAND_ROWS
						 : fit
	};
	static_assert(rows > 0 && cols > 0 && T::K > 0, "a tile's extents are positive");
	static_assert(fit > 0, "a row of the tile does not fit the scratch memory: choose a narrower tile");
	value_t v[capacity];
	int stamp; /* of its content, among the coop's fragments */
};

/** Before a change of a fragment's content. */
template <typename F> TSR_DEV void tsr_gpu_frag_changes(tsr_coop_t *coop, F *frag)
{
	frag->stamp = ++coop->stamps;
}

#include TSR_PORT_LAYOUT

/** Whether the port deals fragments of type F to such a coop itself. A constant once inlined. */
template <typename F> TSR_DEV bool tsr_gpu_by_port(const tsr_coop_t *coop)
{
	return tsr_port_layout<F>::together(coop->threads) != 0;
}

/** Row and column of this thread's v[i]: where rows and coop divide each other, with constants for most of it. */
template <typename F> TSR_DEV int tsr_gpu_row(const tsr_coop_t *coop, int i)
{
	int n = coop->threads;
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::row(coop, i);
	if (n % F::cols == 0)
		return i * (n / F::cols) + coop->thread / F::cols;
	return F::cols % n == 0 ? i / (F::cols / n) : (i * n + coop->thread) / F::cols;
}

template <typename F> TSR_DEV int tsr_gpu_col(const tsr_coop_t *coop, int i)
{
	int n = coop->threads;
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::col(coop, i);
	if (n % F::cols == 0)
		return coop->thread % F::cols;
	return F::cols % n == 0 ? i % (F::cols / n) * n + coop->thread : (i * n + coop->thread) % F::cols;
}

/** Which element, counted row by row, this thread's v[i] is. */
template <typename F> TSR_DEV int tsr_gpu_element(const tsr_coop_t *coop, int i)
{
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::row(coop, i) * F::cols + tsr_port_layout<F>::col(coop, i);
	return i * coop->threads + coop->thread;
}

/** Runs the body for each of this thread's elements: v[i] is element e. */
#define TSR_GPU_EACH(F_, coop_, i_, e_)                                                   \
	TSR_GPU_UNROLL                                                                    \
	for (int i_ = 0; i_ < F_::capacity && i_ * (coop_)->threads < F_::elements; i_++) \
		if (int e_ = tsr_gpu_element<F_>((coop_), i_); F_::elements % (coop_)->threads == 0 || e_ < F_::elements)

/** How many of a thread's elements lie in or outside of a band together. */
template <typename F> TSR_DEV int tsr_gpu_together(const tsr_coop_t *coop)
{
	return tsr_gpu_by_port<F>(coop) ? tsr_port_layout<F>::together(coop->threads) : 1;
}

/** Whether v[i], the first of such, lies in the rows from `first` on that the scratch memory holds at a time. */
template <typename F> TSR_DEV bool tsr_gpu_in_band(const tsr_coop_t *coop, int i, int first)
{
	int e = tsr_gpu_element<F>(coop, i);
	return e >= first * F::cols && e < (first + F::band) * F::cols && (F::elements % coop->threads == 0 || e < F::elements);
}

/** Runs the body for those: v[i] is element e of the band that begins with row `first`. */
#define TSR_GPU_EACH_IN_BAND(F_, coop_, first_, i_, e_)                                                                 \
	TSR_GPU_UNROLL                                                                                                  \
	for (int g_ = 0; g_ < F_::capacity && g_ * tsr_gpu_together<F_>(coop_) * (coop_)->threads < F_::elements; g_++) \
		if (tsr_gpu_in_band<F_>((coop_), g_ * tsr_gpu_together<F_>(coop_), (first_)))                           \
			TSR_GPU_UNROLL                                                                                  \
	for (int j_ = 0; j_ < tsr_gpu_together<F_>(coop_); j_++)                                                        \
		if (int i_ = g_ * tsr_gpu_together<F_>(coop_) + j_, e_ = tsr_gpu_element<F_>((coop_), i_) - (first_)*F_::cols; true)

/** An operand's element is rounded to the type that the product multiplies. */
template <typename F> TSR_DEV typename F::value_t tsr_gpu_settle(typename F::value_t x)
{
	if constexpr (F::operand)
		return tsr_gpu_decode<typename F::value_t, typename F::dtype_t>(tsr_gpu_encode<typename F::dtype_t>(x));
	else
		return x;
}

template <typename V> TSR_DEV V *tsr_gpu_scratch(const tsr_coop_t *coop)
{
	return (V *)coop->scratch->bytes;
}

/** Lays the rows from `first` on, as many as fit, into the scratch memory. It was free before; readable after a meeting. */
template <typename F> TSR_DEV void tsr_gpu_frag_lay(const tsr_coop_t *coop, const F *frag, int first)
{
	typename F::value_t *scratch = tsr_gpu_scratch<typename F::value_t>(coop);
	TSR_GPU_EACH_IN_BAND(F, coop, first, i, e)
	{
		scratch[e] = frag->v[i];
	}
}

/** The reverse: takes those rows from the scratch memory. */
template <typename F> TSR_DEV void tsr_gpu_frag_take(const tsr_coop_t *coop, F *frag, int first)
{
	const typename F::value_t *scratch = tsr_gpu_scratch<typename F::value_t>(coop);
	TSR_GPU_EACH_IN_BAND(F, coop, first, i, e)
	{
		frag->v[i] = tsr_gpu_settle<F>(scratch[e]);
	}
}

#endif
