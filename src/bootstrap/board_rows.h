/*
 * The rows of the board (board.h), for the files that write them: board.c for the
 * ranks of a node, board_far.c for those of others.
 *
 * A rank tells its post to the other nodes where a far rank is a member, or has
 * named it as one in its own post of that number. The relay of another node
 * writes it to the rank's row there. A row has room for some posts: a rank says
 * from time to time how many it has compared, and nobody overwrites one that a
 * member may still have to compare.
 */
#ifndef TESSERA_BOOTSTRAP_BOARD_ROWS_H
#define TESSERA_BOOTSTRAP_BOARD_ROWS_H

#include "src/bootstrap/board.h"
#include "src/bootstrap/control.h"

enum {
	TSR_BOARD_TELL = 8, /* of how many comparisons other nodes are told at once */
	TSR_BOARD_WORDS = TSR_MAX_RANKS / 64
};

/** The posts of a rank, used in turn. */
typedef struct tsr_board_row {
	_Alignas(64) _Atomic uint32_t posted; /* number of its posts */
	/* of them, those that it has compared: with what was there of this node's ranks; a far
	 * rank: so far as it has told */
	_Atomic uint32_t compared;
	/* bits of the world ranks with which it shares the topic: all of its posts are to these */
	_Atomic uint64_t members[TSR_BOARD_WORDS];
	_Alignas(64) unsigned char post[TSR_BOARD_POSTS][TSR_POST_BYTES];
} tsr_board_row_t;

/** The same, of one post: what goes to other nodes. */
typedef struct tsr_posted {
	uint64_t members[TSR_BOARD_WORDS];
	unsigned char bytes[TSR_POST_BYTES];
} tsr_posted_t;

static inline tsr_board_row_t *tsr_board_row_at(const tsr_boot_t *boot, int place, int rank)
{
	return (tsr_board_row_t *)(void *)boot->control->units[place] + rank;
}

static inline tsr_board_row_t *tsr_board_row(const tsr_boot_t *boot, int topic, int rank)
{
	return tsr_board_row_at(boot, boot->control->topics[topic].place, rank);
}

/** Whether the row's rank posts to `rank`. Relaxed: `posted`, read before, hands the bits on. */
static inline bool tsr_board_lists(const tsr_board_row_t *row, int rank)
{
	return atomic_load_explicit(&row->members[rank / 64], memory_order_relaxed) >> rank % 64 &
	       1;
}

/** Takes the list of topics, if nobody has it. */
bool tsr_board_try(tsr_boot_t *boot);
void tsr_board_let_go(tsr_boot_t *boot);

/** With the list: the topic of that key; one that is made for it if `make`; or none. */
int tsr_board_topic(tsr_boot_t *boot, uint64_t key, bool make);

/** This rank is about to make the post `number`: for tsr_board_told. */
int64_t tsr_board_claim(tsr_boot_t *boot, const tsr_board_post_t *post);

/**
 * It has made it: tells it to the other nodes, if that was claimed, or if a far
 * rank that is no member has named this one in its post.
 */
void tsr_board_tell(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t number,
		    int64_t claimed);

bool tsr_board_has_lost(const tsr_boot_t *boot);

/* ------------------------------------------------------------------ called by the relay */

/** Reads the post that an event of this node names. */
void tsr_board_read_post(const tsr_boot_t *boot, const tsr_event_t *event, tsr_posted_t *post_out);

/** Writes what a far rank has done to its row. The body of a post has any alignment. */
void tsr_board_take_post(tsr_boot_t *boot, const tsr_event_t *event, const void *body);
void tsr_board_take_compared(tsr_boot_t *boot, const tsr_event_t *event);

/**
 * Whether `rank`, of this node, is named in a far rank's post, but has made its
 * own one of that number without naming that rank, and so has not told it:
 * writes the event that it did not tell.
 */
bool tsr_board_owes(tsr_boot_t *boot, int rank, const tsr_event_t *theirs, const void *body,
		    tsr_event_t *event_out);

#endif
