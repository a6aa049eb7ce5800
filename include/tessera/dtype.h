/* Element types on the host: their sizes, names and conversions. */
#ifndef TESSERA_DTYPE_H
#define TESSERA_DTYPE_H

#include "tessera/status.h"
#include "tessera/types.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The size of one element in bytes; 0 if `dtype` is reserved or not an element
 * type. Any thread.
 */
TSR_API size_t tsr_dtype_bytes(tsr_dtype_t dtype);

/**
 * The type's name: "f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"; for
 * reserved types "f8_e4m3", "f8_e5m2", "f8_e4m3_fnuz", "f8_e5m2_fnuz"; "?" if
 * `dtype` is not an element type. Any thread.
 */
TSR_API const char *tsr_dtype_name(tsr_dtype_t dtype);

/**
 * Finds the type with this name. Any thread.
 *
 * Errors:     TSR_ERR_NOT_FOUND (the sentence lists the names),
 *             TSR_ERR_UNSUPPORTED (the type is reserved).
 */
TSR_API tsr_status_t tsr_dtype_parse(const char *name, tsr_dtype_t *dtype_out);

/**
 * Converts to 16 bits: rounds to nearest, ties to even. Overflow gives
 * infinity; NaN stays a (quiet) NaN. Each call rounds once. Any thread.
 */
TSR_API uint16_t tsr_f32_to_bf16(float x);
TSR_API uint16_t tsr_f32_to_f16(float x);
TSR_API uint16_t tsr_f64_to_bf16(double x);
TSR_API uint16_t tsr_f64_to_f16(double x);

/** Converts from 16 bits, exactly. Any thread. */
TSR_API float tsr_bf16_to_f32(uint16_t x);
TSR_API float tsr_f16_to_f32(uint16_t x);

/**
 * tsr_dtype_get reads element `index` of the host array `data` as a double; the
 * result is exact, except for large i64. tsr_dtype_set writes an element.
 * Floats are rounded to nearest even and overflow to infinity. Integers are
 * rounded to nearest even and saturate; NaN becomes 0. For a type that is
 * reserved or not an element type, get returns 0 and set does nothing. Any
 * thread.
 */
TSR_API double tsr_dtype_get(tsr_dtype_t dtype, const void *data, size_t index);
TSR_API void tsr_dtype_set(tsr_dtype_t dtype, void *data, size_t index, double value);

#ifdef __cplusplus
}
#endif
#endif
