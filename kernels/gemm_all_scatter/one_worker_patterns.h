/*
 * The patterns whose blocks are not split: for tiles beside which a second
 * worker and its stages would leave the main loop too few registers, or too
 * little shared memory; and for flat ones, whose rows are too few to be divided
 * between workers.
 */
#ifndef GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H
#define GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H

#include "kernels/gemm_all_scatter/banded.h"
#include "kernels/gemm_all_scatter/bulk_synchronous.h"
#include "kernels/gemm_all_scatter/fused_sequential.h"
#include "kernels/gemm_all_scatter/fused_workgroup_specialized.h"
#include "kernels/gemm_all_scatter/producer_consumer.h"

#endif
