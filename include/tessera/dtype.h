/* Element types on the host: sizes, names, conversion. */
#ifndef TESSERA_DTYPE_H
#define TESSERA_DTYPE_H

#include "tessera/status.h"
#include "tessera/types.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of one element; 0 where `dtype` is none, or reserved. Any thread. */
TSR_API size_t tsr_dtype_bytes(tsr_dtype_t dtype);

/**
 * "f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"; of those that are
 *  reserved "f8_e4m3", "f8_e5m2", "f8_e4m3_fnuz", "f8_e5m2_fnuz"; "?" where
 *  `dtype` is none. Any thread.
 */
TSR_API const char *tsr_dtype_name(tsr_dtype_t dtype);

/**
 * The reverse. Errors: TSR_ERR_NOT_FOUND (lists the names),
 * TSR_ERR_UNSUPPORTED: it is reserved.
 */
TSR_API tsr_status_t tsr_dtype_parse(const char *name, tsr_dtype_t *dtype_out);

/**
 * Rounds to nearest, ties to even; overflow gives infinity, NaN stays a (quiet)
 * NaN. Any thread.
 */
TSR_API uint16_t tsr_f32_to_bf16(float x);
TSR_API uint16_t tsr_f32_to_f16(float x);
TSR_API uint16_t tsr_f64_to_bf16(double x); /* rounds once */
TSR_API uint16_t tsr_f64_to_f16(double x);  /* rounds once */

/** Exact. Any thread. */
TSR_API float tsr_bf16_to_f32(uint16_t x);
TSR_API float tsr_f16_to_f32(uint16_t x);

/**
 * Element `index` of host array `data` as a double (exact but for large i64),
 *  and the reverse: floats are rounded to nearest even and overflow to
 *  infinity, integers are rounded to nearest even and saturate (NaN: 0). Of a
 *  type that is none or reserved: 0, and nothing. Any thread.
 */
TSR_API double tsr_dtype_get(tsr_dtype_t dtype, const void *data, size_t index);
TSR_API void tsr_dtype_set(tsr_dtype_t dtype, void *data, size_t index, double value);

#ifdef __cplusplus
}
#endif
#endif
