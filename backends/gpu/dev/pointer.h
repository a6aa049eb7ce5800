/* Bodies of dev/pointer.h: puts, gets and copies, and its other calls. */
#ifndef TESSERA_GPU_DEV_POINTER_H
#define TESSERA_GPU_DEV_POINTER_H

#include "gpu/dev/far.h"
#include "gpu/dev/memory.h"
#include "gpu/dev/record.h"

TSR_DEV int tsr_peer_is_mapped(const tsr_coop_t *coop, int peer)
{
	return peer >= 0 && peer < tsr_size(coop) && !tsr_gpu_is_far(coop, peer);
}

/* Copies rows in the port's own way, where the block can and it pays: whether it did. */
TSR_DEV bool tsr_port_copy_in_bulk(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job);

TSR_DEV tsr_gpu_rows_of_bytes_t tsr_gpu_row(char *dst, const char *src, size_t size_bytes)
{
	const int64_t bytes = (int64_t)size_bytes;
	tsr_gpu_rows_of_bytes_t job = {dst, src, bytes, bytes, 1, bytes};
	return job;
}

template <int HINT>
TSR_DEV void tsr_gpu_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer,
			  const TSR_HEAP void *src, int src_peer, size_t size_bytes)
{
	tsr_gpu_one_place<HINT> there;
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts(coop, dst, size_bytes, dst_peer) ||
	    !tsr_gpu_accepts(coop, src, size_bytes, src_peer))
		return;
	const uint64_t begun = tsr_gpu_record_now();
	const tsr_gpu_rows_of_bytes_t job =
		tsr_gpu_row(tsr_gpu_heap_address(coop, tsr_port_global((char *)dst), dst_peer),
			    tsr_gpu_heap_address(coop, tsr_port_global((const char *)src),
						 src_peer),
			    size_bytes);
	if (tsr_gpu_is_far(coop, dst_peer) || tsr_gpu_is_far(coop, src_peer))
		tsr_gpu_far_copy(coop,
				 tsr_gpu_side(coop, dst, job.dst, job.dst_pitch, dst_peer, true),
				 tsr_gpu_side(coop, src, job.src, job.src_pitch, src_peer, true),
				 job.rows, job.row_bytes);
	else
		tsr_gpu_copy_rows(coop, there, job);
	tsr_gpu_record_read(coop, src_peer, size_bytes);
	tsr_gpu_record_written(coop, begun, dst_peer, size_bytes);
}

TSR_DEV void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src,
		      int src_peer, size_t size_bytes)
{
	tsr_gpu_copy<TSR_HINT_NONE>(coop, dst, dst_peer, src, src_peer, size_bytes);
}

TSR_DEV void tsr_put_hint(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			  size_t size_bytes, int peer, tsr_hint_t hint){
	TSR_GPU_BY_HINT(hint, HINT,
			(tsr_gpu_copy<HINT>(coop, dst, peer, src, tsr_rank(coop), size_bytes)))}

/** All ranks, or all others if the source is this rank's own place. */
TSR_DEV tsr_gpu_every_rank_t
	tsr_gpu_every_rank(const tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job)
{
	tsr_gpu_every_rank_t ranks = {coop->context, job.dst == job.src};
	return ranks;
}

/**
 * The same where the team spans nodes: to one rank after the other. The job's
 * addresses are mine.
 */
TSR_DEV void tsr_gpu_put_to_each(tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job)
{
	tsr_gpu_one_place_t there;
	TSR_GPU_NO_UNROLL
	for (int i = job.dst == job.src; i < tsr_size(coop); i++) {
		const int peer = tsr_peer(coop, i);
		tsr_gpu_rows_of_bytes_t to = job;
		if (tsr_gpu_is_far(coop, peer)) {
			const tsr_gpu_side_t src = {(char *)job.src, job.src_pitch, 0, false};
			tsr_gpu_far_copy(coop,
					 tsr_gpu_side(coop, job.dst, job.dst, job.dst_pitch, peer,
						      true),
					 src, job.rows, job.row_bytes);
			continue;
		}
		to.dst = tsr_gpu_heap_address(coop, job.dst, peer);
		tsr_gpu_copy_rows(coop, there, to);
	}
}

/** Rows of the heap, or of shared memory, to all of these. */
TSR_DEV void tsr_gpu_put_to_all(tsr_coop_t *coop, tsr_space_t from,
				const tsr_gpu_rows_of_bytes_t &job)
{
	const tsr_gpu_every_rank_t ranks = tsr_gpu_every_rank(coop, job);
	const uint64_t bytes = (uint64_t)(job.rows * job.row_bytes), begun = tsr_gpu_record_now();
	if (tsr_gpu_spans_nodes(coop))
		tsr_gpu_put_to_each(coop, job);
	else
		tsr_gpu_copy_rows(coop, ranks, job);
	tsr_gpu_record_read(coop, tsr_rank(coop), from == TSR_SPACE_HEAP ? bytes : 0);
	tsr_gpu_record_written_all(coop, begun, ranks.first, bytes);
}

TSR_DEV void tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			 size_t size_bytes)
{
	const int me = tsr_rank(coop);
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts(coop, dst, size_bytes, me) ||
	    !tsr_gpu_accepts(coop, src, size_bytes, me))
		return;
	const tsr_gpu_rows_of_bytes_t job =
		tsr_gpu_row(tsr_port_global((char *)dst), tsr_port_global((const char *)src),
			    size_bytes);
	tsr_gpu_put_to_all(coop, TSR_SPACE_HEAP, job);
}

TSR_DEV void tsr_put(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer)
{
	tsr_copy(coop, dst, peer, src, tsr_rank(coop), size_bytes);
}

TSR_DEV void tsr_get(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer)
{
	tsr_copy(coop, dst, tsr_rank(coop), src, peer, size_bytes);
}

/** The overlap of both views' extents, from `src_peer` to `dst_peer`. */
TSR_DEV tsr_gpu_rows_of_bytes_t tsr_gpu_overlap(const tsr_coop_t *coop, tsr_view_t dst,
						int dst_peer, tsr_view_t src, int src_peer)
{
	const int64_t element_bytes = tsr_gpu_dtype_bytes(dst.dtype);
	tsr_gpu_rows_of_bytes_t job;
	job.dst = tsr_gpu_view_address(coop, dst, dst_peer);
	job.src = tsr_gpu_view_address(coop, src, src_peer);
	job.dst_pitch = dst.ld * element_bytes;
	job.src_pitch = src.ld * element_bytes;
	job.rows = dst.rows < src.rows ? dst.rows : src.rows;
	job.row_bytes = (dst.cols < src.cols ? dst.cols : src.cols) * element_bytes;
	return job;
}

template <int HINT>
TSR_DEV void tsr_gpu_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			     int src_peer)
{
	tsr_gpu_one_place<HINT> there;
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_view(coop, dst, dst_peer) ||
	    !tsr_gpu_accepts_view(coop, src, src_peer))
		return;
	const tsr_gpu_rows_of_bytes_t job = tsr_gpu_overlap(coop, dst, dst_peer, src, src_peer);
	const uint64_t bytes = (uint64_t)(job.rows * job.row_bytes), begun = tsr_gpu_record_now();
	if (job.rows > 0 && job.row_bytes > 0) {
		const tsr_gpu_side_t to = tsr_gpu_side(coop, dst.data, job.dst, job.dst_pitch,
						       dst_peer, dst.space == TSR_SPACE_HEAP),
				     from = tsr_gpu_side(coop, src.data, job.src, job.src_pitch,
							 src_peer, src.space == TSR_SPACE_HEAP);
		if (to.far || from.far)
			tsr_gpu_far_copy(coop, to, from, job.rows, job.row_bytes);
		else if (HINT != TSR_HINT_NONE || src.space != TSR_SPACE_HEAP ||
			 dst.space != TSR_SPACE_HEAP || !tsr_port_copy_in_bulk(coop, job))
			tsr_gpu_copy_rows(coop, there, job);
		tsr_gpu_record_read(coop, src_peer, src.space == TSR_SPACE_HEAP ? bytes : 0);
		tsr_gpu_record_written(coop, begun, dst_peer,
				       dst.space == TSR_SPACE_HEAP ? bytes : 0);
	}
}

TSR_DEV void tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			 int src_peer)
{
	tsr_gpu_copy_2d<TSR_HINT_NONE>(coop, dst, dst_peer, src, src_peer);
}

TSR_DEV void tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer,
			     tsr_hint_t hint){
	TSR_GPU_BY_HINT(hint, HINT, (tsr_gpu_copy_2d<HINT>(coop, dst, peer, src, tsr_rank(coop))))}

TSR_DEV void tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src)
{
	const int me = tsr_rank(coop);
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_view(coop, dst, me) || !tsr_gpu_accepts_view(coop, src, me))
		return;
	const tsr_gpu_rows_of_bytes_t job = tsr_gpu_overlap(coop, dst, me, src, me);
	if (job.rows > 0 && job.row_bytes > 0)
		tsr_gpu_put_to_all(coop, (tsr_space_t)src.space, job);
}

TSR_DEV void tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	tsr_copy_2d(coop, dst, peer, src, tsr_rank(coop));
}

TSR_DEV void tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	tsr_copy_2d(coop, dst, tsr_rank(coop), src, peer);
}

/** Words that a scatter stores. Only for the record of a run. */
TSR_DEV uint64_t tsr_gpu_scattered(const tsr_coop_t *coop, const int32_t *index, int count)
{
	uint64_t words = 0;
#if defined(TSR_RECORDED)
	TSR_GPU_NO_UNROLL
	for (int i = 0; tsr_gpu_leads(coop) && i < count; i++)
		words += index[i] >= 0;
#else
	(void)coop, (void)index, (void)count;
#endif
	return words;
}

/** To a rank of another node: pairs of place and value, which the host puts one by one. */
TSR_DEV void tsr_gpu_far_scatter(tsr_coop_t *coop, int32_t *dst, const int32_t *index,
				 const int32_t *value, int count, int peer)
{
	enum { MOST = TSR_GPU_ROOM_BYTES / 8 };
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < count && a.room; first += MOST) {
		const int pairs = count - first < MOST ? count - first : (int)MOST;
		int32_t *pair = (int32_t *)a.room;
		TSR_GPU_NO_UNROLL
		for (int i = coop->thread; i < pairs; i += coop->threads) {
			const int32_t at = index[first + i];
			pair[2 * i] = at >= 0 && tsr_gpu_accepts_word(coop, dst + at) ? at : -1;
			pair[2 * i + 1] = value[first + i];
		}
		tsr_gpu_far_send(coop, &a,
				 tsr_gpu_far_rows(coop, TSR_GPU_ASK_SCATTER, dst, 0, 8, pairs,
						  peer));
	}
	tsr_gpu_far_end(coop, a);
}

TSR_DEV void tsr_put_scattered(tsr_coop_t *coop, TSR_HEAP int32_t *dst, const int32_t *index,
			       const int32_t *value, int count, int peer)
{
	tsr_port_settle(coop);
	if (count < 1 || !tsr_gpu_accepts(coop, dst, sizeof *dst, peer))
		return;
	const uint64_t begun = tsr_gpu_record_now();
	int32_t *there = tsr_gpu_heap_address(coop, dst, peer);
	const bool far = tsr_gpu_is_far(coop, peer);
	if (far)
		tsr_gpu_far_scatter(coop, dst, index, value, count, peer);
	TSR_GPU_NO_UNROLL
	for (int i = coop->thread; !far && i < count; i += coop->threads) {
		const int32_t at = index[i];
		if (at >= 0 && tsr_gpu_accepts_word(coop, dst + at))
			there[at] = value[i];
	}
	tsr_gpu_record_written(coop, begun, peer,
			       tsr_gpu_scattered(coop, index, count) * sizeof *dst);
}

TSR_DEV void tsr_flush(tsr_coop_t *coop, int peer)
{
	(void)peer; /* the fence waits for the stores to all peers of the node */
	tsr_port_settle(coop);
	tsr_port_fence<TSR_RELEASE, TSR_SCOPE_SYSTEM>();
	if (tsr_gpu_leads(coop))
		tsr_gpu_far_settle(coop);
	tsr_gpu_meet(coop);
}

/* Only for checkers, which run on the emulator. */
TSR_DEV void tsr_declare_writes(tsr_coop_t *coop, tsr_view_t slab)
{
	(void)coop;
	(void)slab;
}

#endif
