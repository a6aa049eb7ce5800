/*
 * The main loop of attention: softmax(scale * Q * K^T) * V, computed a few keys
 * at a time. Kernels choose the tasks, the keys of each, the gate, what a task
 * starts from and what becomes of its result; the backend chooses the pipeline
 * and the roles of its workers, as for a matrix product (dev/gemm.h).
 */
#ifndef TESSERA_DEV_ATTEND_H
#define TESSERA_DEV_ATTEND_H

#include "tessera/dev/gemm.h"
#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"

/*
 * TSR_ATTEND_TILE(cfg, dtype, M, N, D)
 *
 *   Declares a configuration, at file scope: tiles of M queries, which meet N
 *   keys in each step; heads of D columns. Q, K and V have elements of `dtype`:
 *   bf16, f16 or f32. M, N and D are literals. The configuration names
 *
 *     cfg_state_t    the type of a state: what M queries know of the keys so far
 *     TSR_STATE_BYTES(cfg)
 *       the size of a saved state, a constant expression
 *     TSR_ATTEND_KEYS(cfg)
 *       N, a constant expression
 *
 *   It is also a configuration of tiles of M x D (dev/tile.h): TSR_FRAG(cfg,
 *   ...) is a tile of the output, TSR_FRAG_ROWS(cfg, ...) has one value for
 *   each query, TSR_TILE_M(cfg) is M and TSR_TILE_N(cfg) is D.
 *   Matrix units: on NVIDIA for bf16 and f16 with D = 64 or 128, if M = 128 and
 *   N = 64 or 128; or if M = 16, for few queries that read many keys, as in
 *   decoding: then fastest without a gate. On AMD for bf16 and f16, in a block
 *   that is not split, with M = 128, D = 64 or 128, and N a multiple of 4096 / D.
 *   All others are computed by the threads' ordinary arithmetic.
 *
 * TSR_STATE(cfg, name, coop)
 *
 *   Declares a state that belongs to `coop` until the end of the enclosing
 *   scope. `name` is used as a pointer to it. Its content is undefined at
 *   first. A main loop has its own state.
 */
#if !defined(TSR_ATTEND_TILE) || !defined(TSR_STATE_BYTES) || !defined(TSR_ATTEND_KEYS) || \
	!defined(TSR_STATE)
#error "the port does not define the tiles of attention"
#endif

/** Which keys of its span a query sees. */
typedef enum tsr_mask {
	TSR_MASK_NONE = 0,  /* all of them */
	TSR_MASK_CAUSAL = 1 /* those up to its own position: tsr_span_t.diagonal */
} tsr_mask_t;

/**
 * What one task computes: M rows of Q with keys k0 .. k1-1. A view may hold
 * many heads and many sequences, beside and below each other; the span says
 * where those of the task begin. Rows, columns and numbers of keys are below
 * 2^31. No row of Q, K or V outside the span is read,
 * so what stands there may be anything.
 */
typedef struct tsr_span {
	/* The first query's row in view `q`, and the first column of its head. With 16-bit dtypes
	 * columns are multiples of 8, because the copy engine reads 16 bytes at a time. */
	tsr_pos_t q;
	/* The same of key 0 in the views `k` and `v`. */
	tsr_pos_t kv;
	/* Rows of Q from q.row on that the task may read. Those after M are not used; in place of
	 * those that are missing in a tile, zeros are. */
	int64_t queries;
	/* The range of keys, counted from kv.row; k1 is cut at the end of the views. k0 >= k1: no
	 * keys, and the state stays as it was at the start. */
	int64_t k0, k1;
	int32_t mask; /* tsr_mask_t */
	/* Grouped heads: so many rows of Q in turn are heads that share a key head, at one position
	 * of the sequence. 1 if each row has its own position; 0 counts as 1. */
	int32_t group;
	/* The tile's first row, counted from row 0 of its sequence. Only the mask needs it. */
	int64_t first;
	/* TSR_MASK_CAUSAL: row i of the tile sees key j if j <= (first + i) / group + diagonal. It
	 * may be negative; then the first rows may see no key. Keys that no row of the tile sees
	 * are not read, and no gate is called for them. What a row does not see never reaches it,
	 * be it infinite or NaN. */
	int64_t diagonal;
} tsr_span_t;

/** A task order: returns what task `task` computes. A TSR_FN; makes no device calls. */
typedef tsr_span_t (*tsr_span_fn)(int64_t task, const void *ctx);

/** What a gate says of a run. */
typedef struct tsr_keys_from {
	/* The rank from which its rows of K and V are read; it may differ from call to call. */
	int32_t rank;
	/* Later runs of the task that end at this key or before are read from that rank too,
	 * without a call. run.k1, or less: none are. */
	int64_t until;
} tsr_keys_from_t;

/**
 * Gate: called before keys run.k0 .. run.k1-1 of a task are read, TSR_ATTEND_KEYS
 * at most; the rest of `run` is the task's span, with k1 cut. Runs come in
 * ascending order. A gate that has waited for more than the run says so by
 * `until`, because each call takes time of the main loop. Q is read from my
 * memory, after the task's first gate has returned; so a gate also waits for Q if
 * others write it. Otherwise it has the rules of tsr_gate_fn. TSR_NO_KEYS_GATE:
 * nothing to wait for; all is read from my memory.
 */
typedef tsr_keys_from_t (*tsr_keys_gate_fn)(tsr_coop_t *loader, tsr_span_t run, const void *ctx);
#define TSR_NO_KEYS_GATE ((tsr_keys_gate_fn)0)

/*
 * A state is (m, l, O) for each query. With scores s_j = scale * log2(e) * (q .
 * k_j), over the keys j so far:
 *
 *   m = the maximum of s_j; l = the sum of 2^(s_j - m);
 *   O = the sum of 2^(s_j - m) * v_j
 *
 * in f32. The factors of v_j are rounded to the tile's dtype, as the matrix
 * units take them; l adds the unrounded ones. Without keys (none in the range,
 * or all masked) it is (-inf, 0, 0), the neutral state.
 *
 * tsr_attend(cfg, coop, q, k, v, scale, tasks, span, gate, start, epilogue,
 * ctx)
 *
 *   For each task in turn: calls start, adds the keys of span(task, ctx) to
 *   the state, and calls the epilogue. `q`, `k` and `v` are views of the heap
 *   with the dtype of cfg; `scale` is positive and finite, usually 1 / sqrt(D).
 *   Tasks are a tsr_tasks_t (dev/gemm.h).
 *
 *     void start(tsr_coop_t *me, cfg_state_t *state, tsr_span_t span, void
 *     *ctx)
 *       A TSR_FN, called with the state that the task before has left; that of
 *       the first task is neutral. It may make the state neutral, or load
 *       another. If it does nothing, the task continues the one before: so a
 *       tile of queries may go through many ranges of keys, a task each.
 *       TSR_NO_START: every task starts from the neutral state.
 *     void epilogue(tsr_coop_t *me, cfg_state_t *state, tsr_span_t span, void
 *     *ctx)
 *       A TSR_FN, called with the task's state. It may do what an epilogue of
 *       tsr_gemm may: tsr_state_finish and store, save, put, signal.
 *
 *   Both get the task's span with k1 cut to the keys that are read. The backend
 *   may load operands of the next task while an epilogue runs.
 *   Called by:  a block that is not wide, or worker 0 of a split block.
 *   Ordering:   as tsr_gemm: the coop meets before the first operand is read,
 *               and after the last epilogue. Operands are read by weak accesses
 *               after their gate returns, possibly by other threads than the
 *               coop's. All operands of a task have been read when its epilogue
 *               begins. The accesses of start and epilogue are the coop's own.
 *               What they keep in `*ctx` the whole coop finds there afterwards;
 *               span and gate must not read it: they may run earlier, on other
 *               threads.
 *   Result:     with n keys, an element of the output differs from the exact
 *               one by at most (r + n * 2^-24) times the sum of p_j * |v_j|,
 *               where r is 2^-7 for bf16, 2^-10 for f16 and 2^-18 for f32, if
 *               the output is stored in the tile's dtype. For f16 there is n *
 *               2^-24 times the largest |v_j| besides, because such factors are
 *               multiples of 2^-24. The bits are the same in every run on one
 *               backend.
 *   Errors:     as in dev/value.h.
 *   Source:     FlashAttention-2 and -3 (the loop), Three Taxes, section 4.2
 *               (partial results and their merge).
 */
#if !defined(tsr_attend) || !defined(TSR_NO_START)
#error "the port does not define the main loop of attention"
#endif

/*
 * Calls on states. The coop that owns the state makes them: in start and
 * epilogue that is `me`. States that meet have one configuration, one scale and
 * one kind of coop. Factors are computed as 2^(m - m'), which is exactly 1 for
 * equal maxima; so merging the neutral state, from either side, changes no value.
 */

/** Makes the state neutral. */
TSR_DEV_STATE void tsr_state_neutral(tsr_coop_t *coop, tsr_state_t *state);

/** Adds the keys of `other` to `state`. */
TSR_DEV_STATE void tsr_state_merge(tsr_coop_t *coop, tsr_state_t *state, const tsr_state_t *other);

/*
 * Hand a state over through this rank's heap: tsr_state_save writes it to
 * `memory`, tsr_state_load reads it, and tsr_state_merge_saved adds the keys of
 * the saved state. `memory` has TSR_STATE_BYTES(cfg) bytes, aligned to 16. The
 * order of elements is the backend's own, so both sides are coops of the same
 * kind: epilogues of main loops, or blocks, or workers 0 of blocks that are
 * split alike.
 *   Ordering:   weak accesses; put a release and its acquire between the calls
 *               of different coops (tsr_frag_save).
 *   Meetings:   none. Saves and loads of one place by one coop, in any order,
 *               need no meeting between them; tsr_state_merge_saved is a load.
 *               Calls of other kinds, or of another configuration, need one.
 *   Errors:     as tsr_frag_save.
 */
TSR_DEV_STATE void tsr_state_save(tsr_coop_t *coop, TSR_HEAP void *memory,
				  const tsr_state_t *state);
TSR_DEV_STATE void tsr_state_load(tsr_coop_t *coop, tsr_state_t *state,
				  const TSR_HEAP void *memory);
TSR_DEV_STATE void tsr_state_merge_saved(tsr_coop_t *coop, tsr_state_t *state,
					 const TSR_HEAP void *memory);

/**
 * Adds the keys of a finished result: the tile at `at` of `peer`'s copy of `o`,
 * and the logarithms in the column at `lse_at` of `lse`, as tsr_state_finish
 * gives them. Where the logarithm is -inf, the output counts for nothing,
 * whatever it is.
 *   Ordering, errors: as tsr_load.
 */
TSR_DEV_STATE void tsr_state_merge_output(tsr_coop_t *coop, tsr_state_t *state, tsr_view_t o,
					  tsr_pos_t at, tsr_view_t lse, tsr_pos_t lse_at, int peer);

/**
 * Gives `o`, a TSR_FRAG of the configuration, the output O / l, and `lse`, a
 * TSR_FRAG_ROWS, the natural logarithm of the sum of e^(scale * (q . k_j)). A
 * query that saw no key gets zeros and -inf. The state stays as it is.
 */
TSR_DEV_STATE_FRAG void tsr_state_finish(tsr_coop_t *coop, const tsr_state_t *state, tsr_frag_t *o,
					 tsr_rows_t *lse);

#endif
