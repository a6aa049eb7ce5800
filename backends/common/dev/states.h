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

/*
 * The collectives on views have the counts of an all-gather, and behind them
 * what calls in one step need. Two counts of this rank's blocks: those that have
 * arrived, and those that have left. A word for each rank: the last round that
 * it has begun. Two inboxes by parity of the round, each with the words that
 * each rank puts: twice the bytes that they carry. And what was taken of each
 * rank.
 */
#define TSR_ONE_SHOT_ARRIVED(ranks_) TSR_GATHER_WORDS(ranks_)
#define TSR_ONE_SHOT_LEFT(ranks_) (TSR_ONE_SHOT_ARRIVED(ranks_) + TSR_GATHER_LINE_WORDS)
#define TSR_ONE_SHOT_BEGUN(ranks_, rank_) \
	(TSR_ONE_SHOT_LEFT(ranks_) + (1 + (rank_)) * TSR_GATHER_LINE_WORDS)
#define TSR_ONE_SHOT_INBOX(ranks_) TSR_ONE_SHOT_BEGUN(ranks_, ranks_)
#define TSR_ONE_SHOT_TAKEN(ranks_) \
	(TSR_ONE_SHOT_INBOX(ranks_) + 4 * TSR_ONE_SHOT_ROOM / (int64_t)sizeof(uint64_t))

/*
 * Behind that, for teams that span nodes (nodes.h): three counts for each rank,
 * on a line each. Passed on: it has put what I pass on in my node. Filled: it has
 * put a sum of its node's members. Drained: it has used such a sum of mine. The
 * last two are two words each, for even chunks and odd ones. And a line with the
 * rounds that calls have counted so far, of each kind.
 */
#define TSR_NODES_PASSED_ON(rank_) ((rank_)*TSR_GATHER_LINE_WORDS)
#define TSR_NODES_FILLED(ranks_, rank_, odd_) \
	(((ranks_) + (rank_)) * TSR_GATHER_LINE_WORDS + (odd_))
#define TSR_NODES_DRAINED(ranks_, rank_, odd_) \
	((2 * (ranks_) + (rank_)) * TSR_GATHER_LINE_WORDS + (odd_))
#define TSR_NODES_ROUNDS(ranks_) (3 * (ranks_)*TSR_GATHER_LINE_WORDS)
#define TSR_NODES_OF_COLLECTIVE(ranks_) \
	(TSR_ONE_SHOT_TAKEN(ranks_) + TSR_ONE_SHOT_ROOM / (int64_t)sizeof(uint64_t))
#define TSR_COLLECTIVE_WORDS(ranks_) \
	(TSR_NODES_OF_COLLECTIVE(ranks_) + TSR_NODES_ROUNDS(ranks_) + TSR_GATHER_LINE_WORDS)

/* An all-gather has the first of the three. */
#define TSR_NODES_OF_GATHER(ranks_) TSR_GATHER_WORDS(ranks_)
#define TSR_ALL_GATHER_WORDS(ranks_) (TSR_NODES_OF_GATHER(ranks_) + TSR_NODES_PASSED_ON(ranks_))

/*
 * The elements of all ranks that one step takes, and those of each, in bytes, in
 * whole lines of 128. With one step of an all-reduce each rank sends
 * 2 (n - 1) S bytes, for words carry their own flag, and with two it sends
 * 2 (n - 1) / n S, but signals once more, behind a fence. On H200s a signal takes
 * 1443 ns, a fence 586, and a link carries 345 GB/s
 * (model/perf/machines/h200.json: signal, fence, link_all). So both take as long
 * if S = n / (n - 1)^2 * 350 KB: 700, 155 and 57 KB with 2, 4 and 8 ranks. On
 * two H100s the second step costs more than that count says: with one step 4 KiB
 * take 12 us, 256 KiB 13 to 15 and 1 MiB 20 to 22; with two steps 256 KiB take 21 to
 * 28, and 1 MiB 23 to 29 (2026-11-26). The room below gives 1 MiB, 512 and 256
 * KiB. A kernel of a user may have few blocks, which fill no link with words of 8
 * bytes: its calls take one step up to an eighth of that.
 */
#define TSR_ONE_SHOT_ROOM ((int64_t)2 << 20)
/*
 * The same where the team spans nodes. Of 8 ranks on 2 nodes a rank sends 8
 * messages in an all-gather of one step, and 4 by nodes; but those of one step
 * need not wait for others, and by nodes three wait for each other. So small
 * messages go in one step. From which size on they should not is a guess: it has
 * not been measured on a network.
 */
#define TSR_ONE_SHOT_FAR_BYTES ((int64_t)2 << 10)
/* Of the room for what was taken, so much holds partials of other nodes (node_sums.h). */
#define TSR_NODES_ROOM ((int64_t)256 << 10)
/* Words of 32 bits are divided in much less time. */
#define TSR_ONE_SHOT_BYTES(ranks_) \
	((int64_t)((int32_t)TSR_ONE_SHOT_ROOM / (int32_t)(ranks_) / 128 * 128))
#define TSR_ONE_SHOT_BYTES_IN_KERNEL(ranks_) \
	((int64_t)((int32_t)TSR_ONE_SHOT_ROOM / 8 / (int32_t)(ranks_) / 128 * 128))

#endif
