/* Peers' addresses, the checks of debug builds, and the bodies of dev/pointer.h. */
#ifndef TESSERA_DEV_GPU_MEMORY_H
#define TESSERA_DEV_GPU_MEMORY_H

#include "tessera/dev/gpu/convert.h"
#include "tessera/dev/gpu/note.h"

/**
 * The address of `peer`'s copy of my `p` in the heap: peer base + (p - my base). Both bases are read from the launch's parameters,
 * and mine is my own address: where `peer` is me, what is added and taken away is the same, and p is left as the one address it
 * has.
 */
template <typename T> TSR_DEV T *tsr_gpu_heap_address(const tsr_coop_t *coop, T *p, int peer)
{
	const tsr_gpu_context_t *context = coop->context;
	return tsr_port_global((T *)(context->base[peer] + ((const char *)p - context->base[context->rank])));
}

/** The same for what may be shared memory, too: that is always mine. */
template <typename T> TSR_DEV T *tsr_gpu_peer_address(const tsr_coop_t *coop, T *p, int peer)
{
	return peer == tsr_rank(coop) ? p : tsr_gpu_heap_address(coop, p, peer);
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
	return tsr_gpu_heap_address(coop, tsr_port_global((char *)view.data), peer);
}

/* ---- copying bytes */

template <int BYTES> struct tsr_gpu_unit;
template <> struct tsr_gpu_unit<16> {
	typedef unsigned __int128 type; /* a scalar: clang leaves what is held of a struct in memory */
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

enum {
	/* Loads that a thread has on their way before its first store: a store must wait for its load, and memory is far. */
	TSR_GPU_IN_FLIGHT = 8,
	TSR_GPU_IN_FLIGHT_MANY = 4, /* in rows, by blocks of many threads: those have few registers each */
	TSR_GPU_IN_FLIGHT_FEW = 16  /* by blocks of few threads */
};

#if !defined(TSR_GPU_WALK_MOST)
#define TSR_GPU_WALK_MOST (1 << 30) /* rows, and bytes of a row, of one walk: it counts in words of 32 bits */
#endif

/** Rows of bytes, one to be copied to the other. Consecutive rows are a pitch apart. */
typedef struct tsr_gpu_rows_of_bytes {
	char *dst;
	const char *src;
	int64_t dst_pitch, src_pitch, rows, row_bytes;
} tsr_gpu_rows_of_bytes_t;

/** Copies `count` units that follow one another. */
template <int UNIT> TSR_DEV void tsr_gpu_copy_run(const tsr_coop_t *coop, char *dst_bytes, const char *src_bytes, int64_t count)
{
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	const int64_t step = coop->threads;
	const unit_t *src = (const unit_t *)src_bytes + coop->thread;
	unit_t *dst = (unit_t *)dst_bytes + coop->thread;
	int64_t left = count - coop->thread; /* up to the last unit; mine are 0, step, 2 * step ... of them */
	TSR_GPU_NO_UNROLL
	for (; left > (TSR_GPU_IN_FLIGHT - 1) * step; left -= TSR_GPU_IN_FLIGHT * step) {
		unit_t held[TSR_GPU_IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < TSR_GPU_IN_FLIGHT; i++)
			held[i] = src[i * step];
		TSR_GPU_UNROLL
		for (int i = 0; i < TSR_GPU_IN_FLIGHT; i++)
			dst[i * step] = held[i];
		src += TSR_GPU_IN_FLIGHT * step;
		dst += TSR_GPU_IN_FLIGHT * step;
	}
	unit_t rest[TSR_GPU_IN_FLIGHT - 1];
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_IN_FLIGHT - 1; i++)
		rest[i] = left > i * step ? src[i * step] : 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_IN_FLIGHT - 1; i++)
		if (left > i * step)
			dst[i * step] = rest[i];
}

/** How a coop's threads go through rows of `count` places, in steps of the coop's size. Divides once, at its start. */
typedef struct tsr_gpu_steps {
	int count, row, place; /* where mine begin */
	int rows, places;      /* of a step */
} tsr_gpu_steps_t;

TSR_DEV tsr_gpu_steps_t tsr_gpu_steps(const tsr_coop_t *coop, int count)
{
	const int threads = coop->threads;
	tsr_gpu_steps_t steps = {count, 0, coop->thread, 0, threads}; /* where a row takes several steps */
	if (count <= threads) {
		steps.row = coop->thread / count;
		steps.place = coop->thread % count;
		steps.rows = threads / count;
		steps.places = threads % count;
	}
	return steps;
}

/** The walk, over places of `unit` bytes in rows that are a pitch apart. Multiplies at its start alone: its steps are on the way of
 * every sixteen bytes. */
typedef struct tsr_gpu_walk {
	char *at;
	int row, place;
	int64_t step_bytes, turn_bytes; /* of a step, and from behind a row to the next one's begin */
} tsr_gpu_walk_t;

TSR_DEV tsr_gpu_walk_t tsr_gpu_walk(const tsr_gpu_steps_t &steps, char *begin, int64_t pitch, int unit)
{
	tsr_gpu_walk_t walk = {begin + steps.row * pitch + (int64_t)steps.place * unit, steps.row, steps.place,
			       steps.rows * pitch + (int64_t)steps.places * unit, pitch - (int64_t)steps.count * unit};
	return walk;
}

TSR_DEV void tsr_gpu_walk_on(const tsr_gpu_steps_t &steps, tsr_gpu_walk_t *walk)
{
	walk->at += walk->step_bytes;
	walk->row += steps.rows;
	walk->place += steps.places;
	if (walk->place >= steps.count) {
		walk->at += walk->turn_bytes;
		walk->row++;
		walk->place -= steps.count;
	}
}

/** Copies all of the job's rows, in units that both sides are aligned to. */
template <int UNIT> TSR_DEV void tsr_gpu_copy_units(const tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job)
{
	enum { IN_FLIGHT = TSR_GPU_IN_FLIGHT_MANY };
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	const tsr_gpu_steps_t steps = tsr_gpu_steps(coop, (int)(job.row_bytes / UNIT));
	const int rows = (int)job.rows;
	/* Two walks: a pointer kept for each unit on its way would take more registers. */
	tsr_gpu_walk_t from = tsr_gpu_walk(steps, (char *)job.src, job.src_pitch, UNIT);
	tsr_gpu_walk_t to = tsr_gpu_walk(steps, job.dst, job.dst_pitch, UNIT);
	TSR_GPU_NO_UNROLL
	while (from.row < rows) {
		unit_t held[IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++) {
			/* What is loaded behind the end is not stored: a branch here would have each load wait for the last. */
			held[i] = *(const unit_t *)(from.row < rows ? from.at : job.src);
			tsr_gpu_walk_on(steps, &from);
		}
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++) {
			if (to.row < rows)
				*(unit_t *)to.at = held[i];
			tsr_gpu_walk_on(steps, &to);
		}
	}
}

/** Copies `count` units that are a step apart: the fewest instructions, for a multiprocessor that only copies is as fast as those.
 */
template <int UNIT, int IN_FLIGHT>
TSR_DEV void tsr_gpu_copy_column(char *dst, const char *src, int64_t dst_step, int64_t src_step, int count)
{
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	TSR_GPU_NO_UNROLL
	for (; count >= IN_FLIGHT; count -= IN_FLIGHT) {
		unit_t held[IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++, src += src_step)
			held[i] = *(const unit_t *)src;
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++, dst += dst_step)
			*(unit_t *)dst = held[i];
	}
	unit_t rest[IN_FLIGHT - 1];
	TSR_GPU_UNROLL
	for (int i = 0; i < IN_FLIGHT - 1; i++, src += src_step)
		rest[i] = i < count ? *(const unit_t *)src : 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < IN_FLIGHT - 1; i++, dst += dst_step)
		if (i < count)
			*(unit_t *)dst = rest[i];
}

template <int UNIT>
TSR_DEV void tsr_gpu_copy_column(char *dst, const char *src, int64_t dst_step, int64_t src_step, int count, bool has_room)
{
	if (has_room)
		tsr_gpu_copy_column<UNIT, TSR_GPU_IN_FLIGHT_FEW>(dst, src, dst_step, src_step, count);
	else
		tsr_gpu_copy_column<UNIT, TSR_GPU_IN_FLIGHT_MANY>(dst, src, dst_step, src_step, count);
}

/** The same with whole rows a step, so that a thread stays in its column; false where too many threads would have none. */
template <int UNIT> TSR_DEV bool tsr_gpu_copy_columns(const tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job)
{
	const int units = (int)(job.row_bytes / UNIT), rows = (int)job.rows;
	const int step = units <= coop->threads ? coop->threads / units : 0;
	if (step * units * 4 < coop->threads * 3)
		return false;
	const int row = coop->thread / units, at = (coop->thread - row * units) * UNIT;
	const bool has_room = UNIT == 16 && coop->workers * coop->threads <= 3 * TSR_PORT_MOVER_THREADS;
	if (row < step && row < rows)
		tsr_gpu_copy_column<UNIT>(job.dst + row * job.dst_pitch + at, job.src + row * job.src_pitch + at,
					  step * job.dst_pitch, step * job.src_pitch, (rows - row + step - 1) / step, has_room);
	return true;
}

/** The job's part from (row, byte) on that a walk's words of 32 bits can count. */
TSR_DEV tsr_gpu_rows_of_bytes_t tsr_gpu_part_of(const tsr_gpu_rows_of_bytes_t &job, int64_t row, int64_t byte)
{
	const int64_t most = TSR_GPU_WALK_MOST;
	tsr_gpu_rows_of_bytes_t part = job;
	part.dst += row * job.dst_pitch + byte;
	part.src += row * job.src_pitch + byte;
	part.rows = job.rows - row < most ? job.rows - row : most;
	part.row_bytes = job.row_bytes - byte < most ? job.row_bytes - byte : most;
	return part;
}

/** The same but for the first `head` bytes of each row and for what makes no whole unit, and however large the job is. */
template <int UNIT> TSR_DEV void tsr_gpu_copy_all_units(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job, int64_t head)
{
	job.dst += head;
	job.src += head;
	job.row_bytes = (job.row_bytes - head) / UNIT * UNIT;
	tsr_gpu_rows_of_bytes_t part = tsr_gpu_part_of(job, 0, 0);
	TSR_GPU_NO_UNROLL
	for (int64_t row = 0; row < job.rows; row += part.rows)
		TSR_GPU_NO_UNROLL
	for (int64_t byte = 0; byte < job.row_bytes; byte += part.row_bytes) {
		part = tsr_gpu_part_of(job, row, byte);
		if (!tsr_gpu_copy_columns<UNIT>(coop, part))
			tsr_gpu_copy_units<UNIT>(coop, part);
	}
}

/** Copies the first `head` and the last `tail` bytes of every row. */
TSR_DEV void tsr_gpu_copy_ends(const tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job, int head, int tail)
{
	if (head + tail == 0)
		return;
	const tsr_gpu_steps_t steps = tsr_gpu_steps(coop, head + tail);
	TSR_GPU_NO_UNROLL
	for (int64_t row = steps.row, place = steps.place; row < job.rows;) {
		int64_t at = place < head ? place : job.row_bytes - tail - head + place;
		job.dst[row * job.dst_pitch + at] = job.src[row * job.src_pitch + at];
		row += steps.rows;
		place += steps.places;
		if (place >= steps.count) {
			row++;
			place -= steps.count;
		}
	}
}

/**
 * Copies one row of whole units of 16, at most one a thread; false where the job is another. Where many blocks share what is small,
 * most of the time is that of the code on the way.
 */
TSR_DEV bool tsr_gpu_copy_few(const tsr_coop_t *coop, const tsr_gpu_rows_of_bytes_t &job)
{
	typedef tsr_gpu_unit<16>::type unit_t;
	if (job.rows != 1 || job.row_bytes > 16 * (int64_t)coop->threads ||
	    ((uintptr_t)job.dst | (uintptr_t)job.src | (uintptr_t)job.row_bytes) % 16 != 0)
		return false;
	if (16 * (int64_t)coop->thread < job.row_bytes)
		((unit_t *)job.dst)[coop->thread] = ((const unit_t *)job.src)[coop->thread];
	return true;
}

/** Copies with the widest units in which both sides, and all rows, are displaced alike; what is left at the ends byte by byte. */
TSR_DEV void tsr_gpu_copy_rows(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job)
{
	if (job.row_bytes == job.dst_pitch && job.row_bytes == job.src_pitch) {
		job.row_bytes *= job.rows;
		job.rows = 1;
	}
	if (tsr_gpu_copy_few(coop, job))
		return;
	uintptr_t apart = (uintptr_t)job.dst ^ (uintptr_t)job.src;
	if (job.rows > 1)
		apart |= (uintptr_t)job.dst_pitch | (uintptr_t)job.src_pitch;
	/* Without room for one whole unit of 16, all of a row would be ends. */
	const bool has_room = job.row_bytes >= 16 + (-(int64_t)(uintptr_t)job.dst & 15);
	const int width = apart % 16 == 0 && has_room ? 16 : apart % 4 == 0 ? 4 : apart % 2 == 0 ? 2 : 1;
	const int64_t gap = -(int64_t)(uintptr_t)job.dst & (width - 1);
	const int head = (int)(gap < job.row_bytes ? gap : job.row_bytes);
	const int tail = (int)((job.row_bytes - head) & (width - 1));
	if (width == 16 && job.rows == 1)
		tsr_gpu_copy_run<16>(coop, job.dst + head, job.src + head, (job.row_bytes - head) / 16);
	else if (width == 16)
		tsr_gpu_copy_all_units<16>(coop, job, head);
	else if (width == 4)
		tsr_gpu_copy_all_units<4>(coop, job, head);
	else if (width == 2)
		tsr_gpu_copy_all_units<2>(coop, job, head);
	else
		tsr_gpu_copy_all_units<1>(coop, job, head);
	tsr_gpu_copy_ends(coop, job, head, tail);
}

/* ---- dev/pointer.h */

TSR_DEV void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src, int src_peer, size_t size_bytes)
{
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts(coop, dst, size_bytes, dst_peer) || !tsr_gpu_accepts(coop, src, size_bytes, src_peer))
		return;
	tsr_gpu_rows_of_bytes_t job;
	job.dst = tsr_gpu_heap_address(coop, tsr_port_global((char *)dst), dst_peer);
	job.src = tsr_gpu_heap_address(coop, tsr_port_global((const char *)src), src_peer);
	job.dst_pitch = job.src_pitch = job.row_bytes = (int64_t)size_bytes;
	job.rows = 1;
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

/* For checkers, which run on the emulator. */
TSR_DEV void tsr_slab(tsr_coop_t *coop, tsr_view_t slab)
{
	(void)coop;
	(void)slab;
}

#endif
