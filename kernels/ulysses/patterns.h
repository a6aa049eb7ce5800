/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef ULYSSES_PATTERNS_H
#define ULYSSES_PATTERNS_H

#include "kernels/ulysses/bulk_synchronous.h"
#include "kernels/ulysses/fused.h"

#endif
