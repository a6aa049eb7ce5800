/*
 * Element types on a GPU: how each is stored, rounding, and which of two is
 * larger. Gives the same results as the conversions of the host, and as the
 * emulator.
 */
#ifndef TESSERA_GPU_DEV_CONVERT_H
#define TESSERA_GPU_DEV_CONVERT_H

#include "gpu/dev/port.h"

/*
 * stored_t: the type in memory. value_t: the type in registers for computing.
 * It holds every stored value of a tile's type exactly, and is the type of sums
 * of products.
 */
struct tsr_gpu_f64 {
	typedef double stored_t, value_t;
	enum { code = TSR_F64 };
};
struct tsr_gpu_f32 {
	typedef float stored_t, value_t;
	enum { code = TSR_F32 };
};
struct tsr_gpu_f16 {
	typedef uint16_t stored_t;
	typedef float value_t;
	enum { code = TSR_F16 };
};
struct tsr_gpu_bf16 {
	typedef uint16_t stored_t;
	typedef float value_t;
	enum { code = TSR_BF16 };
};
struct tsr_gpu_i64 {
	typedef int64_t stored_t, value_t;
	enum { code = TSR_I64 };
};
struct tsr_gpu_i32 {
	typedef int32_t stored_t, value_t;
	enum { code = TSR_I32 };
};
struct tsr_gpu_i8 {
	typedef int8_t stored_t;
	typedef int32_t value_t;
	enum { code = TSR_I8 };
};
struct tsr_gpu_u8 {
	typedef uint8_t stored_t;
	typedef int32_t value_t;
	enum { code = TSR_U8 };
};

/** Makes the call with `type_` standing for the dtype of the value `dtype_`. */
#define TSR_GPU_BY_DTYPE(dtype_, type_, call_) \
	switch (dtype_) {                      \
	case TSR_F64: {                        \
		typedef tsr_gpu_f64 type_;     \
		call_;                         \
	} break;                               \
	case TSR_F32: {                        \
		typedef tsr_gpu_f32 type_;     \
		call_;                         \
	} break;                               \
	case TSR_F16: {                        \
		typedef tsr_gpu_f16 type_;     \
		call_;                         \
	} break;                               \
	case TSR_BF16: {                       \
		typedef tsr_gpu_bf16 type_;    \
		call_;                         \
	} break;                               \
	case TSR_I64: {                        \
		typedef tsr_gpu_i64 type_;     \
		call_;                         \
	} break;                               \
	case TSR_I32: {                        \
		typedef tsr_gpu_i32 type_;     \
		call_;                         \
	} break;                               \
	case TSR_I8: {                         \
		typedef tsr_gpu_i8 type_;      \
		call_;                         \
	} break;                               \
	default: {                             \
		typedef tsr_gpu_u8 type_;      \
		call_;                         \
	} break;                               \
	}

TSR_DEV int64_t tsr_gpu_dtype_bytes(int32_t dtype)
{
	return dtype == TSR_F64 || dtype == TSR_I64   ? 8
	       : dtype == TSR_F32 || dtype == TSR_I32 ? 4
	       : dtype == TSR_I8 || dtype == TSR_U8   ? 1
						      : 2;
}

TSR_DEV uint32_t tsr_gpu_bits(float x)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	return bits;
}

TSR_DEV float tsr_gpu_float(uint32_t bits)
{
	float x;
	__builtin_memcpy(&x, &bits, sizeof x);
	return x;
}

/**
 * Rounds to odd: towards zero, with the last bit set if that is not exact.
 * Rounding the result to 16 bits gives the same as rounding `x` once.
 */
TSR_DEV float tsr_gpu_round_odd(double x)
{
	float nearest = (float)x;
	uint32_t bits = tsr_gpu_bits(nearest);
	if ((double)nearest == x || x != x)
		return nearest;
	if (x > 0 ? (double)nearest > x : (double)nearest < x)
		bits--; /* the bits order floats by magnitude, including infinity */
	return tsr_gpu_float(bits | 1u);
}

/** Rounds to nearest, ties to even, then clamps to low .. high. NaN gives 0. */
TSR_DEV int64_t tsr_gpu_saturate(double x, int64_t low, int64_t high)
{
	if (x != x)
		return 0;
	if (x <= (double)low)
		return low;
	return x >= (double)high ? high : (int64_t)__builtin_rint(x);
}

/*
 * The value from which 16 bits are rounded: a float as it is, a wider type
 * rounded to odd first.
 */
TSR_DEV float tsr_gpu_for_half(float x)
{
	return x;
}

template <typename V> TSR_DEV float tsr_gpu_for_half(V x)
{
	return tsr_gpu_round_odd((double)x);
}

/** The exponent's bits of 16-bit floats. */
template <typename D>
constexpr uint32_t tsr_gpu_exponent = (int)D::code == (int)TSR_BF16 ? 0x7f80u : 0x7c00u;

/** Whether an element, the lower 16 bits, is neither infinite nor NaN. */
template <typename D> TSR_DEV bool tsr_gpu_half_is_finite(uint32_t element)
{
	return (element & tsr_gpu_exponent<D>) != tsr_gpu_exponent<D>;
}

/**
 * Not 0 if one of two elements in a word is infinite or NaN: an exponent of ones
 * carries into the bit of the sign, which is masked before.
 */
template <typename D> TSR_DEV uint32_t tsr_gpu_infinite_of_pair(uint32_t pair)
{
	constexpr uint32_t ones = tsr_gpu_exponent<D>, lowest = ones & (~ones + 1u);
	return ((pair & 0x10001u * ones) + 0x10001u * lowest) & 0x80008000u;
}

/** The pair, with zeros in place of what is not finite. */
template <typename D> TSR_DEV uint32_t tsr_gpu_pair_of_finite(uint32_t pair)
{
	return (tsr_gpu_half_is_finite<D>(pair) ? pair & 0xffffu : 0u) |
	       (tsr_gpu_half_is_finite<D>(pair >> 16) ? pair & 0xffff0000u : 0u);
}

/** The limits of an integer type. */
template <typename I> struct tsr_gpu_limits {
	static constexpr bool is_signed = (I)-1 < (I)0;
	static constexpr I high =
		is_signed ? (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1) : (I) ~(I)0;
	static constexpr I low = is_signed ? (I)(-high - 1) : (I)0;
};

template <typename V> constexpr bool tsr_gpu_is_integer = (V)0.5 == (V)0;

TSR_DEV bool tsr_gpu_has_sign(float x)
{
	return tsr_gpu_bits(x) >> 31 != 0;
}

TSR_DEV bool tsr_gpu_has_sign(double x)
{
	uint64_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	return bits >> 63 != 0;
}

/**
 * The larger or the smaller of two, as tsr_reduce_t says: of floats NaN if either
 * is NaN, and -0 is less than +0.
 */
template <bool LARGER, typename V> TSR_DEV V tsr_gpu_extreme_of(V x, V y)
{
	if constexpr (tsr_gpu_is_integer<V>)
		return (LARGER ? y > x : y < x) ? y : x;
	else
		return (LARGER ? y > x : y < x) || y != y ||
				       (y == x && tsr_gpu_has_sign(LARGER ? x : y))
			       ? y
			       : x;
}

/** Converts `x` to a stored element of type D. Integers saturate. */
template <typename D, typename V> TSR_DEV typename D::stored_t tsr_gpu_encode(V x)
{
	typedef typename D::stored_t stored_t;
	if constexpr (D::code == TSR_BF16)
		return tsr_port_round_bf16(tsr_gpu_for_half(x));
	else if constexpr (D::code == TSR_F16)
		return tsr_port_round_f16(tsr_gpu_for_half(x));
	else if constexpr (!tsr_gpu_is_integer<stored_t>)
		return (stored_t)x;
	else if constexpr (!tsr_gpu_is_integer<V>)
		return (stored_t)tsr_gpu_saturate((double)x, tsr_gpu_limits<stored_t>::low,
						  tsr_gpu_limits<stored_t>::high);
	else if constexpr (sizeof(V) <= sizeof(int64_t)) {
		const int64_t low = tsr_gpu_limits<stored_t>::low,
			      high = tsr_gpu_limits<stored_t>::high, whole = (int64_t)x;
		return (stored_t)(whole < low ? low : whole > high ? high : whole);
	}
}

/** Converts a stored element of type D to a value. */
template <typename V, typename D> TSR_DEV V tsr_gpu_decode(typename D::stored_t x)
{
	if constexpr (D::code == TSR_BF16)
		return tsr_gpu_decode<V, tsr_gpu_f32>(tsr_gpu_float((uint32_t)x << 16));
	else if constexpr (D::code == TSR_F16)
		return tsr_gpu_decode<V, tsr_gpu_f32>(tsr_port_widen_f16(x));
	else if constexpr (!tsr_gpu_is_integer<V>)
		return (V)x;
	else
		return tsr_gpu_encode<tsr_gpu_i32>(x); /* integer registers are 32 bits wide */
}

/** Sixteen bytes of stored elements. */
template <typename S> struct __attribute__((aligned(16))) tsr_gpu_pack {
	S element[16 / sizeof(S)];
};

/**
 * The same as they are loaded. Where the compiler would take 16-bit elements apart
 * right behind their load, they are loaded in words, and decoded behind all loads
 * that are to be on their way together.
 */
template <typename S, bool WORDS = (TSR_PORT_UNPACKS_EARLY && sizeof(S) == 2)>
struct tsr_gpu_loaded {
	typedef tsr_gpu_pack<uint32_t> type;
};
template <typename S> struct tsr_gpu_loaded<S, false> {
	typedef tsr_gpu_pack<S> type;
};

/** Element `i` of what has been loaded. */
template <typename S, typename P> TSR_DEV S tsr_gpu_loaded_element(const P &loaded, int i)
{
	if constexpr (sizeof loaded.element[0] == 2 * sizeof(S)) {
		return (S)(loaded.element[i / 2] >> (16 * (i % 2)));
	} else {
		S x;
		__builtin_memcpy(&x, &loaded.element[i], sizeof x);
		return x;
	}
}

#endif
