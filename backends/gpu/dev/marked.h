/* Bodies of dev/marked.h. */
#ifndef TESSERA_GPU_DEV_MARKED_H
#define TESSERA_GPU_DEV_MARKED_H

#include "gpu/dev/signal.h"

enum {
	/* words that a thread has in flight: of a message, or while it polls */
	TSR_GPU_MARKED_IN_FLIGHT = 4,
	/* After this many polls a thread polls less and less often. The first of them take longer
	 * than a message travels. */
	TSR_GPU_MARKED_AT_FULL_SPEED = 64
};

/** A message, and the words that carry it. */
typedef struct tsr_gpu_message {
	char *data;
	uint64_t *words;
	int64_t size_bytes, count;
	uint64_t mark; /* the epoch, where the words have it */
	bool by_fours; /* words of the message are aligned */
} tsr_gpu_message_t;

TSR_DEV tsr_gpu_message_t tsr_gpu_message(const void *data, const uint64_t *words,
					  size_t size_bytes, uint32_t epoch)
{
	tsr_gpu_message_t m;
	m.data = (char *)data;
	m.words = tsr_port_global((uint64_t *)words);
	m.size_bytes = (int64_t)size_bytes;
	m.count = (int64_t)TSR_MARKED_WORDS(size_bytes);
	m.mark = (uint64_t)epoch << 32;
	m.by_fours = (uintptr_t)data % 4 == 0;
	return m;
}

TSR_DEV bool tsr_gpu_accepts_message(const tsr_coop_t *coop, const tsr_gpu_message_t &m, int peer)
{
	return tsr_gpu_accepts(coop, m.words, (uint64_t)m.count * sizeof *m.words, peer) &&
	       (tsr_port_is_shared(m.data) ||
		tsr_gpu_accepts(coop, m.data, (uint64_t)m.size_bytes, tsr_rank(coop)));
}

/*
 * Words first .. last - 1 of a message. WHOLE: aligned and of four bytes each,
 * several in flight; otherwise byte by byte, up to the message's end.
 */
template <bool WHOLE> struct tsr_gpu_words {
	enum { IN_FLIGHT = WHOLE ? TSR_GPU_MARKED_IN_FLIGHT : 1 };
	int64_t first, last;
};

/** Bytes behind the message's end are 0. */
template <bool WHOLE>
TSR_DEV uint32_t tsr_gpu_message_read(const tsr_gpu_message_t &m, int64_t word)
{
	if constexpr (WHOLE) {
		return ((const uint32_t *)m.data)[word];
	} else {
		uint32_t bits = 0;
		TSR_GPU_NO_UNROLL
		for (int64_t at = 4 * word, b = 0; b < 4 && at + b < m.size_bytes; b++)
			bits |= (uint32_t)(uint8_t)m.data[at + b] << 8 * b;
		return bits;
	}
}

template <bool WHOLE>
TSR_DEV void tsr_gpu_message_write(const tsr_gpu_message_t &m, int64_t word, uint32_t bits)
{
	if constexpr (WHOLE) {
		((uint32_t *)m.data)[word] = bits;
	} else {
		TSR_GPU_NO_UNROLL
		for (int64_t at = 4 * word, b = 0; b < 4 && at + b < m.size_bytes; b++)
			m.data[at + b] = (char)(bits >> 8 * b);
	}
}

/** The words before the first one that moves byte by byte. */
TSR_DEV int64_t tsr_gpu_whole_words(const tsr_gpu_message_t &m)
{
	return m.by_fours ? m.size_bytes / 4 : 0;
}

/* ---- putting */

/**
 * Each thread's words, to each place. One relaxed store a word. Partner:
 * tsr_gpu_marked_look. Litmus: LB.marked.diffGPU-ss. The first word is the
 * leading thread's, here and in a take: so a fence of the coop before the put,
 * and one after the take, are by the threads that put and take that word.
 * Litmus: MP.frel.facq.diffGPU-ss.
 */
template <bool WHOLE, typename TO>
TSR_DEV void tsr_gpu_put_words(const tsr_coop_t *coop, const TO &to, const tsr_gpu_message_t &m,
			       tsr_gpu_words<WHOLE> words)
{
	enum { IN_FLIGHT = tsr_gpu_words<WHOLE>::IN_FLIGHT };
	const int64_t step = coop->threads;
	TSR_GPU_NO_UNROLL
	for (int64_t at = words.first + coop->thread; at < words.last; at += IN_FLIGHT * step) {
		uint32_t held[IN_FLIGHT];
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++)
			held[i] = at + i * step < words.last
					  ? tsr_gpu_message_read<WHOLE>(m, at + i * step)
					  : 0;
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_places(to); place++) {
			char *base = (char *)m.words + tsr_gpu_peer_offset(to, place);
			uint64_t *theirs = tsr_port_global((uint64_t *)base) + at;
			TSR_GPU_UNROLL
			for (int i = 0; i < IN_FLIGHT; i++)
				if (at + i * step < words.last)
					tsr_port_store<TSR_RELAXED, TSR_SCOPE_SYSTEM>(
						theirs + i * step, m.mark | held[i]);
		}
	}
}

template <typename TO>
TSR_DEV void tsr_gpu_put_message(const tsr_coop_t *coop, const TO &to, const tsr_gpu_message_t &m)
{
	const int64_t whole = tsr_gpu_whole_words(m);
	const tsr_gpu_words<true> fast = {0, whole};
	const tsr_gpu_words<false> rest = {whole, m.count};
	tsr_gpu_put_words(coop, to, m, fast);
	tsr_gpu_put_words(coop, to, m, rest);
}

/** `count` words of the room, from the first on, each by a relaxed store at the peer. */
TSR_DEV void tsr_gpu_far_put_words(tsr_coop_t *coop, tsr_gpu_asking_t *a, const uint64_t *mine,
				   int64_t pitch, int64_t each, int64_t rows, int peer)
{
	tsr_gpu_request_t want =
		tsr_gpu_far_rows(coop, TSR_GPU_ASK_EACH, mine, pitch, each * 8, rows, peer);
	want.kind = TSR_GPU_WORD_U64;
	want.op = TSR_GPU_OP_STORE;
	want.bytes = 8;
	tsr_gpu_far_send(coop, a, want);
}

TSR_GPU_CALLED void tsr_gpu_far_put_message_seldom(tsr_coop_t *coop, const tsr_gpu_message_t &m,
						   int peer)
{
	enum { MOST = TSR_GPU_ROOM_BYTES / 8 };
	tsr_gpu_one_place_t there;
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	TSR_GPU_NO_UNROLL
	for (int64_t first = 0; first < m.count && a.room; first += MOST) {
		tsr_gpu_message_t part = m;
		part.data += 4 * first;
		part.size_bytes = m.size_bytes - 4 * first < 4 * MOST ? m.size_bytes - 4 * first
								      : (int64_t)(4 * MOST);
		part.count = m.count - first < MOST ? m.count - first : (int64_t)MOST;
		part.words = (uint64_t *)a.room;
		tsr_gpu_put_message(coop, there, part);
		tsr_gpu_far_put_words(coop, &a, m.words + first, 0, part.count, 1, peer);
	}
	tsr_gpu_far_end(coop, a);
}

/** To a rank of another node: as many words at a time as a room has. */
TSR_DEV void tsr_gpu_far_put_message(tsr_coop_t *coop, const tsr_gpu_message_t &m, int peer)
{
	tsr_coop_t seldom = tsr_gpu_seldom(coop);
	tsr_gpu_far_put_message_seldom(&seldom, m, peer);
	tsr_gpu_seldom_end(coop, &seldom);
}

TSR_DEV void tsr_put_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
			    size_t size_bytes, uint32_t epoch, int peer)
{
	tsr_gpu_one_place_t there;
	tsr_gpu_message_t m = tsr_gpu_message(src, dst, size_bytes, epoch);
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_message(coop, m, peer))
		return;
	const uint64_t begun = tsr_gpu_record_now();
	if (tsr_gpu_is_far(coop, peer)) {
		tsr_gpu_far_put_message(coop, m, peer);
	} else {
		m.words = tsr_gpu_heap_address(coop, m.words, peer);
		tsr_gpu_put_message(coop, there, m);
	}
	tsr_gpu_record_marked(coop, begun, dst, m.mark >> 32, m.count, peer);
}

TSR_DEV void tsr_put_all_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
				size_t size_bytes, uint32_t epoch)
{
	const tsr_gpu_every_rank_t ranks = {coop->context, 0};
	const tsr_gpu_message_t m = tsr_gpu_message(src, dst, size_bytes, epoch);
	tsr_port_settle(coop);
	if (tsr_gpu_accepts_message(coop, m, tsr_rank(coop))) {
		const uint64_t begun = tsr_gpu_record_now();
		if (tsr_gpu_spans_nodes(coop)) {
			TSR_GPU_NO_UNROLL
			for (int i = 0; i < tsr_size(coop); i++)
				tsr_put_marked(coop, dst, src, size_bytes, epoch,
					       tsr_peer(coop, i));
			return;
		}
		tsr_gpu_put_message(coop, ranks, m);
		tsr_gpu_record_marked_all(coop, begun, dst, m.mark >> 32, m.count);
	}
}

/* ---- taking */

/** A take's deadline, and for whom it waits. */
typedef struct tsr_gpu_take {
	uint64_t deadline_ns;
	int from, fatal;
} tsr_gpu_take_t;

/*
 * How a thread's part of a take ended: as a number of which the coop takes the
 * least. Between these: the word that has not come, which the wait record
 * names.
 */
constexpr uint64_t tsr_gpu_taken = ~(uint64_t)0, tsr_gpu_not_taken_any_more = 0;
TSR_DEV uint64_t tsr_gpu_not_come(int64_t word)
{
	return (uint64_t)word + 1;
}

/**
 * Looks at this thread's words at, at + step, ... before `last`: whether all
 * have come; if not, which is the first that has not. One relaxed load a word:
 * what has the epoch has the data. Partner: tsr_gpu_put_words. Litmus:
 * LB.marked.diffGPU-ss.
 */
template <int COUNT>
TSR_DEV bool tsr_gpu_marked_look(const tsr_gpu_message_t &m, int64_t at, int64_t step, int64_t last,
				 uint64_t (&seen)[COUNT], int64_t *missing)
{
	bool all = true;
	TSR_GPU_UNROLL
	for (int i = 0; i < COUNT; i++) {
		seen[i] = m.mark;
		if (at + i * step < last)
			seen[i] = tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(m.words + at +
									       i * step);
	}
	TSR_GPU_UNROLL
	for (int i = COUNT - 1; i >= 0; i--)
		if ((seen[i] ^ m.mark) >> 32) { /* any other epoch, older or newer */
			all = false;
			*missing = at + i * step;
		}
	return all;
}

/** How long this thread has polled. */
typedef struct tsr_gpu_patience {
	uint64_t begin;
	uint32_t polls;
} tsr_gpu_patience_t;

/** Between two looks: tsr_gpu_taken, or how the take ends because `missing` has not come. */
TSR_DEV uint64_t tsr_gpu_take_pause(const tsr_coop_t *coop, const tsr_gpu_take_t &take,
				    tsr_gpu_patience_t *patience, int64_t missing)
{
	const uint32_t polls = ++patience->polls;
	if (polls >= TSR_GPU_MARKED_AT_FULL_SPEED)
		tsr_port_rest(polls / 16);
	else
		tsr_port_pause();
	if (polls % tsr_gpu_polls<TSR_SCOPE_SYSTEM>)
		return tsr_gpu_taken;
	const uint64_t now = tsr_port_clock();
	if (!patience->begin)
		patience->begin = now;
	if (tsr_gpu_aborted(coop))
		return tsr_gpu_not_taken_any_more;
	return now - patience->begin >= tsr_gpu_ticks(coop->context, take.deadline_ns)
		       ? tsr_gpu_not_come(missing)
		       : tsr_gpu_taken;
}

/** Takes this thread's words of these. */
template <bool WHOLE>
TSR_DEV uint64_t tsr_gpu_take_words(const tsr_coop_t *coop, const tsr_gpu_message_t &m,
				    const tsr_gpu_take_t &take, tsr_gpu_patience_t *patience,
				    tsr_gpu_words<WHOLE> words)
{
	enum { IN_FLIGHT = tsr_gpu_words<WHOLE>::IN_FLIGHT };
	const int64_t step = coop->threads;
	TSR_GPU_NO_UNROLL
	for (int64_t at = words.first + coop->thread; at < words.last; at += IN_FLIGHT * step) {
		uint64_t seen[IN_FLIGHT];
		int64_t missing = 0;
		while (!tsr_gpu_marked_look(m, at, step, words.last, seen, &missing)) {
			const uint64_t how = tsr_gpu_take_pause(coop, take, patience, missing);
			if (how != tsr_gpu_taken)
				return how;
		}
		TSR_GPU_UNROLL
		for (int i = 0; i < IN_FLIGHT; i++)
			if (at + i * step < words.last)
				tsr_gpu_message_write<WHOLE>(m, at + i * step, (uint32_t)seen[i]);
	}
	return tsr_gpu_taken;
}

TSR_DEV uint64_t tsr_gpu_take_mine(const tsr_coop_t *coop, const tsr_gpu_message_t &m,
				   const tsr_gpu_take_t &take)
{
	const int64_t whole = tsr_gpu_whole_words(m);
	const tsr_gpu_words<true> fast = {0, whole};
	const tsr_gpu_words<false> rest = {whole, m.count};
	tsr_gpu_patience_t patience = {0, 0};
	const uint64_t how = tsr_gpu_take_words(coop, m, take, &patience, fast);
	return how == tsr_gpu_taken ? tsr_gpu_take_words(coop, m, take, &patience, rest) : how;
}

/** As tsr_gpu_expire. */
TSR_DEV void tsr_gpu_take_expire(const tsr_coop_t *coop, const tsr_gpu_message_t &m,
				 const tsr_gpu_take_t &take, uint64_t *word)
{
	tsr_gpu_note_t *note = tsr_gpu_note_open(coop);
	if (note) {
		note->peer = take.from;
		note->word = TSR_GPU_NOTE_MARKED;
		note->owner = tsr_rank(coop);
		note->address = (uint64_t)(uintptr_t)word;
		note->size_bytes = sizeof *word;
		note->expected = m.mark >> 32;
		note->seen = tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(word) >> 32;
		note->waited_ns = take.deadline_ns;
	}
	tsr_gpu_note_close(coop, note, TSR_GPU_NOTE_WAIT, (uint32_t)take.fatal);
}

/**
 * Each thread polls for words of its own, so that their loads are side by side.
 * The coop meets once before, which passes while the message is on its way: then
 * the word through which threads tell of what has not come is ready. The one
 * whose word is the first that is missing leaves the record.
 */
TSR_DEV tsr_wait_result_t tsr_gpu_take_message(tsr_coop_t *coop, const tsr_gpu_message_t &m,
					       const tsr_gpu_take_t &take)
{
	uint64_t *told = &coop->told[coop->turn];
	coop->turn ^= 1;
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_message(coop, m, tsr_rank(coop)))
		return TSR_WAIT_ABORTED;
	if (tsr_gpu_leads(coop))
		*told = tsr_gpu_taken;
	tsr_gpu_meet(coop);
	const uint64_t begun = tsr_gpu_record_now();
	const uint64_t mine = tsr_gpu_take_mine(coop, m, take);
	if (mine != tsr_gpu_taken) /* read behind the meeting: relaxed is enough */
		(void)tsr_port_min<TSR_RELAXED, TSR_SCOPE_BLOCK>(told, mine);
	tsr_gpu_meet(coop);
	const uint64_t least = *told;
	tsr_gpu_record_take(coop, begun, m.words, take.from, m.mark >> 32, least == tsr_gpu_taken);
	if (least == tsr_gpu_taken)
		return TSR_WAIT_OK;
	if (least == tsr_gpu_not_taken_any_more)
		return TSR_WAIT_ABORTED;
	if (mine == least)
		tsr_gpu_take_expire(coop, m, take, m.words + (least - 1));
	return take.fatal ? TSR_WAIT_ABORTED : TSR_WAIT_EXPIRED;
}

TSR_DEV tsr_wait_result_t tsr_take_marked(tsr_coop_t *coop, TSR_HEAP void *dst,
					  const TSR_HEAP uint64_t *src, size_t size_bytes,
					  uint32_t epoch, int from)
{
	const tsr_gpu_take_t take = {coop->context->deadline_ns, from, 1};
	return tsr_gpu_take_message(coop, tsr_gpu_message(dst, src, size_bytes, epoch), take);
}

TSR_DEV tsr_wait_result_t tsr_take_marked_until(tsr_coop_t *coop, TSR_HEAP void *dst,
						const TSR_HEAP uint64_t *src, size_t size_bytes,
						uint32_t epoch, int from, uint64_t deadline_ns)
{
	const tsr_gpu_take_t take = {deadline_ns, from, 0};
	return tsr_gpu_take_message(coop, tsr_gpu_message(dst, src, size_bytes, epoch), take);
}

#endif
