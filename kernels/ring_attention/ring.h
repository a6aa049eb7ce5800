/* Attention over a sequence that the ranks share, host half: what its files share. */
#ifndef RING_ATTENTION_RING_H
#define RING_ATTENTION_RING_H

#include "kernels/host/plan.h"
#include "kernels/ring_attention/args.h"

typedef enum ring_pattern {
	RING_BULK_SYNCHRONOUS = 0,
	RING_GATHER = 1,
	RING_ROTATE = 2
} ring_pattern_t;

enum { RING_PATTERNS = 3 };

/** A pattern: its name, and its kernels, of which the second may be null. */
typedef struct ring_pattern_kernels {
	const char *name;
	const char *kernels[2];
} ring_pattern_kernels_t;

extern const ring_pattern_kernels_t ring_patterns[RING_PATTERNS];

/* The places of the parameters. */
enum {
	RING_BATCH,
	RING_HEADS,
	RING_KEY_HEADS,
	RING_SEQUENCE,
	RING_DIM,
	RING_MASK,
	RING_DTYPE,
	RING_TILE,
	RING_BLOCKS,
	RING_COMM_BLOCKS,
	RING_CHUNK_ROWS
};

/** Numbers of the matrices. */
enum { RING_Q, RING_K, RING_V, RING_O, RING_LSE, RING_MATRICES };

/** What a plan is made for. */
typedef struct ring_config {
	int64_t batch, heads, key_heads, sequence, dim;
	bool causal;
	tsr_dtype_t dtype;
	ring_pattern_t pattern;
	tile_size_t tile;   /* queries, keys of a step, columns of a head; all 0: the largest */
	int blocks;         /* of a run, all resident; 0: chosen */
	int comm_blocks;    /* number of these that only move shards; 0: chosen */
	int64_t chunk_rows; /* of a head of a shard; 0: chosen by their bytes */
} ring_config_t;

ring_config_t ring_config_of(const workload_config_t *config);

/**
 * The positions that a rank has: `count` of them, and as many on the ranks before
 * it together as `first` says. The first `early` ones begin at position `at` of
 * the sequence, the others at position `late_at`.
 */
typedef struct ring_share {
	int64_t first, count, early, at, late_at;
} ring_share_t;

ring_share_t ring_share(const ring_config_t *c, int rank, int ranks);

/** The largest number of positions of any rank. */
int64_t ring_most_positions(const ring_config_t *c, int ranks);

/** Tiles of queries of one of a rank's heads: of the early piece, and of the late one. */
int64_t ring_tiles(const ring_config_t *c, int rank, int ranks);

/** Heads of Q of the whole batch, and key heads. */
int64_t ring_all_heads(const ring_config_t *c);
int64_t ring_all_key_heads(const ring_config_t *c);

/** Chunks of a head of the largest shard. `chunk_rows` is chosen. */
int64_t ring_head_chunks(const ring_config_t *c, int ranks);

/**
 * Rows of memory for each head of K, and of V: room for what a rank sees of all
 * shards; in rotate for the largest one. And where a rank's own begin there.
 */
int64_t ring_head_rows(const ring_config_t *c, int ranks);
int64_t ring_own_row(const ring_config_t *c, int rank, int ranks);

double ring_scale(const ring_config_t *c);

bool ring_matrix(const workload_config_t *config, int index, int rank, int ranks,
		 workload_matrix_t *matrix_out);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND.
 */
tsr_status_t ring_check(const workload_config_t *config, int ranks);

/** Chooses what is automatic. Errors: TSR_ERR_RESIDENCY, TSR_ERR_ARGUMENT. */
tsr_status_t ring_choose(const workload_config_t *config, const workload_place_t *place,
			 workload_config_t *config_out);

/** Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t ring_expect(tsr_world_t *world, const workload_config_t *config,
			 const workload_inputs_t *inputs, workload_expected_t **expected_out);

/** The workload, and the kind of its plans. */
extern const workload_t ring_attention;
extern const plan_kind_t ring_plan_kind;

#endif
