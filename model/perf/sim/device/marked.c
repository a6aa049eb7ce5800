/*
 * Words that carry their own flag. A message arrives as a whole. Its words are
 * real where it is small, since kernels act on counts that come so; of a large
 * one, a part of a matrix, the first is.
 */
#include <stdlib.h>
#include <string.h>

#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

enum { EPOCH_SHIFT = 32, SMALL_WORDS = 16 << 10 };

typedef struct message {
	size_t row_bytes, pitch, rows;
	size_t row_words; /* from the first word of a row to that of the next */
	uint32_t epoch;
} message_t;

static size_t words_of(const message_t *m)
{
	return m->rows * TSR_MARKED_WORDS(m->row_bytes);
}

/** What of it is real. */
static sim_rows_t real_part(const message_t *m)
{
	const size_t each = TSR_MARKED_WORDS(m->row_bytes);
	if (words_of(m) > SMALL_WORDS)
		return (sim_rows_t){1, 1, 1};
	return (sim_rows_t){each, m->rows, m->rows > 1 ? m->row_words : each};
}

static void fill_words(const message_t *m, const sim_rows_t *rows, const unsigned char *data,
		       uint64_t *words)
{
	for (size_t row = 0; row < rows->rows; row++)
		for (size_t i = 0; i < rows->words; i++) {
			const size_t at = 4 * i, left = m->row_bytes - at;
			uint32_t value = 0;
			memcpy(&value, data + row * m->pitch + at, left < 4 ? left : 4);
			words[row * rows->words + i] = (uint64_t)m->epoch << EPOCH_SHIFT | value;
		}
}

/* ------------------------------------------------------------------ putting */

static void put_words(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *dst,
		      const unsigned char *data, const message_t *m, int peer)
{
	tsr_exploration_t *sim = tsr_cpu_exploration(coop);
	const sim_rows_t rows = real_part(m);
	const double bytes = (double)(m->row_bytes * m->rows);
	uint64_t *words = malloc(rows.words * rows.rows * sizeof *words);
	tsr_mem_t to;
	if (!words)
		sim_no_memory(sim);
	if (bytes > 0 &&
	    tsr_mem_reach(coop, call, dst, sizeof *dst, sizeof *dst, peer, TSR_MEM_WRITE, &to)) {
		tsr_cpu_event_signal(coop, &to, m->epoch);
		tsr_mem_count(coop, &to, TSR_MEM_WRITE, (uint64_t)bytes);
		fill_words(m, &rows, data, words);
		sim_move(sim, coop->block->env->rank, to.rank, 2 * bytes);
		sim_send_words(sim, (uint64_t *)(void *)to.at, words, &rows, to.rank);
		tsr_cpu_event_sent(coop);
	}
	free(words);
}

void tsr_put_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
		    size_t size_bytes, uint32_t epoch, int peer)
{
	const message_t m = {.row_bytes = size_bytes, .rows = 1, .epoch = epoch};
	put_words(coop, __func__, dst, (const unsigned char *)src, &m, peer);
}

void tsr_put_all_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
			size_t size_bytes, uint32_t epoch)
{
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_put_marked(coop, dst, src, size_bytes, epoch, tsr_peer(coop, i));
}

static message_t rows_of(tsr_view_t view, int64_t row_words, uint32_t epoch)
{
	const size_t element = tsr_cpu_bytes(view.dtype);
	return (message_t){.row_bytes = (size_t)view.cols * element,
			   .pitch = (size_t)view.ld * element,
			   .rows = (size_t)view.rows,
			   .row_words = (size_t)row_words,
			   .epoch = epoch};
}

void tsr_port_put_words(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, int64_t row_words, tsr_view_t src,
			uint32_t epoch, int peer)
{
	const bool all = peer == TSR_ANY_RANK;
	const message_t m = rows_of(src, row_words, epoch);
	for (int i = 0; i < (all ? tsr_size(coop) : 1); i++)
		put_words(coop, __func__, dst, (const unsigned char *)src.data, &m,
			  all ? tsr_peer(coop, i) : peer);
}

/* ------------------------------------------------------------------ taking */

static void take_data(const message_t *m, const uint64_t *words, unsigned char *dst)
{
	const sim_rows_t rows = real_part(m);
	for (size_t row = 0; words_of(m) <= SMALL_WORDS && row < rows.rows; row++)
		for (size_t i = 0; i < rows.words; i++) {
			const size_t at = 4 * i, left = m->row_bytes - at;
			const uint32_t value = (uint32_t)words[row * rows.pitch + i];
			memcpy(dst + row * m->pitch + at, &value, left < 4 ? left : 4);
		}
}

/** `deadline_ns`: null where the wait has none. */
static tsr_wait_result_t take_words(tsr_coop_t *coop, const char *call, TSR_HEAP void *dst,
				    const TSR_HEAP uint64_t *src, const message_t *m, int from,
				    const uint64_t *deadline_ns)
{
	tsr_exploration_t *sim = tsr_cpu_exploration(coop);
	const int me = coop->block->env->rank;
	const double bytes = (double)(m->row_bytes * m->rows);
	tsr_mem_t words;
	int which;
	uint64_t seen;
	if (!(bytes > 0) || !tsr_mem_reach(coop, call, src, sizeof *src, sizeof *src,
					   tsr_rank(coop), TSR_MEM_READ, &words))
		return TSR_WAIT_OK;
	const tsr_flag_wait_t wait = {.flags = words.at,
				      .count = 1,
				      .word_bytes = sizeof *src,
				      .shift = EPOCH_SHIFT,
				      .cmp = TSR_CMP_EQ,
				      .value = m->epoch,
				      .order = TSR_VIEWS_RELAXED,
				      .scope = TSR_VIEWS_SYSTEM,
				      .from = coop->block->team->ranks[from],
				      .deadline = deadline_ns != NULL,
				      .deadline_ns = deadline_ns ? *deadline_ns : 0};
	const tsr_op_site_t site = tsr_explored_site(coop, call);
	const uint64_t begin_ns = tsr_cpu_event_begin(coop);
	if (tsr_exploration_wait_flag(sim, &site, &wait, &which, &seen) != TSR_FLAG_OK)
		return TSR_WAIT_EXPIRED;
	tsr_cpu_event_waited(coop, begin_ns, &words, from, m->epoch);
	take_data(m, (const uint64_t *)(const void *)words.at, (unsigned char *)dst);
	const tsr_mem_t mine = {.rank = me};
	tsr_mem_count(coop, &mine, TSR_MEM_WRITE, (uint64_t)bytes);
	sim_move(sim, me, me, bytes);
	return TSR_WAIT_OK;
}

tsr_wait_result_t tsr_take_marked(tsr_coop_t *coop, TSR_HEAP void *dst,
				  const TSR_HEAP uint64_t *src, size_t size_bytes, uint32_t epoch,
				  int from)
{
	const message_t m = {.row_bytes = size_bytes, .rows = 1, .epoch = epoch};
	return take_words(coop, __func__, dst, src, &m, from, NULL);
}

tsr_wait_result_t tsr_take_marked_until(tsr_coop_t *coop, TSR_HEAP void *dst,
					const TSR_HEAP uint64_t *src, size_t size_bytes,
					uint32_t epoch, int from, uint64_t deadline_ns)
{
	const message_t m = {.row_bytes = size_bytes, .rows = 1, .epoch = epoch};
	return take_words(coop, __func__, dst, src, &m, from, &deadline_ns);
}

tsr_wait_result_t tsr_port_take_words(tsr_coop_t *coop, tsr_view_t dst,
				      const TSR_HEAP uint64_t *src, int64_t row_words,
				      uint32_t epoch, int from)
{
	const message_t m = rows_of(dst, row_words, epoch);
	return take_words(coop, __func__, dst.data, src, &m, from, NULL);
}
