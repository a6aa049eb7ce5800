/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef RING_ATTENTION_PATTERNS_H
#define RING_ATTENTION_PATTERNS_H

#include "kernels/ring_attention/bulk_synchronous.h"
#include "kernels/ring_attention/gather.h"
#include "kernels/ring_attention/rotate.h"

#endif
