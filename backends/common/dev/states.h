/*
 * The words of the opaque states of dev/signal.h and dev/collective.h: their
 * indices, and for the host their number for a team of `ranks`. C11 and C++17.
 */
#ifndef TESSERA_COMMON_DEV_STATES_H
#define TESSERA_COMMON_DEV_STATES_H

#include <stdint.h>

#include "tessera/types.h"

/*
 * A barrier: my epoch (the number of barriers that I have passed), then a word
 * for each rank: the last epoch that it has reached.
 */
#define TSR_BARRIER_EPOCH 0
#define TSR_BARRIER_ARRIVED(rank_) (1 + (rank_))
#define TSR_BARRIER_WORDS(ranks_) (1 + (ranks_))

/*
 * An all-gather, and the collectives on views: two counts for each rank, each
 * on a cache line of its own, so that accesses to one count do not delay
 * another. Retired: the rank has arrived, so that its `dst` may be overwritten.
 * Ready: it has moved its part.
 */
#define TSR_GATHER_LINE_WORDS 16
#define TSR_GATHER_RETIRED(rank_) (2 * (rank_)*TSR_GATHER_LINE_WORDS)
#define TSR_GATHER_READY(rank_) ((2 * (rank_) + 1) * TSR_GATHER_LINE_WORDS)
#define TSR_GATHER_WORDS(ranks_) (2 * (ranks_)*TSR_GATHER_LINE_WORDS)

#endif
