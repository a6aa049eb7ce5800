/*
 * Matrix products over ranks as calls of a library: the workloads of
 * `tessera bench`, for programs. They are in libtessera-kernels, which contains
 * their kernels (-ltessera-kernels -ltessera). tessera/tessera.h does not
 * include this header.
 */
#ifndef TESSERA_PRODUCTS_H
#define TESSERA_PRODUCTS_H

#include "tessera/stream.h"
#include "tessera/types.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What is computed. Always C = A * B with A of M x K, B of K x N and C of M x N
 * elements, row-major. Rank r of W has the share [r*E/W, (r+1)*E/W) of an
 * extent E, in integer division; no extent need be a multiple of anything.
 */
typedef enum tsr_product_kind {
	/* A is whole on every rank, each has its share of B's columns; C is whole on every rank */
	TSR_PRODUCT_GEMM_ALL_SCATTER = 1,
	/* each rank has its share of A's rows, which all ranks gather, and of B's columns; it gets
	 * its share of C's columns. tsr_gather_t names other divisions. */
	TSR_PRODUCT_ALL_GATHER_GEMM = 2,
	/* each rank has its share of A's columns and of B's rows; it gets its share of C's rows */
	TSR_PRODUCT_GEMM_REDUCE_SCATTER = 3,
	/* the same, and C is whole on every rank */
	TSR_PRODUCT_GEMM_ALL_REDUCE = 4
} tsr_product_kind_t;

/** For TSR_PRODUCT_ALL_GATHER_GEMM: what is gathered, and how it is divided. */
typedef enum tsr_gather {
	TSR_GATHER_A_BY_ROWS = 0,
	TSR_GATHER_A_BY_COLUMNS = 1,
	/* each rank has its share of B's rows and of A's rows; it gets its share of C's rows */
	TSR_GATHER_B_BY_ROWS = 2
} tsr_gather_t;

/** The matrices of a product. As bits, in `given` of tsr_product_desc_t. */
typedef enum tsr_product_matrix {
	TSR_PRODUCT_A = 1,
	TSR_PRODUCT_B = 2,
	TSR_PRODUCT_C = 4
} tsr_product_matrix_t;

/**
 * What a product is made for, equal on all ranks. Members that are 0 mean what
 * their comment says. Initialise it with
 * `tsr_product_desc_t desc = {.size = sizeof desc};`.
 */
typedef struct tsr_product_desc {
	size_t size; /* set by the caller: sizeof this struct */
	tsr_product_kind_t kind;
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C: TSR_BF16, TSR_F16 or TSR_F32. Sums are f32. */
	/* the matrices (as bits) that the caller brings to each run. The product allocates the
	 * others: tsr_product_view says where. */
	unsigned given;
	tsr_gather_t gather;
	/* element type in which reduce-scatter and all-reduce send sums: TSR_F32, or dtype, which
	 * is half as much and rounds each sum once more; 0: TSR_F32 */
	tsr_dtype_t sums;
	/* how ranks communicate, as `tessera bench --list` names it; null: the pattern that should
	 * take least time */
	const char *pattern;
} tsr_product_desc_t;

/** A product that is ready to run on one rank. */
typedef struct tsr_product tsr_product_t;

/**
 * Allocates memory in the heap (what ranks exchange, and the matrices that are
 * not given), chooses tiles and blocks for this device, and finds the kernels.
 * The matrices are not initialised.
 *
 * Called by:  every rank, one thread a rank (collective), with the same
 *             description.
 * Errors:     TSR_ERR_ARGUMENT (a description that no product has),
 *             TSR_ERR_NOT_FOUND (no such pattern; the sentence lists all),
 *             TSR_ERR_MISMATCH (another rank's description differs),
 *             TSR_ERR_NO_MEMORY (TESSERA_HEAP_SIZE is too small),
 *             TSR_ERR_UNSUPPORTED and TSR_ERR_RESIDENCY (the device holds no
 *             tile, or not all blocks), and those of tsr_heap_alloc. The call
 *             succeeds on all ranks or on none. `*product_out` is written only
 *             on success.
 */
TSR_API tsr_status_t tsr_product_create(tsr_world_t *world, const tsr_product_desc_t *desc,
					tsr_product_t **product_out);

/** A matrix, and this rank's part of it. */
typedef struct tsr_product_part {
	size_t size;                  /* set by the caller: sizeof this struct */
	int64_t rows, cols;           /* of the whole matrix */
	int64_t first_row, first_col; /* where this rank's part begins in it */
	int64_t part_rows, part_cols; /* may be 0 */
	/* 1: memory holds the whole matrix, with this rank's part in its place: an operand that is
	 * gathered. 0: memory holds the part alone. */
	int in_place;
} tsr_product_part_t;

/**
 * Says which part of a matrix this rank has. Initialise `part_out` with
 * `{.size = sizeof part}`. Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT.
 */
TSR_API tsr_status_t tsr_product_part(const tsr_product_t *product, tsr_product_matrix_t matrix,
				      tsr_product_part_t *part_out);

/**
 * Where the product's own memory of a matrix is: the whole matrix if it is in
 * place, else this rank's part. Rows may be further apart than they are long.
 * Valid as long as the product. Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT (also if the matrix is given).
 */
TSR_API tsr_status_t tsr_product_view(const tsr_product_t *product, tsr_product_matrix_t matrix,
				      tsr_view_t *view_out);

/** The name of the pattern that the product runs. Valid as long as the product. Any thread. */
TSR_API const char *tsr_product_pattern(const tsr_product_t *product);

/**
 * Starts one run after the stream's earlier work, and returns without waiting.
 * `a`, `b` and `c` are the given matrices (tsr_tensor_view makes a view of a
 * tensor), and null for those that are not given. A view has the extents of
 * tsr_product_part (of the whole matrix, if it is in place), and the dtype of
 * the product, and lies in one allocation of the heap. A matrix that peers read
 * or write must be at the same place on all ranks, with the same distance
 * between rows: the operand that is gathered, and C of all-scatter and
 * all-reduce. Runs may have different matrices, and different streams; each run
 * begins when the product's run before it has ended on this rank.
 *
 * Speed:      bases and distances between rows that are multiples of 16 bytes
 *             are fastest.
 * Orders:     the run reads A and B after the stream's earlier work. When the
 *             stream's later work begins, this rank's C is complete, peers'
 *             stores to it included. Peers may write the parts of C, or of the
 *             gathered operand, that are theirs as soon as this rank's run has
 *             begun, and not before.
 * Called by:  every rank, one thread a rank, equally often, on a stream of the
 *             world's team.
 * Errors:     TSR_ERR_ARGUMENT (a matrix that is missing, not wanted, or not as
 *             described; a stream of another world, or of a smaller team), and
 *             those of tsr_launch.
 */
TSR_API tsr_status_t tsr_product_run(tsr_product_t *product, tsr_stream_t *stream,
				     const tsr_view_t *a, const tsr_view_t *b, const tsr_view_t *c);

/**
 * Waits for the product's runs and for every rank, and releases everything.
 * Null is TSR_OK.
 *
 * Called by:  every rank (collective), before tsr_finalize.
 * Errors:     those of tsr_stream_sync and tsr_heap_free. Everything local is
 *             released even then.
 */
TSR_API tsr_status_t tsr_product_destroy(tsr_product_t *product);

#ifdef __cplusplus
}
#endif
#endif
