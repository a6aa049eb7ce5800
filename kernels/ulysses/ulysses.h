/* Attention whose ranks exchange positions for heads, host half: what its files share. */
#ifndef ULYSSES_ULYSSES_H
#define ULYSSES_ULYSSES_H

#include "kernels/host/plan.h"
#include "kernels/host/share.h"
#include "kernels/ulysses/args.h"

typedef enum uly_pattern { ULY_BULK_SYNCHRONOUS = 0, ULY_FUSED = 1 } uly_pattern_t;

enum { ULY_PATTERNS = 2 };

/** A pattern: its name, and its kernels, of which the second may be null. */
typedef struct uly_pattern_kernels {
	const char *name;
	const char *kernels[2];
} uly_pattern_kernels_t;

extern const uly_pattern_kernels_t uly_patterns[ULY_PATTERNS];

/* The places of the parameters. */
enum {
	ULY_BATCH,
	ULY_HEADS,
	ULY_KEY_HEADS,
	ULY_SEQUENCE,
	ULY_DIM,
	ULY_MASK,
	ULY_DTYPE,
	ULY_TILE,
	ULY_BLOCKS,
	ULY_COMM_BLOCKS,
	ULY_CHUNK_ROWS,
	ULY_GROUP
};

/** Numbers of the matrices; the inputs as in arrays of them. */
enum { ULY_Q = ULY_OF_Q, ULY_K = ULY_OF_K, ULY_V = ULY_OF_V, ULY_O, ULY_MATRICES };

/** What a plan is made for. */
typedef struct uly_config {
	int64_t batch, heads, key_heads, sequence, dim;
	bool causal;
	tsr_dtype_t dtype;
	uly_pattern_t pattern;
	tile_size_t tile;   /* queries, keys of a step, columns of a head; all 0: the largest */
	int blocks;         /* of a run, all resident; 0: chosen */
	int comm_blocks;    /* number of these that only send; 0: chosen */
	int64_t chunk_rows; /* positions of a chunk, */
	int64_t group;      /* and its key heads; 0: chosen by their bytes */
} uly_config_t;

uly_config_t uly_config_of(const workload_config_t *config);

/** The positions, and the key heads, that a rank has. */
share_t uly_positions_of(const uly_config_t *c, int rank, int ranks);
share_t uly_key_heads_of(const uly_config_t *c, int rank, int ranks);

/** Heads of Q that share a key head. */
int64_t uly_share(const uly_config_t *c);

/** Tiles of queries that cover the most positions of any rank. */
int64_t uly_tiles(const uly_config_t *c, int ranks);

/** Chunks of the most positions, and of the most key heads. They are chosen. */
int64_t uly_row_chunks(const uly_config_t *c, int ranks);
int64_t uly_groups(const uly_config_t *c, int ranks);

double uly_scale(const uly_config_t *c);

bool uly_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND.
 */
tsr_status_t uly_check(const workload_config_t *config, int ranks);

/** Chooses what is automatic. Errors: TSR_ERR_RESIDENCY, TSR_ERR_ARGUMENT. */
tsr_status_t uly_choose(const workload_config_t *config, const workload_place_t *place,
			workload_config_t *config_out);

/** Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t uly_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out);

/** The workload, and the kind of its plans. */
extern const workload_t ulysses;
extern const plan_kind_t uly_plan_kind;

#endif
