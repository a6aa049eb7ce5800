/*
 * Random numbers by position: element `index` of stream `seed` is the same on
 * every backend and in every world.
 */
#ifndef TESSERA_RANDOM_H
#define TESSERA_RANDOM_H

#include <stdint.h>

#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The generator is Philox4x32-10 (Salmon et al., SC'11; Random123) with key =
 * seed and counter = {index, kind}. It has no state, so any rank can compute
 * any part of a global array. Each function below has a kind of its own: for
 * one (seed, index), different functions give independent values. Any thread
 * may call them.
 */

/** 64 random bits. */
TSR_API uint64_t tsr_random_bits(uint64_t seed, uint64_t index);

/** Uniform in [0, 1): a multiple of 2^-24. */
TSR_API float tsr_random_f32(uint64_t seed, uint64_t index);

/** Uniform in [0, 1): a multiple of 2^-53. */
TSR_API double tsr_random_f64(uint64_t seed, uint64_t index);

/**
 * Uniform in [low, high); `low` if the range is empty. The value is the high
 * word of a 64 by 64 bit product, so its bias is below range / 2^64.
 */
TSR_API int64_t tsr_random_int(uint64_t seed, uint64_t index, int64_t low, int64_t high);

/**
 * Normal with mean 0 and deviation 1. The value is the inverse distribution
 * function of a 52-bit uniform, with a relative error below 1e-15. It is
 * computed by a fixed sequence of IEEE double operations, so its bits are equal
 * everywhere. It lies in -8.21 .. 8.21.
 */
TSR_API double tsr_random_normal(uint64_t seed, uint64_t index);

#ifdef __cplusplus
}
#endif
#endif
