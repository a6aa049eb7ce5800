/*
 * The patterns whose blocks are not split: for tiles so large that a second worker and its stages would leave the main loop too few
 * registers, or too little shared memory.
 */
#ifndef GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H
#define GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H

#include "kernels/gemm_all_scatter/banded.h"
#include "kernels/gemm_all_scatter/bulk_synchronous.h"
#include "kernels/gemm_all_scatter/fused_sequential.h"
#include "kernels/gemm_all_scatter/fused_workgroup_specialized.h"
#include "kernels/gemm_all_scatter/producer_consumer.h"

#endif
