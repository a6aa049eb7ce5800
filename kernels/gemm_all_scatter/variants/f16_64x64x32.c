/* The patterns for f16 operands in tiles of 64 x 64, 32 deep. */
#define TSR_VARIANT f16_64x64x32
#include "tessera/dev.h"

TSR_TILE(tile, f16, 64, 64, 32);

#include "kernels/gemm_all_scatter/patterns.h"
