/*
 * The words of the opaque states of dev/signal.h and dev/collective.h: what
 * device code reaches in them, and, for the host, how many there are for a team
 * of `ranks`. C11 and C++17.
 */
#ifndef TESSERA_COMMON_DEV_STATES_H
#define TESSERA_COMMON_DEV_STATES_H

#include <stdint.h>

#include "tessera/types.h"

/*
 * A barrier: my epoch (barriers that I have passed), then a word a rank: the
 * last epoch that it has reached.
 */
#define TSR_BARRIER_EPOCH 0
#define TSR_BARRIER_ARRIVED(rank_) (1 + (rank_))
#define TSR_BARRIER_WORDS(ranks_) (1 + (ranks_))

/*
 * An all-gather: two counts a rank, each on a cache line of its own, so that
 * the counts of others do not hold it up. Retired: the rank lets its `dst` be
 * written. Ready: the piece of the rank has come.
 */
#define TSR_GATHER_LINE_WORDS 16
#define TSR_GATHER_RETIRED(rank_) (2 * (rank_)*TSR_GATHER_LINE_WORDS)
#define TSR_GATHER_READY(rank_) ((2 * (rank_) + 1) * TSR_GATHER_LINE_WORDS)
#define TSR_GATHER_WORDS(ranks_) (2 * (ranks_)*TSR_GATHER_LINE_WORDS)

#endif
