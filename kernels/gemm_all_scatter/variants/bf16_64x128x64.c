/* The patterns for bf16 operands in tiles of 64 x 128, 64 deep. */
#define TSR_VARIANT bf16_64x128x64
#include "tessera/dev.h"

TSR_TILE(tile, bf16, 64, 128, 64);

#include "kernels/gemm_all_scatter/patterns.h"
