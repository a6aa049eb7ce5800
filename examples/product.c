/*
 * A product over ranks as a call of a library: a linear layer whose rows of
 * activations and columns of weights are divided among the ranks. Each rank
 * gathers the activations and computes its columns of the result.
 */
#include "tessera/products.h"
#include "tessera/tessera.h"
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 64, FEATURES_IN = 96, FEATURES_OUT = 80 };

/** Activations and weights by position; sums of these are exact in f32. */
static float activation(int64_t token, int64_t feature)
{
	return (float)((token + 2 * feature) % 7 - 3);
}

static float weight(int64_t in, int64_t out)
{
	return (float)((3 * in + out) % 5 - 2);
}

/** Writes this rank's part of A or B to its place in the heap. */
static tsr_status_t fill(tsr_world_t *world, tsr_product_t *product, tsr_product_matrix_t which,
			 float (*value)(int64_t, int64_t))
{
	tsr_product_part_t part = {.size = sizeof part};
	tsr_view_t view;
	float row[FEATURES_IN + FEATURES_OUT];
	tsr_status_t status = tsr_product_part(product, which, &part);
	if (status == TSR_OK)
		status = tsr_product_view(product, which, &view);
	for (int64_t i = 0; status == TSR_OK && part.part_cols > 0 && i < part.part_rows; i++) {
		const int64_t at = (part.in_place ? part.first_row + i : i) * view.ld;
		for (int64_t j = 0; j < part.part_cols; j++)
			row[j] = value(part.first_row + i, part.first_col + j);
		status = tsr_memcpy_to_heap(world, (TSR_HEAP float *)view.data + at, row,
					    (size_t)part.part_cols * sizeof *row);
	}
	return status;
}

/** The number of wrong elements in this rank's columns of C; -1 if they cannot be read. */
static int count_wrong(tsr_world_t *world, tsr_product_t *product)
{
	tsr_product_part_t part = {.size = sizeof part};
	tsr_view_t c;
	float row[FEATURES_OUT];
	int wrong = 0;
	if (tsr_product_part(product, TSR_PRODUCT_C, &part) != TSR_OK ||
	    tsr_product_view(product, TSR_PRODUCT_C, &c) != TSR_OK)
		return -1;
	for (int64_t i = 0; part.part_cols > 0 && i < part.part_rows; i++) {
		if (tsr_memcpy_from_heap(world, row, (TSR_HEAP float *)c.data + i * c.ld,
					 (size_t)part.part_cols * sizeof *row) != TSR_OK)
			return -1;
		for (int64_t j = 0; j < part.part_cols; j++) {
			float sum = 0;
			for (int64_t k = 0; k < FEATURES_IN; k++)
				sum += activation(i, k) * weight(k, part.first_col + j);
			wrong += row[j] != sum;
		}
	}
	return wrong;
}

TSR_MAIN(world, argc, argv)
{
	const tsr_product_desc_t layer = {.size = sizeof layer,
					  .kind = TSR_PRODUCT_ALL_GATHER_GEMM,
					  .m = TOKENS,
					  .n = FEATURES_OUT,
					  .k = FEATURES_IN,
					  .dtype = TSR_F32};
	tsr_product_t *product;
	tsr_stream_t *stream;
	TSR_TRY(tsr_product_create(world, &layer, &product));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(fill(world, product, TSR_PRODUCT_A, activation));
	TSR_TRY(fill(world, product, TSR_PRODUCT_B, weight));
	TSR_TRY(tsr_product_run(product, stream, NULL, NULL, NULL));
	TSR_TRY(tsr_stream_sync(stream));
	const int wrong = count_wrong(world, product);
	printf("rank %d of %d: %s, %d wrong: %s\n", tsr_world_rank(world), tsr_world_size(world),
	       tsr_product_pattern(product), wrong, wrong == 0 ? "ok" : "WRONG");
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_product_destroy(product));
	return wrong != 0;
}
