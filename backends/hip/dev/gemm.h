/*
 * The main loop on matrix cores. While one stage in shared memory is
 * multiplied, the next one is written to shared memory from registers, and the
 * one after that is in flight from memory to registers. lanes.h says which
 * thread moves and holds what.
 */
#ifndef TESSERA_HIP_GEMM_H
#define TESSERA_HIP_GEMM_H

#include "hip/dev/mfma.h"

#define TSR_HIP_GLOBAL __attribute__((address_space(1)))
#define TSR_HIP_LOCAL __attribute__((address_space(3)))

/** A product of tiles of configuration T by coops of THREADS threads. */
template <typename T, int THREADS> struct tsr_hip_product {
	typedef T tile_t;
	typedef typename T::dtype_t dtype_t;
	typedef typename dtype_t::stored_t stored_t;
	static constexpr tsr_hip_lanes_t lanes = tsr_hip_lanes_of<T, THREADS>;
	enum {
		threads = THREADS,
		unit = tsr_hip_unit(lanes),
		steps = lanes.depth / tsr_hip_step(lanes),
		blocks_m = tsr_hip_blocks_m(lanes),
		blocks_n = tsr_hip_blocks_n(lanes),
		panel_a = T::M * lanes.depth, /* in elements */
		stage = panel_a + T::N * lanes.depth
	};
	typedef stored_t unit_t __attribute__((ext_vector_type(16 / sizeof(stored_t))));
	typedef stored_t quad_t __attribute__((ext_vector_type(TSR_HIP_QUAD)));
	typedef stored_t run_t __attribute__((ext_vector_type(lanes.run)));
	/**
	 * Half of a stage, of ROWS rows: its pieces, and the registers of a thread for those in
	 * flight to shared memory. ALONG: lanes.h.
	 */
	template <int ROWS, bool ALONG> struct half_t {
		enum {
			rows = ROWS,
			along = ALONG,
			pieces = ALONG ? tsr_hip_pieces_along(lanes, ROWS)
				       : tsr_hip_pieces_across(lanes, ROWS),
			loads = (pieces + threads - 1) / threads, /* of a thread, at most */
			writes = loads * (ALONG ? 1 : unit)
		};
		unit_t piece[loads][ALONG ? 1 : TSR_HIP_QUAD];
	};
	typedef half_t<T::M, T::A_ALONG> half_a_t;
	typedef half_t<T::N, T::B_ALONG> half_b_t;
	typedef tsr_hip_mfma<dtype_t, lanes.edge> mfma_t;
	enum {
		parts = lanes.run / tsr_hip_each(lanes),     /* instructions for one run */
		products = parts * blocks_m * blocks_n,      /* in a step */
		writes = half_a_t::writes + half_b_t::writes /* for a thread's part of a stage */
	};
	struct parts_t {
		typename mfma_t::operand_t part[parts];
	};
	/** A thread's operands for one step, read from a stage. */
	struct read_t {
		parts_t a[blocks_m], b[blocks_n];
	};
	/** A thread's part of the stage in flight to shared memory. */
	struct load_t {
		half_a_t a;
		half_b_t b;
	};
	struct sums_t {
		typename mfma_t::sum_t block[blocks_m][blocks_n];
	};
};

/**
 * Two stages, for all products of this size in a kernel. They are whole pieces
 * of scratch memory, so that the host does not take the kernel for one that
 * wants all dynamic shared memory (gpu/dev/context.h).
 */
template <int BYTES> TSR_DEV unsigned char *tsr_hip_stages(void)
{
	enum {
		WHOLE = (BYTES + TSR_GPU_SCRATCH_BYTES - 1) / TSR_GPU_SCRATCH_BYTES *
			TSR_GPU_SCRATCH_BYTES
	};
	TSR_PORT_SHARED __attribute__((aligned(128))) unsigned char stages[WHOLE];
	return stages;
}

/**
 * Runs the body for each piece of a half that this thread loads: its i-th is
 * number e of all.
 */
#define TSR_HIP_EACH_LOAD(thread_, count_, i_, e_)                                         \
	TSR_GPU_UNROLL                                                                     \
	for (int i_ = 0, e_ = (thread_); i_ * P::threads < count_; i_++, e_ += P::threads) \
		if (count_ % P::threads == 0 || e_ < count_)

/* ---- from memory to registers */

enum { TSR_HIP_WHOLE, TSR_HIP_EDGE, TSR_HIP_SHARED };

/**
 * A piece of a matrix. Rows first_row .. end_row-1 and the corresponding
 * columns are inside the matrix; the others are zeros.
 */
typedef struct tsr_hip_piece {
	const char *origin; /* address of its row 0, column 0, even if that is outside */
	int64_t ld;
	int first_row, end_row, first_col, end_col;
	bool packs; /* every row begins at a multiple of sixteen bytes */
	/* WHOLE: completely inside the matrix, and packs; EDGE: not so; SHARED: in shared memory */
	int path;
} tsr_hip_piece_t;

TSR_DEV int tsr_hip_within(int64_t x, int end)
{
	return x < 0 ? 0 : x < end ? (int)x : end;
}

/** The piece of ROWS x COLS elements at from.at. */
template <typename S, int ROWS, int COLS>
TSR_DEV tsr_hip_piece_t tsr_hip_piece(const tsr_gpu_target_t &from, bool shared)
{
	tsr_hip_piece_t piece;
	piece.origin = from.data + (from.at.row * from.ld + from.at.col) * (int64_t)sizeof(S);
	piece.ld = from.ld;
	piece.first_row = tsr_hip_within(-from.at.row, ROWS);
	piece.end_row = tsr_hip_within(from.rows - from.at.row, ROWS);
	piece.first_col = tsr_hip_within(-from.at.col, COLS);
	piece.end_col = tsr_hip_within(from.cols - from.at.col, COLS);
	piece.packs = tsr_gpu_packs<S>(from);
	bool whole = piece.first_row == 0 && piece.end_row == ROWS && piece.first_col == 0 &&
		     piece.end_col == COLS;
	/* 32 bits hold all offsets from the origin */
	bool near = from.ld < INT32_MAX / (ROWS * (int)sizeof(S));
	piece.path = shared                         ? TSR_HIP_SHARED
		     : whole && near && piece.packs ? TSR_HIP_WHOLE
						    : TSR_HIP_EDGE;
	return piece;
}

/** The unit at (row, col) of a WHOLE piece. */
template <typename U, typename S>
TSR_DEV U tsr_hip_whole(const tsr_hip_piece_t &piece, int row, int col)
{
	return *(const TSR_HIP_GLOBAL U *)((const TSR_HIP_GLOBAL S *)piece.origin +
					   (uint32_t)(row * (int)piece.ld + col));
}

/**
 * The unit at (row, col) of any other piece. `A` points to its kind of memory.
 */
template <typename U, typename S, typename AU, typename AS>
TSR_DEV U tsr_hip_edge(const tsr_hip_piece_t &piece, AS origin, int row, int col)
{
	constexpr int size = sizeof(U) / sizeof(S);
	U unit = 0;
	if (row < piece.first_row || row >= piece.end_row || col + size <= piece.first_col ||
	    col >= piece.end_col)
		return unit;
	AS at = origin + row * piece.ld;
	if (piece.packs && col >= piece.first_col && col + size <= piece.end_col)
		return *(AU)(at + col);
	TSR_GPU_UNROLL
	for (int j = 0; j < size; j++) {
		int c = col + j, inside = c < piece.first_col ? piece.first_col
					  : c < piece.end_col ? c
							      : piece.end_col - 1;
		S x = at[inside];
		unit[j] = inside == c ? x : (S)0;
	}
	return unit;
}

template <typename U, typename S, int PATH>
TSR_DEV U tsr_hip_fetch(const tsr_hip_piece_t &piece, int row, int col)
{
	typedef const TSR_HIP_GLOBAL S *global_t;
	typedef const TSR_HIP_LOCAL S *local_t;
	if constexpr (PATH == TSR_HIP_WHOLE)
		return tsr_hip_whole<U, S>(piece, row, col);
	else if constexpr (PATH == TSR_HIP_EDGE)
		return tsr_hip_edge<U, S, const TSR_HIP_GLOBAL U *>(piece, (global_t)piece.origin,
								    row, col);
	else
		return tsr_hip_edge<U, S, const TSR_HIP_LOCAL U *>(piece, (local_t)piece.origin,
								   row, col);
}

/**
 * This thread's index. On rare paths the compiler does not know it, so that it
 * keeps no value of theirs across the loop.
 */
template <int PATH> TSR_DEV int tsr_hip_thread(const tsr_coop_t *coop)
{
	return PATH == TSR_HIP_WHOLE ? coop->thread : tsr_hip_unknown(coop->thread);
}

/**
 * Waits, on these paths. The compiler places their code before the other path,
 * which would otherwise wait for the same registers.
 */
template <int PATH> TSR_DEV void tsr_hip_loaded(void)
{
	if (PATH != TSR_HIP_WHOLE)
		__builtin_amdgcn_s_waitcnt(0);
}

template <typename P, int PATH, typename H>
TSR_DEV void tsr_hip_load_half(const tsr_coop_t *coop, H &half, const tsr_hip_piece_t &piece)
{
	constexpr tsr_hip_lanes_t lanes = P::lanes;
	TSR_HIP_EACH_LOAD(tsr_hip_thread<PATH>(coop), H::pieces, i, e)
	{
		if constexpr (H::along) {
			int row = tsr_hip_along_row(lanes, e), k = tsr_hip_along_k(lanes, e);
			half.piece[i][0] =
				tsr_hip_fetch<typename P::unit_t, typename P::stored_t, PATH>(piece,
											      row,
											      k);
		} else {
			int k = tsr_hip_across_k(lanes, H::rows, e),
			    row = tsr_hip_across_row(lanes, H::rows, e);
			TSR_GPU_UNROLL
			for (int q = 0; q < TSR_HIP_QUAD; q++)
				half.piece[i][q] =
					tsr_hip_fetch<typename P::unit_t, typename P::stored_t,
						      PATH>(piece, k + q, row);
		}
	}
	tsr_hip_loaded<PATH>();
}

/**
 * The operands of one tile, from the ranks that the last gate has returned,
 * both cut at the end of K.
 */
typedef struct tsr_hip_operands {
	tsr_gpu_target_t a, b;
	bool shared_a, shared_b;
	int64_t k_end;
} tsr_hip_operands_t;

/** Starts the loads of one half from the piece. */
template <typename P, typename H>
TSR_DEV void tsr_hip_load_by_path(const tsr_coop_t *coop, H &half, const tsr_hip_piece_t &piece)
{
	if (piece.path == TSR_HIP_WHOLE)
		tsr_hip_load_half<P, TSR_HIP_WHOLE>(coop, half, piece);
	else if (piece.path == TSR_HIP_EDGE)
		tsr_hip_load_half<P, TSR_HIP_EDGE>(coop, half, piece);
	else
		tsr_hip_load_half<P, TSR_HIP_SHARED>(coop, half, piece);
}

/** An operand's piece for the stage. */
template <typename P, typename H>
TSR_DEV tsr_hip_piece_t tsr_hip_piece_of(tsr_gpu_target_t &from, bool shared, int64_t k)
{
	typedef typename P::stored_t stored_t;
	constexpr int depth = P::lanes.depth;
	(H::along ? from.at.col : from.at.row) = k;
	return tsr_hip_piece < stored_t, H::along ? (int)H::rows : depth,
	       H::along ? depth : (int)H::rows > (from, shared);
}

/** Starts the loads of the stage whose first element of K is `k`. */
template <typename P>
TSR_DEV void tsr_hip_load(const tsr_coop_t *coop, typename P::load_t &load,
			  tsr_hip_operands_t &from, int64_t k)
{
	const tsr_hip_piece_t a =
		tsr_hip_piece_of<P, typename P::half_a_t>(from.a, from.shared_a, k);
	const tsr_hip_piece_t b =
		tsr_hip_piece_of<P, typename P::half_b_t>(from.b, from.shared_b, k);
	tsr_hip_load_by_path<P>(coop, load.a, a);
	tsr_hip_load_by_path<P>(coop, load.b, b);
}

/* ---- from registers to shared memory, where K runs along all rows */

template <typename P, typename H>
TSR_DEV void tsr_hip_lay_half(const tsr_coop_t *coop, typename P::stored_t *stage, const H &half)
{
	constexpr tsr_hip_lanes_t lanes = P::lanes;
	TSR_HIP_EACH_LOAD(coop->thread, H::pieces, i, e)
	{
		if constexpr (H::along) {
			int row = tsr_hip_along_row(lanes, e), k = tsr_hip_along_k(lanes, e);
			*(typename P::unit_t *)(stage + tsr_hip_place(lanes, row, k)) =
				half.piece[i][0];
		} else {
			int k = tsr_hip_across_k(lanes, H::rows, e),
			    row = tsr_hip_across_row(lanes, H::rows, e);
			const typename P::unit_t *of = half.piece[i];
			TSR_GPU_UNROLL
			for (int j = 0; j < P::unit; j++) {
				typename P::quad_t quad = {of[0][j], of[1][j], of[2][j], of[3][j]};
				*(typename P::quad_t *)(stage + tsr_hip_place(lanes, row + j, k)) =
					quad;
			}
		}
	}
}

template <typename P>
TSR_DEV void tsr_hip_lay(const tsr_coop_t *coop, typename P::stored_t *stage,
			 const typename P::load_t &load)
{
	tsr_hip_lay_half<P>(coop, stage, load.a);
	tsr_hip_lay_half<P>(coop, stage + P::panel_a, load.b);
}

/* ---- from there to the matrix cores */

/** Reads this thread's operands for the products of one step of a stage. */
template <typename P>
TSR_DEV void tsr_hip_read(const tsr_coop_t *coop, typename P::read_t &read,
			  const typename P::stored_t *stage, int step)
{
	constexpr tsr_hip_lanes_t lanes = P::lanes;
	typedef typename P::run_t run_t;
	typedef typename P::parts_t parts_t;
	int k = tsr_hip_read_k(lanes, coop->thread, step);
	TSR_GPU_UNROLL
	for (int m = 0; m < P::blocks_m; m++) {
		int row = tsr_hip_read_row_a(lanes, coop->thread, m);
		read.a[m] =
			__builtin_bit_cast(parts_t,
					   *(const run_t *)(stage + tsr_hip_place(lanes, row, k)));
	}
	TSR_GPU_UNROLL
	for (int n = 0; n < P::blocks_n; n++) {
		int col = tsr_hip_read_col_b(lanes, coop->thread, n);
		read.b[n] =
			__builtin_bit_cast(parts_t, *(const run_t *)(stage + P::panel_a +
								     tsr_hip_place(lanes, col, k)));
	}
}

template <typename P>
TSR_DEV void tsr_hip_multiply(typename P::sums_t &sums, const typename P::read_t &read)
{
	TSR_GPU_UNROLL
	for (int part = 0; part < P::parts; part++)
		TSR_GPU_UNROLL
	for (int m = 0; m < P::blocks_m; m++)
		TSR_GPU_UNROLL
	for (int n = 0; n < P::blocks_n; n++)
		sums.block[m][n] = P::mfma_t::multiply(read.a[m].part[part], read.b[n].part[part],
						       sums.block[m][n]);
}

/*
 * What the compiler's scheduler shall do with a step. Reads of the next one
 * come first, so that they arrive before its products need them. Writes to the
 * next stage stand between the last products, as late as they can: what they
 * write is on its way from memory, and one at a time, so that the matrix cores
 * never wait for the wave to get through them.
 */
/* kinds of instructions, for __builtin_amdgcn_sched_group_barrier */
enum { TSR_HIP_PRODUCT = 0x8, TSR_HIP_LDS_WRITE = 0x200 };

TSR_DEV void tsr_hip_reads_first(void)
{
	__builtin_amdgcn_sched_barrier(0);
}

template <typename P> TSR_DEV void tsr_hip_writes_between(void)
{
	if constexpr (P::products > P::writes)
		__builtin_amdgcn_sched_group_barrier(TSR_HIP_PRODUCT, P::products - P::writes, 0);
	TSR_GPU_UNROLL
	for (int i = 0; i < P::writes; i++) {
		__builtin_amdgcn_sched_group_barrier(TSR_HIP_LDS_WRITE, 1, 0);
		__builtin_amdgcn_sched_group_barrier(TSR_HIP_PRODUCT, 1, 0);
	}
}

/* ---- one tile */

/** Cuts both operands at `k`. */
template <typename P> TSR_DEV void tsr_hip_end(tsr_hip_operands_t &from, int64_t k)
{
	(P::tile_t::A_ALONG ? from.a.cols : from.a.rows) = k;
	(P::tile_t::B_ALONG ? from.b.cols : from.b.rows) = k;
}

template <typename P>
TSR_DEV tsr_hip_operands_t tsr_hip_operands(const tsr_coop_t *coop, tsr_view_t a, tsr_view_t b,
					    tsr_pos_t at, int64_t k1)
{
	tsr_hip_operands_t from;
	int rank = tsr_rank(coop);
	const tsr_pos_t across = {at.col, at.row}; /* for views of transposes */
	from.a = tsr_gpu_target(coop, a, P::tile_t::A_ALONG ? at : across, rank);
	from.b = tsr_gpu_target(coop, b, P::tile_t::B_ALONG ? across : at, rank);
	from.shared_a = a.space == TSR_SPACE_SHARED;
	from.shared_b = b.space == TSR_SPACE_SHARED;
	from.k_end = tsr_gpu_least(k1, tsr_gpu_depth<typename P::tile_t>(a, b));
	tsr_hip_end<P>(from, from.k_end);
	return from;
}

/**
 * Calls the gate if stage `k` is the first of a chunk, and uses the ranks that
 * it returns.
 */
template <typename P, tsr_gate_fn GATE>
TSR_DEV void tsr_hip_pass(tsr_coop_t *coop, tsr_hip_operands_t &from, tsr_view_t a, tsr_view_t b,
			  const tsr_part_t &part, int64_t k, const void *ctx)
{
	if (k % P::tile_t::K != 0)
		return;
	tsr_from_t peer = tsr_from(tsr_rank(coop), tsr_rank(coop));
	if constexpr (GATE != TSR_NO_GATE) {
		tsr_part_t chunk = part;
		chunk.k0 = k;
		chunk.k1 = tsr_gpu_least(k + P::tile_t::K, from.k_end);
		peer = GATE(coop, chunk, ctx);
		peer = tsr_from(__builtin_amdgcn_readfirstlane(peer.a),
				__builtin_amdgcn_readfirstlane(peer.b));
	}
	bool accepts =
		tsr_gpu_accepts_view(coop, a, peer.a) && tsr_gpu_accepts_view(coop, b, peer.b);
	from.a.data = tsr_gpu_view_address(coop, a, peer.a);
	from.b.data = tsr_gpu_view_address(coop, b, peer.b);
	tsr_hip_end<P>(from, accepts ? from.k_end : 0);
}

/** Starts the loads of the stage at `k`, if there is one. */
template <typename P, tsr_gate_fn GATE>
TSR_DEV void tsr_hip_begin(tsr_coop_t *coop, typename P::load_t &load, tsr_hip_operands_t &from,
			   tsr_view_t a, tsr_view_t b, const tsr_part_t &part, int64_t k,
			   const void *ctx)
{
	if (k >= from.k_end)
		return;
	tsr_hip_pass<P, GATE>(coop, from, a, b, part, k, ctx);
	tsr_hip_load<P>(coop, load, from, k);
}

/*
 * While the products of one step run, the operands of the next step are read.
 * The threads meet once a stage, before its last products: then all have read
 * this stage and written the next one. Nothing uses what is written and read
 * past the end.
 */
template <typename P, tsr_gate_fn GATE>
TSR_DEV void tsr_hip_tile(tsr_coop_t *coop, typename P::sums_t &sums, tsr_view_t a, tsr_view_t b,
			  tsr_part_t part, const void *ctx)
{
	typedef typename P::stored_t stored_t;
	constexpr int depth = P::lanes.depth, last = P::steps - 1;
	stored_t *stage = (stored_t *)tsr_hip_stages<2 * tsr_hip_stage_bytes(P::lanes)>(),
		 *next = stage + P::stage;
	tsr_hip_operands_t from = tsr_hip_operands<P>(coop, a, b, part.at, part.k1);
	typename P::load_t load;
	typename P::read_t read, ahead;
	if (from.k_end <= part.k0)
		return;
	tsr_hip_begin<P, GATE>(coop, load, from, a, b, part, part.k0, ctx);
	tsr_hip_lay<P>(coop, stage, load);
	tsr_hip_begin<P, GATE>(coop, load, from, a, b, part, part.k0 + depth, ctx);
	tsr_gpu_meet_shared(coop);
	tsr_hip_read<P>(coop, read, stage, 0);
	TSR_GPU_NO_UNROLL
	for (int64_t k = part.k0; k < from.k_end; k += depth) {
		TSR_GPU_UNROLL
		for (int step = 0; step < last; step++) {
			tsr_hip_read<P>(coop, ahead, stage, step + 1);
			tsr_hip_reads_first();
			tsr_hip_multiply<P>(sums, read);
			if (step == 0) {
				tsr_hip_lay<P>(coop, next, load);
				tsr_hip_writes_between<P>();
				tsr_hip_begin<P, GATE>(coop, load, from, a, b, part, k + 2 * depth,
						       ctx);
			}
			read = ahead;
		}
		if (last == 0) {
			tsr_hip_lay<P>(coop, next, load);
			tsr_hip_begin<P, GATE>(coop, load, from, a, b, part, k + 2 * depth, ctx);
		}
		tsr_gpu_meet_shared(coop);
		tsr_hip_read<P>(coop, ahead, next, 0);
		tsr_hip_reads_first();
		/* nor later: the compiler would read in the next iteration, when the products are
		 * already waiting */
		tsr_hip_no_earlier();
		tsr_hip_multiply<P>(sums, read);
		read = ahead;
		stored_t *was = stage;
		stage = next;
		next = was;
	}
}

template <typename P, typename F>
TSR_DEV void tsr_hip_hand_over(F *acc, const typename P::sums_t &sums)
{
	constexpr tsr_hip_lanes_t lanes = P::lanes;
	constexpr int registers = sizeof(typename P::mfma_t::sum_t) / sizeof(float);
	TSR_GPU_UNROLL
	for (int m = 0; m < P::blocks_m; m++)
		TSR_GPU_UNROLL
	for (int n = 0; n < P::blocks_n; n++)
		TSR_GPU_UNROLL
	for (int reg = 0; reg < registers; reg++)
		acc->v[tsr_hip_held(lanes, m, n, reg)] = sums.block[m][n][reg];
}

template <typename P, typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_hip_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		F acc;
		typename P::sums_t sums = {};
		tsr_part_t part = ORDER(task, ctx);
		tsr_gpu_record_product(coop);
		tsr_hip_tile<P, GATE>(coop, sums, a, tsr_gpu_task_b<typename P::tile_t>(b, part.b0),
				      part, (const void *)ctx);
		tsr_gpu_record_produced(
			coop,
			tsr_gpu_operand_bytes<typename P::tile_t>(
				tsr_gpu_least(part.k1, tsr_gpu_depth<typename P::tile_t>(a, b)) -
				part.k0));
		tsr_hip_hand_over<P>(&acc, sums);
		EPILOGUE(coop, &acc, part.at, ctx);
	}
}

/**
 * Tiles that cannot be divided into blocks for a grid of waves, and types
 * without such an instruction, use the plain main loop.
 */
template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_hip_any_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks,
			      C *ctx)
{
	typedef typename F::tile_t tile_t;
	/* those loops read no rank of another node, and a gate may return one */
	const bool near = GATE == TSR_NO_GATE || !tsr_gpu_spans_nodes(coop);
	if constexpr (tsr_hip_multiplies<tile_t, TSR_HIP_SOLE_THREADS>)
		if (near && coop->threads == TSR_HIP_SOLE_THREADS)
			return tsr_hip_gemm<tsr_hip_product<tile_t, TSR_HIP_SOLE_THREADS>, F, ORDER,
					    GATE, EPILOGUE>(coop, a, b, tasks, ctx);
	if constexpr (tsr_hip_multiplies<tile_t, TSR_HIP_WAVE_THREADS>)
		if (near && coop->threads == TSR_HIP_WAVE_THREADS)
			return tsr_hip_gemm<tsr_hip_product<tile_t, TSR_HIP_WAVE_THREADS>, F, ORDER,
					    GATE, EPILOGUE>(coop, a, b, tasks, ctx);
	tsr_gpu_gemm<F, ORDER, GATE, EPILOGUE>(coop, a, b, tasks, ctx);
}

/**
 * tsr_gemm. The coop may have stored the operands just before, and what its
 * epilogues have stored may be read just after.
 */
template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_port_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	tsr_gpu_meet(coop);
	tsr_hip_any_gemm<F, ORDER, GATE, EPILOGUE>(coop, a, b, tasks, ctx);
	tsr_gpu_meet(coop);
}

#endif
