/* Words that carry their own flag. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/flag.h"
#include "cpuemu/events.h"

enum { CHUNK = 64, EPOCH_SHIFT = 32 }; /* words that are moved at a time */

/** Where a message and its words are. */
typedef struct message {
	tsr_mem_t words, data;
	size_t size_bytes;
	uint32_t epoch;
} message_t;

/** Bytes of the message in the words first .. first + count - 1. */
static size_t bytes_of(const message_t *m, int64_t first, int64_t count)
{
	const size_t begin = 4 * (size_t)first, left = m->size_bytes - begin;
	return left < 4 * (size_t)count ? left : 4 * (size_t)count;
}

static tsr_mem_t word_at(const message_t *m, int64_t i)
{
	tsr_mem_t word = m->words;
	word.at += (size_t)i * sizeof(uint64_t);
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

/** The thread's share of the words first .. last - 1. */
static void store_words(const message_t *m, int64_t first, int64_t last)
{
	uint32_t chunk[CHUNK];
	for (int64_t i = first; i < last; i += CHUNK) {
		const int64_t count = last - i < CHUNK ? last - i : CHUNK;
		memset(chunk, 0, sizeof chunk);
		tsr_mem_read(&m->data, chunk, m->data.at + 4 * i, bytes_of(m, i, count));
		for (int64_t j = 0; j < count; j++)
			store_word(m, i + j, chunk[j]);
	}
}

/** `counts`: of a put to several ranks, the first one that reads. */
static void put_from(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *dst,
		     const TSR_HEAP void *src, size_t size_bytes, uint32_t epoch, int peer,
		     bool counts)
{
	const int64_t words = (int64_t)TSR_MARKED_WORDS(size_bytes);
	message_t m = {.size_bytes = size_bytes, .epoch = epoch};
	int64_t first, last;
	if (size_bytes == 0 ||
	    !tsr_mem_reach(coop, call, dst, (size_t)words * sizeof *dst, sizeof *dst, peer,
			   TSR_MEM_WRITE, &m.words) ||
	    !tsr_mem_reach(coop, call, src, size_bytes, 1, tsr_rank(coop), TSR_MEM_READ, &m.data))
		return;
	tsr_cpu_share(coop, words, &first, &last);
	if (first == last)
		return;
	if (first == 0) /* of the whole message: a take of it begins with its first word */
		tsr_cpu_event_signal(coop, &m.words, epoch);
	if (counts)
		tsr_mem_count(coop, &m.data, TSR_MEM_READ, bytes_of(&m, first, last - first));
	tsr_mem_count(coop, &m.words, TSR_MEM_WRITE, bytes_of(&m, first, last - first));
	store_words(&m, first, last);
	tsr_cpu_event_sent(coop);
	if (!m.words.explored) {
		const tsr_mem_t mine = word_at(&m, first);
		tsr_bell_ring_groups(coop->block->env, &mine,
				     tsr_cpu_wait_groups(coop->block->env, &mine, last - first));
	}
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
		tsr_cpu_wait_at(&t->wait, call, src + i, tsr_rank(t->wait.coop), t->left_ns,
				ends_world);
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
	const int64_t words = (int64_t)TSR_MARKED_WORDS(m->size_bytes);
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
	for (int64_t i = 0; i < words; i += CHUNK) {
		const int64_t count = words - i < CHUNK ? words - i : CHUNK;
		for (int64_t j = 0; j < count; j++) {
			const tsr_wait_result_t how =
				take_word(&t, call, m, src, i + j, ends_world);
			if (how != TSR_WAIT_OK)
				return how;
			chunk[j] = (uint32_t)t.bits;
		}
		tsr_mem_write(&m->data, m->data.at + 4 * i, chunk, bytes_of(m, i, count));
	}
	return TSR_WAIT_OK;
}

static tsr_wait_result_t take_from(tsr_coop_t *coop, const char *call, TSR_HEAP void *dst,
				   const TSR_HEAP uint64_t *src, size_t size_bytes, uint32_t epoch,
				   int from, uint64_t deadline_ns, bool ends_world)
{
	message_t m = {.size_bytes = size_bytes, .epoch = epoch};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	if (!tsr_cpu_meet(coop, call))
		return how;
	if (tsr_cpu_leads(coop)) {
		if (size_bytes == 0)
			how = tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : TSR_WAIT_OK;
		else if (tsr_mem_reach(coop, call, src,
				       TSR_MARKED_WORDS(size_bytes) * sizeof(uint64_t),
				       sizeof(uint64_t), tsr_rank(coop), TSR_MEM_READ, &m.words) &&
			 tsr_mem_reach(coop, call, dst, size_bytes, 1, tsr_rank(coop),
				       TSR_MEM_WRITE, &m.data)) {
			tsr_mem_count(coop, &m.data, TSR_MEM_WRITE, size_bytes);
			const uint64_t begin_ns = tsr_cpu_event_begin(coop);
			how = take_words(coop, call, &m, src, from, deadline_ns, ends_world);
			if (how == TSR_WAIT_OK)
				tsr_cpu_event_waited(coop, begin_ns, &m.words, from, epoch);
		}
	}
	if (coop->count > 1)
		how = (tsr_wait_result_t)tsr_cpu_give(coop, call, (uint64_t)how);
	tsr_cpu_met(coop);
	return coop->count > 1 && tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : how;
}

tsr_wait_result_t tsr_take_marked(tsr_coop_t *coop, TSR_HEAP void *dst,
				  const TSR_HEAP uint64_t *src, size_t size_bytes, uint32_t epoch,
				  int from)
{
	return take_from(coop, __func__, dst, src, size_bytes, epoch, from,
			 coop->block->env->host->deadline_ns, true);
}

tsr_wait_result_t tsr_take_marked_until(tsr_coop_t *coop, TSR_HEAP void *dst,
					const TSR_HEAP uint64_t *src, size_t size_bytes,
					uint32_t epoch, int from, uint64_t deadline_ns)
{
	return take_from(coop, __func__, dst, src, size_bytes, epoch, from, deadline_ns, false);
}
