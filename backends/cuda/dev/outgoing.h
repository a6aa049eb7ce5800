/*
 * How a finished tile leaves. Consumers store it from their registers to my own
 * memory, sixteen bytes a thread, as soon as the previous tile there has been
 * read by its sends. If the same tile also goes to a peer or to all, they post
 * it: three warps read it back, once, and send it while the consumers multiply
 * the next tile. A tile that goes to a peer only is stored by the consumers
 * themselves. Partial sums for a peer are kept in the workspace and posted too,
 * and so is a signal behind what was posted.
 *
 * Why not by the copy engine: row by row it takes some fifty cycles for each
 * row, during which loads wait; product and remote stores then took the sum of
 * their times. With a tensor map it is up to 1 % faster, but only if nothing
 * waits until the tile is in memory, as a flag behind it or a send of it does
 * (docs/performance.md).
 *
 * Why not all at once: all blocks end a tile at about the same time, and bursts
 * of stores delay products. So the sends of a tile are spread over the next
 * tile's product.
 */
#ifndef TESSERA_CUDA_OUTGOING_H
#define TESSERA_CUDA_OUTGOING_H

#include "cuda/dev/pipeline.h"

/* ---- the consumers: posting what others send */

/**
 * Waits until send `number` has been made; one thread. Partner: the arrival in
 * tsr_cuda_senders. Litmus: MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_await_send(uint32_t number)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->awaited, number + 1);
	tsr_cuda_mbarrier_wait(
		tsr_cuda_shared_address(&pipeline->ended[number % TSR_CUDA_SENDS_MOST]),
		number / TSR_CUDA_SENDS_MOST % 2);
}

TSR_DEV void tsr_port_settle(tsr_coop_t *coop)
{
	coop->kept = 0; /* the next store may overwrite it */
	if (!coop->unended)
		return;
	/* One thread waits, then all meet: a thread that comes late to a barrier of two phases
	 * could mistake the next phase for its own. */
	if (tsr_gpu_leads(coop))
		tsr_cuda_await_send(coop->posted - 1);
	tsr_gpu_meet(coop);
	coop->unended = 0;
}

/**
 * Posts a send, when its place is free. Partner of the arrival: the wait in
 * tsr_cuda_senders. Litmus: MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_post(tsr_coop_t *coop, tsr_cuda_send_t send)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	uint32_t number = coop->posted++, place = number % TSR_CUDA_SENDS_MOST;
	coop->unended = 1;
	if (!tsr_gpu_leads(coop))
		return;
	if (number >= TSR_CUDA_SENDS_MOST)
		tsr_cuda_await_send(number - TSR_CUDA_SENDS_MOST);
	pipeline->sends[place] = send;
	tsr_cuda_mbarrier_arrive(tsr_cuda_shared_address(&pipeline->posted[place]));
}

/**
 * Posts a signal that sets a flag, behind the sends that the coop has posted. It
 * releases what the whole coop has done before: all have met, and the sender that
 * raises the flag has waited for the post. Its time in a record is that of the
 * post.
 */
TSR_DEV bool tsr_port_signal_later(tsr_coop_t *coop, uint64_t *flag, uint64_t value,
				   tsr_signal_op_t op, int peer)
{
	if (!coop->unended || op != TSR_SIGNAL_SET)
		return false;
	tsr_cuda_send_t send = {0, (int64_t)value, 0, 0, 1, 0, 0, 0};
	if (tsr_gpu_leads(coop) && tsr_gpu_accepts(coop, flag, sizeof *flag, peer)) {
		send.from = (const char *)tsr_gpu_heap_address(coop, tsr_port_global(flag), peer);
		tsr_gpu_record_signal(coop, flag, value, peer);
	}
	coop->kept = 0;
	tsr_gpu_meet(coop);
	tsr_cuda_post(coop, send);
	return true;
}

/* ---- the consumers: storing from registers */

/**
 * One step of a transposition by four lanes: exchanges words `low` and `high`
 * with the lane whose number differs in `bit`.
 */
TSR_DEV void tsr_cuda_swap_words(uint32_t *low, uint32_t *high, int lane, int bit)
{
	const bool upper = (lane & bit) != 0;
	uint32_t got = __shfl_xor_sync(0xffffffffu, upper ? *low : *high, bit);
	*low = upper ? got : *low; /* by value, so that the words stay in registers */
	*high = upper ? *high : got;
}

/**
 * Before: each of four lanes has two columns of each of four groups of eight
 * columns. After: each has all eight columns of one group.
 */
TSR_DEV void tsr_cuda_gather_groups(uint32_t word[4], int lane)
{
	tsr_cuda_swap_words(&word[0], &word[1], lane, 1);
	tsr_cuda_swap_words(&word[2], &word[3], lane, 1);
	tsr_cuda_swap_words(&word[0], &word[2], lane, 2);
	tsr_cuda_swap_words(&word[1], &word[3], lane, 2);
}

/** Writes eight columns of a row, of which `cols` are inside. */
TSR_DEV void tsr_cuda_write_group(char *to, const uint32_t word[4], int cols)
{
	if (cols >= 8) {
		*(uint4 *)to = make_uint4(word[0], word[1], word[2], word[3]);
		return;
	}
	TSR_GPU_UNROLL
	for (int i = 0; i < 7; i++)
		if (i < cols)
			*(uint16_t *)(to + 2 * i) = (uint16_t)(word[i / 2] >> i % 2 * 16);
}

/**
 * Takes the thread's elements from `i` on, four of every eight columns of a
 * row: rounds them, and combines those of four lanes.
 */
template <typename F>
TSR_DEV void tsr_cuda_round_groups(uint32_t word[4], const F *frag, int i, int lane)
{
	TSR_GPU_UNROLL
	for (int g = 0; g < 4; g++)
		word[g] = tsr_cuda_pair<typename F::dtype_t>(frag->v[i + 4 * g],
							     frag->v[i + 4 * g + 1]);
	tsr_cuda_gather_groups(word, lane);
}

/**
 * Writes the rows and columns of the tile that are inside its target, whose
 * rows begin at multiples of 16 bytes; `to` is the address of the first
 * element. In each of the thread's rows, every address is a constant offset
 * from one address, and one comparison finds the edge.
 */
template <typename F>
TSR_DEV void tsr_cuda_write_rows(const tsr_coop_t *coop, char *to, int ld, int rows, int cols,
				 const F *frag)
{
	typedef tsr_port_layout<F> layout;
	/* of a row, and of the thread's elements in two rows */
	enum { columns = 32, elements = 16 };
	const int lane = coop->thread % 32, col = lane % 4 * 8;
	TSR_GPU_UNROLL
	/* a thread has elements of two rows of a band, eight apart */
	for (int half = 0; half < 2 * layout::bands; half++) {
		const int first = half / 2 * layout::band_elements + half % 2 * 2,
			  row = layout::row(coop, first);
		const int inside = row < rows ? cols - col : 0;
		char *place = to + (int64_t)row * (ld * 2) + col * 2;
		TSR_GPU_UNROLL
		for (int i = 0; i < layout::band_elements / elements; i++) {
			uint32_t word[4];
			tsr_cuda_round_groups(word, frag, first + i * elements, lane);
			tsr_cuda_write_group(place + i * columns * 2, word, inside - i * columns);
		}
	}
}

/*
 * ---- the same if rows begin anywhere: still whole units of 16 bytes, combined
 * from two neighbours
 */

/**
 * Of sixteen elements, `low` before `high`: the eight that begin `away`
 * elements before the second half. away is 0 .. 7.
 */
TSR_DEV void tsr_cuda_shift_in(uint32_t out[4], const uint32_t low[4], const uint32_t high[4],
			       int away)
{
	const uint32_t all[8] = {low[0],  low[1],  low[2],  low[3],
				 high[0], high[1], high[2], high[3]};
	uint32_t near[6], word[5];
	TSR_GPU_UNROLL
	for (int i = 0; i < 6; i++)
		near[i] = away & 4 ? all[i] : all[i + 2];
	TSR_GPU_UNROLL
	for (int i = 0; i < 5; i++)
		word[i] = away & 2 ? near[i] : near[i + 1];
	TSR_GPU_UNROLL
	for (int i = 0; i < 4; i++)
		out[i] = __funnelshift_l(word[i], word[i + 1], away % 2 * 16);
}

/**
 * Writes the part that is inside of a 16-byte unit. Its first element is in
 * column `col` of `cols` of the tile's row.
 */
TSR_DEV void tsr_cuda_write_unit(char *unit, const uint32_t word[4], int col, int cols)
{
	if (col >= 0) {
		tsr_cuda_write_group(unit, word, cols - col);
		return;
	}
	TSR_GPU_UNROLL
	for (int i = 1; i < 8; i++)
		if (col + i >= 0 && col + i < cols)
			*(uint16_t *)(unit + 2 * i) = (uint16_t)(word[i / 2] >> i % 2 * 16);
}

/**
 * Writes a row of the thread, as in tsr_cuda_write_rows: `first` is its first
 * element there, and `cols` of its columns are inside.
 */
template <typename F>
TSR_DEV void tsr_cuda_write_row_anywhere(char *row, const F *frag, int first, int lane, int cols)
{
	enum { columns = 32, elements = 16, groups = tsr_port_layout<F>::band_elements / elements };
	const int away = (int)((uintptr_t)row % 16 / 2), place = lane % 4;
	const uint32_t nothing[4] = {0, 0, 0, 0};
	char *units = row - 2 * away;
	/* for the first of four lanes: the last lane's elements of the groups before */
	uint32_t before[4] = {0, 0, 0, 0};
	uint32_t unit[4];
	TSR_GPU_UNROLL
	for (int i = 0; i < groups; i++) {
		uint32_t word[4], low[4];
		tsr_cuda_round_groups(word, frag, first + i * elements, lane);
		TSR_GPU_UNROLL
		for (int j = 0; j < 4; j++) {
			const uint32_t neighbour =
				__shfl_sync(0xffffffffu, word[j], (lane & ~3) | ((lane + 3) & 3));
			low[j] = place == 0 ? before[j] : neighbour;
			before[j] = neighbour;
		}
		const int col = i * columns + place * 8;
		tsr_cuda_shift_in(unit, low, word, away);
		tsr_cuda_write_unit(units + 2 * col, unit, col - away, cols);
	}
	if (place != 0 || away == 0)
		return;
	/* the elements that the last unit has beyond the tile's edge */
	tsr_cuda_shift_in(unit, before, nothing, away);
	tsr_cuda_write_unit(units + 2 * columns * groups, unit, columns * groups - away,
			    cols < columns * groups ? cols : columns * groups);
}

template <typename F>
TSR_DEV void tsr_cuda_write_rows_anywhere(const tsr_coop_t *coop, char *to, int ld, int rows,
					  int cols, const F *frag)
{
	typedef tsr_port_layout<F> layout;
	const int lane = coop->thread % 32;
	TSR_GPU_UNROLL
	for (int half = 0; half < 2 * layout::bands; half++) {
		const int first = half / 2 * layout::band_elements + half % 2 * 2,
			  row = layout::row(coop, first);
		tsr_cuda_write_row_anywhere(to + (int64_t)row * (ld * 2), frag, first, lane,
					    row < rows ? cols : 0);
	}
}

/**
 * The number of the tile's rows inside the target's view, and of its columns:
 * none if it begins behind the last.
 */
template <typename F> TSR_DEV int tsr_cuda_rows_inside(const tsr_gpu_target_t &target)
{
	return target.at.row < target.rows
		       ? (int)tsr_gpu_least(target.rows - target.at.row, F::rows)
		       : 0;
}

template <typename F> TSR_DEV int tsr_cuda_cols_inside(const tsr_gpu_target_t &target)
{
	return target.at.col < target.cols
		       ? (int)tsr_gpu_least(target.cols - target.at.col, F::cols)
		       : 0;
}

/** Describes the tile after it was stored in my own memory. */
template <typename F>
TSR_DEV tsr_cuda_kept_t tsr_cuda_keep(const tsr_gpu_target_t &target, const F *frag)
{
	const int rows = tsr_cuda_rows_inside<F>(target), cols = tsr_cuda_cols_inside<F>(target);
	tsr_cuda_kept_t tile;
	tile.at = target.mine + (target.at.row * target.ld + target.at.col) * 2;
	tile.ld = (int32_t)target.ld; /* below TSR_CUDA_LD_MOST */
	tile.extent = rows | cols << 16;
	tile.stamp = frag->stamp;
	return tile;
}

/**
 * The request to the senders that brings the tile to the ranks from `first` to
 * before `end` after mine.
 */
TSR_DEV tsr_cuda_send_t tsr_cuda_send_of(const tsr_cuda_kept_t &tile, int first, int end)
{
	tsr_cuda_send_t send;
	send.from = tile.at;
	send.pitch_bytes = (uint32_t)tile.ld * 2;
	send.rows = (uint16_t)tile.extent;
	send.row_bytes = (uint32_t)((tile.extent >> 16) * 2);
	send.stamp = (uint16_t)tile.stamp;
	send.first = (uint16_t)first;
	send.end = (uint16_t)end;
	send.away = 0;
	return send;
}

/**
 * Whether senders can send the tile: it is not empty, and its rows are not too
 * far apart.
 */
template <typename F> TSR_DEV bool tsr_cuda_can_send(const tsr_gpu_target_t &target)
{
	return tsr_cuda_rows_inside<F>(target) > 0 && tsr_cuda_cols_inside<F>(target) > 0 &&
	       target.ld * 2 <= TSR_CUDA_PITCH_MOST;
}

/**
 * Whether senders find the tile in my own memory, exactly as it is to be sent.
 * Consumers have met since their leader wrote `kept`, and meet before it writes
 * again: a thread that reads it here makes a send, and the next store settles
 * first.
 */
TSR_DEV bool tsr_cuda_is_kept(const tsr_coop_t *coop, const tsr_cuda_kept_t &tile)
{
	const tsr_cuda_kept_t *kept = &tsr_cuda_pipeline()->kept;
	return coop->kept && kept->at == tile.at && kept->stamp == tile.stamp &&
	       kept->ld == tile.ld && kept->extent == tile.extent;
}

/**
 * Posts the store to a peer of a tile that is kept, or makes the store at once.
 */
template <typename F>
TSR_DEV void tsr_cuda_store_tile(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	const int rows = tsr_cuda_rows_inside<F>(target), cols = tsr_cuda_cols_inside<F>(target);
	const tsr_cuda_kept_t tile = tsr_cuda_keep(target, frag);
	char *to = target.data + (target.at.row * target.ld + target.at.col) * 2;
	if (target.remote && tsr_cuda_is_kept(coop, tile)) {
		tsr_cuda_post(coop, tsr_cuda_send_of(tile, target.remote, target.remote + 1));
		return;
	}
	tsr_port_settle(coop); /* senders may still read the old tile */
	if (((uintptr_t)to | (uintptr_t)(target.ld * 2)) % 16 == 0)
		tsr_cuda_write_rows(coop, to, (int)target.ld, rows, cols, frag);
	else
		tsr_cuda_write_rows_anywhere(coop, to, (int)target.ld, rows, cols, frag);
	if (!target.remote && tsr_cuda_can_send<F>(target)) {
		coop->kept = 1;
		if (tsr_gpu_leads(coop))
			tsr_cuda_pipeline()->kept = tile;
	}
	tsr_gpu_meet(coop);
}

/**
 * Whether consumers can store the tile in this way: 16-bit elements to global
 * memory.
 */
template <typename F> TSR_DEV bool tsr_cuda_stores(const tsr_gpu_target_t &target)
{
	return target.dtype == (int32_t)F::dtype_t::code && target.space != TSR_SPACE_SHARED &&
	       target.at.row >= 0 && target.at.col >= 0 && target.ld < TSR_CUDA_LD_MOST &&
	       !target.mask;
}

/**
 * Whether consumers can write the tile to its place themselves: 16-bit elements
 * in shared memory, all of them, in pairs.
 */
template <typename F> TSR_DEV bool tsr_cuda_writes(const tsr_gpu_target_t &target)
{
	return target.dtype == (int32_t)F::dtype_t::code && target.space == TSR_SPACE_SHARED &&
	       !target.mask && target.at.row >= 0 && target.at.col >= 0 &&
	       target.at.row + F::rows <= target.rows && target.at.col + F::cols <= target.cols &&
	       (target.at.col | target.ld) % 2 == 0 && (uintptr_t)target.data % 4 == 0;
}

template <typename F>
TSR_DEV void tsr_cuda_write(const tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	typedef tsr_port_layout<F> layout;
	enum { group_elements = 4, group_bytes = 16 };
	const int ld = (int)target.ld;
	const uint32_t to = tsr_cuda_shared_address(target.data) +
			    2u * (uint32_t)((int)target.at.row * ld + (int)target.at.col);
	TSR_GPU_UNROLL
	for (int i = 0; i < F::elements / TSR_CUDA_CONSUMER_THREADS; i += 2) {
		/* of the row */
		const int first =
			i / layout::band_elements * layout::band_elements + i % group_elements;
		const uint32_t row = to + 2u * (uint32_t)(layout::row(coop, first) * ld +
							  layout::col(coop, first));
		tsr_cuda_shared_write(row + (uint32_t)((i - first) / group_elements * group_bytes),
				      tsr_cuda_pair<typename F::dtype_t>(frag->v[i],
									 frag->v[i + 1]));
	}
	tsr_gpu_meet(coop);
}

template <typename F>
TSR_DEV bool tsr_port_store_frag(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	if constexpr (tsr_port_layout<F>::dealt && !tsr_port_layout<F>::flat) {
		if (!tsr_port_layout<F>::of_consumers(coop->threads))
			return false;
		if (tsr_cuda_stores<F>(target)) {
			tsr_cuda_store_tile(coop, target, frag);
			return true;
		}
		if (tsr_cuda_writes<F>(target)) {
			tsr_cuda_write(coop, target, frag);
			return true;
		}
	}
	return false;
}

/**
 * Sends the tile that the coop has just stored in my own memory to all others,
 * if it is kept.
 */
TSR_DEV bool tsr_port_send_stored(tsr_coop_t *coop)
{
	if (!coop->kept)
		return false;
	tsr_cuda_post(coop, tsr_cuda_send_of(tsr_cuda_pipeline()->kept, 1, tsr_size(coop)));
	return true;
}

/* ---- the consumers: partial sums for a peer */

/**
 * Where the coop writes what it sends to `peer` (tsr_port_send_staged), or null:
 * it then stores to the peer itself. The memory is this block's while its main
 * loop runs, because such a block fills a multiprocessor.
 */
template <typename F> TSR_DEV char *tsr_port_stage(const tsr_coop_t *coop, int peer)
{
	const tsr_gpu_context_t *context = coop->context;
	const tsr_cuda_workspace_t *workspace = (const tsr_cuda_workspace_t *)context->workspace;
	const uint32_t multiprocessor = tsr_cuda_multiprocessor();
	if (!coop->has_senders || !tsr_port_layout<F>::dealt ||
	    !tsr_port_layout<F>::of_consumers(coop->threads) || !workspace ||
	    multiprocessor >= context->workspace_parts || peer == tsr_rank(coop))
		return 0;
	char *behind = (char *)(workspace->place +
				(size_t)context->workspace_parts * context->workspace_each);
	return behind + (size_t)multiprocessor * TSR_CUDA_STAGED_BYTES;
}

/**
 * Posts the send of what all threads of the coop have written there. Senders see
 * it as rows of the tile, with twice as many rows if elements have 32 bits.
 */
template <typename F>
TSR_DEV void tsr_port_send_staged(tsr_coop_t *coop, const F *frag, const char *staged, char *to,
				  int element_bytes, int peer)
{
	static_assert((int)F::rows * (int)F::cols * 4 <= TSR_CUDA_STAGED_BYTES ||
			      !tsr_port_layout<F>::dealt,
		      "the sums of a tile have no room in the workspace");
	const int first = tsr_gpu_ranks_after(coop, peer);
	tsr_cuda_send_t send;
	send.from = staged;
	send.pitch_bytes = (uint32_t)F::cols * 2;
	send.rows = (uint16_t)((int)F::rows * element_bytes / 2);
	send.row_bytes = (uint32_t)F::cols * 2;
	send.stamp = (uint16_t)frag->stamp;
	send.first = (uint16_t)first;
	send.end = (uint16_t)(first + 1);
	send.away = to - staged;
	tsr_gpu_meet(coop);
	tsr_cuda_post(coop, send);
}

#endif
