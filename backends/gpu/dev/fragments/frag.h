/*
 * Fragments: the distribution of a tile's elements over threads, and their
 * exchange through shared memory.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_FRAG_H
#define TESSERA_GPU_DEV_FRAGMENTS_FRAG_H

#include "gpu/dev/convert.h"
#include "gpu/dev/coop.h"

enum { TSR_GPU_BAND_ROWS = 4 }; /* a band has a multiple of this many rows, if they fit */

enum {
	TSR_GPU_ACCUMULATOR,
	TSR_GPU_OPERAND_A,
	TSR_GPU_OPERAND_B,
	TSR_GPU_OPERAND_BT,
	TSR_GPU_ROWS
};

/** The type of sums of a configuration's products. */
template <typename D> struct tsr_gpu_sum {
	typedef typename D::value_t type;
};

template <typename T, int ROLE> struct tsr_gpu_frag;

#include TSR_PORT_LAYOUT

/** The type in which a fragment stores its elements. */
template <typename V, bool PACKED> struct tsr_gpu_cell {
	typedef V type;
};
template <typename V> struct tsr_gpu_cell<V, true> {
	typedef uint32_t type;
};

/**
 * A fragment of configuration T. Element e, counted row by row, is number e /
 * threads of thread e % threads of its coop, unless the port distributes
 * elements as its matrix unit does (tsr_port_layout). After inlining the number
 * of threads is a constant, and the part of `v` that a larger coop does not
 * need takes no register. A 16-bit operand keeps two elements in a word, as
 * matrix units take them; in all others v[i] is number i.
 */
template <typename T, int ROLE> struct tsr_gpu_frag {
	typedef T tile_t;
	typedef typename T::dtype_t dtype_t;
	typedef typename dtype_t::value_t value_t;
	enum {
		role = ROLE,
		operand = ROLE == TSR_GPU_OPERAND_A || ROLE == TSR_GPU_OPERAND_B ||
			  ROLE == TSR_GPU_OPERAND_BT,
		packed = operand && sizeof(typename dtype_t::stored_t) == 2,
		rows = ROLE == TSR_GPU_OPERAND_B    ? (int)T::K
		       : ROLE == TSR_GPU_OPERAND_BT ? (int)T::N
						    : (int)T::M,
		cols = ROLE == TSR_GPU_ROWS                                      ? 1
		       : ROLE == TSR_GPU_OPERAND_A || ROLE == TSR_GPU_OPERAND_BT ? (int)T::K
										 : (int)T::N,
		elements = rows * cols,
		in_turn = (elements + TSR_GPU_FEWEST_THREADS - 1) / TSR_GPU_FEWEST_THREADS,
		by_port = tsr_port_layout<tsr_gpu_frag>::capacity,
		capacity = (in_turn > by_port ? in_turn : by_port) +
			   (packed ? (in_turn > by_port ? in_turn : by_port) % 2 : 0),
		/* rows that the scratch memory holds at a time */
		fit = TSR_GPU_SCRATCH_BYTES / (cols * (int)sizeof(value_t)),
		band = fit >= rows               ? rows
		       : fit > TSR_GPU_BAND_ROWS ? fit / TSR_GPU_BAND_ROWS *TSR_GPU_BAND_ROWS
						 : fit
	};
	static_assert(rows > 0 && cols > 0 && T::K > 0, "a tile's extents are positive");
	static_assert(fit > 0,
		      "a row of the tile does not fit the scratch memory: choose a narrower tile");
	typename tsr_gpu_cell<value_t, packed>::type v[packed ? capacity / 2 : capacity];
	int stamp; /* stamp of its content, unique among the coop's fragments */
};

/** Called before a change of a fragment's content. */
template <typename F> TSR_DEV void tsr_gpu_frag_changes(tsr_coop_t *coop, F *frag)
{
	frag->stamp = ++coop->stamps;
}

/**
 * Whether the port distributes fragments of type F over such a coop. A constant
 * after inlining.
 */
template <typename F> TSR_DEV bool tsr_gpu_by_port(const tsr_coop_t *coop)
{
	return tsr_port_layout<F>::together(coop->threads) != 0;
}

/**
 * Row and column of this thread's element i. If the number of columns and the
 * number of threads divide each other, most of it is constant.
 */
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
	return F::cols % n == 0 ? i % (F::cols / n) * n + coop->thread
				: (i * n + coop->thread) % F::cols;
}

/** The number in the tile, counted row by row, of this thread's element i. */
template <typename F> TSR_DEV int tsr_gpu_element(const tsr_coop_t *coop, int i)
{
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::row(coop, i) * F::cols +
		       tsr_port_layout<F>::col(coop, i);
	return i * coop->threads + coop->thread;
}

/** The largest number of elements that a thread has. */
template <typename F> TSR_DEV int tsr_gpu_most(const tsr_coop_t *coop)
{
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::most(coop->threads);
	return (F::elements + coop->threads - 1) / coop->threads;
}

/** Whether this thread's element i, which is number `e` of the tile, exists. */
template <typename F> TSR_DEV bool tsr_gpu_holds(const tsr_coop_t *coop, int i, int e)
{
	if (tsr_gpu_by_port<F>(coop))
		return tsr_port_layout<F>::multiplies(coop) && tsr_port_layout<F>::inside(coop, i);
	return F::elements % coop->threads == 0 || e < F::elements;
}

/** Whether all threads hold the same number of elements, each its own. */
template <typename F> TSR_DEV bool tsr_gpu_deals_evenly(const tsr_coop_t *coop)
{
	return !tsr_gpu_by_port<F>(coop) || tsr_port_layout<F>::evenly(coop->threads);
}

/** Of several threads that hold the same element, one owns it. */
template <typename F> TSR_DEV bool tsr_gpu_owns(const tsr_coop_t *coop)
{
	return !tsr_gpu_by_port<F>(coop) || tsr_port_layout<F>::owns(coop);
}

/** Rounds an operand's element to the type that the product multiplies. */
template <typename F> TSR_DEV typename F::value_t tsr_gpu_settle(typename F::value_t x)
{
	if constexpr (F::operand)
		return tsr_gpu_decode<typename F::value_t, typename F::dtype_t>(
			tsr_gpu_encode<typename F::dtype_t>(x));
	else
		return x;
}

/** This thread's element i. */
template <typename F> TSR_DEV typename F::value_t tsr_gpu_get(const F *frag, int i)
{
	if constexpr (F::packed)
		return tsr_gpu_decode<typename F::value_t, typename F::dtype_t>(
			(uint16_t)(frag->v[i / 2] >> i % 2 * 16));
	else
		return frag->v[i];
}

/** Sets this thread's element i to the stored value `bits`. */
template <typename F> TSR_DEV void tsr_gpu_set_bits(F *frag, int i, uint32_t bits)
{
	frag->v[i / 2] = i % 2 == 0 ? (frag->v[i / 2] & 0xffff0000u) | bits
				    : (frag->v[i / 2] & 0xffffu) | bits << 16;
}

/** Sets this thread's element i to x. */
template <typename F> TSR_DEV void tsr_gpu_set(F *frag, int i, typename F::value_t x)
{
	if constexpr (F::packed)
		tsr_gpu_set_bits(frag, i, tsr_gpu_encode<typename F::dtype_t>(x));
	else
		frag->v[i] = tsr_gpu_settle<F>(x);
}

/**
 * Runs the body for each of this thread's elements: its i-th is element e of
 * the tile.
 */
#define TSR_GPU_EACH(F_, coop_, i_, e_)                                             \
	TSR_GPU_UNROLL                                                              \
	for (int i_ = 0; i_ < F_::capacity && i_ < tsr_gpu_most<F_>((coop_)); i_++) \
		if (int e_ = tsr_gpu_element<F_>((coop_), i_); tsr_gpu_holds<F_>((coop_), i_, e_))

/**
 * The number of a thread's consecutive elements that are always inside or
 * outside of a band together.
 */
template <typename F> TSR_DEV int tsr_gpu_together(const tsr_coop_t *coop)
{
	return tsr_gpu_by_port<F>(coop) ? tsr_port_layout<F>::together(coop->threads) : 1;
}

/**
 * Whether element i, the first of such a group, is in the band that begins with
 * row `first`: the rows that the scratch memory holds at a time.
 */
template <typename F> TSR_DEV bool tsr_gpu_in_band(const tsr_coop_t *coop, int i, int first)
{
	int e = tsr_gpu_element<F>(coop, i);
	return e >= first * F::cols && e < (first + F::band) * F::cols &&
	       tsr_gpu_holds<F>(coop, i, e);
}

/**
 * Runs the body for these elements: the i-th is element e of the band that
 * begins with row `first`.
 */
#define TSR_GPU_EACH_IN_BAND(F_, coop_, first_, i_, e_)                                         \
	TSR_GPU_UNROLL                                                                          \
	for (int g_ = 0;                                                                        \
	     g_ < F_::capacity && g_ * tsr_gpu_together<F_>(coop_) < tsr_gpu_most<F_>((coop_)); \
	     g_++)                                                                              \
		if (tsr_gpu_in_band<F_>((coop_), g_ * tsr_gpu_together<F_>(coop_), (first_)))   \
			TSR_GPU_UNROLL                                                          \
	for (int j_ = 0; j_ < tsr_gpu_together<F_>(coop_); j_++)                                \
		if (int i_ = g_ * tsr_gpu_together<F_>(coop_) + j_,                             \
		    e_ = tsr_gpu_element<F_>((coop_), i_) - (first_)*F_::cols;                  \
		    tsr_gpu_holds<F_>((coop_), i_, e_ + (first_)*F_::cols))

template <typename V> TSR_DEV V *tsr_gpu_scratch(const tsr_coop_t *coop)
{
	return (V *)coop->scratch->bytes;
}

/**
 * Writes the rows from `first` on, as many as fit, to the scratch memory, which
 * must be free. They can be read after a meeting.
 */
template <typename F>
TSR_DEV void tsr_gpu_frag_lay(const tsr_coop_t *coop, const F *frag, int first)
{
	typename F::value_t *scratch = tsr_gpu_scratch<typename F::value_t>(coop);
	if (!tsr_gpu_owns<F>(coop))
		return;
	TSR_GPU_EACH_IN_BAND(F, coop, first, i, e)
	{
		scratch[e] = tsr_gpu_get(frag, i);
	}
}

/** The inverse: reads these rows from the scratch memory. */
template <typename F> TSR_DEV void tsr_gpu_frag_take(const tsr_coop_t *coop, F *frag, int first)
{
	const typename F::value_t *scratch = tsr_gpu_scratch<typename F::value_t>(coop);
	TSR_GPU_EACH_IN_BAND(F, coop, first, i, e)
	{
		tsr_gpu_set(frag, i, scratch[e]);
	}
}

#endif
