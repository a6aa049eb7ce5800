/* The patterns for f16 operands in tiles of 32 x 32, 16 deep. */
#define TSR_VARIANT f16_32x32x16
#include "tessera/dev.h"

TSR_TILE(tile, f16, 32, 32, 16);

#include "kernels/gemm_all_scatter/patterns.h"
