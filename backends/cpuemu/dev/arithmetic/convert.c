/*
 * Rows between element types. The pairs that matter for speed have loops of
 * their own; the others go through double or i64.
 */
#include <string.h>

#include "cpuemu/dev/arithmetic/convert.h"
#include "src/base/convert.h"
#include "src/base/wide.h"
#include "tessera/types.h"

static size_t element_bytes(int32_t dtype)
{
	return dtype == TSR_F64 || dtype == TSR_I64   ? 8
	       : dtype == TSR_F32 || dtype == TSR_I32 ? 4
						      : 2;
}

/* ------------------------------------------------------------------ one element of any type */

static double get_f64(int32_t dtype, const void *row, size_t i)
{
	switch (dtype) {
	case TSR_F64:
		return ((const double *)row)[i];
	case TSR_F32:
		return (double)((const float *)row)[i];
	case TSR_F16:
		return (double)tsr_widen_f16(((const uint16_t *)row)[i]);
	case TSR_BF16:
		return (double)tsr_widen_bf16(((const uint16_t *)row)[i]);
	case TSR_I64:
		return (double)((const int64_t *)row)[i];
	case TSR_I32:
		return (double)((const int32_t *)row)[i];
	case TSR_I8:
		return (double)((const int8_t *)row)[i];
	default:
		return (double)((const uint8_t *)row)[i];
	}
}

static void set_f64(int32_t dtype, void *row, size_t i, double x)
{
	switch (dtype) {
	case TSR_F64:
		((double *)row)[i] = x;
		break;
	case TSR_F32:
		((float *)row)[i] = (float)x;
		break;
	case TSR_F16:
		((uint16_t *)row)[i] = tsr_round_f16(tsr_round_odd(x));
		break;
	case TSR_BF16:
		((uint16_t *)row)[i] = tsr_round_bf16(tsr_round_odd(x));
		break;
	case TSR_I64:
		((int64_t *)row)[i] = tsr_saturate(x, INT64_MIN, INT64_MAX);
		break;
	case TSR_I32:
		((int32_t *)row)[i] = (int32_t)tsr_saturate(x, INT32_MIN, INT32_MAX);
		break;
	case TSR_I8:
		((int8_t *)row)[i] = (int8_t)tsr_saturate(x, INT8_MIN, INT8_MAX);
		break;
	default:
		((uint8_t *)row)[i] = (uint8_t)tsr_saturate(x, 0, UINT8_MAX);
		break;
	}
}

/** An i64 is the one type that double does not hold: it goes to f32 and i32 directly. */
static void from_i64(int32_t held_dtype, void *held, const int64_t *row, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t x = row[i];
		if (held_dtype == TSR_F64)
			((double *)held)[i] = (double)x;
		else if (held_dtype == TSR_F32)
			((float *)held)[i] = (float)x;
		else
			((int32_t *)held)[i] = (int32_t)(x < INT32_MIN   ? INT32_MIN
							 : x > INT32_MAX ? INT32_MAX
									 : x);
	}
}

/* ------------------------------------------------------------------ types of 16 bits and f32 */

static inline TSR_INTO_WIDE void widen_loop(int32_t dtype, float *restrict held,
					    const uint16_t *restrict row, size_t count)
{
	for (size_t i = 0; dtype == TSR_BF16 && i < count; i++)
		held[i] = tsr_widen_bf16(row[i]);
	for (size_t i = 0; dtype == TSR_F16 && i < count; i++)
		held[i] = tsr_widen_f16(row[i]);
}

static TSR_WIDE void widen_wide(int32_t dtype, float *restrict held, const uint16_t *restrict row,
				size_t count)
{
	widen_loop(dtype, held, row, count);
}

static void widen(int32_t dtype, float *held, const uint16_t *row, size_t count)
{
	if (tsr_has_wide())
		widen_wide(dtype, held, row, count);
	else
		widen_loop(dtype, held, row, count);
}

static inline TSR_INTO_WIDE void narrow_loop(int32_t dtype, uint16_t *restrict row,
					     const float *restrict held, size_t count)
{
	for (size_t i = 0; dtype == TSR_BF16 && i < count; i++)
		row[i] = tsr_round_bf16(held[i]);
	for (size_t i = 0; dtype == TSR_F16 && i < count; i++)
		row[i] = tsr_round_f16(held[i]);
}

static TSR_WIDE void narrow_wide(int32_t dtype, uint16_t *restrict row, const float *restrict held,
				 size_t count)
{
	narrow_loop(dtype, row, held, count);
}

static void narrow(int32_t dtype, uint16_t *row, const float *held, size_t count)
{
	if (tsr_has_wide())
		narrow_wide(dtype, row, held, count);
	else
		narrow_loop(dtype, row, held, count);
}

/* ------------------------------------------------------------------ rows */

void tsr_row_widen(int32_t held_dtype, void *held, int32_t dtype, const void *row, size_t count)
{
	if (held_dtype == dtype) {
		memcpy(held, row, count * element_bytes(dtype));
	} else if (held_dtype == TSR_F32 && (dtype == TSR_BF16 || dtype == TSR_F16)) {
		widen(dtype, held, row, count);
	} else if (dtype == TSR_I64) {
		from_i64(held_dtype, held, row, count);
	} else {
		for (size_t i = 0; i < count; i++)
			set_f64(held_dtype, held, i, get_f64(dtype, row, i));
	}
}

void tsr_row_narrow(int32_t dtype, void *row, int32_t held_dtype, const void *held, size_t count)
{
	if (held_dtype == dtype) {
		memcpy(row, held, count * element_bytes(dtype));
	} else if (held_dtype == TSR_F32 && (dtype == TSR_BF16 || dtype == TSR_F16)) {
		narrow(dtype, row, held, count);
	} else {
		for (size_t i = 0; i < count; i++)
			set_f64(dtype, row, i, get_f64(held_dtype, held, i));
	}
}
