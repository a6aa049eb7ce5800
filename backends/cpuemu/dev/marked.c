/* Words that carry their own flag. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/far.h"
#include "cpuemu/dev/memory/flag.h"
#include "cpuemu/events.h"

enum { CHUNK = 64, EPOCH_SHIFT = 32 }; /* words that are moved at a time */

/** Where a message and its words are: rows of bytes, each in whole words. */
typedef struct message {
	tsr_mem_t words, data;
	size_t row_bytes, pitch;
	int64_t rows, row_words; /* row_words: from the first word of a row to that of the next */
	uint32_t epoch;
} message_t;

/** Words of a message that lie in one row. */
typedef struct stretch {
	int64_t count;
	size_t bytes, at; /* at: from the beginning of the message's memory */
} stretch_t;

static int64_t words_of(const message_t *m)
{
	return m->rows * (int64_t)TSR_MARKED_WORDS(m->row_bytes);
}

/** Words from `first` on, as many as fit into a chunk. */
static stretch_t stretch_of(const message_t *m, int64_t first, int64_t last)
{
	const int64_t each = (int64_t)TSR_MARKED_WORDS(m->row_bytes), row = first / each,
		      begin = first - row * each, end = last - row * each,
		      most = end < each ? end - begin : each - begin,
		      count = most < CHUNK ? most : CHUNK;
	const size_t left = m->row_bytes - 4 * (size_t)begin;
	return (stretch_t){count, left < 4 * (size_t)count ? left : 4 * (size_t)count,
			   (size_t)row * m->pitch + 4 * (size_t)begin};
}

/** Bytes of the message in the words first .. last - 1. */
static size_t bytes_of(const message_t *m, int64_t first, int64_t last)
{
	size_t bytes = 0;
	for (int64_t i = first; i < last;) {
		const stretch_t s = stretch_of(m, i, last);
		bytes += s.bytes;
		i += s.count;
	}
	return bytes;
}

/** Where word `i` of the message lies, in words from the first. */
static int64_t place_of(const message_t *m, int64_t i)
{
	const int64_t each = (int64_t)TSR_MARKED_WORDS(m->row_bytes), row = i / each;
	return row * m->row_words + i - row * each;
}

static tsr_mem_t word_at(const message_t *m, int64_t i)
{
	tsr_mem_t word = m->words;
	word.at += (size_t)place_of(m, i) * sizeof(uint64_t);
	return word;
}

/** Relaxed. Partner: look_at. Litmus: LB.marked.diffGPU-ss. */
static void store_word(const message_t *m, int64_t i, uint32_t data)
{
	const tsr_mem_t word = word_at(m, i);
	const uint64_t bits = (uint64_t)m->epoch << EPOCH_SHIFT | data;
	const tsr_explored_atomic_t atomic = {.kind = TSR_MEM_U64,
					      .op = TSR_CPU_STORE,
					      .bits = bits,
					      .order = TSR_RELAXED,
					      .scope = TSR_SCOPE_SYSTEM};
	if (word.explored)
		(void)tsr_explored_atomic(&word, &atomic);
	else
		(void)tsr_mem_atomic(&word, TSR_MEM_U64, TSR_CPU_STORE, bits, TSR_RELAXED,
				     TSR_SCOPE_SYSTEM);
}

/** The words of a stretch, which lie side by side. Partner and litmus as store_word. */
static void store_far(const message_t *m, int64_t first, const uint32_t *data, int64_t count)
{
	const tsr_mem_t to = word_at(m, first);
	uint64_t words[CHUNK];
	for (int64_t i = 0; i < count; i++)
		words[i] = (uint64_t)m->epoch << EPOCH_SHIFT | data[i];
	tsr_far_each(&to, to.at, TSR_MEM_U64, TSR_CPU_STORE, words, (size_t)count);
}

/** The thread's share of the words first .. last - 1. */
static void store_words(const message_t *m, int64_t first, int64_t last)
{
	uint32_t chunk[CHUNK];
	for (int64_t i = first; i < last;) {
		const stretch_t s = stretch_of(m, i, last);
		memset(chunk, 0, sizeof chunk);
		tsr_mem_read(&m->data, chunk, m->data.at + s.at, s.bytes);
		if (m->words.far)
			store_far(m, i, chunk, s.count);
		for (int64_t j = 0; !m->words.far && j < s.count; j++)
			store_word(m, i + j, chunk[j]);
		i += s.count;
	}
}

/** `counts`: of a put to several ranks, the first one that reads. */
static void put_words(tsr_coop_t *coop, const message_t *m, bool counts)
{
	int64_t first, last;
	tsr_cpu_share(coop, words_of(m), &first, &last);
	if (first == last)
		return;
	if (first == 0) /* of the whole message: a take of it begins with its first word */
		tsr_cpu_event_signal(coop, &m->words, m->epoch);
	const size_t bytes = bytes_of(m, first, last);
	if (counts)
		tsr_mem_count(coop, &m->data, TSR_MEM_READ, bytes);
	tsr_mem_count(coop, &m->words, TSR_MEM_WRITE, bytes);
	store_words(m, first, last);
	tsr_cpu_event_sent(coop);
	if (!m->words.explored && !m->words.far) {
		const tsr_mem_t mine = word_at(m, first);
		tsr_bell_ring_groups(coop->block->env, &mine,
				     tsr_cpu_wait_groups(coop->block->env, &mine,
							 place_of(m, last - 1) -
								 place_of(m, first) + 1));
	}
}

/** Whether the words are memory of `peer` that the call may reach. */
static bool reach_words(tsr_coop_t *coop, const char *call, const TSR_HEAP uint64_t *words,
			int peer, tsr_mem_access_t access, message_t *m)
{
	const size_t count = (size_t)place_of(m, words_of(m) - 1) + 1;
	return tsr_mem_reach(coop, call, words, count * sizeof *words, sizeof *words, peer, access,
			     &m->words);
}

static void put_from(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *dst,
		     const TSR_HEAP void *src, size_t size_bytes, uint32_t epoch, int peer,
		     bool counts)
{
	message_t m = {.row_bytes = size_bytes, .rows = 1, .epoch = epoch};
	if (size_bytes > 0 && reach_words(coop, call, dst, peer, TSR_MEM_WRITE, &m) &&
	    tsr_mem_reach(coop, call, src, size_bytes, 1, tsr_rank(coop), TSR_MEM_READ, &m.data))
		put_words(coop, &m, counts);
}

void tsr_put_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
		    size_t size_bytes, uint32_t epoch, int peer)
{
	put_from(coop, __func__, dst, src, size_bytes, epoch, peer, true);
}

void tsr_put_all_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
			size_t size_bytes, uint32_t epoch)
{
	for (int i = 0; i < tsr_size(coop); i++)
		put_from(coop, __func__, dst, src, size_bytes, epoch, tsr_peer(coop, i), i == 0);
}

static message_t rows_of(tsr_view_t view, int64_t row_words, uint32_t epoch)
{
	const size_t element = tsr_cpu_bytes(view.dtype);
	return (message_t){.row_bytes = (size_t)view.cols * element,
			   .pitch = (size_t)view.ld * element,
			   .rows = view.rows,
			   .row_words = row_words,
			   .epoch = epoch};
}

void tsr_port_put_words(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, int64_t row_words, tsr_view_t src,
			uint32_t epoch, int peer)
{
	const bool all = peer == TSR_ANY_RANK;
	message_t m = rows_of(src, row_words, epoch);
	for (int i = 0; i < (all ? tsr_size(coop) : 1); i++)
		if (reach_words(coop, __func__, dst, all ? tsr_peer(coop, i) : peer, TSR_MEM_WRITE,
				&m) &&
		    tsr_mem_reach_view(coop, __func__, src, tsr_rank(coop), TSR_MEM_READ, &m.data))
			put_words(coop, &m, i == 0);
}

/* ------------------------------------------------------------------ taking */

/** A wait for one word after the other. */
typedef struct taking {
	tsr_cpu_wait_t wait; /* first: what look_at gets */
	uint64_t bits;       /* of the word that has come */
	uint64_t left_ns;    /* of the deadline */
} taking_t;

/**
 * Reads the word once. A word with the epoch has the data too. Relaxed. Partner:
 * store_word. Litmus: LB.marked.diffGPU-ss.
 */
static bool look_at(void *ctx)
{
	taking_t *t = ctx;
	t->bits = tsr_mem_atomic(&t->wait.flags, TSR_MEM_U64, TSR_CPU_LOAD, 0, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
	t->wait.seen = t->bits >> EPOCH_SHIFT;
	return t->wait.seen == t->wait.value;
}

/** Waits for word `i`, of `src`. */
static tsr_wait_result_t take_word(taking_t *t, const char *call, const message_t *m,
				   const TSR_HEAP uint64_t *src, int64_t i, bool ends_world)
{
	t->wait.flags = word_at(m, i);
	if (!m->words.explored && look_at(t)) /* as most have, once the first has come */
		return tsr_cpu_aborted(t->wait.coop) ? TSR_WAIT_ABORTED : TSR_WAIT_OK;
	const tsr_wait_result_t how =
		tsr_cpu_wait_at(&t->wait, call, src + place_of(m, i), tsr_rank(t->wait.coop),
				t->left_ns, ends_world);
	t->left_ns -= t->wait.waited_ns < t->left_ns ? t->wait.waited_ns : t->left_ns;
	if (t->wait.flags.explored)
		t->bits = t->wait.seen;
	return how;
}

/** By the coop's first thread. */
static tsr_wait_result_t take_words(tsr_coop_t *coop, const char *call, const message_t *m,
				    const TSR_HEAP uint64_t *src, int from, uint64_t deadline_ns,
				    bool ends_world)
{
	const int64_t words = words_of(m);
	uint32_t chunk[CHUNK];
	taking_t t = {.wait = {.coop = coop,
			       .look = look_at,
			       .count = 1,
			       .word_bytes = sizeof(uint64_t),
			       .shift = EPOCH_SHIFT,
			       .cmp = TSR_CMP_EQ,
			       .value = m->epoch,
			       .order = TSR_RELAXED,
			       .scope = TSR_SCOPE_SYSTEM,
			       .from = from},
		      .left_ns = deadline_ns};
	for (int64_t i = 0; i < words;) {
		const stretch_t s = stretch_of(m, i, words);
		for (int64_t j = 0; j < s.count; j++) {
			const tsr_wait_result_t how =
				take_word(&t, call, m, src, i + j, ends_world);
			if (how != TSR_WAIT_OK)
				return how;
			chunk[j] = (uint32_t)t.bits;
		}
		tsr_mem_write(&m->data, m->data.at + s.at, chunk, s.bytes);
		i += s.count;
	}
	return TSR_WAIT_OK;
}

/** A take: its message, and whether `dst` is a view or `m->row_bytes` bytes of memory. */
typedef struct take {
	const char *call;
	const TSR_HEAP uint64_t *src;
	const TSR_HEAP void *dst;
	const tsr_view_t *view;
	int from;
	uint64_t deadline_ns;
	bool ends_world;
} take_t;

static bool reach_taken(tsr_coop_t *coop, const take_t *t, message_t *m)
{
	const int me = tsr_rank(coop);
	return reach_words(coop, t->call, t->src, me, TSR_MEM_READ, m) &&
	       (t->view != NULL
			? tsr_mem_reach_view(coop, t->call, *t->view, me, TSR_MEM_WRITE, &m->data)
			: tsr_mem_reach(coop, t->call, t->dst, m->row_bytes, 1, me, TSR_MEM_WRITE,
					&m->data));
}

/** What the coop's first thread does. */
static tsr_wait_result_t take_message(tsr_coop_t *coop, const take_t *t, message_t *m)
{
	if (m->row_bytes == 0)
		return tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : TSR_WAIT_OK;
	if (!reach_taken(coop, t, m))
		return TSR_WAIT_ABORTED;
	tsr_mem_count(coop, &m->data, TSR_MEM_WRITE, bytes_of(m, 0, words_of(m)));
	const uint64_t begin_ns = tsr_cpu_event_begin(coop);
	const tsr_wait_result_t how =
		take_words(coop, t->call, m, t->src, t->from, t->deadline_ns, t->ends_world);
	if (how == TSR_WAIT_OK)
		tsr_cpu_event_waited(coop, begin_ns, &m->words, t->from, m->epoch);
	return how;
}

static tsr_wait_result_t take_from(tsr_coop_t *coop, const take_t *t, message_t m)
{
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	if (!tsr_cpu_meet(coop, t->call))
		return how;
	if (tsr_cpu_leads(coop))
		how = take_message(coop, t, &m);
	if (coop->count > 1)
		how = (tsr_wait_result_t)tsr_cpu_give(coop, t->call, (uint64_t)how);
	tsr_cpu_met(coop);
	return coop->count > 1 && tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : how;
}

tsr_wait_result_t tsr_take_marked(tsr_coop_t *coop, TSR_HEAP void *dst,
				  const TSR_HEAP uint64_t *src, size_t size_bytes, uint32_t epoch,
				  int from)
{
	const take_t t = {__func__, src, dst, NULL, from, coop->block->env->host->deadline_ns,
			  true};
	return take_from(coop, &t, (message_t){.row_bytes = size_bytes, .rows = 1, .epoch = epoch});
}

tsr_wait_result_t tsr_take_marked_until(tsr_coop_t *coop, TSR_HEAP void *dst,
					const TSR_HEAP uint64_t *src, size_t size_bytes,
					uint32_t epoch, int from, uint64_t deadline_ns)
{
	const take_t t = {__func__, src, dst, NULL, from, deadline_ns, false};
	return take_from(coop, &t, (message_t){.row_bytes = size_bytes, .rows = 1, .epoch = epoch});
}

tsr_wait_result_t tsr_port_take_words(tsr_coop_t *coop, tsr_view_t dst,
				      const TSR_HEAP uint64_t *src, int64_t row_words,
				      uint32_t epoch, int from)
{
	const take_t t = {__func__, src, NULL, &dst, from, coop->block->env->host->deadline_ns,
			  true};
	return take_from(coop, &t, rows_of(dst, row_words, epoch));
}
