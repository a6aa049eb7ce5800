/* Element types: sizes, names, and every conversion against the definition of rounding. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tessera/tessera.h"

static const tsr_dtype_t all_dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16,
					 TSR_I64, TSR_I32, TSR_I8,  TSR_U8};
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

Test(dtype, sizes_and_names)
{
	static const size_t bytes[] = {8, 4, 2, 2, 8, 4, 1, 1};
	static const char *const names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"};
	for (int i = 0; i < DTYPES; i++) {
		tsr_dtype_t dtype = TSR_F64;
		cr_expect_eq(tsr_dtype_bytes(all_dtypes[i]), bytes[i]);
		cr_assert_str_eq(tsr_dtype_name(all_dtypes[i]), names[i]);
		cr_expect_eq(tsr_dtype_parse(names[i], &dtype), TSR_OK);
		cr_expect_eq(dtype, all_dtypes[i]);
	}
	cr_expect_eq(tsr_dtype_bytes((tsr_dtype_t)12), 0);
	cr_assert_str_eq(tsr_dtype_name((tsr_dtype_t)12), "?");
	cr_assert_str_eq(tsr_dtype_name((tsr_dtype_t)-1), "?");
}

Test(dtype, what_is_reserved_has_a_name_and_no_elements)
{
	static const char *const names[] = {"f8_e4m3", "f8_e5m2", "f8_e4m3_fnuz", "f8_e5m2_fnuz"};
	unsigned char untouched[8] = {7, 7, 7, 7, 7, 7, 7, 7};
	tsr_dtype_t dtype = TSR_I8;
	for (int i = 0; i < 4; i++) {
		const tsr_dtype_t reserved = (tsr_dtype_t)(TSR_F8_E4M3 + i);
		cr_expect_eq(tsr_dtype_bytes(reserved), 0);
		cr_assert_str_eq(tsr_dtype_name(reserved), names[i]);
		cr_expect_eq(tsr_dtype_parse(names[i], &dtype), TSR_ERR_UNSUPPORTED);
		cr_expect(strstr(tsr_last_error(), names[i]) &&
				  strstr(tsr_last_error(), "reserved"),
			  "%s", tsr_last_error());
		tsr_dtype_set(reserved, untouched, 0, 1);
		cr_expect_eq(tsr_dtype_get(reserved, untouched, 0), 0);
	}
	for (size_t i = 0; i < sizeof untouched; i++)
		cr_expect_eq(untouched[i], 7, "written as an element");
	cr_expect_eq(dtype, TSR_I8, "written on failure");
}

Test(dtype, a_misspelt_name_is_answered_with_the_nearest)
{
	tsr_dtype_t dtype = TSR_I8;
	cr_expect_eq(tsr_dtype_parse("bfl6", &dtype), TSR_ERR_NOT_FOUND);
	cr_expect(strstr(tsr_last_error(), "did you mean \"bf16\"") != NULL, "%s",
		  tsr_last_error());
	cr_expect(strstr(tsr_last_error(), "f64 f32 f16 bf16 i64 i32 i8 u8") != NULL, "%s",
		  tsr_last_error());
	cr_expect_eq(tsr_dtype_parse("quaternion", &dtype), TSR_ERR_NOT_FOUND);
	cr_expect_eq(tsr_dtype_parse("", &dtype), TSR_ERR_NOT_FOUND);
	cr_expect_eq(tsr_dtype_parse(NULL, &dtype), TSR_ERR_NOT_FOUND);
	cr_expect_eq(dtype, TSR_I8, "written on failure");
}

/* The value of a binary format's bits, by its definition. */
static double value_by_definition(uint16_t bits, int exponent_bits)
{
	const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
	const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1),
		  fraction = bits & ((1 << fraction_bits) - 1);
	const double sign = bits & 0x8000 ? -1 : 1;
	if (exponent == (1 << exponent_bits) - 1)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * ldexp(fraction, 1 - bias - fraction_bits);
	return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* All 65536 values of both formats: widened exactly, and narrowed back to the same bits. */
Test(dtype, every_half_survives_the_way_there_and_back)
{
	int wrong = 0;
	for (unsigned bits = 0; bits <= 0xffff; bits++) {
		const uint16_t half = (uint16_t)bits;
		const double f16 = value_by_definition(half, 5),
			     bf16 = value_by_definition(half, 8);
		wrong += !same(tsr_f16_to_f32(half), f16) || !same(tsr_bf16_to_f32(half), bf16);
		wrong += !isnan(f16) &&
			 (tsr_f32_to_f16((float)f16) != half || tsr_f64_to_f16(f16) != half);
		wrong += !isnan(bf16) &&
			 (tsr_f32_to_bf16((float)bf16) != half || tsr_f64_to_bf16(bf16) != half);
		wrong += isnan(f16) && !isnan(tsr_f16_to_f32(tsr_f32_to_f16((float)f16)));
		wrong += isnan(bf16) && !isnan(tsr_bf16_to_f32(tsr_f32_to_bf16((float)bf16)));
	}
	cr_expect_eq(wrong, 0, "%d wrong", wrong);
}

/*
 * Between each two neighbours: below, at and above the middle. The double next
 * to the middle is the one that rounding twice (by way of a float) gets wrong.
 */
static int wrong_between_neighbours(int exponent_bits, uint16_t (*from_f64)(double),
				    uint16_t (*from_f32)(float))
{
	int wrong = 0;
	const unsigned infinity = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
	for (unsigned bits = 0; bits < infinity; bits++) {
		const double low = value_by_definition((uint16_t)bits, exponent_bits);
		/* of the largest number the next would be: what is at least half-way there becomes
		 * infinity */
		const double high =
			bits + 1 < infinity
				? value_by_definition((uint16_t)(bits + 1), exponent_bits)
				: low + (low -
					 value_by_definition((uint16_t)(bits - 1), exponent_bits));
		const double middle = low + (high - low) / 2;
		const unsigned even = bits % 2 == 0 ? bits : bits + 1;
		const unsigned expected[] = {bits, even, bits + 1};
		const double doubles[] = {nextafter(middle, low), middle, nextafter(middle, high)};
		const float floats[] = {nextafterf((float)middle, (float)low), (float)middle,
					nextafterf((float)middle, (float)high)};
		for (int i = 0; i < 3; i++) {
			wrong += from_f64(doubles[i]) != expected[i] ||
				 from_f64(-doubles[i]) != (expected[i] | 0x8000);
			/* of the smallest bf16 the middle is no float */
			if ((double)(float)middle == middle)
				wrong += from_f32(floats[i]) != expected[i] ||
					 from_f32(-floats[i]) != (expected[i] | 0x8000);
		}
	}
	return wrong;
}

Test(dtype, rounds_once_to_nearest_ties_to_even)
{
	cr_expect_eq(wrong_between_neighbours(5, tsr_f64_to_f16, tsr_f32_to_f16), 0);
	cr_expect_eq(wrong_between_neighbours(8, tsr_f64_to_bf16, tsr_f32_to_bf16), 0);
	cr_expect_eq(tsr_f64_to_f16(1e300), 0x7c00);
	cr_expect_eq(tsr_f64_to_bf16(-1e300), 0xff80);
	cr_expect_eq(tsr_f64_to_f16(-1e-300), 0x8000);
}

Test(dtype, a_not_a_number_stays_one_and_becomes_quiet)
{
	const uint32_t signalling_bits = 0x7f800001; /* cut off it would be infinity */
	float signalling;
	memcpy(&signalling, &signalling_bits, sizeof signalling);
	cr_expect(isnan(tsr_bf16_to_f32(tsr_f32_to_bf16(signalling))));
	cr_expect(tsr_f32_to_bf16(signalling) & 0x40);
	cr_expect(isnan(tsr_f16_to_f32(tsr_f32_to_f16(signalling))));
	cr_expect(tsr_f64_to_f16(NAN) & 0x200);
	cr_expect(isnan(tsr_bf16_to_f32(tsr_f64_to_bf16(-NAN))));
}

/* set, then get, at index 2 of 5: the neighbours are not touched. */
static double through(tsr_dtype_t dtype, double value)
{
	unsigned char data[40], expected[40];
	const size_t bytes = tsr_dtype_bytes(dtype);
	memset(data, 0xAB, sizeof data);
	memset(expected, 0xAB, sizeof expected);
	tsr_dtype_set(dtype, data, 2, value);
	const double back = tsr_dtype_get(dtype, data, 2);
	memcpy(expected + 2 * bytes, data + 2 * bytes, bytes);
	cr_expect(memcmp(data, expected, sizeof data) == 0, "%s: a neighbour was written",
		  tsr_dtype_name(dtype));
	return back;
}

Test(dtype, elements_of_every_type)
{
	for (int i = 0; i < DTYPES; i++)
		for (int value = 0; value <= 127; value++)
			cr_assert_eq(through(all_dtypes[i], value), value);
	cr_expect_eq(through(TSR_F64, 0.1), 0.1);
	cr_expect_eq(through(TSR_F32, 0.1), (double)0.1f);
	cr_expect_eq(through(TSR_F16, 0.1), 0x1.998p-4);
	cr_expect_eq(through(TSR_BF16, 0.1), 0x1.9ap-4);
	cr_expect_eq(through(TSR_F32, 1e300), INFINITY);
}

Test(dtype, integers_saturate_and_round_to_even)
{
	static const struct {
		tsr_dtype_t dtype;
		double low, high;
	} bounds[] = {{TSR_I64, -0x1p63, 0x1p63},
		      {TSR_I32, -0x1p31, 0x1p31 - 1},
		      {TSR_I8, -128, 127},
		      {TSR_U8, 0, 255}};
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		const tsr_dtype_t dtype = bounds[i].dtype;
		cr_expect_eq(through(dtype, 1e300), bounds[i].high);
		cr_expect_eq(through(dtype, INFINITY), bounds[i].high);
		cr_expect_eq(through(dtype, bounds[i].high + 1), bounds[i].high);
		cr_expect_eq(through(dtype, bounds[i].high), bounds[i].high);
		cr_expect_eq(through(dtype, -INFINITY), bounds[i].low);
		cr_expect_eq(through(dtype, bounds[i].low - 1), bounds[i].low);
		cr_expect_eq(through(dtype, NAN), 0);
		cr_expect_eq(through(dtype, 0.5), 0);
		cr_expect_eq(through(dtype, 1.5), 2);
		cr_expect_eq(through(dtype, 2.5), 2);
		cr_expect_eq(through(dtype, 2.75), 3);
	}
	cr_expect_eq(through(TSR_I32, -1.5), -2);
	cr_expect_eq(through(TSR_I32, -2.5), -2);
	int64_t element;
	tsr_dtype_set(TSR_I64, &element, 0, 0x1p63);
	cr_expect_eq(element, INT64_MAX);
}
