/*
 * The main loop of attention on Hopper. Worker 0 has three warpgroups, as in a
 * product's (cuda/dev/gemm.h): two multiply, each its 64 queries, and run start
 * and epilogue; of the third, one warp loads (cuda/dev/panels.h). A warpgroup
 * starts the scores of a step together with the product of the factors and
 * values of the step before, and computes the softmax of the scores while that
 * runs. Factors stay in registers. FlashAttention-3, section 3.
 *
 * Tiles that the tensor cores cannot compute, and operands that the copy engine
 * cannot read, use the plain loop, on the same threads.
 */
#ifndef TESSERA_CUDA_ATTEND_H
#define TESSERA_CUDA_ATTEND_H

#include "cuda/dev/few.h"
#include "cuda/dev/gemm.h"
#include "cuda/dev/panels.h"

/** Whether the tensor cores compute these tiles: a warpgroup has 64 queries. */
template <typename S>
constexpr bool tsr_cuda_attends = tsr_cuda_multiplies<typename S::tile_t::dtype_t> &&
				  (int)S::tile_t::M == 128 &&
				  ((int)S::tile_t::N == 64 || (int)S::tile_t::N == 128) &&
				  ((int)S::keys == 64 || (int)S::keys == 128);

/** What adds the keys of few queries: few.h, or the plain loop. */
template <typename S> struct tsr_cuda_few_keys {
	enum { longest = 1 << 30 };
	TSR_DEV void add(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
			 const tsr_span_t &run, int from)
	{
		uint32_t bytes;
		unsigned char *memory = tsr_cuda_free_shared(coop, &bytes);
		if (!tsr_gpu_is_far(coop, from) && bytes >= (uint32_t)tsr_cuda_few<S>::bytes &&
		    tsr_cuda_is_mappable(a.q) && tsr_cuda_is_mappable(a.k) &&
		    tsr_cuda_is_mappable(a.v)) {
			tsr_cuda_few_run(coop, memory, state, a, run, from);
			return;
		}
		tsr_coop_t seldom = tsr_gpu_seldom(coop);
		tsr_gpu_attend_run(&seldom, state, a, run, from);
		tsr_gpu_seldom_end(coop, &seldom);
	}
};

/* ---- the tensor cores */

/**
 * The descriptor `bytes` further on. Addresses stay below the next field, so
 * that one 32-bit addition is enough.
 */
TSR_DEV uint64_t tsr_cuda_operand_at(uint64_t operand, uint32_t bytes)
{
	return (operand & 0xffffffff00000000ull) | ((uint32_t)operand + (bytes >> 4));
}

/** Starts the scores of a stage of keys: s = Q * K^T. */
template <typename S> TSR_DEV void tsr_cuda_start_scores(float *s, uint32_t q, uint32_t k)
{
	typedef tsr_cuda_wgmma<(int)S::keys, typename S::tile_t::dtype_t, true, true> wgmma;
	const uint64_t queries = TSR_CUDA_OPERAND(q, 16, TSR_CUDA_GROUP_BYTES),
		       keys = TSR_CUDA_OPERAND(k, 16, TSR_CUDA_GROUP_BYTES);
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::tile_t::N / 16; i++) {
		const uint64_t
			a = tsr_cuda_operand_at(queries, (uint32_t)(i / 4 * TSR_CUDA_BOX_BYTES +
								    i % 4 * 32)),
			b = tsr_cuda_operand_at(keys,
						(uint32_t)(i / 4 * tsr_cuda_panel_bytes<S>::half +
							   i % 4 * 32));
		if (i == 0)
			wgmma::begin(s, a, b);
		else
			wgmma::add(s, a, b);
	}
	tsr_cuda_wgmma_commit();
}

/** Starts o += P * V for a stage of values. */
template <typename S> TSR_DEV void tsr_cuda_start_values(float *o, const uint32_t *p, uint32_t v)
{
	typedef tsr_cuda_wgmma_held<(int)S::tile_t::N, typename S::tile_t::dtype_t> wgmma;
	const uint64_t values =
		TSR_CUDA_OPERAND(v, tsr_cuda_panel_bytes<S>::half, TSR_CUDA_GROUP_BYTES);
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::keys / 16; i++)
		wgmma::add(o, p + 4 * i, tsr_cuda_operand_at(values, (uint32_t)(i * 16 * 128)));
	tsr_cuda_wgmma_commit();
}

/* ---- the softmax of a thread's two rows: s[4 j + 2 r + e] is row r, key 8 j + lane % 4 * 2 + e */

/** Scores of keys from `end[r]` on, counted from the step's first key, become -inf. */
template <typename S> TSR_DEV void tsr_cuda_mask(float *s, int lane, const int end[2])
{
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::keys / 2; i++)
		if (i / 4 * 8 + lane % 4 * 2 + i % 2 >= end[i / 2 % 2])
			s[i] = tsr_gpu_no_keys();
}

/** The maximum of row r, which four lanes share. */
template <typename S> TSR_DEV float tsr_cuda_most(const float *s, int r)
{
	float a = s[2 * r], b = s[2 * r + 1];
	TSR_GPU_UNROLL
	for (int i = 4; i < (int)S::keys / 2; i += 4) {
		a = fmaxf(a, s[i + 2 * r]);
		b = fmaxf(b, s[i + 2 * r + 1]);
	}
	a = fmaxf(a, b);
	a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
	return fmaxf(a, __shfl_xor_sync(~0u, a, 2));
}

/** The registers of a task beside O. */
template <typename S> struct tsr_cuda_step {
	enum { scores = (int)S::keys / 2, sums = (int)S::tile_t::N / 2 };
	float s[scores];
	uint32_t p[scores / 2];
	float top[2], sum[2], shrink[2], base[2];
	float early; /* a sum of row 0's first factors */
};

/**
 * Takes the scores into the maxima of both rows: `base` is subtracted from them,
 * `shrink` is what O is to be multiplied by. MASKED: a row may have no keys. Both
 * maxima come before the exponentials, which is 1 % faster.
 */
template <bool MASKED, typename S>
TSR_DEV void tsr_cuda_raise_tops(tsr_cuda_step<S> *x, float scale)
{
	TSR_GPU_UNROLL
	for (int r = 0; r < 2; r++) {
		const float most = fmaxf(tsr_cuda_most<S>(x->s, r) * scale, x->top[r]);
		x->base[r] = MASKED && most == tsr_gpu_no_keys() ? 0 : most;
		x->shrink[r] = tsr_port_exp2(x->top[r] - x->base[r]);
		x->top[r] = most;
	}
}

/**
 * Scores of row r become factors, not yet rounded. `sum` is this thread's share
 * of the row's sum.
 */
template <typename S> TSR_DEV void tsr_cuda_soften(tsr_cuda_step<S> *x, int r, float scale)
{
	float even = 0, odd = 0;
	TSR_GPU_UNROLL
	for (int i = 2 * r; i < tsr_cuda_step<S>::scores; i += 4) {
		x->s[i] = tsr_port_exp2(tsr_gpu_fma(x->s[i], scale, -x->base[r]));
		x->s[i + 1] = tsr_port_exp2(tsr_gpu_fma(x->s[i + 1], scale, -x->base[r]));
		even += x->s[i];
		odd += x->s[i + 1];
		if (r == 0 && i == tsr_cuda_step<S>::scores / 2)
			x->early = even;
	}
	x->sum[r] = tsr_gpu_fma(x->sum[r], x->shrink[r], even + odd);
}

template <int COUNT> TSR_DEV void tsr_cuda_rescale(float *o, const float shrink[2])
{
	TSR_GPU_UNROLL
	for (int i = 0; i < COUNT; i++)
		o[i] *= shrink[i / 2 % 2];
}

/** The layout of sums is that of a first operand: rounding is all that is left to do. */
template <typename S> TSR_DEV void tsr_cuda_round_factors(uint32_t *p, const float *s)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::keys / 4; i++)
		p[i] = tsr_cuda_pair<typename S::tile_t::dtype_t>(s[2 * i], s[2 * i + 1]);
}

/* ---- a task */

/** A consumer's place: its lane and warpgroup, steps and tasks so far. */
typedef struct tsr_cuda_attender {
	uint32_t panels; /* shared address of the panels */
	int lane, group;
	uint32_t n, turns;
} tsr_cuda_attender_t;

TSR_DEV void tsr_cuda_await_panel(uint32_t barrier, uint32_t parity)
{
	tsr_cuda_mbarrier_wait(tsr_cuda_panel_full(barrier), parity);
}

/** Shared addresses: of the warpgroup's queries, and of a stage of keys or values. */
template <typename S> TSR_DEV uint32_t tsr_cuda_queries_at(const tsr_cuda_attender_t *me)
{
	return me->panels + (uint32_t)(me->group * tsr_cuda_panel_bytes<S>::q);
}

template <typename S>
TSR_DEV uint32_t tsr_cuda_keys_at(const tsr_cuda_attender_t *me, uint32_t stage)
{
	return me->panels + (uint32_t)tsr_cuda_panel_at<S>::k +
	       stage * (uint32_t)tsr_cuda_panel_bytes<S>::stage;
}

template <typename S>
TSR_DEV uint32_t tsr_cuda_values_at(const tsr_cuda_attender_t *me, uint32_t stage)
{
	return me->panels + (uint32_t)tsr_cuda_panel_at<S>::v +
	       stage * (uint32_t)tsr_cuda_panel_bytes<S>::stage;
}

/** Called by each warp, whose lane 0 arrives: the panel may be filled again. */
TSR_DEV void tsr_cuda_free_panel(const tsr_cuda_attender_t *me, uint32_t barrier, bool does)
{
	tsr_cuda_mbarrier_arrive_if(tsr_cuda_panel_empty(barrier), does && me->lane == 0);
}

/**
 * True, but ptxas does not know it: no sum has these bits. What depends on it
 * comes behind some of the factors.
 */
template <typename S> TSR_DEV bool tsr_cuda_is_softened(const tsr_cuda_step<S> *x)
{
	return __float_as_uint(x->early) != 0xffffffffu;
}

/**
 * A step's scores alone. `end`: keys of the step that each row sees. Partners: the
 * waits and arrivals in tsr_cuda_load_keys, and where `last` in
 * tsr_cuda_load_queries. Litmus: MP.rel.acq.sameWG-ww (full),
 * LB.retired.sameWG-ww (empty); so in those below.
 */
template <typename S>
TSR_DEV void tsr_cuda_scores_alone(tsr_cuda_attender_t *me, float *o, tsr_cuda_step<S> *x,
				   bool last, bool masked, const int end[2], float scale)
{
	typedef tsr_cuda_step<S> step_t;
	const uint32_t stage = tsr_cuda_stage_of(me->n);
	tsr_cuda_await_panel(TSR_CUDA_BARRIER_K + stage, tsr_cuda_parity_of(me->n));
	tsr_cuda_wgmma_begin();
	tsr_cuda_start_scores<S>(x->s, tsr_cuda_queries_at<S>(me), tsr_cuda_keys_at<S>(me, stage));
	tsr_cuda_wgmma_await<0>();
	tsr_cuda_pin<step_t::scores>(x->s);
	tsr_cuda_free_panel(me, TSR_CUDA_BARRIER_K + stage, true);
	tsr_cuda_free_panel(me, (uint32_t)(TSR_CUDA_BARRIER_Q + me->group), last);
	if (masked)
		tsr_cuda_mask<S>(x->s, me->lane, end);
	tsr_cuda_raise_tops<true>(x, scale);
	tsr_cuda_soften(x, 0, scale);
	tsr_cuda_soften(x, 1, scale);
	tsr_cuda_rescale<step_t::sums>(o, x->shrink);
	tsr_cuda_round_factors<S>(x->p, x->s);
}

/**
 * A further step: its scores, and the values of the step before. All waits come
 * before the first product, because a loop between products would serialise
 * them.
 */
template <typename S, bool MASKED>
TSR_DEV void tsr_cuda_next_step(tsr_cuda_attender_t *me, float *o, tsr_cuda_step<S> *x, bool last,
				const int end[2], float scale)
{
	typedef tsr_cuda_step<S> step_t;
	const uint32_t stage = tsr_cuda_stage_of(me->n), next = tsr_cuda_stage_of(me->n + 1);
	tsr_cuda_await_panel(TSR_CUDA_BARRIER_V + stage, tsr_cuda_parity_of(me->n));
	tsr_cuda_await_panel(TSR_CUDA_BARRIER_K + next, tsr_cuda_parity_of(me->n + 1));
	tsr_cuda_pin<step_t::sums>(o);
	tsr_cuda_pin<step_t::scores / 2>(x->p);
	tsr_cuda_wgmma_begin();
	tsr_cuda_start_scores<S>(x->s, tsr_cuda_queries_at<S>(me), tsr_cuda_keys_at<S>(me, next));
	tsr_cuda_start_values<S>(o, x->p, tsr_cuda_values_at<S>(me, stage));
	tsr_cuda_wgmma_await<1>();
	tsr_cuda_pin<step_t::scores>(x->s);
	if (MASKED)
		tsr_cuda_mask<S>(x->s, me->lane, end);
	tsr_cuda_raise_tops<MASKED>(x, scale);
	tsr_cuda_soften(x, 0, scale);
	/* ptxas would wait for O in front of all exponentials. The arrivals, which stay in front of
	 * the wait, keep it behind a third of them or more. */
	const bool softened = tsr_cuda_is_softened(x);
	tsr_cuda_free_panel(me, TSR_CUDA_BARRIER_K + next, softened);
	tsr_cuda_free_panel(me, (uint32_t)(TSR_CUDA_BARRIER_Q + me->group), softened && last);
	tsr_cuda_soften(x, 1, scale);
	tsr_cuda_wgmma_await<0>();
	tsr_cuda_pin<step_t::sums>(o);
	tsr_cuda_pin<step_t::scores>(x->s);
	tsr_cuda_free_panel(me, TSR_CUDA_BARRIER_V + stage, true);
	me->n++;
	tsr_cuda_rescale<step_t::sums>(o, x->shrink);
	tsr_cuda_round_factors<S>(x->p, x->s);
}

/** Behind the last step: its values. */
template <typename S>
TSR_DEV void tsr_cuda_last_values(tsr_cuda_attender_t *me, float *o, tsr_cuda_step<S> *x)
{
	typedef tsr_cuda_step<S> step_t;
	const uint32_t stage = tsr_cuda_stage_of(me->n);
	tsr_cuda_await_panel(TSR_CUDA_BARRIER_V + stage, tsr_cuda_parity_of(me->n));
	tsr_cuda_pin<step_t::sums>(o);
	tsr_cuda_pin<step_t::scores / 2>(x->p);
	tsr_cuda_wgmma_begin();
	tsr_cuda_start_values<S>(o, x->p, tsr_cuda_values_at<S>(me, stage));
	tsr_cuda_wgmma_await<0>();
	tsr_cuda_pin<step_t::sums>(o);
	tsr_cuda_free_panel(me, TSR_CUDA_BARRIER_V + stage, true);
	me->n++;
}

/* ---- values that are not finite, in steps that not all rows see whole */

/**
 * Whether the next step's values hold such. The warpgroup looks together. The vote
 * shows the compiler that a warp goes one way: else the addresses of all products
 * leave the uniform registers, and full attention takes 1.04 times as long.
 */
template <typename S> TSR_DEV bool tsr_cuda_has_infinite(const tsr_cuda_attender_t *me)
{
	enum { turn = TSR_CUDA_WARPGROUP_THREADS * 16 };
	const uint32_t stage = tsr_cuda_stage_of(me->n),
		       mine = tsr_cuda_values_at<S>(me, stage) +
			      tsr_port_thread() % TSR_CUDA_WARPGROUP_THREADS * 16;
	uint32_t found = 0;
	tsr_cuda_await_panel(TSR_CUDA_BARRIER_V + stage, tsr_cuda_parity_of(me->n));
	TSR_GPU_UNROLL_BY_4
	for (int i = 0; i < (int)tsr_cuda_panel_bytes<S>::stage; i += turn) {
		uint32_t word[4];
		tsr_cuda_shared_load_all(word, mine + (uint32_t)i);
		TSR_GPU_UNROLL
		for (int j = 0; j < 4; j++)
			found |= tsr_gpu_infinite_of_pair<typename S::tile_t::dtype_t>(word[j]);
	}
	return tsr_cuda_any(tsr_cuda_any_of_group(me->group, found != 0));
}

/** The pair of factors of a step's key, for row r of this thread's: one of four lanes has it. */
template <typename S> TSR_DEV uint32_t tsr_cuda_factors(const uint32_t *p, int lane, int key, int r)
{
	uint32_t pair = 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::keys / 8; i++)
		pair |= p[2 * i + r] & (key / 8 == i ? ~0u : 0u); /* no index of a register */
	return __shfl_sync(~0u, pair, lane / 4 * 4 + key % 8 / 2);
}

/**
 * o += P * V for a step's values, of the keys that each row sees. The tensor cores
 * would multiply a row's zeros by what it does not see, and 0 * NaN is NaN.
 * Partners: as in tsr_cuda_last_values.
 */
template <typename S>
TSR_DEV void tsr_cuda_values_by_hand(tsr_cuda_attender_t *me, float *o, const tsr_cuda_step<S> *x,
				     const int seen[2])
{
	typedef typename S::tile_t::dtype_t dtype_t;
	enum { words = tsr_cuda_step<S>::scores / 2 };
	const uint32_t stage = tsr_cuda_stage_of(me->n), from = tsr_cuda_values_at<S>(me, stage);
	uint32_t p[words]; /* apart: the step's own stay in registers */
	TSR_GPU_UNROLL
	for (int i = 0; i < words; i++)
		p[i] = x->p[i];
	tsr_cuda_pin<words>(p);
	TSR_GPU_NO_UNROLL
	for (int key = 0; key < (int)S::keys; key++) {
		const uint32_t pair[2] = {tsr_cuda_factors<S>(p, me->lane, key, 0),
					  tsr_cuda_factors<S>(p, me->lane, key, 1)};
		TSR_GPU_UNROLL
		for (int col = 0; col < (int)S::tile_t::N; col += 8) {
			/* units of 16 bytes change places by key: the swizzle */
			const uint32_t unit = (uint32_t)((col / 8 % 8) ^ (key % 8)) * 16;
			uint32_t word[4];
			tsr_cuda_shared_load_all(
				word, from +
					      (uint32_t)(col / 64 * tsr_cuda_panel_bytes<S>::half +
							 key * 128) +
					      unit);
			const uint32_t low = me->lane % 2 ? word[1] : word[0],
				       high = me->lane % 2 ? word[3] : word[2],
				       two = me->lane % 4 < 2 ? low : high;
			TSR_GPU_UNROLL
			for (int i = 0; i < 4; i++) {
				const uint32_t factor = key % 2 ? pair[i / 2] >> 16 : pair[i / 2];
				if (key < seen[i / 2])
					o[col / 2 + i] = tsr_gpu_fma(
						tsr_gpu_decode<float, dtype_t>((uint16_t)factor),
						tsr_gpu_decode<float, dtype_t>(
							(uint16_t)(two >> i % 2 * 16)),
						o[col / 2 + i]);
			}
		}
	}
	tsr_cuda_lanes_meet(); /* all of them have read the panel */
	tsr_cuda_free_panel(me, TSR_CUDA_BARRIER_V + stage, true);
	me->n++;
}

/** The keys that a row sees, counted from the first of the span on. */
TSR_DEV int tsr_cuda_seen(const tsr_span_t &span, int row)
{
	const int64_t seen = tsr_span_limit(&span, row) - span.k0;
	return seen < 0 ? 0 : (int)tsr_gpu_least(seen, span.k1 - span.k0);
}

/** All keys of a span, at least one. */
template <typename S>
TSR_DEV void tsr_cuda_attend_keys(const tsr_coop_t *coop, tsr_cuda_attender_t *me, S *state,
				  const tsr_span_t &span, float scale)
{
	enum { keys = (int)S::keys };
	const int steps = ((int)(span.k1 - span.k0) + keys - 1) / keys;
	/* steps in which every row of the warpgroup sees all keys */
	const int whole = tsr_cuda_seen(span, me->group * 64) / keys;
	const int end[2] = {tsr_cuda_seen(span, tsr_gpu_slot_row<S>(coop, 0)),
			    tsr_cuda_seen(span, tsr_gpu_slot_row<S>(coop, 1))};
	tsr_cuda_step<S> x;
	TSR_GPU_UNROLL
	for (int r = 0; r < 2; r++) {
		x.top[r] = state->top[r];
		x.sum[r] = me->lane % 4 == 0 ? state->sum[r] : 0;
	}
	tsr_cuda_await_panel((uint32_t)(TSR_CUDA_BARRIER_Q + me->group), me->turns++ & 1);
	tsr_cuda_scores_alone<S>(me, state->o.v, &x, steps == 1, whole < 1, end, scale);
	int step = 1;
	TSR_GPU_NO_UNROLL
	for (; step < steps && step < whole; step++)
		tsr_cuda_next_step<S, false>(me, state->o.v, &x, step + 1 == steps, end, scale);
	TSR_GPU_NO_UNROLL
	for (; step < steps; step++) {
		const int left[2] = {end[0] - step * keys, end[1] - step * keys},
			  before[2] = {left[0] + keys, left[1] + keys};
		const bool last = step + 1 == steps;
		if (step <= whole || !tsr_cuda_has_infinite<S>(me)) {
			tsr_cuda_next_step<S, true>(me, state->o.v, &x, last, left, scale);
			continue;
		}
		tsr_cuda_values_by_hand<S>(me, state->o.v, &x, before);
		tsr_cuda_scores_alone<S>(me, state->o.v, &x, last, true, left, scale);
	}
	const int left[2] = {end[0] - (steps - 1) * keys, end[1] - (steps - 1) * keys};
	if (steps > whole && tsr_cuda_has_infinite<S>(me))
		tsr_cuda_values_by_hand<S>(me, state->o.v, &x, left);
	else
		tsr_cuda_last_values<S>(me, state->o.v, &x);
	TSR_GPU_UNROLL
	for (int r = 0; r < 2; r++) {
		x.sum[r] += __shfl_xor_sync(~0u, x.sum[r], 1);
		state->sum[r] = x.sum[r] + __shfl_xor_sync(~0u, x.sum[r], 2);
		state->top[r] = x.top[r];
	}
}

/* ---- both together */

/** Starts a task, and adds its keys: by the pipeline, or plainly. */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_cuda_attend_task(tsr_coop_t *coop, tsr_cuda_attender_t *me, S *state,
				  const tsr_gpu_attention_t &a, int64_t task, C *ctx)
{
	const tsr_span_t span = tsr_gpu_span<S, SPAN>(a, task, (const void *)ctx);
	tsr_gpu_start<S, START>(coop, state, span, ctx);
	if (!tsr_cuda_has_panels(coop)) {
		tsr_coop_t seldom = tsr_gpu_seldom(coop);
		tsr_gpu_attend_span<S, GATE>(&seldom, state, a, span, (const void *)ctx);
		tsr_gpu_seldom_end(coop, &seldom);
		return;
	}
	tsr_gpu_record_product(coop);
	if (span.k0 < span.k1) {
		tsr_gpu_frag_changes(coop, &state->o);
		tsr_cuda_attend_keys(coop, me, state, span, a.scale);
	}
	tsr_gpu_record_produced(coop, tsr_gpu_attended_bytes<S>(span));
}

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_cuda_attend_tasks(tsr_coop_t *coop, int group, const tsr_gpu_attention_t &a,
				   tsr_tasks_t tasks, C *ctx)
{
	S state;
	tsr_cuda_attender_t me = {tsr_cuda_panels(), coop->thread % 32, group, 0, 0};
	tsr_gpu_state_clear(coop, &state);
	tasks = tsr_cuda_tasks(tasks);
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		coop->kept = 0; /* start and products overwrite the fragment */
		tsr_cuda_attend_task<S, SPAN, GATE, START>(coop, &me, &state, a, task, ctx);
		/* computed anew: it would not stay in registers beside the task's sums */
		int64_t same = task;
		tsr_port_forget(&same);
		EPILOGUE(coop, &state, tsr_gpu_span<S, SPAN>(a, same, (const void *)ctx), ctx);
	}
	tsr_port_settle(coop);
	tsr_cuda_send_t none = {0, 0, 0, 0, 0, 0, 0, 0};
	tsr_cuda_post(coop, none);
}

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_cuda_attend(tsr_coop_t *coop, const tsr_gpu_attention_t &a, tsr_tasks_t tasks,
			     C *ctx)
{
	typedef typename S::tile_t tile_t;
	const int me = tsr_rank(coop);
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	uint32_t bytes;
	const unsigned char *memory = tsr_cuda_free_shared(coop, &bytes);
	tsr_cuda_reader_t reader = tsr_cuda_reader(coop);
	/* From a shuffle ptxas knows that it is the same in all lanes. Else it expects warps to be
	 * divided, and shuffles of the softmax end its schedules. */
	const int warp = __shfl_sync(~0u, coop->thread / 32, 0);
	const bool consumer = warp < TSR_CUDA_CONSUMER_THREADS / 32,
		   /* the engine reads no rank of another node, and a gate may return one */
		near = GATE == TSR_NO_KEYS_GATE || !tsr_gpu_spans_nodes(coop),
		   pipelined = near && coop->workers == 1 &&
			       bytes >= tsr_cuda_panel_bytes<S>::all && reader.places &&
			       tsr_cuda_is_mappable(a.q) && tsr_cuda_is_mappable(a.k) &&
			       tsr_cuda_is_mappable(a.v) && tsr_gpu_accepts_view(coop, a.q, me) &&
			       tsr_gpu_accepts_view(coop, a.k, me) &&
			       tsr_gpu_accepts_view(coop, a.v, me);
	tsr_coop_t loader = tsr_cuda_loader(coop, pipeline->told[1]);
	const bool loads = !consumer && loader.thread < TSR_CUDA_LOADER_THREADS;

	/* operands may have just been written or waited for, and so may the panels' memory */
	tsr_cuda_before_engine();
	if (coop->thread < TSR_CUDA_WARP_THREADS)
		tsr_cuda_panels_open(pipeline, coop->thread,
				     pipelined ? tsr_cuda_shared_address(memory) : 0, tasks);
	tsr_gpu_meet(coop);
	if (consumer) {
		tsr_cuda_split_registers(coop, true);
		tsr_coop_t consumers = tsr_cuda_consumers(coop, pipeline->told[0], coop->scratch);
		tsr_cuda_attend_tasks<S, SPAN, GATE, START, EPILOGUE>(&consumers,
								      warp / TSR_CUDA_GROUP_WARPS,
								      a, tasks, ctx);
		tsr_cuda_join_registers(coop, true);
	} else {
		tsr_cuda_split_registers(coop, false);
		if (!loads)
			tsr_cuda_senders<tile_t>(&loader, loader.thread - TSR_CUDA_LOADER_THREADS,
						 1);
		else if (tsr_cuda_has_panels(coop))
			tsr_cuda_read<S, SPAN, GATE>(&loader, &reader, a, tasks, (const void *)ctx);
		tsr_cuda_join_registers(coop, false);
	}
	tsr_cuda_share(coop, coop->scratch, ctx);
	if (coop->thread < TSR_CUDA_WARP_THREADS)
		tsr_cuda_panels_close(pipeline, coop->thread);
}

/** Few queries: the consumers do it all, each warp with keys of its own. */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_cuda_attend_few(tsr_coop_t *coop, const tsr_gpu_attention_t &a, tsr_tasks_t tasks,
				 C *ctx)
{
	tsr_gpu_meet(coop);
	if (coop->thread < TSR_CUDA_CONSUMER_THREADS) {
		tsr_coop_t me = tsr_cuda_consumers(coop, coop->told, coop->scratch);
		/* by the pipeline, of which nothing else is used, the host knows such a kernel */
		const uint32_t nothing[4] = {0, 0, 0, 0};
		tsr_cuda_shared_store_all(tsr_cuda_shared_address(tsr_cuda_pipeline()->map),
					  nothing);
		tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE, tsr_cuda_few_keys<S>>(&me, a, tasks,
										     ctx);
	}
	tsr_gpu_meet(coop);
	tsr_cuda_share(coop, coop->scratch, ctx);
}

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_port_attend(tsr_coop_t *coop, tsr_view_t q, tsr_view_t k, tsr_view_t v,
			     float scale, tsr_tasks_t tasks, C *ctx)
{
	const tsr_gpu_attention_t a = {q, k, v, scale * tsr_gpu_log2_e};
	if (coop->threads != TSR_CUDA_MAIN_THREADS) {
		/* a wide block, or a worker that moves data: the contract allows no main loop
		 * there */
		__trap();
	} else if constexpr (tsr_cuda_attends<S>) {
		tsr_cuda_attend<S, SPAN, GATE, START, EPILOGUE>(coop, a, tasks, ctx);
	} else if constexpr (tsr_cuda_is_few<S>) {
		tsr_cuda_attend_few<S, SPAN, GATE, START, EPILOGUE>(coop, a, tasks, ctx);
	} else {
		tsr_gpu_meet(coop);
		if (coop->thread < TSR_CUDA_CONSUMER_THREADS) {
			tsr_coop_t me = tsr_cuda_consumers(coop, coop->told, coop->scratch);
			tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE>(&me, a, tasks, ctx);
		}
		tsr_gpu_meet(coop);
		tsr_cuda_share(coop, coop->scratch, ctx);
	}
}

#endif
