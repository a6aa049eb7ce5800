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
 * Philox4x32-10 (Salmon et al., SC'11; Random123): key = seed, counter =
 * {index, kind}. No state, so that a rank can make any part of a global array.
 * Each function below is a kind of its own: their values of one (seed, index)
 * are independent. Any thread.
 */

/** 64 random bits. */
TSR_API uint64_t tsr_random_bits(uint64_t seed, uint64_t index);

/** Uniform in [0, 1): 24 bits, exact. */
TSR_API float tsr_random_f32(uint64_t seed, uint64_t index);

/** Uniform in [0, 1): 53 bits, exact. */
TSR_API double tsr_random_f64(uint64_t seed, uint64_t index);

/**
 * Uniform in [low, high): the high word of a 64 by 64 bit product (bias below
 * range / 2^64). low where the range is empty.
 */
TSR_API int64_t tsr_random_int(uint64_t seed, uint64_t index, int64_t low, int64_t high);

/**
 * Normal, mean 0, deviation 1: a fixed sequence of IEEE double operations, so
 * bit-equal everywhere. The inverse distribution function of a 52-bit uniform,
 * with a relative error below 1e-15; its range is -8.21 .. 8.21.
 */
TSR_API double tsr_random_normal(uint64_t seed, uint64_t index);

#ifdef __cplusplus
}
#endif
#endif
