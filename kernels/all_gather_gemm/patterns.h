/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef ALL_GATHER_GEMM_PATTERNS_H
#define ALL_GATHER_GEMM_PATTERNS_H

#include "kernels/all_gather_gemm/bulk_synchronous.h"
#include "kernels/all_gather_gemm/copy_engines.h"
#include "kernels/all_gather_gemm/marked.h"
#include "kernels/all_gather_gemm/pull.h"
#include "kernels/all_gather_gemm/push.h"
#include "kernels/all_gather_gemm/staged_pull.h"

#endif
