/* Accumulators in memory, in the order of the backend: handed from coop to coop. */
#include "cpuemu/dev/fragments/value.h"

enum { SAVED_ALIGN_BYTES = 16 };

/** A fragment in memory: row by row, in the type in which it is held. False: a misuse was noted. */
static bool saved_view(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag,
		       const TSR_HEAP void *memory, tsr_view_t *view)
{
	if (frag->rows != frag->tile.m || frag->cols != frag->tile.n)
		return tsr_cpu_misuse(coop, call, "only accumulators are saved",
				      "of an operand or of rows, %d x %d", (int)frag->rows,
				      (int)frag->cols);
	if ((uintptr_t)memory % SAVED_ALIGN_BYTES != 0)
		return tsr_cpu_misuse(coop, call, "align it to 16 bytes", "of memory at %p",
				      (const void *)memory);
	*view = (tsr_view_t){(TSR_HEAP void *)(uintptr_t)memory,
			     frag->rows,
			     frag->cols,
			     frag->cols,
			     frag->held,
			     TSR_SPACE_HEAP};
	return true;
}

void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag)
{
	tsr_view_t view;
	if (saved_view(coop, __func__, frag, memory, &view))
		tsr_frag_store_saved(coop, __func__, view, frag, TSR_CPU_OF_SAVED_FRAG,
				     tsr_rank(coop));
}

static void add_element(int32_t held, unsigned char *to, const unsigned char *x)
{
	if (held == TSR_F64)
		*(double *)(void *)to += *(const double *)(const void *)x;
	else if (held == TSR_F32)
		*(float *)(void *)to += *(const float *)(const void *)x;
	else
		*(uint32_t *)(void *)to += *(const uint32_t *)(const void *)x;
}

/** Adds the elements of a view of my memory. */
static void add_from(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view)
{
	tsr_frag_t *saved = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C);
	tsr_frag_load_saved(coop, call, saved, view, TSR_CPU_OF_SAVED_FRAG);
	for (int64_t row = frag->first; saved->elements && row < frag->last; row++)
		for (int64_t col = 0; col < frag->cols; col++)
			add_element(frag->held, tsr_frag_at(frag, row, col),
				    tsr_frag_at(saved, row, col));
	tsr_cpu_frag_drop(&saved);
}

void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory)
{
	tsr_view_t view;
	if (saved_view(coop, __func__, frag, memory, &view) &&
	    tsr_frag_has_values(coop, __func__, frag))
		add_from(coop, __func__, frag, view);
}

/* ------------------------------------------------------------------ sent to a peer */

/** A header before the elements: a receiver that reads another type or tile is told. */
typedef struct sent_header {
	uint32_t magic;
	uint16_t m, n;
	uint16_t k;
	uint8_t dtype, as;
	uint32_t coop; /* threads of the same number: coop_kind */
} sent_header_t;
_Static_assert(sizeof(sent_header_t) == TSR_CPU_SENT_HEADER_BYTES, "TSR_FRAG_SENT_BYTES counts it");

enum { SENT_MAGIC = 0x54535246, SENT_BY_WORKER = 1 << 16, SENT_BY_MAIN_WORKER = 1 << 17 };

/**
 * Equal for coops that have as many threads on every backend: blocks, main
 * workers, other workers.
 */
static uint32_t coop_kind(const tsr_coop_t *coop)
{
	const uint32_t workers = coop->block->kernel->workers;
	if (coop->kind == TSR_CPU_BLOCK || workers == 1)
		return workers;
	return coop->worker->index == 0 ? (uint32_t)SENT_BY_MAIN_WORKER | workers
					: (uint32_t)SENT_BY_WORKER;
}

static sent_header_t header_of(const tsr_coop_t *coop, const tsr_frag_t *frag, tsr_dtype_t as)
{
	return (sent_header_t){.magic = SENT_MAGIC,
			       .m = (uint16_t)frag->tile.m,
			       .n = (uint16_t)frag->tile.n,
			       .k = (uint16_t)frag->tile.k,
			       .dtype = (uint8_t)frag->tile.dtype,
			       .as = (uint8_t)as,
			       .coop = coop_kind(coop)};
}

/** The elements, behind the header. False: a misuse was noted. */
static bool sent_view(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag,
		      const TSR_HEAP void *memory, tsr_dtype_t as, tsr_view_t *view)
{
	if (!saved_view(coop, call, frag, memory, view))
		return false;
	if (frag->held == TSR_I32)
		return tsr_cpu_misuse(
			coop, call,
			"send sums of f64, f32, f16 or bf16; tsr_put what tsr_frag_save has left",
			"of a fragment of %s", tsr_dtype_name((tsr_dtype_t)frag->tile.dtype));
	if (as != TSR_F32 && as != TSR_F16 && as != TSR_BF16)
		return tsr_cpu_misuse(coop, call, "send them as f32, f16 or bf16",
				      "as elements of %s", tsr_dtype_name(as));
	view->data = (TSR_HEAP unsigned char *)view->data + TSR_CPU_SENT_HEADER_BYTES;
	view->dtype = (int32_t)as;
	return true;
}

void tsr_frag_send(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag, tsr_dtype_t as,
		   int peer)
{
	const sent_header_t header = header_of(coop, frag, as);
	tsr_view_t view;
	tsr_mem_t mem;
	if (!frag->elements || !sent_view(coop, __func__, frag, memory, as, &view))
		return;
	if (tsr_cpu_leads(coop) && tsr_frag_has_values(coop, __func__, frag) &&
	    tsr_mem_reach(coop, __func__, memory, sizeof header, 1, peer, TSR_MEM_WRITE, &mem))
		tsr_mem_write(&mem, mem.at, &header, sizeof header);
	tsr_frag_store_saved(coop, __func__, view, frag, TSR_CPU_OF_SAVED_FRAG, peer);
}

/** Whether the fragment was sent in the way that the caller adds it. False: misuse, noted. */
static bool was_sent_so(tsr_coop_t *coop, const char *call, const TSR_HEAP void *memory,
			const sent_header_t *expected)
{
	const char *cure =
		"send and add with one configuration, one dtype and coops of as many threads";
	sent_header_t sent = {.magic = 0};
	tsr_mem_t mem;
	if (!tsr_mem_reach(coop, call, memory, sizeof sent, 1, tsr_rank(coop), TSR_MEM_READ, &mem))
		return false;
	tsr_mem_read(&mem, &sent, mem.at, sizeof sent);
	if (memcmp(&sent, expected, sizeof sent) == 0)
		return true;
	if (sent.magic != SENT_MAGIC)
		return tsr_cpu_misuse(coop, call,
				      "tsr_frag_send, and a signal that is waited for, come first",
				      "of memory in which nothing stands that was sent");
	if (sent.coop != expected->coop)
		return tsr_cpu_misuse(coop, call, cure, "of what a coop of another kind has sent");
	return tsr_cpu_misuse(coop, call, cure,
			      "of %u x %u elements as %s of what was sent as %u x %u as %s, in "
			      "tiles %u deep of %s",
			      expected->m, expected->n, tsr_dtype_name((tsr_dtype_t)expected->as),
			      sent.m, sent.n, tsr_dtype_name((tsr_dtype_t)sent.as), sent.k,
			      tsr_dtype_name((tsr_dtype_t)sent.dtype));
}

void tsr_frag_add_sent(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory,
		       tsr_dtype_t as)
{
	const sent_header_t expected = header_of(coop, frag, as);
	tsr_view_t view;
	if (!frag->elements || !sent_view(coop, __func__, frag, memory, as, &view) ||
	    !tsr_frag_has_values(coop, __func__, frag) ||
	    !was_sent_so(coop, __func__, memory, &expected))
		return;
	add_from(coop, __func__, frag, view);
}
