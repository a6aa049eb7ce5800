/*
 * Conversion between element types, one value at a time. All rounding is
 * defined here.
 */
#ifndef TESSERA_BASE_CONVERT_H
#define TESSERA_BASE_CONVERT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tsr_f32_bits(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static inline float tsr_f32_from_bits(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/**
 * Rounds to nearest, ties to even. Overflow gives infinity, NaN a quiet NaN.
 */
static inline uint16_t tsr_round_bf16(float x)
{
	uint32_t bits = tsr_f32_bits(x);
	uint32_t quiet = bits >> 16 | 0x40u;
	uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
	return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/** The same for binary16. */
static inline uint16_t tsr_round_f16(float x)
{
	uint32_t bits = tsr_f32_bits(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu,
		 half;
	if (size > 0x7f800000u) {
		half = 0x7e00u | (size >> 13 & 0x1ffu);
	} else if (size >= 0x47800000u) {
		/* 65536 and above; smaller values that round up to 65536 overflow by the carry
		 * below */
		half = 0x7c00u;
	} else if (size >= 0x38800000u) {
		/* normal: rebias the exponent by 127 - 15, then round away 13 bits */
		half = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
	} else {
		/* subnormal: adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded by
		 * the adder */
		half = tsr_f32_bits(tsr_f32_from_bits(size) + 0.5f) - 0x3f000000u;
	}
	return (uint16_t)(sign | half);
}

/**
 * Rounds to odd: returns the float next to `x` towards zero, with its last bit
 * set if that is not exact. Rounding the result to a type that is at least two
 * bits narrower than a float gives the same as rounding `x` once.
 */
static inline float tsr_round_odd(double x)
{
	float nearest = (float)x;
	uint32_t bits = tsr_f32_bits(nearest);
	if ((double)nearest == x || x != x)
		return nearest;
	if (x > 0 ? (double)nearest > x : (double)nearest < x)
		bits--; /* the bits order floats by magnitude, including infinity */
	return tsr_f32_from_bits(bits | 1u);
}

static inline float tsr_widen_bf16(uint16_t x)
{
	return tsr_f32_from_bits((uint32_t)x << 16);
}

static inline float tsr_widen_f16(uint16_t x)
{
	uint32_t sign = (uint32_t)(x & 0x8000u) << 16, size = x & 0x7fffu;
	if (size >= 0x7c00u) /* infinity, or NaN, which becomes quiet */
		return tsr_f32_from_bits(sign | 0x7f800000u | (size & 0x3ffu) << 13 |
					 (size > 0x7c00u ? 0x400000u : 0u));
	/* Exponent and fraction are 112 too low. Multiplying by 2^112 corrects that without
	 * rounding, for subnormal numbers too. */
	return tsr_f32_from_bits(sign | tsr_f32_bits(tsr_f32_from_bits(size << 13) * 0x1p112f));
}

/** Rounds to nearest, ties to even, then clamps to low .. high. NaN gives 0. */
static inline int64_t tsr_saturate(double x, int64_t low, int64_t high)
{
	if (x != x)
		return 0;
	if (x <= (double)low)
		return low;
	if (x >= (double)high)
		return high;
	int64_t whole = (int64_t)x; /* towards zero */
	double rest = x - (double)whole;
	if (rest > 0.5 || (rest == 0.5 && (whole & 1)))
		return whole + 1;
	if (rest < -0.5 || (rest == -0.5 && (whole & 1)))
		return whole - 1;
	return whole;
}

#endif
