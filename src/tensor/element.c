#include "src/tensor/element.h"

#include <string.h>

bool tsr_dtype_is_float(tsr_dtype_t dtype)
{
	return dtype == TSR_F64 || dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
}

bool tsr_dtype_holds(tsr_dtype_t dtype, double value)
{
	uint64_t element = 0;
	if (dtype == TSR_I64 && value >= 0x1p63) /* saturation to 2^63 - 1 reads as 2^63 again */
		return false;
	tsr_dtype_set(dtype, &element, 0, value);
	const double back = tsr_dtype_get(dtype, &element, 0);
	if (!tsr_dtype_is_float(dtype))
		return back == value;
	const bool finite = value - value == 0, still_finite = back - back == 0;
	return still_finite || !finite;
}

bool tsr_dtype_holds_integers(tsr_dtype_t dtype, int64_t low, int64_t high)
{
	/* Indexed by tsr_dtype_t; of a float, the bits of its significand bound the integers
	 * without gaps. */
	static const struct {
		int64_t low, high;
	} range[] = {
		[TSR_F64] = {-((int64_t)1 << 53), (int64_t)1 << 53},
		[TSR_F32] = {-(1 << 24), 1 << 24},
		[TSR_F16] = {-(1 << 11), 1 << 11},
		[TSR_BF16] = {-(1 << 8), 1 << 8},
		[TSR_I64] = {INT64_MIN, INT64_MAX},
		[TSR_I32] = {INT32_MIN, INT32_MAX},
		[TSR_I8] = {INT8_MIN, INT8_MAX},
		[TSR_U8] = {0, UINT8_MAX},
	};
	return low >= range[dtype].low && high <= range[dtype].high;
}

void tsr_dtype_set_integer(tsr_dtype_t dtype, void *data, size_t index, int64_t value)
{
	if (dtype == TSR_I64)
		((int64_t *)data)[index] = value; /* by way of a double it would lose bits */
	else
		tsr_dtype_set(dtype, data, index, (double)value);
}

/*
 * Moves a floating element by one place, up or down. Sign and magnitude: the
 * bits of a magnitude count like the numbers do.
 */
static void move(tsr_dtype_t dtype, void *data, size_t index, bool up)
{
	const size_t bytes = tsr_dtype_bytes(dtype);
	const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
	unsigned char *element = (unsigned char *)data + index * bytes;
	uint64_t bits = 0;
	memcpy(&bits, element, bytes); /* little-endian, as every machine of this field */
	if ((bits & ~sign) == 0)
		bits = up ? 1 : sign | 1;
	else if (up == ((bits & sign) == 0))
		bits++;
	else
		bits--;
	memcpy(element, &bits, bytes);
}

void tsr_dtype_set_down(tsr_dtype_t dtype, void *data, size_t index, double value)
{
	tsr_dtype_set(dtype, data, index, value);
	if (tsr_dtype_get(dtype, data, index) > value)
		move(dtype, data, index, false);
}

void tsr_dtype_set_up(tsr_dtype_t dtype, void *data, size_t index, double value)
{
	tsr_dtype_set(dtype, data, index, value);
	if (tsr_dtype_get(dtype, data, index) < value)
		move(dtype, data, index, true);
}
