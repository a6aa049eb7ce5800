/* The patterns for bf16 operands in tiles of 32 x 32, 16 deep. */
#define TSR_VARIANT bf16_32x32x16
#include "tessera/dev.h"

TSR_TILE(tile, bf16, 32, 32, 16);

#include "kernels/gemm_all_scatter/patterns.h"
