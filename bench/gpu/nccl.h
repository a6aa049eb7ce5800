/*
 * NCCL's calls, which RCCL has too, under the same names and with the same
 * values. They are declared here, so that no build needs a vendor's headers.
 */
#ifndef TESSERA_BENCH_NCCL_H
#define TESSERA_BENCH_NCCL_H

#include "bench/gpu/library.h"

enum {
	BENCH_NCCL_F16 = 6, /* ncclDataType_t */
	BENCH_NCCL_F32 = 7,
	BENCH_NCCL_BF16 = 9,
	BENCH_NCCL_SUM = 0, /* ncclRedOp_t */
	BENCH_NCCL_ID_BYTES = 128,
	BENCH_NCCL_MAJOR = 10000, /* in ncclGetVersion: what the major number is multiplied by */
};

/** ncclUniqueId, which goes by value. */
typedef struct bench_nccl_id {
	char bytes[BENCH_NCCL_ID_BYTES];
} bench_nccl_id_t;

/*
 * Each entry: what it returns, field, symbol, arguments. All that return an int
 * return 0 where they succeed.
 */
/* clang-format off */
#define BENCH_NCCL_ENTRIES(X) \
	X(int, version, ncclGetVersion, (int *out)) \
	X(int, unique_id, ncclGetUniqueId, (bench_nccl_id_t *out)) \
	X(int, join, ncclCommInitRank, (void **out, int ranks, bench_nccl_id_t id, int rank)) \
	X(int, destroy, ncclCommDestroy, (void *comm)) \
	X(int, abort, ncclCommAbort, (void *comm)) \
	X(const char *, error_string, ncclGetErrorString, (int code)) \
	X(int, group_start, ncclGroupStart, (void)) \
	X(int, group_end, ncclGroupEnd, (void)) \
	X(int, all_gather, ncclAllGather, \
	  (const void *send, void *receive, size_t count, int type, void *comm, void *stream)) \
	X(int, reduce_scatter, ncclReduceScatter, \
	  (const void *send, void *receive, size_t count, int type, int op, void *comm, \
	   void *stream)) \
	X(int, all_reduce, ncclAllReduce, \
	  (const void *send, void *receive, size_t count, int type, int op, void *comm, \
	   void *stream)) \
	X(int, send, ncclSend, \
	  (const void *send, size_t count, int type, int peer, void *comm, void *stream)) \
	X(int, receive, ncclRecv, \
	  (void *receive, size_t count, int type, int peer, void *comm, void *stream)) \
	X(int, reduce, ncclReduce, \
	  (const void *send, void *receive, size_t count, int type, int op, int root, void *comm, \
	   void *stream)) \
	X(int, broadcast, ncclBroadcast, \
	  (const void *send, void *receive, size_t count, int type, int root, void *comm, \
	   void *stream))
/* clang-format on */

typedef struct bench_nccl {
	BENCH_NCCL_ENTRIES(BENCH_TABLE_FIELD)
} bench_nccl_t;

/** Of bench_nccl_t, for a bench_library_t that has NCCL's calls. */
extern const bench_entry_t bench_nccl_entries[];

/** One rank's part in the collectives. */
typedef struct bench_comm {
	bench_nccl_t nccl;
	void *comm;   /* null: this rank has not joined */
	void *stream; /* of the runtime: where each call is put */
} bench_comm_t;

/**
 * Finds the library, whose entries are bench_nccl_entries, and joins, with the
 * rank's GPU current. What one rank cannot do, none tries: in ncclCommInitRank
 * they wait for each other.
 * Collective: the first sentence of any rank becomes everybody's.
 */
tsr_status_t bench_comm_open(bench_comm_t *comm, const bench_library_t *library, tsr_world_t *world,
			     char sentence[BENCH_SENTENCE]);

/** `failed`: the world has ended, so nobody is waited for. */
void bench_comm_close(bench_comm_t *comm, bool failed);

/**
 * Puts a step on the stream: WORKLOAD_ALL_GATHER, _REDUCE_SCATTER, _ALL_REDUCE,
 * _ALL_TO_ALL or _BROADCAST. `from` and `to` are this rank's parts. An
 * all-gather may be in place: `from` among the parts in `to`.
 */
bool bench_comm_step(const bench_comm_t *comm, const bench_baseline_t *b,
		     const workload_step_t *step, const void *from, void *to,
		     char sentence[BENCH_SENTENCE]);

/** Whether the collectives take a dtype. */
bool bench_comm_takes(tsr_dtype_t dtype);

#endif
