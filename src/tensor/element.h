/* Elements beyond tessera/dtype.h: what a dtype can hold, and rounding downwards. */
#ifndef TESSERA_TENSOR_ELEMENT_H
#define TESSERA_TENSOR_ELEMENT_H

#include <stdbool.h>

#include "tessera/dtype.h"

bool tsr_dtype_is_float(tsr_dtype_t dtype);

/**
 * True where `value` has an element: integers take whole numbers in their
 * range; floats take all that does not overflow.
 */
bool tsr_dtype_holds(tsr_dtype_t dtype, double value);

/** True where `dtype` holds `low`, `high` and every integer in between exactly. */
bool tsr_dtype_holds_integers(tsr_dtype_t dtype, int64_t low, int64_t high);

/** Stores an integer that the dtype holds. */
void tsr_dtype_set_integer(tsr_dtype_t dtype, void *data, size_t index, int64_t value);

/**
 * Floating dtypes: the largest element that is at most `value`, and the
 * smallest that is at least `value`. Not for NaN.
 */
void tsr_dtype_set_down(tsr_dtype_t dtype, void *data, size_t index, double value);
void tsr_dtype_set_up(tsr_dtype_t dtype, void *data, size_t index, double value);

#endif
