/*
 * Bodies of dev/atomic.h, except the local signals. One thread acts; the coop
 * meets before it releases and after it acquires.
 */
#ifndef TESSERA_GPU_DEV_ATOMIC_H
#define TESSERA_GPU_DEV_ATOMIC_H

#include "gpu/dev/convert.h"
#include "gpu/dev/coop.h"
#include "gpu/dev/far.h"
#include "gpu/dev/memory.h"

/**
 * Orders that a load or a failed compare-and-swap can have; and those that a
 * store can have.
 */
template <int ORDER>
constexpr bool tsr_gpu_reads = ORDER == TSR_RELAXED || ORDER == TSR_ACQUIRE || ORDER == TSR_SEQ_CST;
template <int ORDER>
constexpr bool tsr_gpu_writes =
	ORDER == TSR_RELAXED || ORDER == TSR_RELEASE || ORDER == TSR_SEQ_CST;

/**
 * The bits that an atomic moves. The hardware's loads, stores, exchanges and
 * compare-and-swaps use words.
 */
template <int BYTES> struct tsr_gpu_word;
template <> struct tsr_gpu_word<4> {
	typedef uint32_t type;
};
template <> struct tsr_gpu_word<8> {
	typedef uint64_t type;
};
template <typename T> using tsr_gpu_word_t = typename tsr_gpu_word<sizeof(T)>::type;

template <typename To, typename From> TSR_DEV To tsr_gpu_cast(From from)
{
	static_assert(sizeof(To) == sizeof(From), "a cast of bits");
	To to;
	__builtin_memcpy(&to, &from, sizeof to);
	return to;
}

/**
 * Called before an access or a fence with `ORDER`: makes the accesses of all
 * the coop's threads ready to be released by one of them. `carried`: the access
 * is to far memory, and the host releases.
 */
template <int ORDER, int SCOPE> TSR_DEV void tsr_gpu_before(tsr_coop_t *coop, bool carried = false)
{
	tsr_port_settle(coop);
	if constexpr (tsr_gpu_releases<ORDER>) {
		tsr_port_drain<SCOPE>();
		tsr_gpu_meet(coop);
		if (SCOPE == TSR_SCOPE_SYSTEM && !carried && tsr_gpu_leads(coop))
			tsr_gpu_far_settle(coop);
	}
}

/**
 * Called before a load, or a compare-and-swap that fails, with `ORDER`: it has
 * its place in the one order behind all that this rank has written anywhere.
 */
template <int ORDER, int SCOPE> TSR_DEV void tsr_gpu_before_seq_cst(const tsr_coop_t *coop)
{
	if (ORDER == TSR_SEQ_CST && SCOPE == TSR_SCOPE_SYSTEM && tsr_gpu_leads(coop))
		tsr_gpu_far_settle(coop);
}

/**
 * Called after it: gives the result to all threads. Their later accesses come
 * after what one thread has acquired.
 */
template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_gpu_after(tsr_coop_t *coop, T result)
{
	tsr_gpu_word_t<T> word =
		(tsr_gpu_word_t<T>)tsr_gpu_tell(coop, tsr_gpu_cast<tsr_gpu_word_t<T>>(result));
	if constexpr (tsr_gpu_acquires<ORDER>)
		tsr_port_refresh<SCOPE>();
	return tsr_gpu_cast<T>(word);
}

/**
 * Whether *p may be accessed; false only in debug builds, for a wrong rank or
 * pointer. Shared memory belongs to my own rank.
 */
template <typename T> TSR_DEV bool tsr_gpu_reaches(const tsr_coop_t *coop, T *p, int peer)
{
	return tsr_port_is_shared(p) || tsr_gpu_accepts(coop, p, sizeof *p, peer);
}

/** Whether this thread makes the access. */
template <typename T> TSR_DEV bool tsr_gpu_acts(const tsr_coop_t *coop, T *p, int peer)
{
	return tsr_gpu_leads(coop) && tsr_gpu_reaches(coop, p, peer);
}

template <int ORDER, int SCOPE, typename T>
TSR_DEV T tsr_gpu_atomic_load(tsr_coop_t *coop, T *p, int peer)
{
	static_assert(tsr_gpu_reads<ORDER>,
		      "tsr_atomic_load takes TSR_RELAXED, TSR_ACQUIRE or TSR_SEQ_CST");
	T value = 0;
	tsr_port_settle(coop);
	tsr_gpu_before_seq_cst<ORDER, SCOPE>(coop);
	if (tsr_gpu_acts(coop, p, peer))
		value = tsr_gpu_is_far(coop, peer)
				? tsr_gpu_far_load(coop, p, peer)
				: tsr_gpu_cast<T>(tsr_port_load<ORDER, SCOPE>((
					  tsr_gpu_word_t<T> *)tsr_gpu_peer_address(coop, p, peer)));
	return tsr_gpu_after<ORDER, SCOPE>(coop, value);
}

template <int ORDER, int SCOPE, typename T, typename V>
TSR_DEV void tsr_gpu_atomic_store(tsr_coop_t *coop, T *p, V v, int peer)
{
	static_assert(tsr_gpu_writes<ORDER>,
		      "tsr_atomic_store takes TSR_RELAXED, TSR_RELEASE or TSR_SEQ_CST");
	const bool far = tsr_gpu_is_far(coop, peer);
	tsr_gpu_before<ORDER, SCOPE>(coop, far);
	if (!tsr_gpu_acts(coop, p, peer))
		return;
	if (!far)
		tsr_port_store<ORDER, SCOPE>((tsr_gpu_word_t<T> *)tsr_gpu_peer_address(coop, p,
										       peer),
					     tsr_gpu_cast<tsr_gpu_word_t<T>>((T)v));
	else if (ORDER == TSR_SEQ_CST) /* its place in the one order is taken before what follows */
		(void)tsr_gpu_far_word<T>(coop, TSR_GPU_ASK_FETCH, TSR_GPU_OP_XCHG, p, (T)v, T(),
					  true, peer);
	else
		tsr_gpu_far_store<T>(coop, p, (T)v, tsr_gpu_releases<ORDER>, peer);
}

/* ----------------------- read-modify-writes: the effect of each on one word */

struct tsr_gpu_xchg {
	enum { op = TSR_GPU_OP_XCHG };
	template <int ORDER, int SCOPE, typename T> static TSR_PORT_DEVICE T apply(T *p, T v)
	{
		typedef tsr_gpu_word_t<T> word_t;
		return tsr_gpu_cast<T>(tsr_port_xchg<ORDER, SCOPE>((word_t *)p,
								   tsr_gpu_cast<word_t>(v)));
	}
};
struct tsr_gpu_add {
	enum { op = TSR_GPU_OP_ADD };
	template <int ORDER, int SCOPE, typename T> static TSR_PORT_DEVICE T apply(T *p, T v)
	{
		return tsr_port_add<ORDER, SCOPE>(p, v);
	}
};
#define TSR_GPU_BITWISE(name_, op_)                                                       \
	struct tsr_gpu_##name_ {                                                          \
		enum { op = op_ };                                                        \
		template <int ORDER, int SCOPE, typename T>                               \
		static TSR_PORT_DEVICE T apply(T *p, T v)                                 \
		{                                                                         \
			static_assert(tsr_gpu_is_integer<T>,                              \
				      "tsr_atomic_" #name_ " takes integers");            \
			typedef tsr_gpu_word_t<T> word_t;                                 \
			return (T)tsr_port_##name_<ORDER, SCOPE>((word_t *)p, (word_t)v); \
		}                                                                         \
	}
TSR_GPU_BITWISE(and, TSR_GPU_OP_AND);
TSR_GPU_BITWISE(or, TSR_GPU_OP_OR);
TSR_GPU_BITWISE(xor, TSR_GPU_OP_XOR);

/**
 * The minimum or maximum of floats, by compare-and-swap. One that fails
 * releases nothing, so it is repeated until it succeeds, even if the value does
 * not change.
 */
template <int ORDER, int SCOPE, bool LARGER, typename T> TSR_DEV T tsr_gpu_extreme(T *p, T v)
{
	typedef tsr_gpu_word_t<T> word_t;
	word_t seen = tsr_port_load<TSR_RELAXED, SCOPE>((word_t *)p), expected;
	do {
		T old = tsr_gpu_cast<T>(seen);
		expected = seen;
		seen = tsr_port_cas<ORDER, TSR_RELAXED, SCOPE>(
			(word_t *)p, expected,
			tsr_gpu_cast<word_t>(tsr_gpu_extreme_of<LARGER>(old, v)));
	} while (seen != expected);
	return tsr_gpu_cast<T>(seen);
}
struct tsr_gpu_min {
	enum { op = TSR_GPU_OP_MIN };
	template <int ORDER, int SCOPE, typename T> static TSR_PORT_DEVICE T apply(T *p, T v)
	{
		if constexpr (tsr_gpu_is_integer<T>)
			return tsr_port_min<ORDER, SCOPE>(p, v);
		else
			return tsr_gpu_extreme<ORDER, SCOPE, false>(p, v);
	}
};
struct tsr_gpu_max {
	enum { op = TSR_GPU_OP_MAX };
	template <int ORDER, int SCOPE, typename T> static TSR_PORT_DEVICE T apply(T *p, T v)
	{
		if constexpr (tsr_gpu_is_integer<T>)
			return tsr_port_max<ORDER, SCOPE>(p, v);
		else
			return tsr_gpu_extreme<ORDER, SCOPE, true>(p, v);
	}
};

template <int ORDER, int SCOPE, typename OP, typename T, typename V>
TSR_DEV T tsr_gpu_atomic_rmw(tsr_coop_t *coop, T *p, V v, int peer)
{
	T old = 0;
	const bool far = tsr_gpu_is_far(coop, peer);
	tsr_gpu_before<ORDER, SCOPE>(coop, far);
	if (tsr_gpu_acts(coop, p, peer))
		old = far ? tsr_gpu_far_word<T>(coop, TSR_GPU_ASK_FETCH, OP::op, p, (T)v, T(),
						tsr_gpu_releases<ORDER>, peer)
			  : OP::template apply<ORDER, SCOPE>(tsr_gpu_peer_address(coop, p, peer),
							     (T)v);
	return tsr_gpu_after<ORDER, SCOPE>(coop, old);
}

template <int ORDER, int FAILURE, int SCOPE, typename T, typename E, typename V>
TSR_DEV T tsr_gpu_atomic_cas(tsr_coop_t *coop, T *p, E expected, V desired, int peer)
{
	static_assert(tsr_gpu_reads<FAILURE>,
		      "a failed tsr_atomic_cas is a load: TSR_RELAXED, TSR_ACQUIRE or TSR_SEQ_CST");
	static_assert(tsr_gpu_is_integer<T>, "tsr_atomic_cas takes integers");
	typedef tsr_gpu_word_t<T> word_t;
	constexpr int after = tsr_gpu_acquires<ORDER> ? ORDER : FAILURE;
	T old = 0;
	const bool far = tsr_gpu_is_far(coop, peer);
	tsr_gpu_before<ORDER, SCOPE>(coop, far);
	tsr_gpu_before_seq_cst<FAILURE, SCOPE>(coop);
	if (far && tsr_gpu_acts(coop, p, peer))
		old = tsr_gpu_far_word<T>(coop, TSR_GPU_ASK_FETCH, TSR_GPU_OP_CAS, p, (T)desired,
					  (T)expected, tsr_gpu_releases<ORDER>, peer);
	else if (tsr_gpu_acts(coop, p, peer))
		old = (T)tsr_port_cas<ORDER, FAILURE, SCOPE>((word_t *)tsr_gpu_peer_address(coop, p,
											    peer),
							     (word_t)(T)expected,
							     (word_t)(T)desired);
	return tsr_gpu_after<after, SCOPE>(coop, old);
}

/**
 * Called by the thread that acts. Its later relaxed stores come after what the
 * coop did, and its earlier loads before what the coop does next. Litmus:
 * MP.frel.facq.diffGPU-ss.
 */
template <int ORDER, int SCOPE> TSR_DEV void tsr_gpu_fence(tsr_coop_t *coop)
{
	static_assert(tsr_gpu_releases<ORDER> || tsr_gpu_acquires<ORDER>,
		      "tsr_fence takes every order but TSR_RELAXED");
	tsr_gpu_before<ORDER, SCOPE>(coop);
	if (tsr_gpu_leads(coop))
		tsr_port_fence<ORDER, SCOPE>();
	if constexpr (tsr_gpu_acquires<ORDER>) {
		tsr_gpu_meet(coop);
		tsr_port_refresh<SCOPE>();
	}
}

/* ---- one value (dev/pointer.h): a plain access of the thread that acts */

template <typename T, typename V>
TSR_DEV void tsr_gpu_put_value(tsr_coop_t *coop, T *p, V v, int peer)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8,
		      "a value is a u32, i32, u64, i64, f32 or f64");
	tsr_port_settle(coop);
	if (!tsr_gpu_acts(coop, p, peer))
		return;
	if (tsr_gpu_is_far(coop, peer))
		tsr_gpu_far_store<T>(coop, p, (T)v, false, peer);
	else
		*tsr_gpu_peer_address(coop, p, peer) = (T)v;
}

template <typename T> TSR_DEV T tsr_gpu_get_value(tsr_coop_t *coop, const T *p, int peer)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8,
		      "a value is a u32, i32, u64, i64, f32 or f64");
	T value = 0;
	tsr_port_settle(coop);
	if (tsr_gpu_acts(coop, p, peer))
		value = tsr_gpu_is_far(coop, peer) ? tsr_gpu_far_load(coop, p, peer)
						   : *tsr_gpu_peer_address(coop, p, peer);
	return tsr_gpu_cast<T>((tsr_gpu_word_t<T>)
				       tsr_gpu_tell(coop, tsr_gpu_cast<tsr_gpu_word_t<T>>(value)));
}

/* ---- one record (dev/pointer.h) */

template <typename T, typename R> TSR_DEV void tsr_gpu_check_record()
{
	static_assert(sizeof(T) % 4 == 0 && sizeof(T) <= 256,
		      "a record has 4 to 256 bytes, in fours");
	static_assert(alignof(T) >= 4 && alignof(T) <= 16, "a record is aligned to 4 to 16");
	static_assert(sizeof(R) == sizeof(T), "memory and variable are of one type");
}

template <typename T, typename R>
TSR_DEV void tsr_gpu_far_put_record(tsr_coop_t *coop, T *p, const R *record, int peer)
{
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	if (a.room && tsr_gpu_leads(coop))
		*(R *)a.room = *record;
	if (a.room)
		tsr_gpu_far_send(coop, &a,
				 tsr_gpu_far_rows(coop, TSR_GPU_ASK_PUT, p, sizeof *p, sizeof *p, 1,
						  peer));
	tsr_gpu_far_end(coop, a);
}

template <typename T, typename R>
TSR_DEV void tsr_gpu_far_get_record(tsr_coop_t *coop, R *record, const T *p, int peer)
{
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	if (a.room)
		tsr_gpu_far_fetch(coop, &a,
				  tsr_gpu_far_rows(coop, TSR_GPU_ASK_GET, p, sizeof *p, sizeof *p,
						   1, peer));
	if (a.room)
		*record = *(const T *)a.room;
	tsr_gpu_far_end(coop, a);
}

template <typename T, typename R>
TSR_DEV void tsr_gpu_put_record(tsr_coop_t *coop, T *p, const R *record, int peer)
{
	tsr_gpu_check_record<T, R>();
	tsr_port_settle(coop);
	if (tsr_gpu_is_far(coop, peer) && tsr_gpu_reaches(coop, p, peer))
		tsr_gpu_far_put_record(coop, p, record, peer);
	else if (tsr_gpu_acts(coop, p, peer))
		*tsr_gpu_peer_address(coop, p, peer) = *record;
}

/**
 * Every thread reads the whole record: a warp reads the same addresses at once.
 */
template <typename T, typename R>
TSR_DEV void tsr_gpu_get_record(tsr_coop_t *coop, R *record, const T *p, int peer)
{
	tsr_gpu_check_record<T, R>();
	tsr_port_settle(coop);
	*record = R();
	if (!tsr_gpu_reaches(coop, p, peer))
		return;
	if (tsr_gpu_is_far(coop, peer))
		tsr_gpu_far_get_record(coop, record, p, peer);
	else
		*record = *tsr_gpu_peer_address(coop, p, peer);
}

#endif
