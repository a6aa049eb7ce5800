/*
 * Attention of few queries: 16 rows, of which decoding fills one for each head
 * that shares a key head. Such a tile computes little, and reads keys and values
 * once: what counts is how many bytes are on their way from memory. So each warp
 * has keys of its own, 16 at a time in turn with the other warps, and a softmax
 * of its own; at the end they are merged.
 *
 * Lanes hand to the tensor cores (mma.m16n8k16) what they read in units of 16
 * bytes: of a key eight elements of K's products, whose order does not matter as
 * long as the queries have the same; of a value one column each of eight blocks.
 * Lines of 128 bytes are pulled to lines of shared memory, in which units change
 * places by key so that reading lanes meet in no bank. A pull that spreads a line
 * over shared memory, in the layout of registers, reads 3.4 TB/s of an H200; one
 * that does not reads 4.5 (docs/performance.md). Only lanes of a warp read what
 * others have pulled, so no barrier is in the loop. Of 192 KiB in shared memory two
 * thirds or more are on their way at any time; memory of 4 TB/s needs some 30 KB a
 * multiprocessor.
 *
 * Source: Flash-Decoding (Dao et al., 2023).
 */
#ifndef TESSERA_CUDA_FEW_H
#define TESSERA_CUDA_FEW_H

#include "cuda/dev/mma.h"
#include "cuda/dev/pull.h"
#include "gpu/dev/fragments/attend.h"

enum {
	TSR_CUDA_FEW_QUERIES = 16,
	TSR_CUDA_FEW_KEYS = 16, /* of a warp's step */
	TSR_CUDA_FEW_WARPS = TSR_CUDA_CONSUMER_THREADS / TSR_CUDA_LANES,
	TSR_CUDA_FEW_BYTES = 24 << 10, /* on their way to a warp, at most */
	TSR_CUDA_UNIT = 8              /* elements in 16 bytes */
};

/** Whether this loop computes such tiles. */
template <typename S>
constexpr bool tsr_cuda_is_few = tsr_cuda_multiplies<typename S::tile_t::dtype_t> &&
				 (int)S::tile_t::M == TSR_CUDA_FEW_QUERIES &&
				 ((int)S::tile_t::N == 64 || (int)S::tile_t::N == 128);

/**
 * Shared memory: of each warp, stages of keys and values; the queries, whose rows
 * have a unit for each lane. Behind the loop, the warps' states are in place of
 * the stages: maxima, sums and factors of each row, and O, whose rows are apart so
 * that lanes meet in few banks.
 */
template <typename S> struct tsr_cuda_few {
	enum {
		d = (int)S::tile_t::N,
		units = d / (int)TSR_CUDA_UNIT, /* of a key, or of a value */
		key_bytes = units * (int)sizeof(tsr_cuda_unit_t),
		row_bytes = TSR_CUDA_LANES * (int)sizeof(tsr_cuda_unit_t),
		runs = d / 32,   /* units of a key that a lane reads: rows of half the queries */
		halves = d / 64, /* of a value */
		values_at = TSR_CUDA_FEW_KEYS * key_bytes,
		stage_bytes = 2 * values_at,
		stages = (int)TSR_CUDA_FEW_BYTES / stage_bytes,
		queries_at = stages * stage_bytes * TSR_CUDA_FEW_WARPS,
		bytes = queries_at + 2 * runs * row_bytes,
		/* floats */
		rows = TSR_CUDA_FEW_WARPS * TSR_CUDA_FEW_QUERIES,
		sums_at = rows,
		factors_at = 2 * rows,
		o_at = 3 * rows,
		o_pitch = d + 4
	};
	static_assert((o_at + rows * o_pitch) * 4 <= queries_at, "warps leave their states there");
};

/** What a warp knows of the keys so far: of a lane, rows lane / 4 and lane / 4 + 8. */
template <typename S> struct tsr_cuda_share_of_keys {
	float o[(int)S::tile_t::N / 2]; /* of blocks of eight columns, in the order of products */
	float top[2], sum[2];           /* sums: this lane's part */
};

/** A warp's place in a run, and what it reads. */
template <typename S> struct tsr_cuda_few_place {
	typedef typename S::tile_t::dtype_t::stored_t stored_t;
	unsigned char *memory; /* of the block */
	const stored_t *k, *v; /* what the lane pulls of the run's first keys */
	int64_t k_ld, v_ld;
	int warp, lane;
	int count;   /* keys of the run */
	int seen[2]; /* and those that the lane's rows see */
	int all;     /* that all rows see */
	float scale;
};

/** The shared memory of a unit of a step's key, in a stage of this warp. */
template <typename S>
TSR_DEV unsigned char *tsr_cuda_few_key_unit(const tsr_cuda_few_place<S> &me, int stage, int key,
					     int unit)
{
	typedef tsr_cuda_few<S> few;
	/* eight lanes read four units in turn of two keys in turn */
	const int place = unit ^ key % 2 * 4;
	return me.memory + (me.warp * few::stages + stage) * few::stage_bytes +
	       key * few::key_bytes + place * (int)sizeof(tsr_cuda_unit_t);
}

/** The same of its value. */
template <typename S>
TSR_DEV unsigned char *tsr_cuda_few_value_unit(const tsr_cuda_few_place<S> &me, int stage, int key,
					       int unit)
{
	typedef tsr_cuda_few<S> few;
	/* eight lanes read two units in turn of every other key of eight */
	const int place = unit ^ key % 8 / 2 * 2;
	return me.memory + (me.warp * few::stages + stage) * few::stage_bytes + few::values_at +
	       key * few::key_bytes + place * (int)sizeof(tsr_cuda_unit_t);
}

/** The first key of a warp's step `n`. */
TSR_DEV int tsr_cuda_few_key(int warp, int n)
{
	return (n * TSR_CUDA_FEW_WARPS + warp) * TSR_CUDA_FEW_KEYS;
}

/** Pulls keys and values of step `n`. Behind the run's end there are zeros. */
template <typename S>
TSR_DEV void tsr_cuda_few_pull(const tsr_cuda_few_place<S> &me, int stage, int n)
{
	enum { units = tsr_cuda_few<S>::units, at_once = TSR_CUDA_LANES / units };
	const int first = tsr_cuda_few_key(me.warp, n), unit = me.lane % units;
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)TSR_CUDA_FEW_KEYS; i += at_once) {
		const int key = i + me.lane / units;
		const bool is_there = first + key < me.count;
		const int64_t from = is_there ? first + i : 0;
		tsr_cuda_pull(tsr_cuda_few_key_unit(me, stage, key, unit), me.k + from * me.k_ld,
			      is_there);
		tsr_cuda_pull(tsr_cuda_few_value_unit(me, stage, key, unit), me.v + from * me.v_ld,
			      is_there);
	}
}

/** Scores of a step's two blocks of eight keys: s = Q * K^T. */
template <typename S>
TSR_DEV void tsr_cuda_few_scores(const tsr_cuda_few_place<S> &me, int stage, float (&s)[2][4])
{
	typedef tsr_cuda_few<S> few;
	typedef tsr_cuda_mma<typename S::tile_t::dtype_t> mma;
	const unsigned char *queries =
		me.memory + few::queries_at + me.lane * (int)sizeof(tsr_cuda_unit_t);
	const unsigned char *keys = me.memory + (me.warp * few::stages + stage) * few::stage_bytes +
				    me.lane / 4 * few::key_bytes +
				    me.lane % 4 * (int)sizeof(tsr_cuda_unit_t);
	const int odd = me.lane / 4 % 2 * 64; /* where four units have changed places */
	TSR_GPU_UNROLL
	for (int i = 0; i < 8; i++)
		s[i / 4][i % 4] = 0;
	TSR_GPU_UNROLL
	for (int run = 0; run < few::runs; run++) {
		const tsr_cuda_unit_t low = tsr_cuda_unit_read(queries + run * few::row_bytes),
				      high = tsr_cuda_unit_read(queries +
								(few::runs + run) * few::row_bytes);
		TSR_GPU_UNROLL
		for (int block = 0; block < 2; block++) {
			const tsr_cuda_unit_t key =
				tsr_cuda_unit_read(keys + block * 8 * few::key_bytes +
						   run / 2 * 128 + (run % 2 ? 64 - odd : odd));
			TSR_GPU_UNROLL
			for (int i = 0; i < 4; i += 2) {
				const uint32_t q[4] = {low.word[i], high.word[i], low.word[i + 1],
						       high.word[i + 1]};
				mma::add(s[block], q, key.word[i], key.word[i + 1]);
			}
		}
	}
}

/** Scores of keys that a row does not see become -inf: of step `n`. */
template <typename S>
TSR_DEV void tsr_cuda_few_mask(const tsr_cuda_few_place<S> &me, int n, float (&s)[2][4])
{
	const int first = tsr_cuda_few_key(me.warp, n) + me.lane % 4 * 2;
	TSR_GPU_UNROLL
	for (int i = 0; i < 8; i++)
		if (first + i / 4 * 8 + i % 2 >= me.seen[i / 2 % 2])
			s[i / 4][i % 4] = tsr_gpu_no_keys();
}

/** Scores become factors, in `p` rounded as the first operand of the product with V. */
template <typename S>
TSR_DEV void tsr_cuda_few_soften(const tsr_cuda_few_place<S> &me, tsr_cuda_share_of_keys<S> *own,
				 float (&s)[2][4], uint32_t (&p)[4])
{
	float shrink[2];
	TSR_GPU_UNROLL
	for (int r = 0; r < 2; r++) {
		const float here = tsr_cuda_larger(tsr_cuda_larger(s[0][2 * r], s[0][2 * r + 1]),
						   tsr_cuda_larger(s[1][2 * r], s[1][2 * r + 1])),
			    most = tsr_cuda_larger(tsr_cuda_quad_most(here) * me.scale,
						   own->top[r]),
			    base = most == tsr_gpu_no_keys() ? 0 : most;
		float sum = 0;
		shrink[r] = tsr_port_exp2(own->top[r] - base);
		own->top[r] = most;
		TSR_GPU_UNROLL
		for (int i = 0; i < 4; i++) {
			float *x = &s[i / 2][2 * r + i % 2];
			*x = tsr_port_exp2(tsr_gpu_fma(*x, me.scale, -base));
			sum += *x;
		}
		own->sum[r] = tsr_gpu_fma(own->sum[r], shrink[r], sum);
		TSR_GPU_UNROLL
		for (int block = 0; block < 2; block++)
			p[2 * block + r] =
				tsr_cuda_pair<typename S::tile_t::dtype_t>(s[block][2 * r],
									   s[block][2 * r + 1]);
	}
	if (!tsr_cuda_any(shrink[0] != 1 || shrink[1] != 1))
		return; /* seldom after the first steps is a maximum larger than all before */
	TSR_GPU_UNROLL
	for (int i = 0; i < (int)S::tile_t::N / 2; i++)
		own->o[i] *= shrink[i / 2 % 2];
}

/** The elements of two keys in one column: the lower or upper ones of two words. */
TSR_DEV uint32_t tsr_cuda_few_column(uint32_t first, uint32_t second, int upper)
{
	return upper ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

/** The factor of a step's key for row lane / 4 + 8 r, which one lane of a group has. */
template <typename D>
TSR_DEV float tsr_cuda_few_factor(const uint32_t (&p)[4], int lane, int key, int r)
{
	const uint32_t pair =
		__shfl_sync(~0u, key < 8 ? p[r] : p[2 + r], lane / 4 * 4 + key % 8 / 2);
	return tsr_gpu_decode<float, D>((uint16_t)(key % 2 ? pair >> 16 : pair));
}

/**
 * Adds values of step `n` that are not finite to the rows that see their keys, and
 * puts zeros in their places: the product would multiply them by the zeros of the
 * other rows, too, which gives NaN.
 */
template <typename S>
TSR_DEV void tsr_cuda_few_add_infinite(const tsr_cuda_few_place<S> &me, int stage, int n,
				       tsr_cuda_share_of_keys<S> *own, const uint32_t (&p)[4])
{
	typedef tsr_cuda_few<S> few;
	typedef typename S::tile_t::dtype_t dtype_t;
	TSR_GPU_NO_UNROLL
	for (int key = 0; key < (int)TSR_CUDA_FEW_KEYS; key++) {
		const float factor[2] = {tsr_cuda_few_factor<dtype_t>(p, me.lane, key, 0),
					 tsr_cuda_few_factor<dtype_t>(p, me.lane, key, 1)};
		const int at = tsr_cuda_few_key(me.warp, n) + key;
		TSR_GPU_UNROLL
		for (int i = 0; i < 2 * few::halves; i++) { /* of a half, two units in turn */
			unsigned char *place =
				tsr_cuda_few_value_unit(me, stage, key,
							i / 2 * 8 + me.lane % 4 * 2 + i % 2);
			const tsr_cuda_unit_t unit = tsr_cuda_unit_read(place);
			TSR_GPU_UNROLL
			for (int j = 0; j < 2 * TSR_CUDA_UNIT; j++) {
				const uint32_t x = unit.word[j / 2 % 4] >> j % 2 * 16;
				const int r = j / TSR_CUDA_UNIT;
				if (!tsr_gpu_half_is_finite<dtype_t>(x) && at < me.seen[r])
					own->o[(i / 2 * 8 + j % TSR_CUDA_UNIT) * 4 + 2 * r +
					       i % 2] +=
						factor[r] *
						tsr_gpu_decode<float, dtype_t>((uint16_t)x);
			}
			tsr_cuda_lanes_meet(); /* eight lanes have read the unit */
			uint32_t word[4];
			TSR_GPU_UNROLL
			for (int j = 0; j < 4; j++)
				word[j] = tsr_gpu_pair_of_finite<dtype_t>(unit.word[j]);
			if (me.lane < 4)
				tsr_cuda_shared_store_all(tsr_cuda_shared_address(place), word);
		}
	}
	tsr_cuda_lanes_meet();
}

/** Whether values of a step are infinite or NaN. */
template <typename S>
TSR_DEV bool tsr_cuda_few_has_infinite(const tsr_cuda_few_place<S> &me, int stage)
{
	typedef tsr_cuda_few<S> few;
	uint32_t found = 0;
	TSR_GPU_UNROLL_BY_4
	for (int e = 0; e < (int)TSR_CUDA_FEW_KEYS * few::units; e += TSR_CUDA_LANES) {
		const tsr_cuda_unit_t unit =
			tsr_cuda_unit_read(tsr_cuda_few_value_unit(me, stage,
								   (me.lane + e) / few::units,
								   (me.lane + e) % few::units));
		TSR_GPU_UNROLL
		for (int i = 0; i < 4; i++)
			found |=
				tsr_gpu_infinite_of_pair<typename S::tile_t::dtype_t>(unit.word[i]);
	}
	return tsr_cuda_any(found != 0);
}

/** o += P * V. Column j of a lane's eight is in block j. */
template <typename S>
TSR_DEV void tsr_cuda_few_values(const tsr_cuda_few_place<S> &me, int stage,
				 tsr_cuda_share_of_keys<S> *own, const uint32_t (&p)[4])
{
	typedef tsr_cuda_few<S> few;
	typedef tsr_cuda_mma<typename S::tile_t::dtype_t> mma;
	/* of keys lane % 4 * 2 and the next one, in both blocks of scores */
	const unsigned char *values =
		tsr_cuda_few_value_unit(me, stage, me.lane % 4 * 2, me.lane / 4);
	TSR_GPU_UNROLL
	for (int half = 0; half < few::halves; half++) {
		tsr_cuda_unit_t key[4];
		TSR_GPU_UNROLL
		for (int j = 0; j < 4; j++)
			key[j] = tsr_cuda_unit_read(values + half * 128 +
						    (j / 2 * 8 + j % 2) * few::key_bytes);
		TSR_GPU_UNROLL
		for (int j = 0; j < TSR_CUDA_UNIT; j++)
			mma::add(own->o + (half * TSR_CUDA_UNIT + j) * 4, p,
				 tsr_cuda_few_column(key[0].word[j / 2], key[1].word[j / 2], j % 2),
				 tsr_cuda_few_column(key[2].word[j / 2], key[3].word[j / 2],
						     j % 2));
	}
}

/** Pulls keys and values of step `n`, if there are any, as a group. */
template <typename S>
TSR_DEV void tsr_cuda_few_fill(const tsr_cuda_few_place<S> &me, int stage, int n)
{
	if (tsr_cuda_few_key(me.warp, n) < me.count)
		tsr_cuda_few_pull(me, stage, n);
	tsr_cuda_pull_group();
}

/**
 * All steps of a warp, whose stages are being filled. A stage is filled again as
 * soon as it has been used.
 */
template <typename S>
TSR_DEV void tsr_cuda_few_steps(const tsr_cuda_few_place<S> &me, tsr_cuda_share_of_keys<S> *own)
{
	enum { stages = tsr_cuda_few<S>::stages };
	int stage = 0;
	TSR_GPU_NO_UNROLL
	for (int n = 0; tsr_cuda_few_key(me.warp, n) < me.count; n++) {
		float s[2][4];
		uint32_t p[4];
		tsr_cuda_pull_await<stages - 1>();
		tsr_cuda_lanes_meet(); /* lanes have pulled each other's keys */
		tsr_cuda_few_scores(me, stage, s);
		const bool masked = tsr_cuda_few_key(me.warp, n) + TSR_CUDA_FEW_KEYS > me.all;
		if (masked)
			tsr_cuda_few_mask(me, n, s);
		tsr_cuda_few_soften(me, own, s, p);
		if (masked && tsr_cuda_few_has_infinite(me, stage))
			tsr_cuda_few_add_infinite(me, stage, n, own, p);
		tsr_cuda_few_values(me, stage, own, p);
		tsr_cuda_lanes_meet(); /* and are to pull to where others have read them */
		tsr_cuda_few_fill(me, stage, n + stages);
		stage = stage + 1 == stages ? 0 : stage + 1;
	}
	tsr_cuda_pull_await<0>();
}

/* ---- before and behind the steps */

/** Puts the queries where all warps read them, each lane the same unit. Missing ones are 0. */
template <typename S>
TSR_DEV void tsr_cuda_few_queries(const tsr_coop_t *coop, unsigned char *memory,
				  const tsr_gpu_attention_t &a, const tsr_span_t &run)
{
	typedef tsr_cuda_few<S> few;
	typedef typename S::tile_t::dtype_t::stored_t stored_t;
	const int queries = tsr_gpu_queries<S>(a, run);
	const stored_t *q = (const stored_t *)tsr_gpu_view_address(coop, a.q, tsr_rank(coop)) +
			    (run.q.row * a.q.ld + run.q.col);
	tsr_cuda_unit_t *to = (tsr_cuda_unit_t *)(memory + few::queries_at);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread; e < 2 * few::runs * TSR_CUDA_LANES; e += coop->threads) {
		const int lane = e % TSR_CUDA_LANES, at = e / TSR_CUDA_LANES,
			  row = at / few::runs * 8 + lane / 4,
			  col = at % few::runs * 32 + lane % 4 * TSR_CUDA_UNIT;
		tsr_cuda_unit_t unit = {{0, 0, 0, 0}};
		if (row < queries)
			unit = *(const tsr_cuda_unit_t *)(q + row * a.q.ld + col);
		to[e] = unit;
	}
}

/** The keys of the run that a row sees. */
TSR_DEV int tsr_cuda_few_seen(const tsr_span_t &run, int row)
{
	const int64_t seen = tsr_span_limit(&run, row) - run.k0;
	return seen < 0 ? 0 : (int)tsr_gpu_least(seen, run.k1 - run.k0);
}

template <typename S>
TSR_DEV tsr_cuda_few_place<S> tsr_cuda_few_begin(const tsr_coop_t *coop, unsigned char *memory,
						 const tsr_gpu_attention_t &a,
						 const tsr_span_t &run, int from)
{
	typedef typename S::tile_t::dtype_t::stored_t stored_t;
	enum { units = tsr_cuda_few<S>::units };
	tsr_cuda_few_place<S> me;
	me.memory = memory;
	me.warp = coop->thread / TSR_CUDA_LANES;
	me.lane = coop->thread % TSR_CUDA_LANES;
	const int64_t row = run.kv.row + run.k0 + me.lane / units,
		      col = run.kv.col + me.lane % units * TSR_CUDA_UNIT;
	me.k = (const stored_t *)tsr_gpu_view_address(coop, a.k, from) + (row * a.k.ld + col);
	me.v = (const stored_t *)tsr_gpu_view_address(coop, a.v, from) + (row * a.v.ld + col);
	me.k_ld = a.k.ld;
	me.v_ld = a.v.ld;
	me.count = (int)(run.k1 - run.k0);
	me.seen[0] = tsr_cuda_few_seen(run, me.lane / 4);
	me.seen[1] = tsr_cuda_few_seen(run, me.lane / 4 + 8);
	me.all = tsr_cuda_few_seen(run, 0); /* later rows see no less */
	me.scale = a.scale;
	return me;
}

/** Leaves a warp's state where the stages were. Rows without a query are not needed. */
template <typename S>
TSR_DEV void tsr_cuda_few_leave(const tsr_cuda_few_place<S> &me, int queries,
				const tsr_cuda_share_of_keys<S> *own)
{
	typedef tsr_cuda_few<S> few;
	float *to = (float *)me.memory;
	TSR_GPU_UNROLL
	for (int r = 0; r < 2; r++) {
		const int row = me.lane / 4 + r * 8, at = me.warp * TSR_CUDA_FEW_QUERIES + row;
		const float sum = tsr_cuda_quad_sum(own->sum[r]);
		if (row >= queries)
			continue;
		if (me.lane % 4 == 0) {
			to[at] = own->top[r];
			to[few::sums_at + at] = sum;
		}
		float *o = to + few::o_at + at * few::o_pitch + me.lane % 4 * 16;
		TSR_GPU_UNROLL
		for (int i = 0; i < few::d / 4; i++) /* half, column of the two, block */
			o[i / 16 * 64 + i % 16] =
				own->o[(i / 16 * 8 + i % 8) * 4 + 2 * r + i % 16 / 8];
	}
}

/** The factor of each warp's share of each row: 2^(its maximum - the largest). */
template <typename S> TSR_DEV void tsr_cuda_few_weigh(const tsr_coop_t *coop, float *shares)
{
	typedef tsr_cuda_few<S> few;
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread; e < few::rows; e += coop->threads) {
		float most = tsr_gpu_no_keys();
		TSR_GPU_UNROLL
		for (int warp = 0; warp < TSR_CUDA_FEW_WARPS; warp++)
			most = tsr_cuda_larger(most, shares[warp * TSR_CUDA_FEW_QUERIES +
							    e % TSR_CUDA_FEW_QUERIES]);
		shares[few::factors_at + e] =
			tsr_port_exp2(shares[e] - (most == tsr_gpu_no_keys() ? 0 : most));
	}
}

/** All warps' shares as one state, in their order. Rows without a query have no keys. */
template <typename S>
TSR_DEV void tsr_cuda_few_gather(tsr_coop_t *coop, const float *shares, int queries, S *state)
{
	typedef tsr_cuda_few<S> few;
	typedef typename S::frag_t frag_t;
	const float *factor = shares + few::factors_at;
	tsr_gpu_state_clear(coop, state);
	TSR_GPU_EACH_SLOT(S, coop, slot, row)
	{
		TSR_GPU_UNROLL
		for (int warp = 0; row < queries && warp < TSR_CUDA_FEW_WARPS; warp++) {
			const int at = warp * TSR_CUDA_FEW_QUERIES + row;
			state->top[slot] = tsr_cuda_larger(state->top[slot], shares[at]);
			state->sum[slot] += shares[few::sums_at + at] * factor[at];
		}
	}
	TSR_GPU_EACH(frag_t, coop, i, e)
	{
		const int row = tsr_gpu_row<frag_t>(coop, i), col = tsr_gpu_col<frag_t>(coop, i);
		TSR_GPU_UNROLL
		for (int warp = 0; row < queries && warp < TSR_CUDA_FEW_WARPS; warp++) {
			const int at = warp * TSR_CUDA_FEW_QUERIES + row;
			state->o.v[i] += shares[few::o_at + at * few::o_pitch + col] * factor[at];
		}
	}
}

/**
 * Adds the keys of a run to the state, as tsr_gpu_attend_run does. `memory` is
 * shared memory of tsr_cuda_few<S>::bytes; the coop has tsr_cuda_few warps.
 */
template <typename S>
TSR_DEV void tsr_cuda_few_run(tsr_coop_t *coop, unsigned char *memory, S *state,
			      const tsr_gpu_attention_t &a, const tsr_span_t &run, int from)
{
	const int queries = tsr_gpu_queries<S>(a, run);
	float *shares = (float *)memory;
	tsr_port_settle(coop);
	{
		const tsr_cuda_few_place<S> me = tsr_cuda_few_begin<S>(coop, memory, a, run, from);
		tsr_cuda_share_of_keys<S> own;
		TSR_GPU_UNROLL
		for (int n = 0; n < tsr_cuda_few<S>::stages; n++)
			tsr_cuda_few_fill(me, n, n);
		tsr_cuda_few_queries<S>(coop, memory, a, run);
		TSR_GPU_UNROLL
		for (int i = 0; i < (int)S::tile_t::N / 2; i++)
			own.o[i] = 0;
		TSR_GPU_UNROLL
		for (int r = 0; r < 2; r++) {
			own.top[r] = tsr_gpu_no_keys();
			own.sum[r] = 0;
		}
		tsr_gpu_meet(coop); /* the queries are there */
		tsr_cuda_few_steps(me, &own);
		tsr_gpu_meet(coop); /* all warps have read their stages */
		tsr_cuda_few_leave(me, queries, &own);
	}
	tsr_gpu_meet(coop);
	tsr_cuda_few_weigh<S>(coop, shares);
	tsr_gpu_meet(coop);
	S added;
	tsr_cuda_few_gather(coop, shares, queries, &added);
	tsr_state_merge(coop, state, (const S *)&added); /* meets: the memory is free again */
}

#endif
