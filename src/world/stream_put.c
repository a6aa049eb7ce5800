/* Copies to peers on streams: argument checks, then the backend. */
#include "src/base/error.h"
#include "src/world/stream.h"

/** Bytes from the view's first element to the end of its last; 0 where it has none, or does not lie in my heap. */
static size_t extent_bytes(const tsr_world_t *world, const tsr_view_t *view)
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view->dtype);
	const uintptr_t base = (uintptr_t)world->heap_bases[world->rank], at = (uintptr_t)view->data;
	size_t rows, bytes;
	if (view->space != TSR_SPACE_HEAP || element == 0 || view->rows < 1 || view->cols < 1 || at < base ||
	    (view->rows > 1 && view->ld < view->cols) || __builtin_mul_overflow((size_t)view->rows - 1, (size_t)view->ld, &rows) ||
	    __builtin_add_overflow(rows, (size_t)view->cols, &bytes) || __builtin_mul_overflow(bytes, element, &bytes))
		return 0;
	return at - base <= world->heap_bytes && bytes <= world->heap_bytes - (at - base) ? bytes : 0;
}

static bool overlap(const tsr_view_t *a, size_t a_bytes, const tsr_view_t *b, size_t b_bytes)
{
	const uintptr_t at_a = (uintptr_t)a->data, at_b = (uintptr_t)b->data;
	return at_a < at_b + b_bytes && at_b < at_a + a_bytes;
}

static tsr_status_t check(const tsr_world_t *world, const tsr_view_t *dst, const tsr_view_t *src, int peer)
{
	if (peer < 0 || peer >= world->size)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_stream_put_2d to rank %d: the world has ranks 0 to %d", peer,
				 world->size - 1);
	if (dst->rows != src->rows || dst->cols != src->cols || dst->dtype != src->dtype)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d of %lld x %lld elements to %lld x %lld: give it views of the same extents and "
				 "element type",
				 (long long)src->rows, (long long)src->cols, (long long)dst->rows, (long long)dst->cols);
	if (src->rows == 0 || src->cols == 0)
		return TSR_OK;
	const size_t dst_bytes = extent_bytes(world, dst), src_bytes = extent_bytes(world, src);
	if (dst_bytes == 0 || src_bytes == 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d: %s does not lie in this rank's heap, row by row; give it a view of what "
				 "tsr_heap_alloc returned, with its own address",
				 src_bytes == 0 ? "src" : "dst");
	if (peer == world->rank && overlap(dst, dst_bytes, src, src_bytes))
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_stream_put_2d to myself: dst and src overlap; let them be apart");
	return TSR_OK;
}

tsr_status_t tsr_stream_put_2d(tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src, int peer)
{
	if (stream == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_stream_put_2d: stream must not be null");
	const tsr_world_t *world = stream->world;
	const tsr_status_t status = check(world, &dst, &src, peer);
	if (status != TSR_OK)
		return status;
	if (tsr_boot_ended(world->boot) != TSR_OK)
		return TSR_ERR_ABORTED;
	if (src.rows == 0 || src.cols == 0)
		return TSR_OK;
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)src.dtype);
	const size_t row_bytes = (size_t)src.cols * element;
	/* One row has no next, so its pitch may be anything. */
	const tsr_device_copy_t copy = {
		.dst = (char *)world->heap_bases[peer] + ((uintptr_t)dst.data - (uintptr_t)world->heap_bases[world->rank]),
		.src = (const void *)(uintptr_t)src.data,
		.dst_pitch_bytes = dst.rows > 1 ? (size_t)dst.ld * element : row_bytes,
		.src_pitch_bytes = src.rows > 1 ? (size_t)src.ld * element : row_bytes,
		.row_bytes = row_bytes,
		.rows = (size_t)src.rows,
		.peer = peer,
	};
	return tsr_world_result(world, world->backend->stream->copy(stream->device, &copy));
}
