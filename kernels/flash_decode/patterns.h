/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef FLASH_DECODE_PATTERNS_H
#define FLASH_DECODE_PATTERNS_H

#include "kernels/flash_decode/bulk_synchronous.h"
#include "kernels/flash_decode/fine_waits.h"
#include "kernels/flash_decode/one_launch.h"

#endif
