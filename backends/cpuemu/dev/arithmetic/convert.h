/*
 * Conversion of rows between the element types in memory and those that
 * fragments hold (f32, f64, i32).
 */
#ifndef TESSERA_CPUEMU_CONVERT_H
#define TESSERA_CPUEMU_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Converts elements of `row` to `held`: exactly if the held type has the value,
 * otherwise rounded or saturated.
 */
void tsr_row_widen(int32_t held_dtype, void *held, int32_t dtype, const void *row, size_t count);

/** The inverse: floats are rounded to nearest even, integers saturate. */
void tsr_row_narrow(int32_t dtype, void *row, int32_t held_dtype, const void *held, size_t count);

#endif
