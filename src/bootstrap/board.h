/*
 * The board: what ranks say of calls that they queue, for those who queue them
 * later. A topic is one series of calls, in which the k-th post of every rank is
 * of the same call. Nobody waits for a post: of two ranks, the one that posts
 * later compares. Posts of other nodes come later: who wants to compare with
 * those waits for them.
 */
#ifndef TESSERA_BOOTSTRAP_BOARD_H
#define TESSERA_BOOTSTRAP_BOARD_H

#include "src/bootstrap/bootstrap.h"

enum {
	TSR_POST_BYTES = 512,
	TSR_TOPIC_NONE = -1,
	TSR_BOARD_POSTS = 32 /* how far a rank is ahead of a member at most */
};

/** A post, and what to do with the posts of the same number that are there. */
typedef struct tsr_board_post {
	int topic;
	const char *call; /* for sentences */
	const int *ranks; /* ranks[i]: the world rank of member i */
	int members;
	const void *bytes; /* TSR_POST_BYTES */
	/* theirs: the post of world rank `rank`; a status that is not TSR_OK ends tsr_board_say */
	tsr_status_t (*compare)(void *ctx, int rank, const void *theirs);
	/* a far rank's post has not come within the deadline: ends the world */
	tsr_status_t (*expire)(void *ctx, int rank);
	void *ctx;
} tsr_board_post_t;

/**
 * Finds the topic of a key, or makes it. TSR_TOPIC_NONE: there is no room for
 * one more. Errors: those of a world that has ended, or ends.
 */
tsr_status_t tsr_board_find(tsr_boot_t *boot, uint64_t key, int *topic_out);

/**
 * Posts, and calls `compare` for each rank of this node that has posted as many
 * times and is a member, or that lists this rank among its own members. A rank is
 * at most some posts ahead of each member: then it waits, until the deadline,
 * which ends the world. `*number_out`: how many posts it has made before.
 */
tsr_status_t tsr_board_say(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t *number_out);

/** Whether some members are on other nodes, so that tsr_board_await has something to do. */
bool tsr_board_crosses(const tsr_boot_t *boot, const tsr_board_post_t *post);

/**
 * Waits until all members on other nodes have made their posts of that number,
 * and calls `compare` for each. Called by any thread, for one post of a topic
 * after the other. Where nodes have no room for topics, it compares with those
 * that have come. Errors: those of `compare` and `expire`, and of a world that
 * has ended, or ends because a rank is lost.
 */
tsr_status_t tsr_board_await(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t number);

/** A post is lost, or never made: from now on no rank waits for one of another node. */
void tsr_board_lose_posts(tsr_boot_t *boot);

/** The last post of each of two ranks on a topic. */
typedef struct tsr_board_last {
	uint64_t key;
	uint32_t posts[2];   /* how many each has made */
	const void *post[2]; /* null where it has made none */
} tsr_board_last_t;

/**
 * For reports: what two ranks have said last on the topic of an index from 0 on,
 * as this node knows it. False: there is no such topic, or (`*end_out`) none from
 * there on.
 */
bool tsr_board_look(tsr_boot_t *boot, int topic, const int ranks[2], tsr_board_last_t *last_out,
		    bool *end_out);

/**
 * This rank needs the topics of keys from `begin` to below `end` no more. Every
 * rank of the world calls it, and nobody uses them again before all have.
 */
void tsr_board_drop(tsr_boot_t *boot, uint64_t begin, uint64_t end);

#endif
