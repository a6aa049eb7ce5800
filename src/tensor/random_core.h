/*
 * The arithmetic of random numbers: pure functions, in the C that C11 and C++17
 * share. They give the same bits with every compiler and on every device.
 *
 * Integers are Philox4x32-10. The normal is a fixed sequence of IEEE double
 * additions, subtractions, multiplications, divisions and square roots: no
 * library function, no fused multiply-add, no reassociation. It inverts the
 * distribution function by the rational approximations of Wichura's algorithm
 * AS 241 (Applied Statistics 37, 1988). Compared with the exact inverse, its
 * relative error is below 1e-15 over its whole range.
 */
#ifndef TESSERA_TENSOR_RANDOM_CORE_H
#define TESSERA_TENSOR_RANDOM_CORE_H

#include <float.h>
#include <stdint.h>

#if defined(__FAST_MATH__)
#error "random numbers are bit-equal everywhere: compile without -ffast-math"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && !defined(__CUDACC__) && !defined(__HIP__)
#error "random numbers are bit-equal everywhere: double arithmetic must not keep more bits than a double has (on x86: -mfpmath=sse)"
#endif

#if defined(__CUDACC__) || defined(__HIP__)
#define TSR_CORE_FN __host__ __device__ static inline
#else
#define TSR_CORE_FN static inline
#endif

/*
 * The streams of one seed. Each kind of number has its own, so that rand and
 * randn with one seed are independent.
 */
enum {
	TSR_RANDOM_BITS = 0,
	TSR_RANDOM_F32 = 1,
	TSR_RANDOM_F64 = 2,
	TSR_RANDOM_INT = 3,
	TSR_RANDOM_NORMAL = 4
};

/**
 * Philox4x32-10 of Salmon et al. in place: ten rounds of two 32 by 32 bit
 * products. Written out, because Random123's header does not compile for every
 * device. Tests compare it with that header and its known answers.
 */
TSR_CORE_FN void tsr_core_philox(uint32_t counter[4], uint32_t key0, uint32_t key1)
{
	for (int round = 0; round < 10; round++) {
		const uint64_t a = (uint64_t)0xD2511F53u * counter[0],
			       b = (uint64_t)0xCD9E8D57u * counter[2];
		counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key0;
		counter[1] = (uint32_t)b;
		counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key1;
		counter[3] = (uint32_t)a;
		key0 += 0x9E3779B9u; /* golden ratio */
		key1 += 0xBB67AE85u; /* sqrt(3) - 1 */
	}
}

/**
 * 64 bits: the first two words of Philox4x32-10 with key = seed and counter =
 * {index, kind, 0}.
 */
TSR_CORE_FN uint64_t tsr_core_bits(uint64_t seed, uint64_t index, uint32_t kind)
{
	uint32_t words[4] = {(uint32_t)index, (uint32_t)(index >> 32), kind, 0};
	tsr_core_philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
	return (uint64_t)words[1] << 32 | words[0];
}

TSR_CORE_FN float tsr_core_f32(uint64_t bits)
{
	return (float)(bits >> 40) * (1.0f / 16777216.0f);
}

TSR_CORE_FN double tsr_core_f64(uint64_t bits)
{
	return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/** The upper word of a * b. */
TSR_CORE_FN uint64_t tsr_core_high(uint64_t a, uint64_t b)
{
	const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
	return a1 * b1 + (middle >> 32) + ((a0 * b1 + (uint32_t)middle) >> 32);
}

/** low + the fraction `bits` of the range; low if the range is empty. */
TSR_CORE_FN int64_t tsr_core_int(uint64_t bits, int64_t low, int64_t high)
{
	const uint64_t range = low < high ? (uint64_t)high - (uint64_t)low : 0;
	return (int64_t)((uint64_t)low + tsr_core_high(bits, range));
}

/* ------------------------------------------------------------ the normal */

/**
 * a * b, rounded, and never fused with a following addition. On hosts an empty
 * instruction hides the product from the optimiser: under -ffp-contract=fast
 * neither a pragma nor a separate statement prevents the fusion. hipcc, which
 * has that by default, obeys the pragma.
 */
TSR_CORE_FN double tsr_core_mul(double a, double b)
{
#if defined(__CUDA_ARCH__)
	return __dmul_rn(a, b);
#elif defined(__HIP_DEVICE_COMPILE__)
#pragma clang fp contract(off)
	return a * b;
#elif defined(__x86_64__)
	double product = a * b;
	__asm__("" : "+x"(product));
	return product;
#elif defined(__aarch64__)
	double product = a * b;
	__asm__("" : "+w"(product));
	return product;
#else
	volatile double product = a * b;
	return product;
#endif
}

TSR_CORE_FN double tsr_core_sqrt(double x)
{
#if defined(__CUDA_ARCH__)
	return __dsqrt_rn(x);
#else
	return __builtin_sqrt(x); /* exact by IEEE; x is never negative */
#endif
}

/** c[0] + c[1] x + ... + c[7] x^7, by Horner. */
TSR_CORE_FN double tsr_core_poly7(const double c[8], double x)
{
	double sum = c[7];
	for (int i = 6; i >= 0; i--)
		sum = tsr_core_mul(sum, x) + c[i];
	return sum;
}

/**
 * Natural logarithm of a normal positive number, to an ulp or two. x = m 2^k
 * with m in [sqrt(1/2), sqrt(2)); then log m = 2 artanh(s) with s =
 * (m-1)/(m+1), |s| < 0.1716, whose series is summed to s^21. ln 2 comes in two
 * parts: k times the first is exact.
 */
TSR_CORE_FN double tsr_core_log(double x)
{
	const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
	uint64_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	int k = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
	double m;
	__builtin_memcpy(&m, &bits, sizeof m);
	if (m > 1.4142135623730951) {
		m *= 0.5;
		k++;
	}
	const double s = (m - 1.0) / (m + 1.0);
	const double square = tsr_core_mul(s, s);
	double sum = 1.0 / 21.0;
	for (int n = 19; n >= 3; n -= 2)
		sum = tsr_core_mul(sum, square) + 1.0 / n;
	const double tail =
		tsr_core_mul(tsr_core_mul(2.0 * s, square), sum) + tsr_core_mul(k, ln2_low);
	return tsr_core_mul(k, ln2_high) + (2.0 * s + tail);
}

/**
 * The number below which a standard normal falls with probability (bits / 2^12
 * + 1/2) / 2^52. That is never 0 or 1, so the result is finite; its magnitude
 * is below 8.21. Complementary bits give opposite numbers.
 */
TSR_CORE_FN double tsr_core_normal(uint64_t bits)
{
	/* clang-format off */
	const double centre_p[8] = {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
				    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
	const double centre_q[8] = {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
				    2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3};
	const double near_p[8] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
				  1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
	const double near_q[8] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
				  1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9};
	const double far_p[8] = {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
				 2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
	const double far_q[8] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
				 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};
	/* clang-format on */
	const double unit = 1.0 / 9007199254740992.0; /* 2^-53 */
	const uint64_t odd =
		/* the probability times 2^53: exact, and so is its distance from 1/2 and from 1 */
		(bits >> 12) * 2 + 1;
	const double q = ((double)odd - 4503599627370496.0) * unit;
	if (q >= -0.425 && q <= 0.425) {
		const double r = 0.180625 - tsr_core_mul(q, q);
		return tsr_core_mul(q, tsr_core_poly7(centre_p, r)) / tsr_core_poly7(centre_q, r);
	}
	const double tail =
		q < 0.0 ? (double)odd * unit : (double)(((uint64_t)1 << 53) - odd) * unit;
	const double r = tsr_core_sqrt(-tsr_core_log(tail));
	const double x = r <= 5.0
				 ? tsr_core_poly7(near_p, r - 1.6) / tsr_core_poly7(near_q, r - 1.6)
				 : tsr_core_poly7(far_p, r - 5.0) / tsr_core_poly7(far_q, r - 5.0);
	return q < 0.0 ? -x : x;
}

#endif
