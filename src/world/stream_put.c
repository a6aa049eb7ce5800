/* Copies to peers on streams: argument checks, then the backend. */
#include "src/base/error.h"
#include "src/base/place.h"
#include "src/heap/rooms.h"
#include "src/world/stream.h"

/** Nothing is mapped between windows. */
static bool lies_in_window(const tsr_world_t *world, size_t offset, size_t bytes)
{
	const char *name;
	size_t begin, size;
	pthread_mutex_lock((pthread_mutex_t *)&world->allocator_lock);
	const bool found = tsr_heap_allocation(world, offset, &name, &begin, &size);
	pthread_mutex_unlock((pthread_mutex_t *)&world->allocator_lock);
	return found && bytes <= begin + size - offset;
}

/** Whether a view that has elements lies in my heap with all of them, and no row in the next. */
static bool lies_in_heap(const tsr_world_t *world, const tsr_view_t *view)
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view->dtype);
	const uintptr_t base = (uintptr_t)world->heap_bases[world->rank],
			at = (uintptr_t)view->data;
	size_t rows, bytes, offset;
	if (view->space != TSR_SPACE_HEAP || element == 0 || view->rows < 1 || view->cols < 1 ||
	    at < base || (view->rows > 1 && view->ld < view->cols) ||
	    __builtin_mul_overflow((size_t)view->rows - 1, (size_t)view->ld, &rows) ||
	    __builtin_add_overflow(rows, (size_t)view->cols, &bytes) ||
	    __builtin_mul_overflow(bytes, element, &bytes))
		return false;
	const tsr_room_t room = tsr_room_at(world, at - base);
	return tsr_heap_offset(world, at, &offset) && bytes <= room.end - offset &&
	       (room.begin == 0 || lies_in_window(world, offset, bytes));
}

/** Bytes from one row to the next. One row has no next, so its pitch may be anything. */
static size_t pitch_bytes(const tsr_view_t *view)
{
	return (size_t)(view->rows > 1 ? view->ld : view->cols) *
	       tsr_dtype_bytes((tsr_dtype_t)view->dtype);
}

/**
 * Whether a row of `a` shares a byte with one of `b`: columns beside columns of
 * one matrix do not. Both lie in my heap.
 */
static bool overlap(const tsr_view_t *a, const tsr_view_t *b)
{
	const size_t row_bytes = (size_t)a->cols * tsr_dtype_bytes((tsr_dtype_t)a->dtype),
		     a_pitch = pitch_bytes(a);
	const size_t b_pitch = pitch_bytes(b), b_rows = (size_t)b->rows;
	const uintptr_t b_begin = (uintptr_t)b->data;
	for (size_t i = 0; i < (size_t)a->rows; i++) {
		const uintptr_t begin = (uintptr_t)a->data + i * a_pitch, end = begin + row_bytes;
		/* The first row of `b` that ends behind the begin of this one. */
		const size_t j = begin < b_begin + row_bytes
					 ? 0
					 : (begin - b_begin - row_bytes) / b_pitch + 1;
		if (j < b_rows && b_begin + j * b_pitch < end)
			return true;
	}
	return false;
}

static tsr_status_t check(const tsr_stream_t *stream, const tsr_view_t *dst, const tsr_view_t *src,
			  int peer)
{
	const tsr_world_t *world = stream->world;
	const int size = tsr_team_size(stream->team);
	if (peer < 0 || peer >= size)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d to rank %d: the %s has ranks 0 to %d", peer,
				 stream->team == world->team ? "world" : "stream's team", size - 1);
	if (dst->rows != src->rows || dst->cols != src->cols || dst->dtype != src->dtype)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d of %lld x %lld elements of %s to %lld x %lld "
				 "of %s: give it views of the same "
				 "extents and element type",
				 (long long)src->rows, (long long)src->cols,
				 tsr_dtype_name((tsr_dtype_t)src->dtype), (long long)dst->rows,
				 (long long)dst->cols, tsr_dtype_name((tsr_dtype_t)dst->dtype));
	const char *name = tsr_dtype_name((tsr_dtype_t)src->dtype);
	if (tsr_dtype_bytes((tsr_dtype_t)src->dtype) == 0 && *name != '?')
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d of elements of %s, which is reserved for a "
				 "later version; send their bytes as u8",
				 name);
	if (src->rows == 0 || src->cols == 0)
		return TSR_OK;
	const bool src_is_mine = lies_in_heap(world, src);
	if (!src_is_mine || !lies_in_heap(world, dst))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_put_2d: %s does not lie in this rank's heap, row by "
				 "row; give it a view of what "
				 "tsr_heap_alloc returned, with its own address",
				 src_is_mine ? "dst" : "src");
	if (peer == tsr_team_rank(stream->team) && overlap(dst, src))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"tsr_stream_put_2d to myself: dst and src overlap; let them be apart");
	return TSR_OK;
}

/** One row in pieces: engines count a pitch in 31 bits, and take a row's length for one. */
static tsr_status_t put(tsr_stream_t *stream, tsr_device_copy_t copy)
{
	static const size_t piece_bytes = (size_t)1 << 30;
	const tsr_world_t *world = stream->world;
	const size_t all_bytes = copy.row_bytes;
	tsr_status_t status = TSR_OK;
	if (copy.rows > 1 || all_bytes <= piece_bytes)
		return tsr_world_result(world, world->backend->stream->copy(stream->device, &copy));
	for (size_t at = 0; status == TSR_OK && at < all_bytes; at += piece_bytes) {
		tsr_device_copy_t piece = copy;
		piece.dst = (char *)copy.dst + at;
		piece.src = (const char *)copy.src + at;
		piece.row_bytes = all_bytes - at < piece_bytes ? all_bytes - at : piece_bytes;
		piece.dst_pitch_bytes = piece.src_pitch_bytes = piece.row_bytes;
		status = tsr_world_result(world,
					  world->backend->stream->copy(stream->device, &piece));
	}
	return status;
}

tsr_status_t tsr_stream_put_2d(tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src, int peer)
{
	if (stream == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_stream_put_2d: stream must not be null");
	tsr_world_t *world = stream->world;
	const tsr_status_t status = check(stream, &dst, &src, peer);
	if (status != TSR_OK)
		return status;
	if (tsr_boot_ended(world->boot) != TSR_OK)
		return TSR_ERR_ABORTED;
	if (src.rows == 0 || src.cols == 0)
		return TSR_OK;
	const int rank = tsr_team_world_rank(stream->team, peer);
	const tsr_device_copy_t copy = {
		.dst = (char *)world->heap_bases[rank] +
		       ((uintptr_t)dst.data - (uintptr_t)world->heap_bases[world->rank]),
		.src = (const void *)(uintptr_t)src.data,
		.dst_pitch_bytes = pitch_bytes(&dst),
		.src_pitch_bytes = pitch_bytes(&src),
		.row_bytes = (size_t)src.cols * tsr_dtype_bytes((tsr_dtype_t)src.dtype),
		.rows = (size_t)src.rows,
		.peer = rank,
		.file = tsr_place_here()->file,
		.line = tsr_place_here()->line,
	};
	tsr_world_note_launch(world);
	return put(stream, copy);
}
