/* The patterns for f16 operands in tiles of 64 x 128, 64 deep. */
#define TSR_VARIANT f16_64x128x64
#include "tessera/dev.h"

TSR_TILE(tile, f16, 64, 128, 64);

#include "kernels/gemm_all_scatter/patterns.h"
