/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef MOE_PATTERNS_H
#define MOE_PATTERNS_H

#include "kernels/moe/bulk_synchronous.h"
#include "kernels/moe/copy_engines.h"
#include "kernels/moe/fused.h"
#include "kernels/moe/planning.h"

#endif
