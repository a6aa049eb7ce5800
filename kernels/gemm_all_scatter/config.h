/* What the parts of the host half share among themselves. */
#ifndef GEMM_ALL_SCATTER_CONFIG_H
#define GEMM_ALL_SCATTER_CONFIG_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"
#include "kernels/host/product.h"
#include "kernels/workload.h"

/** The kernels of a pattern, in the order of their launch. */
typedef struct gas_pattern_kernels {
	const char *name;       /* of the pattern */
	const char *kernels[2]; /* null: none */
	bool sends_apart;       /* some of the blocks only send */
} gas_pattern_kernels_t;

const gas_pattern_kernels_t *gas_pattern_kernels(gas_pattern_t pattern);

/* The matrices by number: inputs, output, and two of the baseline's. */
enum { GAS_A, GAS_B, GAS_C, GAS_PART, GAS_PARTS_OF_ALL, GAS_MATRICES };

/** A matrix, and rank `rank`'s part of it. */
workload_matrix_t gas_matrix(const gas_config_t *config, int matrix, int rank, int ranks);

/** What is computed. */
product_t gas_product(const gas_config_t *config);

/** The workload, and a configuration as it is told. */
extern const workload_t gemm_all_scatter;
workload_config_t gas_workload_config(const gas_config_t *config);

/** Whether the pattern's kernels can multiply tiles in parts. */
bool gas_can_divide(gas_pattern_t pattern);

/** How many tiles cover the largest share of C. */
int64_t gas_most_tiles(const gas_config_t *config, tile_size_t tile, int ranks);

/**
 * Fills in the tile: the cheapest that the device is fast at, or else that
 * suits the shape, or the smallest; of those that are built and fit the device.
 * Errors: TSR_ERR_UNSUPPORTED where none does.
 */
tsr_status_t gas_tile_choose(gas_config_t *config, int ranks, const tsr_device_props_t *device);

#endif
