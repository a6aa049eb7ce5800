/*
 * Addresses of peers, the checks of debug builds, and copying of bytes. The
 * calls that copy are in pointer.h.
 */
#ifndef TESSERA_GPU_DEV_MEMORY_H
#define TESSERA_GPU_DEV_MEMORY_H

#include "gpu/dev/convert.h"
#include "gpu/dev/note.h"

/**
 * The address of `peer`'s copy of my heap pointer `p`: peer base + (p - my
 * base), or p + (peer base - my base). The host has computed the difference, so
 * this reads one word of the team's table and adds it. No branch precedes the
 * read. If the compiler sees that `peer` is this rank, nothing remains of it.
 * `p` may be shared memory if `peer` is this rank.
 */
template <typename T> TSR_DEV T *tsr_gpu_peer_address(const tsr_coop_t *coop, T *p, int peer)
{
	const int64_t peer_offset = tsr_port_constant(coop->context->peer_offset + peer);
	return (T *)((const char *)p + (peer == tsr_rank(coop) ? 0 : peer_offset));
}

/** The same if `p` is known to be in the heap. */
template <typename T> TSR_DEV T *tsr_gpu_heap_address(const tsr_coop_t *coop, T *p, int peer)
{
	return tsr_port_global(tsr_gpu_peer_address(coop, tsr_port_global(p), peer));
}

#if defined(TSR_DEBUG)
/** Whether `size_bytes`, of which there is one at least, from an offset on are in one window. */
TSR_DEV bool tsr_gpu_in_window(const tsr_gpu_windows_t *windows, uint64_t offset,
			       uint64_t size_bytes)
{
	if (!windows || offset < windows->begin || offset >= windows->end ||
	    size_bytes > windows->end - offset)
		return false;
	const unsigned char *const window = (const unsigned char *)(windows + 1);
	const uint64_t first = (offset - windows->begin) / TSR_GPU_WINDOW_UNIT,
		       last = (offset - windows->begin + size_bytes - 1) / TSR_GPU_WINDOW_UNIT;
	for (uint64_t unit = first; unit <= last; unit++)
		if (window[unit] == 0 || window[unit] != window[first])
			return false;
	return true;
}

/** Whether they are in the heap or in a window. */
TSR_DEV bool tsr_gpu_is_shared(const tsr_gpu_context_t *context, const void *p, uint64_t size_bytes)
{
	const uint64_t offset = (uint64_t)((const char *)p - context->heap);
	if (offset <= context->heap_bytes)
		return size_bytes <= context->heap_bytes - offset;
	return tsr_gpu_in_window(context->windows, offset, size_bytes > 0 ? size_bytes : 1);
}
#endif

/**
 * Whether a call may access `size_bytes` at `peer`'s copy of `p`, in the heap or
 * in a window.
 * Debug builds note a mistake; the call then does nothing.
 */
TSR_DEV bool tsr_gpu_accepts(const tsr_coop_t *coop, const void *p, uint64_t size_bytes, int peer)
{
#if defined(TSR_DEBUG)
	if (peer < 0 || peer >= coop->context->size) {
		tsr_gpu_fault(coop, TSR_GPU_NOTE_RANK, p, size_bytes, peer);
		return false;
	}
	if (!tsr_gpu_is_shared(coop->context, p, size_bytes)) {
		tsr_gpu_fault(coop, TSR_GPU_NOTE_POINTER, p, size_bytes, peer);
		return false;
	}
#else
	(void)coop, (void)p, (void)size_bytes, (void)peer;
#endif
	return true;
}

/**
 * Whether the call may access a word at a rank that it has found to be one: what
 * one thread has computed. Debug builds note a mistake.
 */
TSR_DEV bool tsr_gpu_accepts_word(const tsr_coop_t *coop, const int32_t *p)
{
#if defined(TSR_DEBUG)
	if (!tsr_gpu_is_shared(coop->context, p, sizeof *p)) {
		tsr_gpu_fault_of_thread(coop, TSR_GPU_NOTE_POINTER, p, sizeof *p, 0);
		return false;
	}
#else
	(void)coop, (void)p;
#endif
	return true;
}

/**
 * Whether one thread's `index` is one of `count`. Debug builds note a mistake;
 * others do not look.
 */
TSR_DEV bool tsr_gpu_accepts_index(const tsr_coop_t *coop, int32_t index, int64_t count)
{
#if defined(TSR_DEBUG)
	if (index < 0 || index >= count) {
		tsr_gpu_fault_of_thread(coop, TSR_GPU_NOTE_INDEX, 0, (uint64_t)count, index);
		return false;
	}
#else
	(void)coop, (void)index, (void)count;
#endif
	return true;
}

/**
 * Bytes from the beginning of a view's first element to the end of its last.
 */
TSR_DEV uint64_t tsr_gpu_view_bytes(tsr_view_t view)
{
	if (view.rows <= 0 || view.cols <= 0)
		return 0;
	return (uint64_t)(((view.rows - 1) * view.ld + view.cols) *
			  tsr_gpu_dtype_bytes(view.dtype));
}

TSR_DEV bool tsr_gpu_accepts_view(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
#if defined(TSR_DEBUG)
	if ((uint32_t)view.dtype > TSR_U8) { /* no element type, or reserved */
		tsr_gpu_fault(coop, TSR_GPU_NOTE_DTYPE, view.data, 0, view.dtype);
		return false;
	}
#endif
	return view.space == TSR_SPACE_SHARED ||
	       tsr_gpu_accepts(coop, view.data, tsr_gpu_view_bytes(view), peer);
}

/**
 * The address of the element at row 0, column 0 of `peer`'s copy of the view.
 * Shared memory has no peers.
 */
TSR_DEV char *tsr_gpu_view_address(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
	if (view.space == TSR_SPACE_SHARED)
		return (char *)view.data;
	return tsr_gpu_heap_address(coop, tsr_port_global((char *)view.data), peer);
}

/* ---- hints, of whole units of 16 bytes */

template <int HINT, typename T> TSR_DEV void tsr_gpu_write(T *at, const T &x)
{
	if constexpr (HINT == TSR_HINT_NONE || sizeof(T) != 16) {
		*at = x;
	} else {
		tsr_port_unit_t unit;
		__builtin_memcpy(&unit, &x, sizeof unit);
		tsr_port_write_hinted<HINT>((void *)at, unit);
	}
}

template <int HINT, typename T> TSR_DEV T tsr_gpu_read(const T *at)
{
	if constexpr (HINT != TSR_HINT_STREAM || sizeof(T) != 16) {
		return *at;
	} else {
		const tsr_port_unit_t unit = tsr_port_read_streaming((const void *)at);
		T x;
		__builtin_memcpy(&x, &unit, sizeof x);
		return x;
	}
}

/** Makes the call with HINT_ as a constant for the given hint. */
#define TSR_GPU_BY_HINT(hint_, HINT_, call_)            \
	if ((hint_) == TSR_HINT_STREAM) {               \
		constexpr int HINT_ = TSR_HINT_STREAM;  \
		call_;                                  \
	} else if ((hint_) == TSR_HINT_THROUGH) {       \
		constexpr int HINT_ = TSR_HINT_THROUGH; \
		call_;                                  \
	} else {                                        \
		constexpr int HINT_ = TSR_HINT_NONE;    \
		call_;                                  \
	}

/* ---- copying bytes */

template <int BYTES> struct tsr_gpu_unit;
template <> struct tsr_gpu_unit<16> {
	/* a scalar, because clang keeps members of a struct in memory */
	typedef unsigned __int128 type;
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
	/* Loads that a thread has in flight before its first store. A store must wait for its load,
	 * and memory is far. */
	TSR_GPU_IN_FLIGHT = 8,
	/* for rows, or for several destinations, in blocks with many threads, each of which has few
	 * registers */
	TSR_GPU_IN_FLIGHT_MANY = 4,
	TSR_GPU_IN_FLIGHT_FEW = 16 /* for rows to one destination, in blocks with few threads */
};

#if !defined(TSR_GPU_PART_MOST)
#define TSR_GPU_PART_MOST (1 << 30) /* most rows, and bytes of a row, that 32-bit words can count */
#endif

/** Rows of bytes to copy. Consecutive rows are a pitch apart. */
typedef struct tsr_gpu_rows_of_bytes {
	char *dst;
	const char *src;
	int64_t dst_pitch, src_pitch, rows, row_bytes;
} tsr_gpu_rows_of_bytes_t;

/*
 * The destination: `dst` alone, or the same place of several ranks. All heaps
 * have the same alignment, so what is found about one place holds for all.
 * `spread`: reading bytes once and storing them to all ranks fills the links
 * better than reading them for each rank.
 */
template <int HINT_> struct tsr_gpu_one_place {
	enum {
		RUN_IN_FLIGHT = TSR_GPU_IN_FLIGHT,
		ROWS_IN_FLIGHT = TSR_GPU_IN_FLIGHT_FEW,
		HINT = HINT_
	};
};
typedef tsr_gpu_one_place<TSR_HINT_NONE> tsr_gpu_one_place_t;

typedef struct tsr_gpu_every_rank {
	enum {
		RUN_IN_FLIGHT = TSR_GPU_IN_FLIGHT_MANY,
		ROWS_IN_FLIGHT = TSR_GPU_IN_FLIGHT,
		HINT = TSR_HINT_NONE
	};
	const tsr_gpu_context_t *context;
	int first; /* 0: all ranks, this one first; 1: without this rank */
} tsr_gpu_every_rank_t;

template <int HINT> TSR_DEV int tsr_gpu_places(const tsr_gpu_one_place<HINT> &)
{
	return 1;
}

TSR_DEV int tsr_gpu_places(const tsr_gpu_every_rank_t &to)
{
	return to.context->size - to.first;
}

/** Bytes from `dst` to the `i`-th place. */
template <int HINT> TSR_DEV int64_t tsr_gpu_peer_offset(const tsr_gpu_one_place<HINT> &, int)
{
	return 0;
}

TSR_DEV int64_t tsr_gpu_peer_offset(const tsr_gpu_every_rank_t &to, int i)
{
	const tsr_gpu_context_t *context = to.context;
	int peer = context->rank + to.first + i;
	if (peer >= context->size)
		peer -= context->size;
	return tsr_port_constant(context->peer_offset + peer);
}

/**
 * Stores the first `count` units held in registers to each place, a step apart.
 */
template <typename unit_t, int HELD, typename TO>
TSR_DEV void tsr_gpu_store_held(const TO &to, char *dst, int64_t step, const unit_t (&held)[HELD],
				int count)
{
	TSR_GPU_NO_UNROLL
	for (int place = 0; place < tsr_gpu_places(to); place++) {
		char *at = dst + tsr_gpu_peer_offset(to, place);
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++, at += step)
			if (i < count)
				tsr_gpu_write<TO::HINT>((unit_t *)at, held[i]);
	}
}

/** Copies `count` consecutive units. */
template <int UNIT, typename TO>
TSR_DEV void tsr_gpu_copy_run(const tsr_coop_t *coop, const TO &to, char *dst_bytes,
			      const char *src_bytes, int64_t count)
{
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	enum { IN_FLIGHT = TO::RUN_IN_FLIGHT };
	const int64_t step = coop->threads;
	const unit_t *src = (const unit_t *)src_bytes + coop->thread;
	unit_t *dst = (unit_t *)dst_bytes + coop->thread;
	/* units left after mine; mine are 0, step, 2 * step, ... */
	int64_t left = count - coop->thread;
	TSR_GPU_NO_UNROLL
	for (; left > (IN_FLIGHT - 1) * step; left -= IN_FLIGHT * step) {
		unit_t held[IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++)
			held[i] = src[i * step];
		tsr_gpu_store_held(to, (char *)dst, step * UNIT, held, IN_FLIGHT);
		src += IN_FLIGHT * step;
		dst += IN_FLIGHT * step;
	}
	unit_t rest[IN_FLIGHT - 1];
	TSR_GPU_UNROLL
	for (int i = 0; i < IN_FLIGHT - 1; i++)
		rest[i] = left > i * step ? src[i * step] : 0;
	int mine = 0;
	TSR_GPU_UNROLL
	for (int i = 0; i < IN_FLIGHT - 1; i++)
		mine += left > i * step;
	tsr_gpu_store_held(to, (char *)dst, step * UNIT, rest, mine);
}

/**
 * Copies `count` units that are a step apart. Minimises instructions: a pure
 * copy is bound by instruction issue.
 */
template <int UNIT, int IN_FLIGHT, typename TO>
TSR_DEV void tsr_gpu_copy_column(const TO &to, char *dst, const char *src, int64_t dst_step,
				 int64_t src_step, int count)
{
	typedef typename tsr_gpu_unit<UNIT>::type unit_t;
	const int64_t turn = IN_FLIGHT * dst_step;
	TSR_GPU_NO_UNROLL
	for (; count >= IN_FLIGHT; count -= IN_FLIGHT, dst += turn) {
		unit_t held[IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++, src += src_step)
			held[i] = *(const unit_t *)src;
		tsr_gpu_store_held(to, dst, dst_step, held, IN_FLIGHT);
	}
	unit_t rest[IN_FLIGHT - 1];
	TSR_GPU_UNROLL
	for (int i = 0; i < IN_FLIGHT - 1; i++, src += src_step)
		rest[i] = i < count ? *(const unit_t *)src : 0;
	tsr_gpu_store_held(to, dst, dst_step, rest, count);
}

/**
 * Copies a strip of the job, `width` units wide: several whole rows at a time,
 * so that each thread stays in its column.
 */
template <int UNIT, typename TO>
TSR_DEV void tsr_gpu_copy_strip(const tsr_coop_t *coop, const TO &to,
				const tsr_gpu_rows_of_bytes_t &job, int first, int width)
{
	const int step = coop->threads / width, row = coop->thread / width, rows = (int)job.rows;
	const int64_t at = ((int64_t)first + coop->thread - row * width) * UNIT;
	const int count = (rows - row + step - 1) / step;
	char *dst = job.dst + row * job.dst_pitch + at;
	const char *src = job.src + row * job.src_pitch + at;
	const bool has_room =
		UNIT == 16 && coop->workers * coop->threads <= 3 * TSR_PORT_MOVER_THREADS;
	if (row >= step || row >= rows)
		return;
	if (has_room)
		tsr_gpu_copy_column<UNIT, TO::ROWS_IN_FLIGHT>(to, dst, src, step * job.dst_pitch,
							      step * job.src_pitch, count);
	else
		tsr_gpu_copy_column<UNIT, TSR_GPU_IN_FLIGHT_MANY>(to, dst, src,
								  step * job.dst_pitch,
								  step * job.src_pitch, count);
}

/**
 * The width of the next strip, if `left` units of the rows are left: such that
 * at least three of four threads have a column.
 */
TSR_DEV int tsr_gpu_strip_width(int threads, int left)
{
	if (left >= threads)
		return threads;
	const int rows = threads / left;
	return rows * left * 4 >= threads * 3 ? left : threads / (rows + 1);
}

/** The part of the job from (row, byte) on that 32-bit words can count. */
TSR_DEV tsr_gpu_rows_of_bytes_t tsr_gpu_part_of(const tsr_gpu_rows_of_bytes_t &job, int64_t row,
						int64_t byte)
{
	const int64_t most = TSR_GPU_PART_MOST;
	tsr_gpu_rows_of_bytes_t part = job;
	part.dst += row * job.dst_pitch + byte;
	part.src += row * job.src_pitch + byte;
	part.rows = job.rows - row < most ? job.rows - row : most;
	part.row_bytes = job.row_bytes - byte < most ? job.row_bytes - byte : most;
	return part;
}

/** Copies such a part. Its rows are whole units. */
template <int UNIT, typename TO>
TSR_DEV void tsr_gpu_copy_part(const tsr_coop_t *coop, const TO &to,
			       const tsr_gpu_rows_of_bytes_t &part)
{
	const int units = (int)(part.row_bytes / UNIT);
	TSR_GPU_NO_UNROLL
	for (int first = 0, width; first < units; first += width) {
		width = tsr_gpu_strip_width(coop->threads, units - first);
		tsr_gpu_copy_strip<UNIT>(coop, to, part, first, width);
	}
}

/**
 * Copies the job, however large, without the first `head` bytes of each row and
 * without the bytes behind its last whole unit.
 */
template <int UNIT, bool OF_A_TILE, typename TO>
TSR_DEV void tsr_gpu_copy_all_units(const tsr_coop_t *coop, const TO &to,
				    tsr_gpu_rows_of_bytes_t job, int64_t head)
{
	job.dst += head;
	job.src += head;
	job.row_bytes = (job.row_bytes - head) / UNIT * UNIT;
	if (OF_A_TILE) {
		tsr_gpu_copy_part<UNIT>(coop, to, job);
		return;
	}
	if (job.rows == 1) {
		tsr_gpu_copy_run<UNIT>(coop, to, job.dst, job.src, job.row_bytes / UNIT);
		return;
	}
	tsr_gpu_rows_of_bytes_t part = tsr_gpu_part_of(job, 0, 0);
	TSR_GPU_NO_UNROLL
	for (int64_t row = 0; row < job.rows; row += part.rows)
		TSR_GPU_NO_UNROLL
	for (int64_t byte = 0; byte < job.row_bytes; byte += part.row_bytes) {
		part = tsr_gpu_part_of(job, row, byte);
		tsr_gpu_copy_part<UNIT>(coop, to, part);
	}
}

static_assert(TSR_PORT_PART_THREADS > 30,
	      "a thread for each byte before and behind whole units of 16");

/**
 * Copies the first `head` and the last `tail` bytes of every row: fewer bytes
 * than a coop has threads.
 */
template <typename TO>
TSR_DEV void tsr_gpu_copy_ends(const tsr_coop_t *coop, const TO &to,
			       const tsr_gpu_rows_of_bytes_t &job, int head, int tail)
{
	const int ends = head + tail;
	if (ends == 0)
		return;
	const int step = coop->threads / ends, first = coop->thread / ends,
		  place = coop->thread - first * ends;
	const int64_t at = place < head ? place : job.row_bytes - ends + place;
	if (first >= step)
		return;
	TSR_GPU_NO_UNROLL
	for (int64_t row = first; row < job.rows; row += step) {
		const char held[1] = {job.src[row * job.src_pitch + at]};
		tsr_gpu_store_held(to, job.dst + row * job.dst_pitch + at, 0, held, 1);
	}
}

/**
 * Copies one row of whole 16-byte units, at most one for each thread. Returns
 * false for any other job. When many blocks share a small job, most of the time
 * is spent in the code before the copy.
 */
template <typename TO>
TSR_DEV bool tsr_gpu_copy_few(const tsr_coop_t *coop, const TO &to,
			      const tsr_gpu_rows_of_bytes_t &job)
{
	typedef tsr_gpu_unit<16>::type unit_t;
	if (job.rows != 1 || job.row_bytes > 16 * (int64_t)coop->threads ||
	    ((uintptr_t)job.dst | (uintptr_t)job.src | (uintptr_t)job.row_bytes) % 16 != 0)
		return false;
	if (16 * (int64_t)coop->thread < job.row_bytes) {
		const unit_t held[1] = {((const unit_t *)job.src)[coop->thread]};
		tsr_gpu_store_held(to, job.dst + 16 * (int64_t)coop->thread, 0, held, 1);
	}
	return true;
}

/**
 * Copies with the widest units for which both sides, and all rows, have the
 * same misalignment; the rest at the ends byte by byte. OF_A_TILE: the rows and
 * their bytes are few, and are one part.
 */
template <bool OF_A_TILE = false, typename TO>
TSR_DEV void tsr_gpu_copy_rows(const tsr_coop_t *coop, const TO &to, tsr_gpu_rows_of_bytes_t job)
{
	if (!OF_A_TILE && job.row_bytes == job.dst_pitch && job.row_bytes == job.src_pitch) {
		job.row_bytes *= job.rows;
		job.rows = 1;
	}
	if (tsr_gpu_places(to) == 0 || (!OF_A_TILE && tsr_gpu_copy_few(coop, to, job)))
		return;
	uintptr_t apart = (uintptr_t)job.dst ^ (uintptr_t)job.src;
	if (job.rows > 1)
		apart |= (uintptr_t)job.dst_pitch | (uintptr_t)job.src_pitch;
	/* If there is no room for one whole 16-byte unit, the entire row would be ends. */
	const bool has_room = job.row_bytes >= 16 + (-(int64_t)(uintptr_t)job.dst & 15);
	const int width = apart % 16 == 0 && has_room ? 16
			  : apart % 4 == 0            ? 4
			  : apart % 2 == 0            ? 2
						      : 1;
	const int64_t gap = -(int64_t)(uintptr_t)job.dst & (width - 1);
	const int head = (int)(gap < job.row_bytes ? gap : job.row_bytes);
	const int tail = (int)((job.row_bytes - head) & (width - 1));
	if (width == 16)
		tsr_gpu_copy_all_units<16, OF_A_TILE>(coop, to, job, head);
	else if (width == 4)
		tsr_gpu_copy_all_units<4, OF_A_TILE>(coop, to, job, head);
	else if (width == 2)
		tsr_gpu_copy_all_units<2, OF_A_TILE>(coop, to, job, head);
	else
		tsr_gpu_copy_all_units<1, OF_A_TILE>(coop, to, job, head);
	tsr_gpu_copy_ends(coop, to, job, head, tail);
}

#endif
