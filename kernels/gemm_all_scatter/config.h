/* Declarations that the files of the host half share. */
#ifndef GEMM_ALL_SCATTER_CONFIG_H
#define GEMM_ALL_SCATTER_CONFIG_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"
#include "kernels/host/product.h"
#include "kernels/workload.h"

/** The kernels of a pattern, in the order of their launches. */
typedef struct gas_pattern_kernels {
	const char *name;       /* name of the pattern */
	const char *kernels[2]; /* null: no second kernel */
	bool sends_apart;       /* some of the blocks only send */
} gas_pattern_kernels_t;

const gas_pattern_kernels_t *gas_pattern_kernels(gas_pattern_t pattern);

/* Numbers of the matrices: inputs, output, and two of the baseline. */
enum { GAS_A, GAS_B, GAS_C, GAS_PART, GAS_PARTS_OF_ALL, GAS_MATRICES };

/** A matrix, and the part of rank `rank`. */
workload_matrix_t gas_matrix(const gas_config_t *config, int matrix, int rank, int ranks);

/** The product that a configuration computes. */
product_t gas_product(const gas_config_t *config);

/** The workload, and the conversions between its parameters and a configuration. */
extern const workload_t gemm_all_scatter;
workload_config_t gas_workload_config(const gas_config_t *config);
gas_config_t gas_config_of(const workload_config_t *config);

/** Whether the pattern's kernels can divide tiles into parts of K. */
bool gas_can_divide(gas_pattern_t pattern);

/** The number of tiles that cover the largest share of C. */
int64_t gas_most_tiles(const gas_config_t *config, tile_size_t tile, int ranks);

/**
 * Chooses the tile, of those that are built and fit the device: the cheapest of
 * those for which the device has matrix units; otherwise the cheapest of those
 * that suit the shape; otherwise the smallest. Errors: TSR_ERR_UNSUPPORTED (no
 * tile fits).
 */
tsr_status_t gas_tile_choose(gas_config_t *config, const workload_place_t *place);

#endif
