#include "tessera/dtype.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/convert.h"
#include "src/base/error.h"
#include "src/base/settings/options.h"

/* Indexed by tsr_dtype_t. */
static const struct {
	const char *name;
	size_t bytes;
} dtypes[] = {
	{"f64", 8},
	{"f32", 4},
	{"f16", 2},
	{"bf16", 2},
	{"i64", 8},
	{"i32", 4},
	{"i8", 1},
	/* reserved: without bytes */
	{"u8", 1},
	{"f8_e4m3", 0},
	{"f8_e5m2", 0},
	{"f8_e4m3_fnuz", 0},
	{"f8_e5m2_fnuz", 0},
};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bool is_dtype(tsr_dtype_t dtype)
{
	return (int)dtype >= 0 && (int)dtype < DTYPES;
}

size_t tsr_dtype_bytes(tsr_dtype_t dtype)
{
	return is_dtype(dtype) ? dtypes[dtype].bytes : 0;
}

const char *tsr_dtype_name(tsr_dtype_t dtype)
{
	return is_dtype(dtype) ? dtypes[dtype].name : "?";
}

tsr_status_t tsr_dtype_parse(const char *name, tsr_dtype_t *dtype_out)
{
	const char *names[DTYPES + 1] = {0};
	for (int i = 0; i < DTYPES; i++) {
		const bool found = name && strcmp(name, dtypes[i].name) == 0;
		if (found && dtypes[i].bytes == 0)
			return tsr_error(TSR_ERR_UNSUPPORTED,
					 "\"%s\" is reserved: this version has no elements of it; "
					 "take f16 or bf16",
					 name);
		names[i] = dtypes[i].bytes ? dtypes[i].name : NULL;
		if (found) {
			*dtype_out = (tsr_dtype_t)i;
			return TSR_OK;
		}
	}
	const char *near = name ? tsr_nearest_name(name, names) : NULL;
	return tsr_error(
		TSR_ERR_NOT_FOUND,
		"\"%s\" is no element type%s%s%s; there are f64 f32 f16 bf16 i64 i32 i8 u8",
		name ? name : "(null)", near ? ", did you mean \"" : "", near ? near : "",
		near ? "\"" : "");
}

/* ------------------------------------------------------------------ conversions */

uint16_t tsr_f32_to_bf16(float x)
{
	return tsr_round_bf16(x);
}

uint16_t tsr_f32_to_f16(float x)
{
	return tsr_round_f16(x);
}

uint16_t tsr_f64_to_bf16(double x)
{
	return tsr_round_bf16(tsr_round_odd(x));
}

uint16_t tsr_f64_to_f16(double x)
{
	return tsr_round_f16(tsr_round_odd(x));
}

float tsr_bf16_to_f32(uint16_t x)
{
	return tsr_widen_bf16(x);
}

float tsr_f16_to_f32(uint16_t x)
{
	return tsr_widen_f16(x);
}

/* ------------------------------------------------------------------ elements */

double tsr_dtype_get(tsr_dtype_t dtype, const void *data, size_t index)
{
	switch (dtype) {
	case TSR_F64:
		return ((const double *)data)[index];
	case TSR_F32:
		return ((const float *)data)[index];
	case TSR_F16:
		return tsr_f16_to_f32(((const uint16_t *)data)[index]);
	case TSR_BF16:
		return tsr_bf16_to_f32(((const uint16_t *)data)[index]);
	case TSR_I64:
		return (double)((const int64_t *)data)[index];
	case TSR_I32:
		return ((const int32_t *)data)[index];
	case TSR_I8:
		return ((const int8_t *)data)[index];
	case TSR_U8:
		return ((const uint8_t *)data)[index];
	default:
		break;
	}
	return 0;
}

void tsr_dtype_set(tsr_dtype_t dtype, void *data, size_t index, double value)
{
	switch (dtype) {
	case TSR_F64:
		((double *)data)[index] = value;
		break;
	case TSR_F32:
		((float *)data)[index] = (float)value;
		break;
	case TSR_F16:
		((uint16_t *)data)[index] = tsr_f64_to_f16(value);
		break;
	case TSR_BF16:
		((uint16_t *)data)[index] = tsr_f64_to_bf16(value);
		break;
	case TSR_I64:
		((int64_t *)data)[index] = tsr_saturate(value, INT64_MIN, INT64_MAX);
		break;
	case TSR_I32:
		((int32_t *)data)[index] = (int32_t)tsr_saturate(value, INT32_MIN, INT32_MAX);
		break;
	case TSR_I8:
		((int8_t *)data)[index] = (int8_t)tsr_saturate(value, INT8_MIN, INT8_MAX);
		break;
	case TSR_U8:
		((uint8_t *)data)[index] = (uint8_t)tsr_saturate(value, 0, UINT8_MAX);
		break;
	default:
		break;
	}
}
