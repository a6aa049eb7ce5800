/* The patterns for bf16 operands in tiles of 64 x 64, 32 deep. */
#define TSR_VARIANT bf16_64x64x32
#include "tessera/dev.h"

TSR_TILE(tile, bf16, 64, 64, 32);

#include "kernels/gemm_all_scatter/patterns.h"
