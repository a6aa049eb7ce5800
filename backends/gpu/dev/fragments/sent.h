/*
 * Bodies of tsr_frag_send and tsr_frag_add_sent (dev/tile.h). Each thread sends
 * its own elements, and adds those that the corresponding thread of the sender
 * has sent. It moves sixteen bytes at a time if all threads have the same
 * number of elements; the units of neighbouring threads are adjacent.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_SENT_H
#define TESSERA_GPU_DEV_FRAGMENTS_SENT_H

#include "gpu/dev/fragments/add.h"
#include "gpu/dev/fragments/tile.h"

template <typename F> TSR_DEV char *tsr_port_stage(const tsr_coop_t *coop, int peer);
template <typename F>
TSR_DEV void tsr_port_send_staged(tsr_coop_t *coop, const F *frag, const char *staged, char *to,
				  int element_bytes, int peer);

template <typename D, typename F>
TSR_DEV void tsr_gpu_send_as(const tsr_coop_t *coop, char *elements, const F *frag)
{
	typedef typename D::stored_t stored_t;
	const int together = tsr_gpu_saved_together<F, stored_t>(coop);
	stored_t *sent = (stored_t *)elements;
	TSR_GPU_UNROLL
	for (int i = 0; i < F::capacity && i < tsr_gpu_most<F>(coop); i += together) {
		stored_t *to = sent + tsr_gpu_saved_at<F>(coop, i, together);
		if (together > 1) {
			tsr_gpu_pack<stored_t> pack;
			TSR_GPU_UNROLL
			for (int j = 0; j < 16 / (int)sizeof(stored_t); j++)
				pack.element[j] =
					tsr_gpu_encode<D>(tsr_port_read_here(frag->v[i + j]));
			*(tsr_gpu_pack<stored_t> *)to = pack;
		} else if (tsr_gpu_has<F>(coop, i)) {
			*to = tsr_gpu_encode<D>(tsr_port_read_here(frag->v[i]));
		}
	}
}

template <typename D, typename F>
TSR_DEV void tsr_gpu_add_as(const tsr_coop_t *coop, F *frag, const char *slot)
{
	typedef typename D::stored_t stored_t;
	typedef typename F::value_t value_t;
	const int together = tsr_gpu_saved_together<F, stored_t>(coop);
	const stored_t *sent = (const stored_t *)(slot + TSR_GPU_SENT_HEADER_BYTES);
	TSR_GPU_UNROLL
	for (int i = 0; i < F::capacity && i < tsr_gpu_most<F>(coop); i += together) {
		const stored_t *from = sent + tsr_gpu_saved_at<F>(coop, i, together);
		if (together > 1) {
			const tsr_gpu_pack<stored_t> pack = *(const tsr_gpu_pack<stored_t> *)from;
			TSR_GPU_UNROLL
			for (int j = 0; j < 16 / (int)sizeof(stored_t); j++)
				frag->v[i + j] += tsr_gpu_decode<value_t, D>(pack.element[j]);
		} else if (tsr_gpu_has<F>(coop, i)) {
			frag->v[i] += tsr_gpu_decode<value_t, D>(*from);
		}
	}
}

#if defined(TSR_DEBUG)
/**
 * Header before the elements in debug builds. It is equal on both sides if
 * elements are added in the way that they were sent.
 */
typedef struct tsr_gpu_sent_header {
	uint32_t magic, extents, types, threads;
} tsr_gpu_sent_header_t;
static_assert(sizeof(tsr_gpu_sent_header_t) == TSR_GPU_SENT_HEADER_BYTES,
	      "TSR_FRAG_SENT_BYTES counts it");

template <typename F>
TSR_DEV tsr_gpu_sent_header_t tsr_gpu_sent_header(const tsr_coop_t *coop, tsr_dtype_t as)
{
	const tsr_gpu_sent_header_t header = {
		0x54535246u, (uint32_t)F::rows | (uint32_t)F::cols << 16,
		(uint32_t)F::tile_t::K | (uint32_t)F::dtype_t::code << 16 | (uint32_t)as << 24,
		(uint32_t)coop->threads};
	return header;
}
#endif

template <typename F>
TSR_DEV void tsr_gpu_send_header(const tsr_coop_t *coop, char *slot, tsr_dtype_t as)
{
#if defined(TSR_DEBUG)
	if (tsr_gpu_leads(coop))
		*(tsr_gpu_sent_header_t *)slot = tsr_gpu_sent_header<F>(coop, as);
#else
	(void)coop, (void)slot, (void)as;
#endif
}

/**
 * Debug builds note a different header. The elements are added even then; the
 * world ends.
 */
template <typename F>
TSR_DEV void tsr_gpu_check_header(const tsr_coop_t *coop, const char *slot, tsr_dtype_t as)
{
#if defined(TSR_DEBUG)
	const tsr_gpu_sent_header_t sent = *(const tsr_gpu_sent_header_t *)slot,
				    wanted = tsr_gpu_sent_header<F>(coop, as);
	if (sent.magic != wanted.magic || sent.extents != wanted.extents ||
	    sent.types != wanted.types || sent.threads != wanted.threads)
		tsr_gpu_fault(coop, TSR_GPU_NOTE_SENT, slot, TSR_GPU_SENT_HEADER_BYTES,
			      tsr_rank(coop));
#else
	(void)coop, (void)slot, (void)as;
#endif
}

/**
 * Whether the call may access the memory. Debug builds note a mistake; the call
 * then does nothing.
 */
template <typename F>
TSR_DEV bool tsr_gpu_sends_to(const tsr_coop_t *coop, const TSR_HEAP void *memory, tsr_dtype_t as,
			      int peer)
{
	static_assert((int)F::role == (int)TSR_GPU_ACCUMULATOR, "only accumulators are sent");
	static_assert(!tsr_gpu_is_integer<typename F::value_t>,
		      "sums of floats are sent: tsr_put what tsr_frag_save has left");
	const uint64_t bytes =
		(uint64_t)F::elements * (as == TSR_F32 ? 4 : 2) + TSR_GPU_SENT_HEADER_BYTES;
	if (as != TSR_F32 && as != TSR_F16 && as != TSR_BF16) {
#if defined(TSR_DEBUG)
		tsr_gpu_fault(coop, TSR_GPU_NOTE_DTYPE, memory, 0, as);
#endif
		return false;
	}
	return tsr_gpu_accepts(coop, memory, bytes, peer);
}

/** To a rank of another node. */
template <typename F>
TSR_DEV void tsr_gpu_far_send_frag(tsr_coop_t *coop, TSR_HEAP void *memory, const F *frag,
				   tsr_dtype_t as, int peer)
{
	const int64_t bytes =
		TSR_GPU_SENT_HEADER_BYTES + (int64_t)F::elements * (as == TSR_F32 ? 4 : 2);
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	if (a.room) {
		tsr_gpu_send_header<F>(coop, a.room, as);
		TSR_GPU_BY_ADDED(as, D,
				 (tsr_gpu_send_as<D>(coop, a.room + TSR_GPU_SENT_HEADER_BYTES,
						     frag)))
		tsr_gpu_far_send(coop, &a,
				 tsr_gpu_far_rows(coop, TSR_GPU_ASK_PUT, memory, bytes, bytes, 1,
						  peer));
	}
	tsr_gpu_far_end(coop, a);
}

TSR_DEV_FRAG void tsr_frag_send(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag,
				tsr_dtype_t as, int peer)
{
	tsr_port_settle(coop);
	if (!tsr_gpu_sends_to<tsr_frag_t>(coop, memory, as, peer))
		return;
	const int element_bytes = as == TSR_F32 ? 4 : 2;
	if (tsr_gpu_is_far(coop, peer)) {
		tsr_gpu_far_send_frag(coop, memory, frag, as, peer);
		return;
	}
	char *slot = tsr_gpu_heap_address(coop, tsr_port_global((char *)memory), peer);
	char *to = slot + TSR_GPU_SENT_HEADER_BYTES,
	     *staged = tsr_port_stage<tsr_frag_t>(coop, peer);
	const uint64_t begun = tsr_gpu_record_now();
	tsr_gpu_send_header<tsr_frag_t>(coop, slot, as);
	TSR_GPU_BY_ADDED(as, D,
			 (tsr_gpu_send_as<D>(coop, tsr_port_global(staged ? staged : to), frag)))
	if (staged)
		tsr_port_send_staged(coop, frag, staged, to, element_bytes, peer);
	else
		tsr_gpu_record_written(coop, begun, peer,
				       (uint64_t)tsr_frag_t::elements * (uint64_t)element_bytes);
}

TSR_DEV_FRAG void tsr_frag_add_sent(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory,
				    tsr_dtype_t as)
{
	tsr_port_settle(coop);
	if (!tsr_gpu_sends_to<tsr_frag_t>(coop, memory, as, tsr_rank(coop)))
		return;
	const char *slot = tsr_port_global((const char *)memory);
	tsr_gpu_check_header<tsr_frag_t>(coop, slot, as);
	tsr_gpu_record_read(coop, tsr_rank(coop),
			    (uint64_t)tsr_frag_t::elements * (as == TSR_F32 ? 4 : 2));
	tsr_gpu_frag_changes(coop, frag);
	TSR_GPU_BY_ADDED(as, D, (tsr_gpu_add_as<D>(coop, frag, slot)))
}

#endif
