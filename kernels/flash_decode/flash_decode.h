/* Flash decode as a workload: what its files share. */
#ifndef FLASH_DECODE_FLASH_DECODE_H
#define FLASH_DECODE_FLASH_DECODE_H

#include "kernels/host/plan.h"
#include "kernels/host/share.h"
#include "kernels/workload.h"

typedef enum fd_pattern {
	FD_BULK_SYNCHRONOUS = 0,
	FD_OWN_ALL_GATHER = 1,
	FD_FINE_WAITS = 2,
	FD_FUSED = 3,
	FD_ONE_LAUNCH = 4
} fd_pattern_t;

enum { FD_PATTERNS = 5 };

/** A pattern: its name, and its kernels in the order of their launch. */
typedef struct fd_pattern_kernels {
	const char *name;
	const char *kernels[PLAN_KERNELS];
} fd_pattern_kernels_t;

extern const fd_pattern_kernels_t fd_patterns[FD_PATTERNS];

/* The places of the parameters. */
enum {
	FD_BATCH,
	FD_HEADS,
	FD_KEY_HEADS,
	FD_KEYS,
	FD_LENGTHS,
	FD_DIM,
	FD_DTYPE,
	FD_TILE,
	FD_BLOCKS
};

enum { FD_TURNS = 3 }; /* numbers in the parameter `lengths`, which ranks take in turn */

/** Numbers of the matrices. */
enum { FD_Q, FD_K, FD_V, FD_O, FD_LSE, FD_MATRICES };

/** What a plan is made for. */
typedef struct fd_config {
	fd_pattern_t pattern;
	int64_t batch, heads, key_heads, keys, dim;
	int64_t lengths[FD_TURNS]; /* all 0: ranks share `keys` */
	tsr_dtype_t dtype;
	tile_size_t tile; /* queries, keys of a step, columns of a head */
	int blocks;       /* that attend */
} fd_config_t;

fd_config_t fd_config_of(const workload_config_t *config);

/** Keys of each key head on ranks before `rank` (first), and on it (count). */
share_t fd_keys(const fd_config_t *c, int rank, int ranks);

/** The largest count of any rank. */
int64_t fd_most_keys(const fd_config_t *c, int ranks);

/** Keys of each key head on all ranks. */
int64_t fd_all_keys(const fd_config_t *c, int ranks);

/** Heads that share a key head. */
int64_t fd_share(const fd_config_t *c);

/** Groups of heads, and the units of a rank: kernels/flash_decode/parts.h. */
int64_t fd_groups(const fd_config_t *c);
int64_t fd_units(const fd_config_t *c, int rank, int ranks);

double fd_scale(const fd_config_t *c);

/** Floats of a head's result: O, its logarithm, and some more for alignment. */
int64_t fd_result_floats(const fd_config_t *c);

/** Bytes of a saved state: queries, columns and two values of each query, in f32. */
int64_t fd_state_bytes(const fd_config_t *c);

bool fd_matrix(const workload_config_t *config, int index, int rank, int ranks,
	       workload_matrix_t *matrix_out);

/** The `index`-th tile that is built for the dtype and the columns of a head. */
bool fd_try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		 workload_value_t *value_out);
bool fd_try_blocks(const workload_config_t *config, const workload_place_t *place, int index,
		   workload_value_t *value_out);

/** Errors: TSR_ERR_RESIDENCY. */
tsr_status_t fd_choose(const workload_config_t *config, const workload_place_t *place,
		       workload_config_t *config_out);

workload_cost_t fd_cost(const workload_config_t *config, int rank, int ranks);

/** Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t fd_expect(tsr_world_t *world, const workload_config_t *config,
		       const workload_inputs_t *inputs, workload_expected_t **expected_out);

extern const plan_kind_t fd_plan_kind;

#endif
