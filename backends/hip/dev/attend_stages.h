/*
 * How keys, values and queries of attention come to the lanes that multiply them.
 * In shared memory are two stages of keys and three of values; the step behind
 * those is in flight from memory to registers, of keys to one half of the waves,
 * of values to the other. Queries go straight to registers, once a task.
 */
#ifndef TESSERA_HIP_ATTEND_STAGES_H
#define TESSERA_HIP_ATTEND_STAGES_H

#include "gpu/dev/fragments/attend.h"
#include "hip/dev/gemm.h"

/** What a lane has of a step, for states S. */
template <typename S> struct tsr_hip_attention {
	typedef S state_t;
	typedef typename S::tile_t::dtype_t dtype_t;
	typedef typename dtype_t::stored_t stored_t;
	enum {
		d = (int)S::tile_t::N,
		step = tsr_hip_attend_keys(d),
		key_blocks = step / TSR_HIP_ATTEND_EDGE,
		col_blocks = d / TSR_HIP_ATTEND_EDGE,
		key_groups = step / 16,
		col_groups = d / 16,
		registers = 16, /* of a block of sums */
		stage = TSR_HIP_ATTEND_STEP,
		key_stages = 2,
		value_stages = 3,
		bytes = (key_stages + value_stages) * stage * (int)sizeof(stored_t),
		/* Factors of f16 are multiplied by 2^15, and with them the sums: so none of
		 * 2^-24 and more is subnormal, which gfx90a would take for zero. */
		lift = dtype_t::code == TSR_F16 ? 15 : 0
	};
	typedef stored_t unit_t __attribute__((ext_vector_type(8)));
	typedef stored_t quad_t __attribute__((ext_vector_type(TSR_HIP_QUAD)));
	typedef tsr_hip_mfma<dtype_t, TSR_HIP_ATTEND_EDGE> mfma_t;
	/** Eight elements, for two instructions. */
	struct parts_t {
		typename mfma_t::operand_t part[2];
	};
	/** A thread's part of the step in flight to shared memory. */
	struct load_t {
		unit_t unit[TSR_HIP_QUAD];
	};
	struct stages_t {
		stored_t *k, *next_k, *v, *next_v, *free_v;
	};
	/** A lane's elements of a step's keys, and values. */
	struct keys_t {
		parts_t group[col_groups][key_blocks];
	};
	struct values_t {
		parts_t group[key_groups][col_blocks];
	};
	/** `p`: the factors of the step whose values have not been added yet. */
	struct step_t {
		parts_t q[col_groups], p[key_groups];
		typename mfma_t::sum_t s[key_blocks], o[col_blocks];
		float top, sum, shrink; /* sum: of the keys that this lane has */
	};
};

/* ---- from memory to registers */

/** What a wave has still to load of a task: of its keys, or of its values. */
typedef struct tsr_hip_keys {
	tsr_hip_piece_t piece; /* of the next step; `path` and `end_row` are found at its loads */
	int begun, keys;       /* keys whose loads have begun, and all of the task */
	int passed;            /* keys that have passed the gate, all read from one rank */
	bool whole, accepts;   /* may take the fast path; may be read */
} tsr_hip_keys_t;

/** The same in all lanes of a wave. */
TSR_DEV bool tsr_hip_loads_values(const tsr_coop_t *coop)
{
	return __builtin_amdgcn_readfirstlane(coop->thread / TSR_HIP_ATTEND_LOADERS) != 0;
}

/** Where a run begins: calls the gate, and goes on to read from the rank that it returns. */
template <typename P, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_hip_pass_keys(tsr_coop_t *coop, tsr_hip_keys_t &from, const tsr_gpu_attention_t &a,
			       const tsr_span_t &span, const void *ctx)
{
	int rank = tsr_rank(coop);
	if constexpr (GATE != TSR_NO_KEYS_GATE) {
		tsr_span_t run = span;
		run.k0 = span.k0 + from.begun;
		run.k1 = tsr_gpu_least(run.k0 + (int)P::state_t::keys, span.k1);
		const tsr_keys_from_t passed = GATE(coop, run, ctx);
		rank = __builtin_amdgcn_readfirstlane(passed.rank);
		from.passed =
			__builtin_amdgcn_readfirstlane((int)tsr_gpu_least(passed.until - span.k0,
									  from.keys));
	}
	from.accepts = tsr_gpu_accepts_view(coop, a.q, tsr_rank(coop)) &&
		       tsr_gpu_accepts_view(coop, a.k, rank) &&
		       tsr_gpu_accepts_view(coop, a.v, rank);
	tsr_gpu_target_t target =
		tsr_gpu_target(coop, tsr_hip_loads_values(coop) ? a.v : a.k, span.kv, rank);
	target.at.row += span.k0 + from.begun;
	target.rows = INT64_MAX; /* how many of them are inside is seen at each step */
	from.piece = tsr_hip_piece<typename P::stored_t, P::step, P::d>(target, false);
	from.whole = from.piece.path == TSR_HIP_WHOLE;
}

template <typename P, int PATH>
TSR_DEV void tsr_hip_load_keys(const tsr_coop_t *coop, typename P::load_t &load,
			       const tsr_hip_piece_t &piece)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_HIP_QUAD; i++) {
		const int e = i * TSR_HIP_ATTEND_LOADERS +
			      tsr_hip_thread<PATH>(coop) % TSR_HIP_ATTEND_LOADERS;
		load.unit[i] = tsr_hip_fetch<typename P::unit_t, typename P::stored_t, PATH>(
			piece, tsr_hip_attend_load_key(P::d, e), tsr_hip_attend_load_col(P::d, e));
	}
	tsr_hip_loaded<PATH>();
}

template <typename P, int PATH>
TSR_DEV void tsr_hip_load_values(const tsr_coop_t *coop, typename P::load_t &load,
				 const tsr_hip_piece_t &piece)
{
	constexpr tsr_hip_lanes_t lanes = tsr_hip_attend_v(P::d);
	const int e = tsr_hip_thread<PATH>(coop) % TSR_HIP_ATTEND_LOADERS;
	TSR_GPU_UNROLL
	for (int q = 0; q < TSR_HIP_QUAD; q++)
		load.unit[q] = tsr_hip_fetch<typename P::unit_t, typename P::stored_t, PATH>(
			piece, tsr_hip_across_k(lanes, P::d, e) + q,
			tsr_hip_across_row(lanes, P::d, e));
	tsr_hip_loaded<PATH>();
}

template <typename P, int PATH>
TSR_DEV void tsr_hip_load_step(const tsr_coop_t *coop, typename P::load_t &load,
			       const tsr_hip_piece_t &piece)
{
	if (tsr_hip_loads_values(coop))
		tsr_hip_load_values<P, PATH>(coop, load, piece);
	else
		tsr_hip_load_keys<P, PATH>(coop, load, piece);
}

/** Whether the next step begins a run that has not passed the gate; without one, the task. */
template <typename P, tsr_keys_gate_fn GATE> TSR_DEV bool tsr_hip_must_pass(tsr_hip_keys_t &from)
{
	enum { keys = (int)P::state_t::keys };
	if (GATE == TSR_NO_KEYS_GATE)
		return from.begun == 0;
	return from.begun % keys == 0 && tsr_gpu_least(from.begun + keys, from.keys) > from.passed;
}

/** Starts the loads of the next step, if there is one. */
template <typename P, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_hip_begin_keys(tsr_coop_t *coop, typename P::load_t &load, tsr_hip_keys_t &from,
				const tsr_gpu_attention_t &a, const tsr_span_t &span,
				const void *ctx)
{
	const int left = from.keys - from.begun;
	if (left <= 0)
		return;
	if (tsr_hip_must_pass<P, GATE>(from))
		tsr_hip_pass_keys<P, GATE>(coop, from, a, span, ctx);
	from.piece.end_row = !from.accepts ? 0 : left < P::step ? left : (int)P::step;
	if (from.whole && from.piece.end_row == P::step)
		tsr_hip_load_step<P, TSR_HIP_WHOLE>(coop, load, from.piece);
	else
		tsr_hip_load_step<P, TSR_HIP_EDGE>(coop, load, from.piece);
	from.piece.origin += P::step * from.piece.ld * (int64_t)sizeof(typename P::stored_t);
	from.begun += P::step;
}

/** A lane's elements of its query. Queries that are missing are 0. */
template <typename P, int PATH>
TSR_DEV void tsr_hip_load_query(const tsr_coop_t *coop, typename P::step_t &x,
				const tsr_hip_piece_t &piece)
{
	const int thread = tsr_hip_thread<PATH>(coop);
	TSR_GPU_UNROLL
	for (int i = 0; i < P::col_groups; i++)
		x.q[i] = __builtin_bit_cast(typename P::parts_t,
					    (tsr_hip_fetch<typename P::unit_t, typename P::stored_t,
							   PATH>(piece, tsr_hip_attend_row(thread),
								 tsr_hip_attend_read(thread, i))));
	tsr_hip_loaded<PATH>();
}

template <typename P>
TSR_DEV void tsr_hip_load_queries(const tsr_coop_t *coop, typename P::step_t &x,
				  const tsr_gpu_attention_t &a, const tsr_span_t &span)
{
	tsr_gpu_target_t from = tsr_gpu_target(coop, a.q, span.q, tsr_rank(coop));
	from.rows = tsr_gpu_least(from.rows, span.q.row + span.queries);
	const tsr_hip_piece_t piece =
		tsr_hip_piece<typename P::stored_t, TSR_HIP_ATTEND_QUERIES, P::d>(from, false);
	if (piece.path == TSR_HIP_WHOLE)
		tsr_hip_load_query<P, TSR_HIP_WHOLE>(coop, x, piece);
	else
		tsr_hip_load_query<P, TSR_HIP_EDGE>(coop, x, piece);
}

/* ---- from registers to shared memory */

template <typename P> TSR_DEV typename P::stages_t tsr_hip_attend_stages(void)
{
	typename P::stored_t *keys = (typename P::stored_t *)tsr_hip_stages<P::bytes>(),
			     *values = keys + P::key_stages * P::stage;
	const typename P::stages_t stages = {keys, keys + P::stage, values, values + P::stage,
					     values + 2 * P::stage};
	return stages;
}

/** The next stage becomes this one, and what has been read becomes free. */
template <typename P> TSR_DEV void tsr_hip_turn(typename P::stages_t &stages)
{
	const typename P::stages_t old = stages;
	stages.k = old.next_k;
	stages.next_k = old.k;
	stages.v = old.next_v;
	stages.next_v = old.free_v;
	stages.free_v = old.v;
}

template <typename P>
TSR_DEV void tsr_hip_lay_keys(const tsr_coop_t *coop, typename P::stored_t *stage,
			      const typename P::load_t &load)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_HIP_QUAD; i++) {
		const int e = i * TSR_HIP_ATTEND_LOADERS + coop->thread % TSR_HIP_ATTEND_LOADERS;
		*(typename P::unit_t *)(stage +
					tsr_hip_attend_place(P::d, tsr_hip_attend_load_key(P::d, e),
							     tsr_hip_attend_load_col(P::d, e))) =
			load.unit[i];
	}
}

/** Transposed, four keys of a column at a time. */
template <typename P>
TSR_DEV void tsr_hip_lay_values(const tsr_coop_t *coop, typename P::stored_t *stage,
				const typename P::load_t &load)
{
	constexpr tsr_hip_lanes_t lanes = tsr_hip_attend_v(P::d);
	const int e = coop->thread % TSR_HIP_ATTEND_LOADERS, key = tsr_hip_across_k(lanes, P::d, e),
		  col = tsr_hip_across_row(lanes, P::d, e);
	TSR_GPU_UNROLL
	for (int j = 0; j < 8; j++) {
		const typename P::quad_t quad = {load.unit[0][j], load.unit[1][j], load.unit[2][j],
						 load.unit[3][j]};
		*(typename P::quad_t *)(stage + tsr_hip_place(lanes, col + j, key)) = quad;
	}
}

template <typename P>
TSR_DEV void tsr_hip_lay_step(const tsr_coop_t *coop, typename P::stored_t *k,
			      typename P::stored_t *v, const typename P::load_t &load)
{
	if (tsr_hip_loads_values(coop))
		tsr_hip_lay_values<P>(coop, v, load);
	else
		tsr_hip_lay_keys<P>(coop, k, load);
}

/* ---- from there to the matrix cores */

template <typename P>
TSR_DEV typename P::parts_t tsr_hip_read_parts(const typename P::stored_t *stage, int at)
{
	return __builtin_bit_cast(typename P::parts_t, *(const typename P::unit_t *)(stage + at));
}

/** Reads this lane's elements of the step's keys. */
template <typename P>
TSR_DEV void tsr_hip_read_keys(const tsr_coop_t *coop, typename P::keys_t &k,
			       const typename P::stored_t *stage)
{
	const int key = tsr_hip_key_of_lane(coop->thread);
	TSR_GPU_UNROLL
	for (int i = 0; i < P::col_groups; i++)
		TSR_GPU_UNROLL
	for (int block = 0; block < P::key_blocks; block++)
		k.group[i][block] = tsr_hip_read_parts<P>(
			stage, tsr_hip_attend_place(P::d, block * TSR_HIP_ATTEND_EDGE + key,
						    tsr_hip_attend_read(coop->thread, i)));
}

/** Reads this lane's elements of the step's values. */
template <typename P>
TSR_DEV void tsr_hip_read_values(const tsr_coop_t *coop, typename P::values_t &v,
				 const typename P::stored_t *stage)
{
	constexpr tsr_hip_lanes_t lanes = tsr_hip_attend_v(P::d);
	TSR_GPU_UNROLL
	for (int i = 0; i < P::key_groups; i++)
		TSR_GPU_UNROLL
	for (int block = 0; block < P::col_blocks; block++)
		v.group[i][block] =
			tsr_hip_read_parts<P>(stage,
					      tsr_hip_place(lanes,
							    block * TSR_HIP_ATTEND_EDGE +
								    coop->thread %
									    TSR_HIP_ATTEND_EDGE,
							    tsr_hip_attend_read(coop->thread, i)));
}

#endif
