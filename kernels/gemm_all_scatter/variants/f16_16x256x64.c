/* The patterns for f16 operands in tiles of 16 x 256, 64 deep. */
#define TSR_VARIANT f16_16x256x64
#include "tessera/dev.h"

TSR_TILE(tile, f16, 16, 256, 64);

#include "kernels/gemm_all_scatter/patterns.h"
