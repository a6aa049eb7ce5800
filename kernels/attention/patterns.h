/*
 * All patterns, for the tile configuration `tile` that the including unit
 * declares.
 */
#ifndef ATTENTION_PATTERNS_H
#define ATTENTION_PATTERNS_H

#include "kernels/attention/heads.h"

#endif
