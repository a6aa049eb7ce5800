/*
 * The main loop of attention on matrix cores. Both products are transposed, so
 * that a row of the softmax lies in the registers of two lanes, and factors go
 * from one product to the next in the registers where they are: attend_lanes.h.
 * A step starts with the scores of its keys; while the matrix cores multiply the
 * factors and values of the step before, lanes compute the softmax of these
 * scores. What they multiply comes through shared memory: attend_stages.h.
 *
 * Other tiles, and coops of one wave, use the plain loop.
 */
#ifndef TESSERA_HIP_ATTEND_H
#define TESSERA_HIP_ATTEND_H

#include "hip/dev/attend_stages.h"

/* ---- products */

/** S^T = K * Q^T. */
template <typename P>
TSR_DEV void tsr_hip_scores(typename P::step_t &x, const typename P::keys_t &k)
{
	TSR_GPU_UNROLL
	for (int block = 0; block < P::key_blocks; block++)
		x.s[block] = 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::col_groups; i++)
		TSR_GPU_UNROLL
	for (int part = 0; part < 2; part++)
		TSR_GPU_UNROLL
	for (int block = 0; block < P::key_blocks; block++)
		x.s[block] = P::mfma_t::multiply(k.group[i][block].part[part], x.q[i].part[part],
						 x.s[block]);
}

/** O^T += V^T * P^T. */
template <typename P>
TSR_DEV void tsr_hip_add_values(typename P::step_t &x, const typename P::values_t &v)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups; i++)
		TSR_GPU_UNROLL
	for (int part = 0; part < 2; part++)
		TSR_GPU_UNROLL
	for (int block = 0; block < P::col_blocks; block++)
		x.o[block] = P::mfma_t::multiply(v.group[i][block].part[part], x.p[i].part[part],
						 x.o[block]);
}

/* kind of instruction, for __builtin_amdgcn_sched_group_barrier */
enum { TSR_HIP_ARITHMETIC = 0x2 };

/**
 * What the compiler's scheduler shall do with a step: scores first, and then the
 * softmax between the products with values, evenly. The first two of these run
 * while the last scores are on their way to registers.
 */
template <typename P, bool MASKED> TSR_DEV void tsr_hip_softmax_between(void)
{
	enum {
		scores = 2 * P::col_groups * P::key_blocks,
		values = 2 * P::key_groups * P::col_blocks,
		each = ((int)P::lift ? 8 : 9) * P::key_blocks + (MASKED ? 2 * P::key_blocks : 0)
	};
	__builtin_amdgcn_sched_group_barrier(TSR_HIP_PRODUCT, scores + 2, 0);
	TSR_GPU_UNROLL
	for (int i = 0; i < values - 2; i++) {
		__builtin_amdgcn_sched_group_barrier(TSR_HIP_ARITHMETIC, each, 0);
		__builtin_amdgcn_sched_group_barrier(TSR_HIP_PRODUCT, 1, 0);
	}
}

/* ---- the softmax of a lane's query */

/** What the lane that shares the query has. */
TSR_DEV float tsr_hip_of_partner(const tsr_coop_t *coop, float x)
{
	const int partner = (coop->thread % TSR_HIP_LANES) ^ TSR_HIP_ATTEND_EDGE;
	return tsr_gpu_float((uint32_t)__builtin_amdgcn_ds_bpermute(partner * 4,
								    (int)tsr_gpu_bits(x)));
}

TSR_DEV float tsr_hip_larger(float x, float y)
{
	return __builtin_fmaxf(x, y);
}

/** Scores of keys from `end` on, counted from the step's first key, become -inf. */
template <typename P>
TSR_DEV void tsr_hip_mask(const tsr_coop_t *coop, typename P::step_t &x, int end)
{
	TSR_GPU_UNROLL
	for (int block = 0; block < P::key_blocks; block++)
		TSR_GPU_UNROLL
	for (int reg = 0; reg < P::registers; reg++)
		if (block * TSR_HIP_ATTEND_EDGE + tsr_hip_key_of_sum(coop->thread, reg) >= end)
			x.s[block][reg] = tsr_gpu_no_keys();
}

/** The largest score of the query. */
template <typename P>
TSR_DEV float tsr_hip_most(const tsr_coop_t *coop, const typename P::step_t &x)
{
	float most[4] = {x.s[0][0], x.s[0][1], x.s[0][2], x.s[0][3]};
	TSR_GPU_UNROLL
	for (int block = 0; block < P::key_blocks; block++)
		TSR_GPU_UNROLL
	for (int reg = 0; reg < P::registers; reg++)
		most[reg % 4] = tsr_hip_larger(most[reg % 4], x.s[block][reg]);
	const float here =
		tsr_hip_larger(tsr_hip_larger(most[0], most[1]), tsr_hip_larger(most[2], most[3]));
	return tsr_hip_larger(here, tsr_hip_of_partner(coop, here));
}

/**
 * A factor, rounded to the tile's dtype. Factors that are no numbers may become any:
 * the row's sum is no number then.
 */
template <typename D> TSR_DEV typename D::stored_t tsr_hip_round_factor(float x)
{
	if constexpr ((int)D::code == (int)TSR_F16) {
		return tsr_port_round_f16(x);
	} else {
		const uint32_t bits = tsr_gpu_bits(x);
		return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
	}
}

/** Scores become factors, rounded to operands of the product with V. */
template <typename P>
TSR_DEV void tsr_hip_soften(const tsr_coop_t *coop, typename P::step_t &x, float scale)
{
	const float most = tsr_hip_larger(tsr_hip_most<P>(coop, x) * scale, x.top),
		    base = most == tsr_gpu_no_keys() ? 0 : most;
	float sum[2] = {0, 0};
	x.shrink = tsr_port_exp2(x.top - base);
	x.top = most;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups; i++) {
		typename P::unit_t unit;
		TSR_GPU_UNROLL
		for (int j = 0; j < 8; j++) {
			const float factor =
				tsr_port_exp2(tsr_gpu_fma(x.s[i / 2][i % 2 * 8 + j], scale,
							  (float)P::lift - base));
			sum[j % 2] += factor;
			unit[j] = tsr_hip_round_factor<typename P::dtype_t>(factor);
		}
		/* here, while values are multiplied, and not behind the branch that follows */
		tsr_hip_pin(unit);
		x.p[i] = __builtin_bit_cast(typename P::parts_t, unit);
	}
	x.sum = tsr_gpu_fma(x.sum, x.shrink, sum[0] + sum[1]);
}

/** O is multiplied only where a maximum of the wave has grown. */
template <typename P> TSR_DEV void tsr_hip_rescale(typename P::step_t &x)
{
	if (tsr_port_ballot(x.shrink != 1) == 0)
		return;
	TSR_GPU_UNROLL
	for (int block = 0; block < P::col_blocks; block++)
		x.o[block] *= x.shrink;
}

/* ---- values that are not finite, in steps that not all queries see whole */

template <typename P> TSR_DEV uint32_t tsr_hip_word_of(const typename P::parts_t &parts, int i)
{
	uint32_t word[4];
	__builtin_memcpy(word, &parts, sizeof word);
	return word[i];
}

/** The factor of a step's key for a lane's query: one of its two lanes has it. */
template <typename P>
TSR_DEV float tsr_hip_factor(const tsr_coop_t *coop, const typename P::step_t &x, int key)
{
	uint32_t pair = 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups; i++)
		TSR_GPU_UNROLL
	for (int j = 0; j < 4; j++)
		pair |= tsr_hip_word_of<P>(x.p[i], j) &
			(key / 16 == i && key % 8 / 2 == j ? ~0u : 0u);
	const uint32_t theirs = tsr_gpu_bits(tsr_hip_of_partner(coop, tsr_gpu_float(pair)));
	if (coop->thread % TSR_HIP_LANES / TSR_HIP_ATTEND_EDGE != key / 8 % 2)
		pair = theirs;
	return tsr_gpu_decode<float, typename P::dtype_t>((uint16_t)(key % 2 ? pair >> 16 : pair));
}

/** Adds what is not finite to O where the lane's query sees it: the first `seen` keys. */
template <typename P>
TSR_DEV void tsr_hip_add_infinite(const tsr_coop_t *coop, typename P::step_t &x,
				  const typename P::stored_t *stage, int seen)
{
	constexpr tsr_hip_lanes_t lanes = tsr_hip_attend_v(P::d);
	TSR_GPU_NO_UNROLL
	for (int key = 0; key < (int)P::step; key++) {
		const float factor = tsr_hip_factor<P>(coop, x, key);
		int thread = coop->thread;
		tsr_hip_pin(thread); /* addresses are computed here, and not kept in registers */
		TSR_GPU_UNROLL
		for (int i = 0; i < P::col_blocks * P::registers; i++) {
			const typename P::stored_t value =
				stage[tsr_hip_place(lanes, tsr_hip_attend_col(thread, i), key)];
			const bool adds =
				(key < seen) & !tsr_gpu_half_is_finite<typename P::dtype_t>(value);
			/* without a branch, and so without a mask of lanes for each element */
			x.o[i / P::registers][i % P::registers] =
				tsr_gpu_fma(factor,
					    tsr_gpu_decode<float, typename P::dtype_t>(
						    (typename P::stored_t)(adds ? value : 0)),
					    x.o[i / P::registers][i % P::registers]);
		}
	}
}

/**
 * Takes values that are not finite out of the product, which would multiply them
 * by the zeros of queries that do not see them: that gives NaN. A wave has read the
 * whole stage.
 */
template <typename P>
TSR_DEV void tsr_hip_take_infinite(const tsr_coop_t *coop, typename P::step_t &x,
				   typename P::values_t &v, const typename P::stored_t *stage,
				   int seen)
{
	uint32_t found = 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups * P::col_blocks * 4; i++)
		found |= tsr_gpu_infinite_of_pair<typename P::dtype_t>(tsr_hip_word_of<P>(
			v.group[i / 4 / P::col_blocks][i / 4 % P::col_blocks], i % 4));
	if (tsr_port_ballot(found != 0) == 0)
		return;
	tsr_hip_add_infinite<P>(coop, x, stage, seen);
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups * P::col_blocks; i++) {
		typename P::parts_t &parts = v.group[i / P::col_blocks][i % P::col_blocks];
		uint32_t word[4];
		TSR_GPU_UNROLL
		for (int j = 0; j < 4; j++)
			word[j] = tsr_gpu_pair_of_finite<typename P::dtype_t>(
				tsr_hip_word_of<P>(parts, j));
		__builtin_memcpy(&parts, word, sizeof parts);
	}
}

/* ---- a task */

/** The keys that a row sees, counted from the first of the span on. */
TSR_DEV int tsr_hip_seen(const tsr_span_t &span, int row)
{
	const int64_t seen = tsr_span_limit(&span, row) - span.k0;
	return seen < 0 ? 0 : (int)tsr_gpu_least(seen, span.k1 - span.k0);
}

/** The state, as a step has it: both lanes of a query have its maximum. */
template <typename P, typename S>
TSR_DEV void tsr_hip_take_state(const tsr_coop_t *coop, typename P::step_t &x, const S *state)
{
	constexpr float lift = (float)(1 << P::lift);
	x.top = state->top[0];
	x.sum = tsr_hip_attend_owns(coop->thread) ? state->sum[0] * lift : 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::col_blocks * P::registers; i++)
		x.o[i / P::registers][i % P::registers] = state->o.v[i] * lift;
}

template <typename P, typename S>
TSR_DEV void tsr_hip_give_state(tsr_coop_t *coop, const typename P::step_t &x, S *state)
{
	constexpr float drop = 1.0f / (float)(1 << P::lift);
	tsr_gpu_frag_changes(coop, &state->o);
	state->top[0] = x.top;
	state->sum[0] = (x.sum + tsr_hip_of_partner(coop, x.sum)) * drop;
	TSR_GPU_UNROLL
	for (int i = 0; i < P::col_blocks * P::registers; i++)
		state->o.v[i] = x.o[i / P::registers][i % P::registers] * drop;
}

/** A task: the step in registers, the one in flight, and what is still to be loaded. */
template <typename P> struct tsr_hip_attender {
	typename P::step_t x;
	typename P::load_t load;
	typename P::stages_t stages;
	tsr_hip_keys_t from;
};

/**
 * The first step: scores alone. Before it the first two steps are laid. `seen`:
 * keys that the lane's query sees.
 */
template <typename P, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_hip_first_step(tsr_coop_t *coop, tsr_hip_attender<P> &me, int seen,
				const tsr_gpu_attention_t &a, const tsr_span_t &span,
				const void *ctx)
{
	typename P::keys_t k;
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			tsr_hip_lay_step<P>(coop, me.stages.k, me.stages.v, me.load);
		else if (i == 2)
			tsr_hip_lay_step<P>(coop, me.stages.next_k, me.stages.next_v, me.load);
		tsr_hip_begin_keys<P, GATE>(coop, me.load, me.from, a, span, ctx);
	}
	tsr_hip_load_queries<P>(coop, me.x, a, span);
	tsr_gpu_meet_shared(coop);
	tsr_hip_read_keys<P>(coop, k, me.stages.k);
	tsr_hip_scores<P>(me.x, k);
	tsr_hip_mask<P>(coop, me.x, seen);
	tsr_hip_soften<P>(coop, me.x, a.scale);
	tsr_hip_rescale<P>(me.x);
	tsr_gpu_meet_shared(coop);
}

/**
 * A further step: its scores, and the values of the step before. `seen` is counted
 * from its first key. The step after it is laid where the one before had its keys,
 * and the one before that its values; and the loads of the one behind are started.
 */
template <typename P, tsr_keys_gate_fn GATE, bool MASKED>
TSR_DEV void tsr_hip_next_step(tsr_coop_t *coop, tsr_hip_attender<P> &me, int seen,
			       const tsr_gpu_attention_t &a, const tsr_span_t &span,
			       const void *ctx)
{
	typename P::keys_t k;
	typename P::values_t v;
	tsr_hip_read_keys<P>(coop, k, me.stages.next_k);
	tsr_hip_lay_step<P>(coop, me.stages.k, me.stages.free_v, me.load);
	tsr_hip_begin_keys<P, GATE>(coop, me.load, me.from, a, span, ctx);
	tsr_hip_read_values<P>(coop, v, me.stages.v);
	if (MASKED) /* those of the step before */
		tsr_hip_take_infinite<P>(coop, me.x, v, me.stages.v, seen + P::step);
	tsr_hip_reads_first();
	tsr_hip_scores<P>(me.x, k);
	tsr_hip_add_values<P>(me.x, v);
	if (MASKED)
		tsr_hip_mask<P>(coop, me.x, seen);
	tsr_hip_soften<P>(coop, me.x, a.scale);
	tsr_hip_softmax_between<P, MASKED>();
	tsr_hip_rescale<P>(me.x);
	tsr_hip_turn<P>(me.stages);
	tsr_gpu_meet_shared(coop);
}

/** All keys of a span, at least one. Nothing uses what is laid behind the last step. */
template <typename P, tsr_keys_gate_fn GATE, typename S>
TSR_DEV void tsr_hip_attend_keys(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
				 const tsr_span_t &span, const void *ctx)
{
	const int keys = (int)(span.k1 - span.k0), steps = (keys + P::step - 1) / P::step,
		  row = tsr_hip_attend_row(coop->thread), seen = tsr_hip_seen(span, row);
	/* steps in which every query of the wave sees all keys */
	const int whole =
		__builtin_amdgcn_readfirstlane(tsr_hip_seen(span,
							    row - row % TSR_HIP_ATTEND_EDGE)) /
		P::step;
	int n = 1;
	tsr_hip_attender<P> me;
	me.stages = tsr_hip_attend_stages<P>();
	me.from.begun = 0;
	me.from.passed = 0;
	me.from.keys = keys;
	tsr_hip_take_state<P>(coop, me.x, state);
	tsr_hip_first_step<P, GATE>(coop, me, seen, a, span, ctx);
	TSR_GPU_NO_UNROLL
	for (; n < steps && n < whole; n++)
		tsr_hip_next_step<P, GATE, false>(coop, me, 0, a, span, ctx);
	TSR_GPU_NO_UNROLL
	for (; n < steps; n++)
		tsr_hip_next_step<P, GATE, true>(coop, me, seen - n * P::step, a, span, ctx);
	typename P::values_t v;
	tsr_hip_read_values<P>(coop, v, me.stages.v);
	if (whole < steps)
		tsr_hip_take_infinite<P>(coop, me.x, v, me.stages.v, seen - (steps - 1) * P::step);
	tsr_hip_add_values<P>(me.x, v);
	tsr_gpu_meet_shared(coop); /* the stages are free */
	tsr_hip_give_state<P>(coop, me.x, state);
}

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_hip_attend(tsr_coop_t *coop, const tsr_gpu_attention_t &a, tsr_tasks_t tasks,
			    C *ctx)
{
	S state;
	tsr_gpu_state_clear(coop, &state);
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		const tsr_span_t span = tsr_gpu_span<S, SPAN>(a, task, (const void *)ctx);
		tsr_gpu_start<S, START>(coop, &state, span, ctx);
		tsr_gpu_record_product(coop);
		if (span.k0 < span.k1)
			tsr_hip_attend_keys<tsr_hip_attention<S>, GATE>(coop, &state, a, span,
									(const void *)ctx);
		tsr_gpu_record_produced(coop, tsr_gpu_attended_bytes<S>(span));
		EPILOGUE(coop, &state, span, ctx);
	}
}

/**
 * tsr_attend. The coop may have stored the operands just before, and what its
 * epilogues have stored may be read just after.
 */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_port_attend(tsr_coop_t *coop, tsr_view_t q, tsr_view_t k, tsr_view_t v,
			     float scale, tsr_tasks_t tasks, C *ctx)
{
	const tsr_gpu_attention_t a = {q, k, v, scale * tsr_gpu_log2_e};
	bool done = false;
	tsr_gpu_meet(coop);
	if constexpr (tsr_hip_attends<typename S::tile_t, TSR_HIP_SOLE_THREADS>)
		/* it reads no rank of another node, and a gate may return one */
		if (coop->threads == TSR_HIP_SOLE_THREADS &&
		    (GATE == TSR_NO_KEYS_GATE || !tsr_gpu_spans_nodes(coop))) {
			tsr_hip_attend<S, SPAN, GATE, START, EPILOGUE>(coop, a, tasks, ctx);
			done = true;
		}
	if (!done)
		tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE>(coop, a, tasks, ctx);
	tsr_gpu_meet(coop);
}

#endif
