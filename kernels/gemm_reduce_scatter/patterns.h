/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef GEMM_REDUCE_SCATTER_PATTERNS_H
#define GEMM_REDUCE_SCATTER_PATTERNS_H

#include "kernels/gemm_reduce_scatter/bulk_synchronous.h"
#include "kernels/gemm_reduce_scatter/own_chunk_last.h"
#include "kernels/gemm_reduce_scatter/ring.h"
#include "kernels/gemm_reduce_scatter/store_add.h"

#endif
