/*
 * Additions to tessera/dtype.h: which values a dtype can hold, and rounding
 * down and up.
 */
#ifndef TESSERA_TENSOR_ELEMENT_H
#define TESSERA_TENSOR_ELEMENT_H

#include <stdbool.h>

#include "tessera/dtype.h"

bool tsr_dtype_is_float(tsr_dtype_t dtype);

/**
 * Whether the dtype can hold `value`: integers hold whole numbers in their
 * range; floats hold everything that does not overflow.
 */
bool tsr_dtype_holds(tsr_dtype_t dtype, double value);

/**
 * Whether `dtype` holds `low`, `high` and every integer between them exactly.
 */
bool tsr_dtype_holds_integers(tsr_dtype_t dtype, int64_t low, int64_t high);

/** Stores an integer that the dtype can hold. */
void tsr_dtype_set_integer(tsr_dtype_t dtype, void *data, size_t index, int64_t value);

/**
 * Floating dtypes: stores the largest element that is at most `value`, or the
 * smallest that is at least `value`. Not for NaN.
 */
void tsr_dtype_set_down(tsr_dtype_t dtype, void *data, size_t index, double value);
void tsr_dtype_set_up(tsr_dtype_t dtype, void *data, size_t index, double value);

#endif
