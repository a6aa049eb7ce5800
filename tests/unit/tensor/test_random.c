/* Random numbers: known answers, agreement with Random123, and the shape of each distribution. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <Random123/philox.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "src/tensor/random_core.h"
#include "tessera/random.h"

/* ------------------------------------------------------------------ Philox */

/*
 * The three vectors for philox4x32 with 10 rounds that come with Random123:
 * counter, key, answer.
 */
Test(random, philox_known_answers)
{
	static const uint32_t vectors[3][10] = {
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
		 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
		 0x94fdcceb, 0x5001e420, 0x24126ea1},
	};
	for (int i = 0; i < 3; i++) {
		uint32_t words[4];
		memcpy(words, vectors[i], sizeof words);
		tsr_core_philox(words, vectors[i][4], vectors[i][5]);
		cr_expect(memcmp(words, vectors[i] + 6, sizeof words) == 0,
			  "vector %d gives %08x %08x %08x %08x", i, words[0], words[1], words[2],
			  words[3]);
	}
	cr_expect_eq(tsr_random_bits(0, 0), 0xe169c58d6627e8d5u,
		     "the first two words of the first vector");
}

Test(random, philox_agrees_with_random123)
{
	philox4x32_ctr_t counter = {{1, 2, 3, 4}};
	philox4x32_key_t key = {{5, 6}};
	for (int i = 0; i < 100000; i++) {
		const philox4x32_ctr_t expected = philox4x32_R(10, counter, key);
		uint32_t words[4];
		memcpy(words, counter.v, sizeof words);
		tsr_core_philox(words, key.v[0], key.v[1]);
		cr_assert(memcmp(words, expected.v, sizeof words) == 0, "step %d", i);
		counter = expected; /* walks through the whole domain */
		key.v[0] ^= expected.v[3];
		key.v[1] += expected.v[0];
	}
}

/* Pinned, so that a stored seed means the same numbers for ever. */
Test(random, golden_values)
{
	cr_expect_eq(tsr_random_bits(42, 7), 0x68784c855bbd83b1u, "%016llx",
		     (unsigned long long)tsr_random_bits(42, 7));
	cr_expect_eq(tsr_random_f32(42, 7), 0x1.4a070cp-2f, "%a", (double)tsr_random_f32(42, 7));
	cr_expect_eq(tsr_random_f64(42, 7), 0x1.f60ca4d2a89ap-1, "%a", tsr_random_f64(42, 7));
	cr_expect_eq(tsr_random_int(42, 7, -1000, 1000), 421, "%lld",
		     (long long)tsr_random_int(42, 7, -1000, 1000));
	cr_expect_eq(tsr_random_normal(42, 7), -0x1.ebd8680600b4fp-4, "%a",
		     tsr_random_normal(42, 7));
	cr_expect_eq(tsr_random_bits(0x123456789abcdef0u, 0xfedcba9876543210u), 0x332e9f89ef8e01b2u,
		     "all 64 bits of seed and index count: %016llx",
		     (unsigned long long)tsr_random_bits(0x123456789abcdef0u, 0xfedcba9876543210u));
}

/* ------------------------------------------------------------------ distributions */

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*
 * Kolmogorov and Smirnov: the largest distance between the sample's
 * distribution and the one it should have, times sqrt(n).
 */
static double ks_statistic(double *sample, int n, double (*distribution)(double))
{
	double largest = 0;
	qsort(sample, (size_t)n, sizeof *sample, compare_doubles);
	for (int i = 0; i < n; i++) {
		const double expected = distribution(sample[i]);
		largest = fmax(largest, fmax(fabs(expected - (double)i / n),
					     fabs(expected - (double)(i + 1) / n)));
	}
	return largest * sqrt(n);
}

static double uniform_distribution(double x)
{
	return x;
}

static double normal_distribution(double x)
{
	return 0.5 * erfc(-x / sqrt(2));
}

enum { SAMPLE = 200000 };
/*
 * Exceeded by chance once in 10^5 samples; the samples are fixed, so it is
 * exceeded never or always.
 */
static const double ks_limit = 2.47;

static double f32_as_double(uint64_t seed, uint64_t index)
{
	return tsr_random_f32(seed, index);
}

static void check_distribution(double (*draw)(uint64_t, uint64_t), double (*distribution)(double))
{
	static double sample[SAMPLE];
	for (uint64_t seed = 1; seed <= 5; seed++) {
		for (int i = 0; i < SAMPLE; i++)
			sample[i] = draw(seed << 32, (uint64_t)i);
		const double statistic = ks_statistic(sample, SAMPLE, distribution);
		cr_expect(statistic < ks_limit, "seed %d: %g", (int)seed, statistic);
		cr_expect(statistic > 0.2, "seed %d: %g, too even to be random", (int)seed,
			  statistic);
	}
}

Test(random, uniform_f32)
{
	check_distribution(f32_as_double, uniform_distribution);
}

Test(random, uniform_f64)
{
	check_distribution(tsr_random_f64, uniform_distribution);
}

Test(random, normal)
{
	check_distribution(tsr_random_normal, normal_distribution);
}

/* The extreme bits give the extreme numbers: 0 occurs, 1 does not, and no bit is lost. */
Test(random, uniform_bounds)
{
	cr_expect_eq(tsr_core_f32(0), 0.0f);
	cr_expect_eq(tsr_core_f32(UINT64_MAX), 1.0f - 0x1p-24f);
	cr_expect_eq(tsr_core_f64(0), 0.0);
	cr_expect_eq(tsr_core_f64(UINT64_MAX), 1.0 - 0x1p-53);
	cr_expect_eq(tsr_core_f64((uint64_t)1 << 11), 0x1p-53);
}

Test(random, kinds_are_independent)
{
	double product = 0;
	for (int i = 0; i < SAMPLE; i++) {
		cr_assert(tsr_random_bits(1, (uint64_t)i) >> 11 !=
			  (uint64_t)(tsr_random_f64(1, (uint64_t)i) * 0x1p53));
		product += (tsr_random_f64(1, (uint64_t)i) - 0.5) *
			   (tsr_random_f32(1, (uint64_t)i) - 0.5) * 12;
	}
	cr_expect(fabs(product) < 5 * sqrt(SAMPLE), "correlation %g", product / SAMPLE);
}

/* ------------------------------------------------------------------ integers */

/*
 * Pearson's chi square over all values of a range: its mean is n - 1, its
 * deviation sqrt(2 (n - 1)).
 */
Test(random, integers_are_uniform)
{
	static const int ranges[] = {2, 3, 7, 10, 100, 256, 1000};
	for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
		int counts[1000] = {0};
		const int n = ranges[r];
		for (uint64_t i = 0; i < SAMPLE; i++) {
			const int64_t value = tsr_random_int(17, i, -5, n - 5);
			cr_assert(value >= -5 && value < n - 5, "%d", (int)value);
			counts[value + 5]++;
		}
		double chi = 0;
		const double expected = (double)SAMPLE / n;
		for (int i = 0; i < n; i++)
			chi += (counts[i] - expected) * (counts[i] - expected) / expected;
		cr_expect(fabs(chi - (n - 1)) < 5 * sqrt(2.0 * (n - 1)), "range %d: chi square %g",
			  n, chi);
	}
}

Test(random, integer_bounds)
{
	cr_expect_eq(tsr_core_int(0, INT64_MIN, INT64_MAX), INT64_MIN);
	cr_expect_eq(tsr_core_int(UINT64_MAX, INT64_MIN, INT64_MAX), INT64_MAX - 1);
	cr_expect_eq(tsr_core_int(UINT64_MAX, -3, 3), 2);
	cr_expect_eq(tsr_core_int(UINT64_MAX, 5, 6), 5);
	cr_expect_eq(tsr_core_int(UINT64_MAX, 5, 5), 5);
	cr_expect_eq(tsr_core_int(UINT64_MAX, 6, 5), 6);
	for (uint64_t i = 0; i < 1000; i++) {
		const uint64_t a = tsr_random_bits(3, i), b = tsr_random_bits(4, i);
		__extension__ typedef unsigned __int128 wide_t;
		cr_assert_eq(tsr_core_high(a, b), (uint64_t)((wide_t)a * b >> 64));
	}
}

/* ------------------------------------------------------------------ the normal */

/*
 * The distance from the true inverse, relative to it: how far the distribution
 * function is off, divided by its slope.
 */
static double inverse_error(uint64_t bits)
{
	const double x = tsr_core_normal(bits);
	const uint64_t odd = (bits >> 12) * 2 + 1;
	const bool below = odd < (uint64_t)1 << 52;
	const long double wanted =
		(long double)(below ? odd : ((uint64_t)1 << 53) - odd) * 0x1p-53L;
	const long double reached = 0.5L * erfcl((below ? -x : x) / sqrtl(2.0L));
	const long double slope = expl(-0.5L * x * x) / sqrtl(8.0L * atanl(1.0L));
	return (double)fabsl((reached - wanted) / slope / x);
}

/* Bits that cover both tails, down to the last bit, as well as the middle. */
static uint64_t covering_bits(uint64_t i)
{
	const uint64_t bits = tsr_random_bits(5, i), shift = i / 4 % 52;
	return i % 4 == 0 ? bits >> shift : i % 4 == 1 ? ~(bits >> shift) : bits;
}

Test(random, normal_is_accurate_into_the_tails)
{
	/* Under valgrind a long double has no more bits than a double, and the check itself
	 * errs. */
	volatile long double fine = 1.0L + 0x1p-60L;
	const bool exact = fine > 1.0L;
	const double nearest = exact ? 1e-3 : 0.25, limit = exact ? 1e-15 : 4e-15;
	double worst = 0;
	for (uint64_t i = 0; i < 300000; i++) {
		const uint64_t bits = covering_bits(i);
		if (fabs(tsr_core_normal(bits)) > nearest) /* it errs near 0 in any case */
			worst = fmax(worst, inverse_error(bits));
	}
	cr_expect(worst < limit, "relative error %g", worst);
	cr_expect(worst > 1e-17, "relative error %g: was anything compared?", worst);
}

/*
 * The sequence of operations is the contract: a rounding that goes another way
 * anywhere changes this.
 */
Test(random, normal_bits_are_pinned)
{
	uint64_t hash = 0;
	for (uint64_t i = 0; i < 100000; i++) {
		const double x = tsr_core_normal(covering_bits(i));
		uint64_t bits;
		memcpy(&bits, &x, sizeof bits);
		hash = hash * 6364136223846793005u + bits;
	}
	cr_expect_eq(hash, 0xedcbeddcf56b6461u, "%016llx", (unsigned long long)hash);
}

Test(random, normal_is_symmetric_and_bounded)
{
	cr_expect(tsr_core_normal(UINT64_MAX) > 8.2 && tsr_core_normal(UINT64_MAX) < 8.21);
	for (uint64_t i = 0; i < 100000; i++) {
		const uint64_t bits = tsr_random_bits(6, i);
		cr_assert_eq(tsr_core_normal(bits), -tsr_core_normal(~bits));
	}
}

Test(random, logarithm_agrees_with_the_library)
{
	double worst = 0;
	for (uint64_t i = 1; i < 200000; i++) {
		const double x = tsr_random_f64(8, i) * pow(2, -(double)(i % 53)) + 0x1p-53;
		const long double exact = logl(x);
		if (fabsl(exact) > 0.01L)
			worst = fmax(worst, (double)fabsl((tsr_core_log(x) - exact) / exact));
	}
	cr_expect(worst < 3e-16, "relative error %g", worst);
}

Test(random, normal_moments)
{
	double sum = 0, squares = 0, cubes = 0, fourths = 0;
	const int n = 1000000;
	for (int i = 0; i < n; i++) {
		const double x = tsr_random_normal(11, (uint64_t)i);
		sum += x;
		squares += x * x;
		cubes += x * x * x;
		fourths += x * x * x * x;
	}
	/* five deviations of each moment's estimate: sqrt(1, 2, 15, 96) / sqrt(n) */
	cr_expect(fabs(sum / n) < 5 * sqrt(1.0 / n));
	cr_expect(fabs(squares / n - 1) < 5 * sqrt(2.0 / n));
	cr_expect(fabs(cubes / n) < 5 * sqrt(15.0 / n));
	cr_expect(fabs(fourths / n - 3) < 5 * sqrt(96.0 / n));
}
