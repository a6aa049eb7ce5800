/* All patterns, for the tile configuration `tile` that the including unit has declared. */
#ifndef GEMM_ALL_SCATTER_PATTERNS_H
#define GEMM_ALL_SCATTER_PATTERNS_H

#include "kernels/gemm_all_scatter/bulk_synchronous.h"
#include "kernels/gemm_all_scatter/fused_sequential.h"
#include "kernels/gemm_all_scatter/fused_wave_specialized.h"
#include "kernels/gemm_all_scatter/fused_workgroup_specialized.h"
#include "kernels/gemm_all_scatter/producer_consumer.h"

#endif
