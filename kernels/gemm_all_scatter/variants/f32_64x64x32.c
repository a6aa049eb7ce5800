/* The patterns for f32 operands in tiles of 64 x 64, 32 deep. */
#define TSR_VARIANT f32_64x64x32
#include "tessera/dev.h"

TSR_TILE(tile, f32, 64, 64, 32);

#include "kernels/gemm_all_scatter/patterns.h"
