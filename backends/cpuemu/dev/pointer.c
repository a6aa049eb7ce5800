/* Pointer family: bytes and matrices between memories. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/events.h"

/** One side of a transfer. */
typedef struct side {
	const TSR_HEAP void *pointer;
	int rank;
} side_t;

/** The thread's share of the bytes, in whole cache lines where there is more than one thread. */
static void share_bytes(const tsr_coop_t *coop, size_t bytes, size_t *first, size_t *last)
{
	int64_t begin, end;
	if (coop->count == 1) {
		*first = 0;
		*last = bytes;
		return;
	}
	tsr_cpu_share(coop, (int64_t)((bytes + 63) / 64), &begin, &end);
	*first = (size_t)begin * 64 < bytes ? (size_t)begin * 64 : bytes;
	*last = (size_t)end * 64 < bytes ? (size_t)end * 64 : bytes;
}

/** Whether a copy's reading is counted: a put to all ranks reads once. */
typedef enum reading { READS, READ_BEFORE } reading_t;

static void copy_bytes(tsr_coop_t *coop, const char *call, side_t dst, side_t src,
		       size_t size_bytes, reading_t reading)
{
	tsr_mem_t to, from;
	size_t first, last;
	if (size_bytes == 0 ||
	    !tsr_mem_reach(coop, call, dst.pointer, size_bytes, 1, dst.rank, TSR_MEM_WRITE, &to) ||
	    !tsr_mem_reach(coop, call, src.pointer, size_bytes, 1, src.rank, TSR_MEM_READ, &from))
		return;
	share_bytes(coop, size_bytes, &first, &last);
	if (first == last)
		return;
	if (reading == READS)
		tsr_mem_count(coop, &from, TSR_MEM_READ, last - first);
	tsr_mem_count(coop, &to, TSR_MEM_WRITE, last - first);
	tsr_mem_copy(&to, to.at + first, last - first, &from, from.at + first, last - first,
		     last - first, 1);
	tsr_cpu_event_sent(coop);
}

void tsr_put(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes,
	     int peer)
{
	copy_bytes(coop, __func__, (side_t){dst, peer}, (side_t){src, tsr_rank(coop)}, size_bytes,
		   READS);
}

void tsr_put_hint(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes,
		  int peer, tsr_hint_t hint)
{
	(void)hint;
	copy_bytes(coop, __func__, (side_t){dst, peer}, (side_t){src, tsr_rank(coop)}, size_bytes,
		   READS);
}

void tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes)
{
	const int first = dst == src;
	for (int i = first; i < tsr_size(coop); i++)
		copy_bytes(coop, __func__, (side_t){dst, tsr_peer(coop, i)},
			   (side_t){src, tsr_rank(coop)}, size_bytes,
			   i == first ? READS : READ_BEFORE);
}

void tsr_get(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src, size_t size_bytes,
	     int peer)
{
	copy_bytes(coop, __func__, (side_t){dst, tsr_rank(coop)}, (side_t){src, peer}, size_bytes,
		   READS);
}

void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src,
	      int src_peer, size_t size_bytes)
{
	copy_bytes(coop, __func__, (side_t){dst, dst_peer}, (side_t){src, src_peer}, size_bytes,
		   READS);
}

static void copy_matrix(tsr_coop_t *coop, const char *call, tsr_view_t dst, int dst_rank,
			tsr_view_t src, int src_rank, reading_t reading)
{
	tsr_mem_t to, from;
	int64_t first, last;
	if (dst.dtype != src.dtype) {
		tsr_cpu_misuse(coop, call, "move tiles through a fragment to convert them",
			       "between views of %s and %s", tsr_dtype_name((tsr_dtype_t)src.dtype),
			       tsr_dtype_name((tsr_dtype_t)dst.dtype));
		return;
	}
	dst.rows = src.rows = dst.rows < src.rows ? dst.rows : src.rows;
	dst.cols = src.cols = dst.cols < src.cols ? dst.cols : src.cols;
	if (dst.rows == 0 || dst.cols == 0 ||
	    !tsr_mem_reach_view(coop, call, dst, dst_rank, TSR_MEM_WRITE, &to) ||
	    !tsr_mem_reach_view(coop, call, src, src_rank, TSR_MEM_READ, &from))
		return;
	tsr_cpu_share(coop, dst.rows, &first, &last);
	if (first == last)
		return;
	size_t element = tsr_cpu_bytes(dst.dtype), row = (size_t)dst.cols * element,
	       rows = (size_t)(last - first);
	size_t to_step = (size_t)dst.ld * element, from_step = (size_t)src.ld * element;
	if (reading == READS)
		tsr_mem_count(coop, &from, TSR_MEM_READ, rows * row);
	tsr_mem_count(coop, &to, TSR_MEM_WRITE, rows * row);
	to.at += (size_t)first * to_step;
	from.at += (size_t)first * from_step;
	tsr_mem_copy(&to, to.at, to_step, &from, from.at, from_step, row, rows);
	tsr_cpu_event_sent(coop);
}

void tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	copy_matrix(coop, __func__, dst, peer, src, tsr_rank(coop), READS);
}

void tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer, tsr_hint_t hint)
{
	(void)hint;
	copy_matrix(coop, __func__, dst, peer, src, tsr_rank(coop), READS);
}

void tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src)
{
	const int first = dst.data == src.data;
	for (int i = first; i < tsr_size(coop); i++)
		copy_matrix(coop, __func__, dst, tsr_peer(coop, i), src, tsr_rank(coop),
			    i == first ? READS : READ_BEFORE);
}

void tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	copy_matrix(coop, __func__, dst, tsr_rank(coop), src, peer, READS);
}

void tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src, int src_peer)
{
	copy_matrix(coop, __func__, dst, dst_peer, src, src_peer, READS);
}

/* ------------------------------------------------------------------ scattered words */

/** The thread's part of a call: passes first .. last-1. */
typedef struct scattering {
	tsr_mem_t index, value;
	int64_t first, last;
	size_t reach, stores; /* words from `dst` on up to the last that is stored; all that are */
} scattering_t;

static int32_t word_of(const tsr_mem_t *words, int64_t i)
{
	int32_t word;
	tsr_mem_read(words, &word, words->at + i * (int64_t)sizeof word, sizeof word);
	return word;
}

static void count_stores(scattering_t *s)
{
	for (int64_t i = s->first; i < s->last; i++) {
		const int32_t at = word_of(&s->index, i);
		s->stores += at >= 0;
		s->reach = at >= 0 && (size_t)at >= s->reach ? (size_t)at + 1 : s->reach;
	}
}

/** Word by word: a race with one of them is a race with no other. */
static void scatter(const scattering_t *s, const tsr_mem_t *to)
{
	for (int64_t i = s->first; i < s->last; i++) {
		const int32_t at = word_of(&s->index, i);
		if (at < 0)
			continue;
		const int32_t x = word_of(&s->value, i);
		tsr_mem_write(to, to->at + at * (int64_t)sizeof x, &x, sizeof x);
	}
}

void tsr_put_scattered(tsr_coop_t *coop, TSR_HEAP int32_t *dst, const int32_t *index,
		       const int32_t *value, int count, int peer)
{
	scattering_t s = {.reach = 0};
	tsr_mem_t to;
	if (count < 1 ||
	    !tsr_mem_reach_shared(coop, __func__, "indices", index, count, TSR_MEM_READ,
				  &s.index) ||
	    !tsr_mem_reach_shared(coop, __func__, "values", value, count, TSR_MEM_READ, &s.value))
		return;
	tsr_cpu_share(coop, count, &s.first, &s.last);
	count_stores(&s);
	if (s.stores == 0 || !tsr_mem_reach(coop, __func__, dst, s.reach * sizeof *dst, sizeof *dst,
					    peer, TSR_MEM_WRITE, &to))
		return;
	tsr_mem_count(coop, &to, TSR_MEM_WRITE, s.stores * sizeof *dst);
	scatter(&s, &to);
	tsr_cpu_event_sent(coop);
}

void tsr_declare_writes(tsr_coop_t *coop, tsr_view_t slab)
{
	tsr_mem_t mem;
	if (slab.rows < 1 || slab.cols < 1) /* a rank that has no part */
		return;
	if (tsr_mem_reach_view(coop, __func__, slab, tsr_rank(coop), TSR_MEM_READ, &mem) &&
	    mem.explored)
		tsr_explored_declare_writes(&mem, &slab);
}

/* ------------------------------------------------------------------ one value */

void tsr_cpu_put_value(tsr_coop_t *coop, void *p, const void *value, size_t size_bytes, int peer)
{
	tsr_mem_t mem;
	if (!tsr_cpu_leads(coop) ||
	    !tsr_mem_reach(coop, "tsr_put_value", (TSR_HEAP void *)p, size_bytes, size_bytes, peer,
			   TSR_MEM_WRITE, &mem))
		return;
	tsr_mem_count(coop, &mem, TSR_MEM_WRITE, size_bytes);
	tsr_mem_write(&mem, mem.at, value, size_bytes);
	tsr_cpu_event_sent(coop);
}

void *tsr_cpu_get_value(tsr_coop_t *coop, const void *p, void *value, size_t size_bytes, int peer)
{
	uint64_t bits = 0;
	tsr_mem_t mem;
	if (tsr_cpu_leads(coop) &&
	    tsr_mem_reach(coop, "tsr_get_value", (const TSR_HEAP void *)p, size_bytes, size_bytes,
			  peer, TSR_MEM_READ, &mem)) {
		tsr_mem_count(coop, &mem, TSR_MEM_READ, size_bytes);
		tsr_mem_read(&mem, &bits, mem.at, size_bytes);
	}
	bits = tsr_cpu_give(coop, "tsr_get_value", bits);
	return memcpy(value, &bits, size_bytes); /* little-endian, as every machine of this field */
}

/* ------------------------------------------------------------------ one record */

void tsr_cpu_put_record(tsr_coop_t *coop, void *p, const void *record, size_t size_bytes,
			size_t align, int peer)
{
	tsr_mem_t mem;
	if (!tsr_cpu_leads(coop) || !tsr_mem_reach(coop, "tsr_put_record", (TSR_HEAP void *)p,
						   size_bytes, align, peer, TSR_MEM_WRITE, &mem))
		return;
	tsr_mem_count(coop, &mem, TSR_MEM_WRITE, size_bytes);
	tsr_mem_write(&mem, mem.at, record, size_bytes);
	tsr_cpu_event_sent(coop);
}

/**
 * If the call may not access the record, it returns zeros, so that the kernel
 * does not continue with the variable's old content.
 */
void tsr_cpu_get_record(tsr_coop_t *coop, void *record, const void *p, size_t size_bytes,
			size_t align, int peer)
{
	tsr_mem_t mem;
	if (!tsr_mem_reach(coop, "tsr_get_record", (const TSR_HEAP void *)p, size_bytes, align,
			   peer, TSR_MEM_READ, &mem)) {
		memset(record, 0, size_bytes);
		return;
	}
	/* all threads read the same bytes, which count once, as in a get */
	if (tsr_cpu_leads(coop))
		tsr_mem_count(coop, &mem, TSR_MEM_READ, size_bytes);
	tsr_mem_read(&mem, record, mem.at, size_bytes);
}
