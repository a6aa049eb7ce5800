/* The patterns for f32 operands in tiles of 32 x 32, 16 deep. */
#define TSR_VARIANT f32_32x32x16
#include "tessera/dev.h"

TSR_TILE(tile, f32, 32, 32, 16);

#include "kernels/gemm_all_scatter/patterns.h"
