/*
 * The main loop of attention for any GPU, type and shape, by the threads'
 * ordinary arithmetic: slow, and right everywhere. Scores of a few keys at a
 * time are computed in the scratch memory. tsr_attend calls the port's
 * tsr_port_attend, which uses this loop if it has none of its own, or if that
 * does not fit.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_ATTEND_H
#define TESSERA_GPU_DEV_FRAGMENTS_ATTEND_H

#include "common/dev/spans.h"
#include "gpu/dev/fragments/gemm.h"
#include "gpu/dev/fragments/state.h"

/** What all tasks of a call share. */
typedef struct tsr_gpu_attention {
	tsr_view_t q, k, v;
	float scale; /* of scores in base 2 */
} tsr_gpu_attention_t;

/** Keys whose scores, and one more value for each row, fit the scratch memory. */
template <typename S>
constexpr int tsr_gpu_keys_at_once = (int)S::tile_t::M * 17 * 4 <= TSR_GPU_SCRATCH_BYTES  ? 16
				     : (int)S::tile_t::M * 9 * 4 <= TSR_GPU_SCRATCH_BYTES ? 8
											  : 1;

/** The keys and values of a step: the address of the first ones, and the rank's views. */
template <typename T> struct tsr_gpu_keys {
	typedef typename T::dtype_t dtype_t;
	typedef typename dtype_t::stored_t stored_t;
	const stored_t *k, *v;
	int64_t k_ld, v_ld;
	int64_t first; /* key */
	int count;
};

template <typename D>
TSR_DEV float tsr_gpu_dot_row(const typename D::stored_t *x, const typename D::stored_t *y,
			      int length)
{
	float sum = 0;
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < length; i++)
		sum = tsr_gpu_fma(tsr_gpu_decode<float, D>(x[i]), tsr_gpu_decode<float, D>(y[i]),
				  sum);
	return sum;
}

/** The number of queries that a tile has. */
template <typename S>
TSR_DEV int tsr_gpu_queries(const tsr_gpu_attention_t &a, const tsr_span_t &span)
{
	const int64_t most = tsr_gpu_least(span.queries, a.q.rows - span.q.row);
	return most < 0 ? 0 : (int)tsr_gpu_least(most, (int)S::tile_t::M);
}

/** Scores of the step's keys, in the scratch memory: row by row. Queries that are missing are 0. */
template <typename S>
TSR_DEV void tsr_gpu_scores(const tsr_coop_t *coop, const tsr_gpu_attention_t &a,
			    const tsr_span_t &span, const tsr_gpu_keys<typename S::tile_t> &keys)
{
	typedef typename S::tile_t tile_t;
	typedef typename tile_t::dtype_t dtype_t;
	typedef typename dtype_t::stored_t stored_t;
	enum { wide = tsr_gpu_keys_at_once<S> };
	const int queries = tsr_gpu_queries<S>(a, span);
	const stored_t *q = (const stored_t *)tsr_gpu_view_address(coop, a.q, tsr_rank(coop)) +
			    (span.q.row * a.q.ld + span.q.col);
	float *scratch = tsr_gpu_scratch<float>(coop);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread; e < (int)tile_t::M * wide; e += coop->threads) {
		const int row = e / wide, key = e % wide;
		float score = 0;
		if (key >= keys.count || keys.first + key >= tsr_span_limit(&span, row))
			score = tsr_gpu_no_keys();
		else if (row < queries)
			score = tsr_gpu_dot_row<dtype_t>(q + row * a.q.ld, keys.k + key * keys.k_ld,
							 tile_t::N) *
				a.scale;
		scratch[e] = score;
	}
}

/**
 * Scores become factors, rounded to the tile's dtype, and each row's rescaling,
 * behind the scores. The coop has met, and meets afterwards.
 */
template <typename S> TSR_DEV void tsr_gpu_soften(const tsr_coop_t *coop, S *state)
{
	typedef typename S::tile_t::dtype_t dtype_t;
	enum { wide = tsr_gpu_keys_at_once<S>, rows = (int)S::tile_t::M };
	float *scratch = tsr_gpu_scratch<float>(coop), factor[S::slots][wide], shrink[S::slots];
	TSR_GPU_EACH_SLOT(S, coop, slot, row)
	{
		float top = state->top[slot], sum = 0;
		for (int key = 0; key < wide; key++) {
			factor[slot][key] = scratch[row * wide + key];
			top = factor[slot][key] > top ? factor[slot][key] : top;
		}
		const float base = top == tsr_gpu_no_keys() ? 0 : top;
		shrink[slot] = tsr_port_exp2(state->top[slot] - base);
		for (int key = 0; key < wide; key++)
			sum += factor[slot][key] = tsr_port_exp2(factor[slot][key] - base);
		state->top[slot] = top;
		state->sum[slot] = state->sum[slot] * shrink[slot] + sum;
	}
	tsr_gpu_meet(coop); /* several threads may read a row, and one of them writes it */
	TSR_GPU_EACH_SLOT(S, coop, slot, row)
	{
		if (!tsr_gpu_owns_rows<S>(coop))
			continue;
		for (int key = 0; key < wide; key++)
			scratch[row * wide + key] = tsr_gpu_decode<float, dtype_t>(
				tsr_gpu_encode<dtype_t>(factor[slot][key]));
		scratch[rows * wide + row] = shrink[slot];
	}
}

/** O = O * rescaling + factors * V, of the keys that a row sees: 0 * NaN is NaN. */
template <typename S>
TSR_DEV void tsr_gpu_add_values(const tsr_coop_t *coop, S *state, const tsr_span_t &span,
				const tsr_gpu_keys<typename S::tile_t> &keys)
{
	typedef typename S::frag_t frag_t;
	typedef typename S::tile_t::dtype_t dtype_t;
	enum { wide = tsr_gpu_keys_at_once<S>, rows = (int)S::tile_t::M };
	const float *scratch = tsr_gpu_scratch<float>(coop);
	TSR_GPU_EACH(frag_t, coop, i, e)
	{
		const int row = tsr_gpu_row<frag_t>(coop, i), col = tsr_gpu_col<frag_t>(coop, i);
		const int seen =
			(int)tsr_gpu_least(keys.count, tsr_span_limit(&span, row) - keys.first);
		float sum = state->o.v[i] * scratch[rows * wide + row];
		TSR_GPU_NO_UNROLL
		for (int key = 0; key < seen; key++)
			sum = tsr_gpu_fma(
				scratch[row * wide + key],
				tsr_gpu_decode<float, dtype_t>(keys.v[key * keys.v_ld + col]), sum);
		state->o.v[i] = sum;
	}
}

/** Adds the keys of a run, from a rank of my node. */
template <typename S>
TSR_DEV void tsr_gpu_attend_near(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
				 const tsr_span_t &run, int from)
{
	typedef tsr_gpu_keys<typename S::tile_t> keys_t;
	typedef typename keys_t::stored_t stored_t;
	enum { wide = tsr_gpu_keys_at_once<S> };
	const int64_t k_at = run.kv.row * a.k.ld + run.kv.col,
		      v_at = run.kv.row * a.v.ld + run.kv.col;
	const stored_t *k = (const stored_t *)tsr_gpu_view_address(coop, a.k, from) + k_at,
		       *v = (const stored_t *)tsr_gpu_view_address(coop, a.v, from) + v_at;
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, &state->o);
	TSR_GPU_NO_UNROLL
	for (int64_t first = run.k0; first < run.k1; first += wide) {
		const keys_t keys = {k + first * a.k.ld,
				     v + first * a.v.ld,
				     a.k.ld,
				     a.v.ld,
				     first,
				     (int)tsr_gpu_least(wide, run.k1 - first)};
		tsr_gpu_scores<S>(coop, a, run, keys);
		tsr_gpu_meet(coop);
		tsr_gpu_soften(coop, state);
		tsr_gpu_meet(coop);
		tsr_gpu_add_values(coop, state, run, keys);
		tsr_gpu_meet(coop);
	}
}

/** The keys and values of a run of a rank of another node, in a room. */
TSR_DEV tsr_gpu_asking_t tsr_gpu_far_keys(tsr_coop_t *coop, tsr_gpu_attention_t *a,
					  const tsr_span_t &run, int cols, int from)
{
	const int64_t keys = run.k1 - run.k0;
	tsr_pos_t at;
	at.row = run.kv.row + run.k0;
	at.col = run.kv.col;
	tsr_port_settle(coop);
	tsr_gpu_asking_t asking = tsr_gpu_far_begin(coop);
	a->k = tsr_gpu_far_get_tile(coop, &asking, 0, a->k, at, keys, cols, from);
	a->v = tsr_gpu_far_get_tile(coop, &asking, TSR_GPU_ROOM_BYTES / 2, a->v, at, keys, cols,
				    from);
	return asking;
}

/** The same, after its gate has returned the rank to read from, wherever that is. */
template <typename S>
TSR_DEV void tsr_gpu_attend_run(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
				const tsr_span_t &run, int from)
{
	const bool far = tsr_gpu_is_far(coop, from);
	tsr_gpu_attention_t here = a;
	tsr_gpu_asking_t asking = {-1, 0};
	if (far)
		asking = tsr_gpu_far_keys(coop, &here, run, (int)S::tile_t::N, from);
	if (!far || asking.room)
		tsr_gpu_attend_near(coop, state, here, run, far ? tsr_rank(coop) : from);
	if (far)
		tsr_gpu_far_end(coop, asking);
}

/**
 * What adds the keys of a run to a state: here the plain loop. `longest` keys are
 * in a run, at most; with a gate it is the configuration's number.
 */
template <typename S> struct tsr_gpu_plain {
	enum { longest = (int)S::keys };
	TSR_DEV void add(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
			 const tsr_span_t &run, int from)
	{
		tsr_gpu_attend_run(coop, state, a, run, from);
	}
};

/** For the record: the bytes of the operands of a task. */
template <typename S> TSR_DEV uint64_t tsr_gpu_attended_bytes(const tsr_span_t &span)
{
	return (uint64_t)(((int)S::tile_t::M + 2 * (span.k1 - span.k0)) * (int)S::tile_t::N) *
	       sizeof(typename S::tile_t::dtype_t::stored_t);
}

template <typename S, tsr_keys_gate_fn GATE, typename ADDER = tsr_gpu_plain<S>>
TSR_DEV void tsr_gpu_attend_span(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
				 const tsr_span_t &span, const void *ctx)
{
	const int64_t longest = GATE == TSR_NO_KEYS_GATE ? (int)ADDER::longest : (int)S::keys;
	tsr_span_t run = span;
	tsr_keys_from_t from = {tsr_rank(coop), span.k0};
	tsr_gpu_record_product(coop);
	TSR_GPU_NO_UNROLL
	for (; run.k0 < span.k1; run.k0 = run.k1) {
		run.k1 = tsr_gpu_least(run.k0 + longest, span.k1);
		if constexpr (GATE != TSR_NO_KEYS_GATE)
			if (run.k1 > from.until)
				from = GATE(coop, run, ctx);
		if (tsr_gpu_accepts_view(coop, a.q, tsr_rank(coop)) &&
		    tsr_gpu_accepts_view(coop, a.k, from.rank) &&
		    tsr_gpu_accepts_view(coop, a.v, from.rank))
			ADDER::add(coop, state, a, run, from.rank);
	}
	tsr_gpu_record_produced(coop, tsr_gpu_attended_bytes<S>(span));
}

/** The span of a task, cut at what there is and at what its rows see. */
template <typename S, tsr_span_fn SPAN>
TSR_DEV tsr_span_t tsr_gpu_span(const tsr_gpu_attention_t &a, int64_t task, const void *ctx)
{
	const tsr_span_t span = SPAN(task, ctx);
	return tsr_span_cut(span, (int)S::tile_t::M,
			    tsr_gpu_least(a.k.rows, a.v.rows) - span.kv.row);
}

/** Before each task: START, or the neutral state if there is none. */
template <typename S, void (*START)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_gpu_start(tsr_coop_t *coop, S *state, const tsr_span_t &span, C *ctx)
{
	if constexpr (START != nullptr)
		START(coop, state, span, ctx);
	else
		tsr_gpu_state_clear(coop, state);
}

/** tsr_attend. */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *),
	  typename ADDER = tsr_gpu_plain<S>, typename C>
TSR_DEV void tsr_gpu_attend(tsr_coop_t *coop, const tsr_gpu_attention_t &a, tsr_tasks_t tasks,
			    C *ctx)
{
	S state;
	tsr_gpu_state_clear(coop, &state);
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		const tsr_span_t span = tsr_gpu_span<S, SPAN>(a, task, (const void *)ctx);
		tsr_gpu_start<S, START>(coop, &state, span, ctx);
		tsr_gpu_attend_span<S, GATE, ADDER>(coop, &state, a, span, (const void *)ctx);
		EPILOGUE(coop, &state, span, ctx);
	}
}

#include TSR_PORT_ATTEND

#endif
