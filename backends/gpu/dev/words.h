/*
 * Bodies of what the collectives in one step ask of a port (common/dev/words.h).
 * Each thread moves words of its own, one at a time: messages are small, and
 * their threads many. Indices have 32 bits, which are divided in much less time.
 */
#ifndef TESSERA_GPU_DEV_WORDS_H
#define TESSERA_GPU_DEV_WORDS_H

#include "common/dev/words.h"
#include "gpu/dev/marked.h"
#include "gpu/dev/reduce.h"

/** Rows of a view, and the words that carry them. */
typedef struct tsr_gpu_rows {
	char *data;
	uint64_t *words;
	int64_t pitch;
	uint64_t mark;                             /* the epoch, where the words have it */
	int32_t count, each, row_bytes, row_words; /* each: words of a row */
	bool by_fours;                             /* words of the view are aligned */
} tsr_gpu_rows_t;

/** Where a word lies, and how many bytes of its row there are from there on. */
typedef struct tsr_gpu_row_word {
	char *at;
	int32_t word, left;
} tsr_gpu_row_word_t;

TSR_DEV tsr_gpu_rows_t tsr_gpu_rows(tsr_view_t view, const uint64_t *words, int64_t row_words,
				    uint32_t epoch)
{
	const int32_t bytes = (int32_t)tsr_gpu_dtype_bytes(view.dtype);
	tsr_gpu_rows_t r;
	r.data = tsr_port_global((char *)view.data);
	r.words = tsr_port_global((uint64_t *)words);
	r.pitch = view.ld * bytes;
	r.mark = (uint64_t)epoch << 32;
	r.row_bytes = (int32_t)view.cols * bytes;
	r.each = (r.row_bytes + 3) / 4;
	r.count = (int32_t)view.rows * r.each;
	r.row_words = (int32_t)row_words;
	r.by_fours =
		((uint64_t)(uintptr_t)r.data | (uint64_t)(view.rows > 1 ? r.pitch : 0)) % 4 == 0;
	return r;
}

TSR_DEV tsr_gpu_row_word_t tsr_gpu_row_word(const tsr_gpu_rows_t &r, int32_t i)
{
	const int32_t row = i < r.each ? 0 : (int32_t)((uint32_t)i / (uint32_t)r.each),
		      col = i - row * r.each;
	return {r.data + row * r.pitch + 4 * col, row * r.row_words + col, r.row_bytes - 4 * col};
}

/** Bytes behind a row's end are 0. */
TSR_DEV uint32_t tsr_gpu_row_read(const tsr_gpu_rows_t &r, const tsr_gpu_row_word_t &w)
{
	if (r.by_fours && w.left >= 4)
		return *(const uint32_t *)w.at;
	uint32_t bits = 0;
	TSR_GPU_NO_UNROLL
	for (int b = 0; b < 4 && b < w.left; b++)
		bits |= (uint32_t)(uint8_t)w.at[b] << 8 * b;
	return bits;
}

TSR_DEV void tsr_gpu_row_write(const tsr_gpu_rows_t &r, const tsr_gpu_row_word_t &w, uint32_t bits)
{
	if (r.by_fours && w.left >= 4) {
		*(uint32_t *)w.at = bits;
		return;
	}
	TSR_GPU_NO_UNROLL
	for (int b = 0; b < 4 && b < w.left; b++)
		w.at[b] = (char)(bits >> 8 * b);
}

/** Whether the call may reach its memory. Debug builds note a mistake. */
TSR_DEV bool tsr_gpu_accepts_rows(const tsr_coop_t *coop, const tsr_gpu_rows_t &r, tsr_view_t view,
				  int peer)
{
	const int64_t last = (int64_t)(view.rows - 1) * r.row_words + r.each;
	return tsr_gpu_accepts(coop, r.words, (uint64_t)last * sizeof *r.words, peer) &&
	       tsr_gpu_accepts_view(coop, view, tsr_rank(coop));
}

/* ---- putting */

/** One relaxed store a word. Partner: tsr_gpu_row_take. Litmus: LB.marked.diffGPU-ss. */
template <typename TO>
TSR_DEV void tsr_gpu_put_rows(const tsr_coop_t *coop, const TO &to, const tsr_gpu_rows_t &r)
{
	TSR_GPU_NO_UNROLL
	for (int32_t i = coop->thread; i < r.count; i += coop->threads) {
		const tsr_gpu_row_word_t w = tsr_gpu_row_word(r, i);
		const uint64_t bits = r.mark | tsr_gpu_row_read(r, w);
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_places(to); place++)
			tsr_port_store<TSR_RELAXED, TSR_SCOPE_SYSTEM>(
				(uint64_t *)((char *)(r.words + w.word) +
					     tsr_gpu_peer_offset(to, place)),
				bits);
	}
}

TSR_GPU_CALLED void tsr_gpu_far_put_rows_seldom(tsr_coop_t *coop, const tsr_gpu_rows_t &r, int peer)
{
	tsr_gpu_one_place_t there;
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	tsr_gpu_rows_t in_room = r;
	in_room.words = (uint64_t *)a.room;
	in_room.row_words = r.each;
	if (a.room && r.count > 0) {
		tsr_gpu_put_rows(coop, there, in_room);
		tsr_gpu_far_put_words(coop, &a, r.words, (int64_t)r.row_words * 8, r.each,
				      r.count / r.each, peer);
	}
	tsr_gpu_far_end(coop, a);
}

/** To a rank of another node. A call in one step has few words: a room has them all. */
TSR_DEV void tsr_gpu_far_put_rows(tsr_coop_t *coop, const tsr_gpu_rows_t &r, int peer)
{
	tsr_coop_t seldom = tsr_gpu_seldom(coop);
	tsr_gpu_far_put_rows_seldom(&seldom, r, peer);
	tsr_gpu_seldom_end(coop, &seldom);
}

/** To one rank, wherever it is. */
TSR_DEV void tsr_gpu_put_rows_to(tsr_coop_t *coop, tsr_gpu_rows_t r, int peer)
{
	tsr_gpu_one_place_t there;
	if (tsr_gpu_is_far(coop, peer)) {
		tsr_gpu_far_put_rows(coop, r, peer);
		return;
	}
	r.words = tsr_gpu_heap_address(coop, r.words, peer);
	tsr_gpu_put_rows(coop, there, r);
}

TSR_DEV void tsr_port_put_words(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, int64_t row_words,
				tsr_view_t src, uint32_t epoch, int peer)
{
	const int me = tsr_rank(coop);
	const tsr_gpu_every_rank_t ranks = {coop->context, 0};
	const tsr_gpu_rows_t r = tsr_gpu_rows(src, dst, row_words, epoch);
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_rows(coop, r, src, peer == TSR_ANY_RANK ? me : peer))
		return;
	const uint64_t begun = tsr_gpu_record_now();
	if (peer == TSR_ANY_RANK && tsr_gpu_spans_nodes(coop)) {
		TSR_GPU_NO_UNROLL
		for (int i = 0; i < tsr_size(coop); i++)
			tsr_gpu_put_rows_to(coop, r, tsr_peer(coop, i));
	} else if (peer == TSR_ANY_RANK) {
		tsr_gpu_put_rows(coop, ranks, r);
		tsr_gpu_record_marked_all(coop, begun, dst, epoch, r.count);
	} else {
		tsr_gpu_put_rows_to(coop, r, peer);
		tsr_gpu_record_marked(coop, begun, dst, epoch, r.count, peer);
	}
}

/* ---- taking */

/** A take of words by one thread. */
typedef struct tsr_gpu_row_taking {
	const tsr_coop_t *coop;
	tsr_gpu_take_t take;
	tsr_gpu_patience_t patience;
	uint64_t how; /* as of tsr_gpu_take_mine */
} tsr_gpu_row_taking_t;

/**
 * Waits for word `index` of those at `words`: whether it has come, and then what
 * it carries. One relaxed load: what has the epoch has the data. Partner:
 * tsr_gpu_put_rows. Litmus: LB.marked.diffGPU-ss.
 */
TSR_DEV bool tsr_gpu_row_take(tsr_gpu_row_taking_t *t, uint64_t *words, int64_t index,
			      uint64_t mark, uint32_t *bits)
{
	TSR_GPU_NO_UNROLL
	for (;;) {
		const uint64_t seen = tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(words + index);
		if (!((seen ^ mark) >> 32)) { /* no other epoch, older or newer */
			*bits = (uint32_t)seen;
			return true;
		}
		t->how = tsr_gpu_take_pause(t->coop, t->take, &t->patience, index);
		if (t->how != tsr_gpu_taken)
			return false;
	}
}

/** Before a take: the word through which threads tell of what has not come is ready. */
TSR_DEV uint64_t *tsr_gpu_row_taking_begin(tsr_coop_t *coop)
{
	uint64_t *told = &coop->told[coop->turn];
	coop->turn ^= 1;
	if (tsr_gpu_leads(coop))
		*told = tsr_gpu_taken;
	tsr_gpu_meet(coop);
	return told;
}

/**
 * Behind a take: how it ended for the coop. The thread whose word is the first
 * that is missing leaves the record. `apart`: words of one rank, if they were
 * taken of all.
 */
TSR_DEV tsr_wait_result_t tsr_gpu_row_taking_end(tsr_coop_t *coop, uint64_t *told,
						 const tsr_gpu_row_taking_t &t, uint64_t *words,
						 uint64_t mark, int64_t apart)
{
	if (t.how != tsr_gpu_taken) /* read behind the meeting: relaxed is enough */
		(void)tsr_port_min<TSR_RELAXED, TSR_SCOPE_BLOCK>(told, t.how);
	tsr_gpu_meet(coop);
	const uint64_t least = *told;
	if (least == tsr_gpu_taken)
		return TSR_WAIT_OK;
	if (least != tsr_gpu_not_taken_any_more && t.how == least) {
		tsr_gpu_message_t m;
		tsr_gpu_take_t take = t.take;
		const int64_t word = (int64_t)least - 1;
		m.mark = mark;
		if (apart)
			take.from = (int)(word / apart);
		tsr_gpu_take_expire(coop, m, take, words + word);
	}
	return TSR_WAIT_ABORTED;
}

TSR_DEV tsr_wait_result_t tsr_port_take_words(tsr_coop_t *coop, tsr_view_t dst,
					      const TSR_HEAP uint64_t *src, int64_t row_words,
					      uint32_t epoch, int from)
{
	const tsr_gpu_rows_t r = tsr_gpu_rows(dst, src, row_words, epoch);
	tsr_gpu_row_taking_t t = {
		coop, {coop->context->deadline_ns, from, 1}, {0, 0}, tsr_gpu_taken};
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_rows(coop, r, dst, tsr_rank(coop)))
		return TSR_WAIT_ABORTED;
	uint64_t *told = tsr_gpu_row_taking_begin(coop);
	const uint64_t begun = tsr_gpu_record_now();
	uint32_t bits;
	TSR_GPU_NO_UNROLL
	for (int32_t i = coop->thread; i < r.count; i += coop->threads) {
		const tsr_gpu_row_word_t w = tsr_gpu_row_word(r, i);
		if (!tsr_gpu_row_take(&t, r.words, w.word, r.mark, &bits))
			break;
		tsr_gpu_row_write(r, w, bits);
	}
	const tsr_wait_result_t how = tsr_gpu_row_taking_end(coop, told, t, r.words, r.mark, 0);
	tsr_gpu_record_take(coop, begun, src, from, epoch, how == TSR_WAIT_OK);
	return how;
}

/* ---- combining */

/** Words that hold one element at least: one, or two of a type of eight bytes. */
template <typename D> struct tsr_gpu_summand {
	typedef typename D::stored_t stored_t;
	enum {
		words = sizeof(stored_t) > 4 ? (int)sizeof(stored_t) / 4 : 1,
		elements = 4 * words / (int)sizeof(stored_t)
	};
	union bits {
		uint32_t word[words];
		stored_t element[elements];
	};
};

/** Takes the words of one rank that hold a summand. False: one has not come. */
template <typename D>
TSR_DEV bool tsr_gpu_take_summand(tsr_gpu_row_taking_t *t, const tsr_gpu_rows_t &r,
				  const tsr_gpu_row_word_t &first, int64_t at,
				  typename tsr_gpu_summand<D>::bits *unit)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < tsr_gpu_summand<D>::words; i++)
		if (!tsr_gpu_row_take(t, r.words, at + first.word + i, r.mark, &unit->word[i]))
			return false;
	return true;
}

/** What the members of a node have, in the team's order, as it comes. False: some has not. */
template <typename D>
TSR_DEV bool tsr_gpu_take_members(tsr_gpu_row_taking_t *t, const tsr_gpu_ranks_t &from,
				  const tsr_gpu_rows_t &r, const tsr_gpu_row_word_t &first,
				  int64_t apart, int node,
				  typename D::value_t (&sum)[tsr_gpu_summand<D>::elements])
{
	typedef typename D::value_t value_t;
	typename tsr_gpu_summand<D>::bits unit;
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < tsr_gpu_members(from.coop, node); i++) {
		const int rank = tsr_gpu_member(from.coop, node, i);
		if (!tsr_gpu_take_summand<D>(t, r, first, rank * apart, &unit))
			return false;
		TSR_GPU_UNROLL
		for (int j = 0; j < tsr_gpu_summand<D>::elements; j++) {
			const value_t x = tsr_gpu_decode<value_t, D>(unit.element[j]);
			sum[j] = i == 0 ? x : tsr_gpu_reduce(from.op, sum[j], x);
		}
	}
	return true;
}

/**
 * Combines the elements of a thread's words of all ranks, as they come: the
 * members of each node in rank order, and then the nodes. False: one has not.
 */
template <typename D>
TSR_DEV bool tsr_gpu_combine_word(tsr_gpu_row_taking_t *t, const tsr_gpu_ranks_t &from,
				  const tsr_gpu_rows_t &r, const tsr_gpu_row_word_t &first,
				  int64_t apart)
{
	typedef tsr_gpu_summand<D> summand_t;
	typedef typename D::value_t value_t;
	value_t sum[summand_t::elements];
	typename summand_t::bits unit;
	if (!tsr_gpu_take_members<D>(t, from, r, first, apart, 0, sum))
		return false;
	TSR_GPU_NO_UNROLL
	for (int node = 1; node < tsr_gpu_node_count(from.coop); node++) {
		value_t part[summand_t::elements];
		if (!tsr_gpu_take_members<D>(t, from, r, first, apart, node, part))
			return false;
		TSR_GPU_UNROLL
		for (int i = 0; i < summand_t::elements; i++)
			sum[i] = tsr_gpu_reduce(from.op, sum[i], part[i]);
	}
	TSR_GPU_UNROLL
	for (int i = 0; i < summand_t::elements; i++)
		unit.element[i] = tsr_gpu_encode<D>(sum[i]);
	TSR_GPU_UNROLL
	for (int i = 0; i < summand_t::words; i++) {
		const tsr_gpu_row_word_t w = {first.at + 4 * i, first.word + i, first.left - 4 * i};
		tsr_gpu_row_write(r, w, unit.word[i]);
	}
	return true;
}

/** Combines a thread's words, until one has not come. */
template <typename D>
TSR_DEV void tsr_gpu_combine_rows(tsr_gpu_row_taking_t *t, const tsr_gpu_ranks_t &from,
				  const tsr_gpu_rows_t &r, int64_t apart)
{
	enum { UNIT = tsr_gpu_summand<D>::words };
	TSR_GPU_NO_UNROLL
	for (int32_t i = from.coop->thread * UNIT; i < r.count; i += from.coop->threads * UNIT)
		if (!tsr_gpu_combine_word<D>(t, from, r, tsr_gpu_row_word(r, i), apart))
			return;
}

TSR_DEV tsr_wait_result_t tsr_port_combine_words(tsr_coop_t *coop, tsr_view_t dst,
						 tsr_one_shot_words_t words, uint32_t epoch,
						 tsr_reduce_t op)
{
	const tsr_gpu_ranks_t from = {coop, op};
	const tsr_gpu_rows_t r = tsr_gpu_rows(dst, words.first, words.row_words, epoch);
	tsr_gpu_row_taking_t t = {
		coop, {coop->context->deadline_ns, TSR_ANY_RANK, 1}, {0, 0}, tsr_gpu_taken};
	tsr_port_settle(coop);
	if (!tsr_gpu_accepts_rows(coop, r, dst, tsr_rank(coop)))
		return TSR_WAIT_ABORTED;
	uint64_t *told = tsr_gpu_row_taking_begin(coop);
	const uint64_t begun = tsr_gpu_record_now();
	TSR_GPU_BY_DTYPE(dst.dtype, D, (tsr_gpu_combine_rows<D>(&t, from, r, words.apart)))
	const tsr_wait_result_t how =
		tsr_gpu_row_taking_end(coop, told, t, r.words, r.mark, words.apart);
	TSR_GPU_NO_UNROLL
	for (int rank = 0; rank < tsr_size(coop); rank++)
		tsr_gpu_record_take(coop, begun, words.first + rank * words.apart, rank, epoch,
				    how == TSR_WAIT_OK);
	return how;
}

#endif
