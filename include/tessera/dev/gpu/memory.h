/* Peers' addresses, the checks of debug builds, and the bodies of dev/pointer.h. */
#ifndef TESSERA_DEV_GPU_MEMORY_H
#define TESSERA_DEV_GPU_MEMORY_H

#include "tessera/dev/gpu/convert.h"
#include "tessera/dev/gpu/note.h"

/** The address of `peer`'s copy of my `p`: peer base + (p - my base). Mine is `p` itself, the one address it has on this rank. */
template <typename T> TSR_DEV T *tsr_gpu_peer_address(const tsr_coop_t *coop, T *p, int peer)
{
	const tsr_gpu_context_t *context = coop->context;
	if (peer == context->rank)
		return p;
	return tsr_port_global((T *)(context->base[peer] + ((const char *)p - context->base[context->rank])));
}

/** Whether a call may touch `size_bytes` at `peer`'s copy of the heap's `p`. Debug builds note what is wrong; the call does
 * nothing. */
TSR_DEV bool tsr_gpu_accepts(const tsr_coop_t *coop, const void *p, uint64_t size_bytes, int peer)
{
#if defined(TSR_DEBUG)
	const tsr_gpu_context_t *context = coop->context;
	uint64_t offset = (uint64_t)((const char *)p - context->base[context->rank]);
	if (peer < 0 || peer >= context->size) {
		tsr_gpu_fault(coop, TSR_GPU_NOTE_RANK, p, size_bytes, peer);
		return false;
	}
	if (offset > context->heap_bytes || size_bytes > context->heap_bytes - offset) {
		tsr_gpu_fault(coop, TSR_GPU_NOTE_POINTER, p, size_bytes, peer);
		return false;
	}
#else
	(void)coop, (void)p, (void)size_bytes, (void)peer;
#endif
	return true;
}

/** Bytes from a view's first element to the end of its last. */
TSR_DEV uint64_t tsr_gpu_view_bytes(tsr_view_t view)
{
	if (view.rows <= 0 || view.cols <= 0)
		return 0;
	return (uint64_t)(((view.rows - 1) * view.ld + view.cols) * tsr_gpu_dtype_bytes(view.dtype));
}

TSR_DEV bool tsr_gpu_accepts_view(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
	return view.space == TSR_SPACE_SHARED || tsr_gpu_accepts(coop, view.data, tsr_gpu_view_bytes(view), peer);
}

/** Where the element at row 0, column 0 of `peer`'s copy of the view stands. Shared memory has no peers. */
TSR_DEV char *tsr_gpu_view_address(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
	if (view.space == TSR_SPACE_SHARED)
		return (char *)view.data;
	return tsr_gpu_peer_address(coop, tsr_port_global((char *)view.data), peer);
}

/* ---- copying bytes */

template <int BYTES> struct tsr_gpu_unit;
template <> struct tsr_gpu_unit<16> {
	struct __attribute__((aligned(16))) type {
		uint32_t word[4];
	};
};
template <> struct tsr_gpu_unit<8> {
	typedef uint64_t type;
};
template <> struct tsr_gpu_unit<4> {
	typedef uint32_t type;
};
template <> struct tsr_gpu_unit<2> {
	typedef uint16_t type;
};
template <> struct tsr_gpu_unit<1> {
	typedef uint8_t type;
};

/** Rows of bytes, one to be copied to the other. Consecutive rows are a pitch apart. */
typedef struct tsr_gpu_rows_of_bytes {
	char *dst;
	const char *src;
	int64_t dst_pitch, src_pitch, rows, row_bytes;
} tsr_gpu_rows_of_bytes_t;

/** Copies bytes begin .. begin + count * UNIT of every row, in units that both sides are aligned to. */
template <int UNIT>
TSR_DEV void tsr_gpu_copy_units(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job, int64_t begin, int64_t count)
{
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	if (count <= 0)
		return;
	/* Walks the units of all rows in steps of the coop's size; long rows turn over rarely, so no division in the loop. */
	int64_t row = coop->thread / count, unit = coop->thread % count;
	while (row < job.rows) {
		const unit_t *src = (const unit_t *)(job.src + row * job.src_pitch + begin);
		unit_t *dst = (unit_t *)(job.dst + row * job.dst_pitch + begin);
		dst[unit] = src[unit];
		for (unit += coop->threads; unit >= count && row < job.rows; unit -= count)
			row++;
	}
}

/** Copies with the widest units that all addresses allow, and what is left of each row byte by byte. */
TSR_DEV void tsr_gpu_copy_rows(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job)
{
	uintptr_t all = (uintptr_t)job.dst | (uintptr_t)job.src;
	if (job.rows > 1)
		all |= (uintptr_t)job.dst_pitch | (uintptr_t)job.src_pitch;
	int width = all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
	int64_t units = job.row_bytes / width, whole_bytes = units * width;
	switch (width) {
	case 16:
		tsr_gpu_copy_units<16>(coop, job, 0, units);
		break;
	case 8:
		tsr_gpu_copy_units<8>(coop, job, 0, units);
		break;
	case 4:
		tsr_gpu_copy_units<4>(coop, job, 0, units);
		break;
	case 2:
		tsr_gpu_copy_units<2>(coop, job, 0, units);
		break;
	default:
		tsr_gpu_copy_units<1>(coop, job, 0, units);
		break;
	}
	tsr_gpu_copy_units<1>(coop, job, whole_bytes, job.row_bytes - whole_bytes);
}

/* ---- dev/pointer.h */

TSR_DEV void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src, int src_peer, size_t size_bytes)
{
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts(coop, dst, size_bytes, dst_peer) || !tsr_gpu_accepts(coop, src, size_bytes, src_peer))
		return;
	tsr_gpu_rows_of_bytes_t job;
	job.dst = tsr_gpu_peer_address(coop, tsr_port_global((char *)dst), dst_peer);
	job.src = tsr_gpu_peer_address(coop, tsr_port_global((const char *)src), src_peer);
	job.dst_pitch = job.src_pitch = 0;
	job.rows = 1;
	job.row_bytes = (int64_t)size_bytes;
	tsr_gpu_copy_rows(coop, job);
}

TSR_DEV void tsr_put(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes, int peer)
{
	tsr_copy(coop, dst, peer, src, tsr_rank(coop), size_bytes);
}

TSR_DEV void tsr_get(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes, int peer)
{
	tsr_copy(coop, dst, tsr_rank(coop), src, peer, size_bytes);
}

TSR_DEV void tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src, int src_peer)
{
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_view(coop, dst, dst_peer) || !tsr_gpu_accepts_view(coop, src, src_peer))
		return;
	int64_t element_bytes = tsr_gpu_dtype_bytes(dst.dtype);
	tsr_gpu_rows_of_bytes_t job;
	job.dst = tsr_gpu_view_address(coop, dst, dst_peer);
	job.src = tsr_gpu_view_address(coop, src, src_peer);
	job.dst_pitch = dst.ld * element_bytes;
	job.src_pitch = src.ld * element_bytes;
	job.rows = dst.rows < src.rows ? dst.rows : src.rows;
	job.row_bytes = (dst.cols < src.cols ? dst.cols : src.cols) * element_bytes;
	if (job.rows > 0 && job.row_bytes > 0)
		tsr_gpu_copy_rows(coop, job);
}

TSR_DEV void tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	tsr_copy_2d(coop, dst, peer, src, tsr_rank(coop));
}

TSR_DEV void tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	tsr_copy_2d(coop, dst, tsr_rank(coop), src, peer);
}

TSR_DEV void tsr_flush(tsr_coop_t *coop, int peer)
{
	(void)peer; /* one node: the fence waits for the stores to all peers alike */
	tsr_port_settle(coop);
	tsr_port_fence<TSR_RELEASE, TSR_SCOPE_SYSTEM>();
	tsr_gpu_meet(coop);
}

#endif
