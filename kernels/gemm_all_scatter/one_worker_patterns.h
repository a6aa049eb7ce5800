/*
 * The patterns whose blocks are not split. Units include this header instead of
 * patterns.h for two kinds of tiles: large ones, beside which a second worker
 * and its stages would leave the main loop too few registers or too little
 * shared memory; and flat ones, which have too few rows to divide between
 * workers.
 */
#ifndef GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H
#define GEMM_ALL_SCATTER_ONE_WORKER_PATTERNS_H

#include "kernels/gemm_all_scatter/banded.h"
#include "kernels/gemm_all_scatter/bulk_synchronous.h"
#include "kernels/gemm_all_scatter/fused_sequential.h"
#include "kernels/gemm_all_scatter/fused_workgroup_specialized.h"
#include "kernels/gemm_all_scatter/producer_consumer.h"
#include "kernels/gemm_all_scatter/work_queue.h"

#endif
