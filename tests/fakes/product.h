/*
 * A column-major product on the host, by its definition: f32 sums, rounded
 * once.
 */
#ifndef TESSERA_TESTS_FAKES_PRODUCT_H
#define TESSERA_TESTS_FAKES_PRODUCT_H

#include <stdint.h>
#include <string.h>

#include "bench/gpu/runtime.h"

__extension__ typedef _Float16 half_t;

static float get(int type, const void *data, size_t index)
{
	float value = 0.0F;
	if (type == BENCH_R_32F)
		return ((const float *)data)[index];
	if (type == BENCH_R_16F)
		return (float)((const half_t *)data)[index];
	uint32_t bits = (uint32_t)((const uint16_t *)data)[index] << 16;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void set(int type, void *data, size_t index, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (type == BENCH_R_32F)
		((float *)data)[index] = value;
	else if (type == BENCH_R_16F)
		((half_t *)data)[index] = (half_t)value;
	else /* to nearest even */
		((uint16_t *)data)[index] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/** A matrix: `data` and the distance between its columns. */
typedef struct operand {
	const void *data;
	size_t ld;
} operand_t;

/** C = A B, of m x n; A has k columns. */
static void multiply(int type, size_t m, size_t n, size_t k, operand_t a, operand_t b, void *c,
		     size_t ldc)
{
	for (size_t col = 0; col < n; col++)
		for (size_t row = 0; row < m; row++) {
			float sum = 0.0F;
			for (size_t i = 0; i < k; i++)
				sum += get(type, a.data, i * a.ld + row) *
				       get(type, b.data, col * b.ld + i);
			set(type, c, col * ldc + row, sum);
		}
}

#endif
