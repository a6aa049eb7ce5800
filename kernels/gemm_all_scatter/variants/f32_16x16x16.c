/* The patterns for f32 operands in tiles of 16 x 16, 16 deep. */
#define TSR_VARIANT f32_16x16x16
#include "tessera/dev.h"

TSR_TILE(tile, f32, 16, 16, 16);

#include "kernels/gemm_all_scatter/patterns.h"
