/* The arguments that the host passes to every kernel of this folder. */
#ifndef MOE_ARGS_H
#define MOE_ARGS_H

#include "kernels/dev/handshake_state.h"
#include "tessera/types.h"

enum {
	MOE_EXPERTS = 512, /* of a layer, at most */
	MOE_KEYS = 1024,   /* choices of a piece, at most */
	MOE_CHOICES = 64   /* experts of a token, at most */
};

/* What moe_move does: `step`. */
enum { MOE_SEND, MOE_EXPAND, MOE_RETURN, MOE_FINISH };

/* What the first product's results go through: `activation`. */
enum { MOE_LINEAR = 1, MOE_RELU };

/**
 * Where the rows of a rank's experts lie, and in which order their blocks are
 * computed. A block is TSR_TILE_M rows. The plan writes it, and all blocks of the
 * later launches read it. Entry i is of the rank's i-th expert.
 */
typedef struct moe_groups {
	/* the first block of each expert; behind the last expert, the number of blocks */
	int32_t first_block[MOE_EXPERTS + 1];
	int32_t rows[MOE_EXPERTS]; /* without padding */
	/* The early experts: how many of their blocks, up to this one, hold this rank's own
	 * tokens alone. Such blocks are computed first. */
	int32_t own_first[MOE_EXPERTS + 1];
	int32_t tokens[TSR_MAX_RANKS]; /* of each rank */
} moe_groups_t;

enum { MOE_GROUP_WORDS = sizeof(moe_groups_t) / sizeof(int32_t) };

/* Rows of what ranks have for each other: rank `r`'s token `t` has row r * tokens_most + t. */
typedef struct moe_args {
	/* this rank's tokens; the experts that each has chosen, and with which weights */
	tsr_view_t x, experts, weights;
	tsr_view_t staged; /* tokens of other ranks, as they come */
	tsr_view_t rows;   /* tokens, sorted by expert: operand A of the first product */
	tsr_view_t w1, w2; /* of this rank's first expert; the others are below */
	tsr_view_t y1, y2; /* results of the two products */
	tsr_view_t back;   /* what the ranks' experts made of this rank's tokens */
	tsr_view_t out;    /* their sums */
	/* For all ranks' tokens: the place of each choice, rank * capacity + row, or -1; and its
	 * weight. */
	tsr_view_t places, weighed;
	tsr_view_t counts;          /* choices of each expert in each piece of this rank's tokens */
	tsr_view_t groups;          /* a moe_groups_t, as 32-bit words */
	TSR_HEAP int32_t *origin;   /* of each row of `rows`: the row of its token */
	TSR_HEAP int32_t *overflow; /* the rank, from 1 on, and its expert that has no room; 0 */
	TSR_HEAP uint64_t *words;   /* counts that ranks put to each other: moe_words */
	TSR_HEAP uint64_t *counted; /* blocks that have counted; 0 after a run */
	TSR_HEAP uint64_t *taken;   /* pieces of rows that somebody fills, or has filled */
	TSR_HEAP uint64_t *steps;   /* of combine, that somebody takes, or has taken */
	TSR_HEAP uint64_t *ready;   /* of a group of blocks: its filled pieces; 0 after a run */
	TSR_HEAP uint64_t *planned; /* of each rank: its plans' blocks that have ended (READY) */
	/* epochs: for which a chunk of tokens is here, a group of blocks complete, and a chunk of
	 * results is back (READY) */
	TSR_HEAP uint64_t *come, *filled, *returned;
	TSR_HEAP uint64_t *done; /* of each band: blocks that have computed it, over all runs */
	TSR_HEAP handshake_t *plan, *meeting;
	int32_t me, ranks;
	int32_t tokens, tokens_most; /* of this rank; of any */
	int32_t choices;             /* of a token */
	int32_t all_experts;
	int32_t padding;            /* an expert's rows are padded to a multiple of it */
	int32_t capacity;           /* rows that a rank has for its experts' tokens: whole blocks */
	int32_t piece;              /* tokens that a block of the plan places at a time */
	int32_t pieces;             /* of this rank's tokens */
	int32_t plan_blocks;        /* blocks of a plan */
	int32_t chunk;              /* tokens that have a flag together */
	int32_t chunks;             /* number of chunks of tokens_most */
	int32_t batch;              /* tokens whose results come back together, with a flag */
	int32_t batches;            /* number of batches of tokens_most */
	int32_t early;              /* of this rank's experts, those whose own blocks come first */
	int32_t bands;              /* columns of the second product that are returned together: */
	int32_t band_tiles;         /* so many tiles */
	int32_t senders, expanders; /* blocks that move, first tokens or rows; the others compute */
	int32_t activation;
	int32_t step, peer, index; /* of one launch */
} moe_args_t;

#endif
