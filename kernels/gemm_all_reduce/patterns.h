/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef GEMM_ALL_REDUCE_PATTERNS_H
#define GEMM_ALL_REDUCE_PATTERNS_H

#include "kernels/gemm_all_reduce/bulk_synchronous.h"
#include "kernels/gemm_all_reduce/communicators.h"
#include "kernels/gemm_all_reduce/own_chunk_last.h"
#include "kernels/gemm_all_reduce/store_add.h"

#endif
