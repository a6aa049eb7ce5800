/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef GEMM_ALL_SCATTER_PATTERNS_H
#define GEMM_ALL_SCATTER_PATTERNS_H

#include "kernels/gemm_all_scatter/one_worker_patterns.h"

#include "kernels/gemm_all_scatter/fused_wave_specialized.h"

#endif
