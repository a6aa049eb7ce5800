/* The patterns for f16 operands in tiles of 128 x 224, 64 deep. */
#define TSR_VARIANT f16_128x224x64
#include "tessera/dev.h"

TSR_TILE(tile, f16, 128, 224, 64);

#include "kernels/gemm_all_scatter/one_worker_patterns.h"
