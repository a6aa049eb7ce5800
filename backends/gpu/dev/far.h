/*
 * Accesses to the heap of a rank on another node. That memory is not mapped
 * here: a request to the host reaches it (tsr_gpu_request_t), which gives it to
 * the net. What is sent or comes passes through the request's
 * room, which is host memory: kernels write and read there.
 *
 * A put and a store without a result end when the host has taken them. What
 * reads waits for the answer. The accesses of one rank to another rank's heap
 * take effect there in the order in which they were made. A release at system
 * scope, to whomever, first waits until all that this rank has written to far
 * heaps has taken effect (docs/nodes.md, "What is promised").
 *
 * Kernels have this code where they are built with TSR_NODES. In all others
 * tsr_gpu_is_far is a constant, and nothing of it remains.
 */
#ifndef TESSERA_GPU_DEV_FAR_H
#define TESSERA_GPU_DEV_FAR_H

#include "gpu/dev/coop.h"
#include "gpu/dev/memory.h"

/* Polls of an answer between two looks at whether the world has ended. */
enum { TSR_GPU_ASK_POLLS = 256 };

/*
 * Functions that are called, and not laid down at each call: what they do takes
 * so long that a call does not count. They take no coop of which the caller
 * still has parts in registers: see tsr_gpu_seldom.
 */
#if TSR_PORT_NODES
#define TSR_GPU_CALLED static __attribute__((noinline, unused)) TSR_PORT_DEVICE
#else
#define TSR_GPU_CALLED TSR_DEV
#endif

/* ------------------------------------------------------------------ who is where */

/** Whether a member's heap is not mapped, because it is on another node. */
TSR_DEV bool tsr_gpu_is_far(const tsr_coop_t *coop, int peer)
{
#if TSR_PORT_NODES
	return tsr_port_constant(coop->context->peer_offset + peer) == TSR_GPU_FAR_OFFSET;
#else
	(void)coop, (void)peer;
	return false;
#endif
}

/** A word of the team's table: TSR_GPU_NODES_WORDS. */
TSR_DEV int tsr_gpu_nodes_word(const tsr_coop_t *coop, int at)
{
#if TSR_PORT_NODES
	return tsr_port_constant(coop->context->nodes + at);
#else
	(void)coop, (void)at;
	return 0;
#endif
}

/** Whether the team has members on several nodes. */
TSR_DEV bool tsr_gpu_spans_nodes(const tsr_coop_t *coop)
{
	return tsr_gpu_nodes_word(coop, 0) > 1;
}

#if TSR_PORT_NODES
/* What common/dev/nodes.h asks for. */

TSR_DEV int tsr_port_nodes(const tsr_coop_t *coop)
{
	return tsr_gpu_nodes_word(coop, 0);
}

TSR_DEV int tsr_port_node(const tsr_coop_t *coop, int rank)
{
	return tsr_gpu_nodes_word(coop, 1 + tsr_size(coop) + rank);
}

TSR_DEV int tsr_port_node_place(const tsr_coop_t *coop, int rank)
{
	return tsr_gpu_nodes_word(coop, 1 + 2 * tsr_size(coop) + rank);
}

/** Where a node's members begin among all. */
TSR_DEV int tsr_gpu_node_begin(const tsr_coop_t *coop, int node)
{
	return tsr_gpu_nodes_word(coop, 1 + 3 * tsr_size(coop) + node);
}

TSR_DEV int tsr_port_node_members(const tsr_coop_t *coop, int node)
{
	return tsr_gpu_node_begin(coop, node + 1) - tsr_gpu_node_begin(coop, node);
}

TSR_DEV int tsr_port_node_member(const tsr_coop_t *coop, int node, int place)
{
	const int members = 1 + 3 * tsr_size(coop) + tsr_port_nodes(coop) + 1;
	return tsr_gpu_nodes_word(coop, members + tsr_gpu_node_begin(coop, node) + place);
}
#endif

/* For loops over the members of a team, node by node. Where a kernel knows of no nodes, its team is
 * one node. */

TSR_DEV int tsr_gpu_node_count(const tsr_coop_t *coop)
{
#if TSR_PORT_NODES
	return tsr_port_nodes(coop);
#else
	(void)coop;
	return 1;
#endif
}

TSR_DEV int tsr_gpu_members(const tsr_coop_t *coop, int node)
{
#if TSR_PORT_NODES
	return tsr_port_node_members(coop, node);
#else
	(void)node;
	return tsr_size(coop);
#endif
}

TSR_DEV int tsr_gpu_member(const tsr_coop_t *coop, int node, int place)
{
#if TSR_PORT_NODES
	return tsr_port_node_member(coop, node, place);
#else
	(void)coop, (void)node;
	return place;
#endif
}

/** The requests; null where there are none. */
TSR_DEV const tsr_gpu_far_t *tsr_gpu_far_of(const tsr_gpu_context_t *context)
{
#if TSR_PORT_NODES
	return context->far;
#else
	(void)context;
	return 0;
#endif
}

/* ------------------------------------------------------------------ requests, by one thread */

/*
 * Waits here have no deadline of their own. The net ends each call of a courier at
 * the deadline, and then the world, which ends these waits.
 */

/** Takes a request that nobody has, from number `at` on; -1: the world has ended. */
TSR_GPU_CALLED int tsr_gpu_far_take(const tsr_gpu_context_t *context, uint32_t at)
{
	uint32_t *taken = tsr_gpu_far_of(context)->taken;
	TSR_GPU_NO_UNROLL
	for (uint32_t tries = 1;; tries++, at++) {
		const uint32_t place = at % TSR_GPU_REQUESTS, bit = 1u << place % 32;
		/* Partner: the release in tsr_gpu_far_give. Litmus: MP.rmw.sameGPU-aa: the room
		 * may be written again. */
		if (!(tsr_port_or<TSR_ACQUIRE, TSR_SCOPE_DEVICE>(taken + place / 32, bit) & bit))
			return (int)place;
		if (tries % TSR_GPU_ASK_POLLS == 0 && tsr_gpu_is_over(context))
			return -1;
		tsr_port_pause();
	}
}

TSR_DEV void tsr_gpu_far_give(const tsr_gpu_context_t *context, int place)
{
	/* Partner: the acquire in tsr_gpu_far_take. Litmus: MP.rmw.sameGPU-aa. */
	(void)tsr_port_and<TSR_RELEASE, TSR_SCOPE_DEVICE>(tsr_gpu_far_of(context)->taken +
								  place / 32,
							  ~(1u << place % 32));
}

/** Asks, and waits for the answer: whether it has come. Otherwise the world has ended. */
TSR_GPU_CALLED bool tsr_gpu_far_ask(const tsr_gpu_context_t *context, int place,
				    const tsr_gpu_request_t *want)
{
	const tsr_gpu_far_t *far = tsr_gpu_far_of(context);
	tsr_gpu_request_t *r = far->requests + place;
	r->peer = want->peer;
	r->what = want->what;
	r->kind = want->kind;
	r->op = want->op;
	r->release = want->release;
	r->bytes = want->bytes;
	r->offset = want->offset;
	r->pitch_bytes = want->pitch_bytes;
	r->row_bytes = want->row_bytes;
	r->rows = want->rows;
	r->bits = want->bits;
	r->expected = want->expected;
	/* Partner: the acquire of the host's courier (gpu/far/courier.c). Litmus:
	 * MP.rel.acq.diffGPU-ss. */
	tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(&r->state, (uint32_t)TSR_GPU_REQUEST_ASKED);
	TSR_GPU_NO_UNROLL
	for (uint32_t polls = 1; tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(&r->state) !=
				 (uint32_t)TSR_GPU_REQUEST_ANSWERED;
	     polls++) {
		if (polls % TSR_GPU_ASK_POLLS == 0 && tsr_gpu_is_over(context))
			return false;
		tsr_port_pause();
	}
	/* Partner: the release of the host's courier. Litmus: MP.rel.acq.diffGPU-ss. */
	tsr_port_fence<TSR_ACQUIRE, TSR_SCOPE_SYSTEM>();
	if (want->what != TSR_GPU_ASK_GET && want->what != TSR_GPU_ASK_FLUSH)
		/* Counted when the host has it: who has seen the count asks for a flush that
		 * covers it. Partner: the load in tsr_gpu_far_settle_now. Litmus:
		 * MP.rmw.sameGPU-aa. */
		(void)tsr_port_add<TSR_RELEASE, TSR_SCOPE_DEVICE>(far->written, (uint64_t)1);
	return true;
}

/** Asks with a request of its own, without a room. Returns the old bits of a fetch. */
TSR_GPU_CALLED uint64_t tsr_gpu_far_ask_alone(const tsr_gpu_context_t *context,
					      const tsr_gpu_request_t *want)
{
	const int place = tsr_gpu_far_take(context, (uint32_t)tsr_port_block());
	if (place < 0 || !tsr_gpu_far_ask(context, place, want))
		return 0; /* nobody needs the request any more */
	const uint64_t old = tsr_gpu_far_of(context)->requests[place].old;
	tsr_gpu_far_give(context, place);
	return old;
}

/**
 * Waits until the owners have all that this rank has written to far heaps. By
 * the thread that will release.
 */
TSR_GPU_CALLED void tsr_gpu_far_settle_now(const tsr_gpu_context_t *context)
{
	const tsr_gpu_far_t *far = tsr_gpu_far_of(context);
	if (!far)
		return;
	/* Acquire: the flush comes behind what is counted. This thread has acquired what the
	 * release is to cover, and so sees its count. Partner: the addition in tsr_gpu_far_ask.
	 * Litmus: MP.rmw.sameGPU-aa. */
	const uint64_t written = tsr_port_load<TSR_ACQUIRE, TSR_SCOPE_DEVICE>(far->written);
	/* Acquire: a flush of another thread counts. Partner: the maximum below. Litmus:
	 * MP.rmw.sameGPU-aa. */
	if (tsr_port_load<TSR_ACQUIRE, TSR_SCOPE_DEVICE>(far->flushed) >= written)
		return;
	tsr_gpu_request_t want = {};
	want.what = TSR_GPU_ASK_FLUSH;
	(void)tsr_gpu_far_ask_alone(context, &want);
	(void)tsr_port_max<TSR_RELEASE, TSR_SCOPE_DEVICE>(far->flushed, written);
}

TSR_DEV void tsr_gpu_far_settle(const tsr_coop_t *coop)
{
#if TSR_PORT_NODES
	tsr_gpu_far_settle_now(coop->context);
#else
	(void)coop;
#endif
}

/** A request for an access to `peer`'s copy of what I have at `mine`. */
TSR_DEV tsr_gpu_request_t tsr_gpu_far_request(const tsr_coop_t *coop, int what, const void *mine,
					      int peer)
{
	tsr_gpu_request_t r = {};
	r.what = (uint8_t)what;
	r.peer = tsr_gpu_nodes_word(coop, 1 + peer);
	r.offset = (uint64_t)((const char *)mine - coop->context->heap);
	return r;
}

/** Rows of bytes of the far heap. */
TSR_DEV tsr_gpu_request_t tsr_gpu_far_rows(const tsr_coop_t *coop, int what, const void *mine,
					   int64_t pitch, int64_t row_bytes, int64_t rows, int peer)
{
	tsr_gpu_request_t r = tsr_gpu_far_request(coop, what, mine, peer);
	r.pitch_bytes = (uint64_t)(rows > 1 ? pitch : row_bytes);
	r.row_bytes = (uint64_t)row_bytes;
	r.rows = (uint64_t)rows;
	return r;
}

/* ------------------------------------------------------------------ words, by one thread */

template <typename T> struct tsr_gpu_word_kind;
#define TSR_GPU_WORD_KIND(type_, kind_)               \
	template <> struct tsr_gpu_word_kind<type_> { \
		enum { kind = kind_ };                \
	}
TSR_GPU_WORD_KIND(uint32_t, TSR_GPU_WORD_U32);
TSR_GPU_WORD_KIND(int32_t, TSR_GPU_WORD_I32);
TSR_GPU_WORD_KIND(uint64_t, TSR_GPU_WORD_U64);
TSR_GPU_WORD_KIND(int64_t, TSR_GPU_WORD_I64);
TSR_GPU_WORD_KIND(float, TSR_GPU_WORD_F32);
TSR_GPU_WORD_KIND(double, TSR_GPU_WORD_F64);

template <typename T> TSR_DEV uint64_t tsr_gpu_far_bits(T value)
{
	uint64_t bits = 0;
	__builtin_memcpy(&bits, &value, sizeof value);
	return bits;
}

/** An atomic access to `peer`'s copy of *p. Returns the old value of a fetch. */
template <typename T>
TSR_DEV T tsr_gpu_far_word(const tsr_coop_t *coop, int what, int op, const T *p, T value,
			   T expected, bool release, int peer)
{
	tsr_gpu_request_t want = tsr_gpu_far_request(coop, what, p, peer);
	want.kind = (uint8_t)tsr_gpu_word_kind<T>::kind;
	want.op = (uint8_t)op;
	want.bytes = sizeof(T);
	want.release = release;
	want.bits = tsr_gpu_far_bits(value);
	want.expected = tsr_gpu_far_bits(expected);
	const uint64_t old = tsr_gpu_far_ask_alone(coop->context, &want);
	T seen;
	__builtin_memcpy(&seen, &old, sizeof seen);
	return seen;
}

template <typename T> TSR_DEV T tsr_gpu_far_load(const tsr_coop_t *coop, const T *p, int peer)
{
	return tsr_gpu_far_word<T>(coop, TSR_GPU_ASK_FETCH, TSR_GPU_OP_LOAD, p, T(), T(), false,
				   peer);
}

/** A store has no result to wait for. */
template <typename T>
TSR_DEV void tsr_gpu_far_store(const tsr_coop_t *coop, T *p, T value, bool release, int peer)
{
	(void)tsr_gpu_far_word<T>(coop, TSR_GPU_ASK_UPDATE, TSR_GPU_OP_STORE, p, value, T(),
				  release, peer);
}

/* ------------------------------------------------------------------ rooms, by the coop */

/** A request of the coop, and its room. */
typedef struct tsr_gpu_asking {
	int place;  /* -1: the world has ended */
	char *room; /* null then */
} tsr_gpu_asking_t;

TSR_DEV tsr_gpu_asking_t tsr_gpu_far_begin(tsr_coop_t *coop)
{
	tsr_gpu_asking_t a;
	int place = 0;
	if (tsr_gpu_leads(coop))
		/* neighbours in number are of different couriers: so blocks are, and workers */
		place = tsr_gpu_far_take(coop->context,
					 (uint32_t)tsr_port_block() + (uint32_t)coop->worker);
	a.place = (int)(int64_t)tsr_gpu_tell(coop, (uint64_t)(int64_t)place);
	a.room = a.place < 0 ? 0
			     : tsr_gpu_far_of(coop->context)->rooms +
				       (int64_t)a.place * TSR_GPU_ROOM_BYTES;
	return a;
}

/** The coop meets, and one thread asks. The room is null afterwards if the world has ended. */
TSR_DEV void tsr_gpu_far_pass(tsr_coop_t *coop, tsr_gpu_asking_t *a, const tsr_gpu_request_t &want)
{
	bool good = true;
	tsr_gpu_meet(coop);
	if (tsr_gpu_leads(coop))
		good = tsr_gpu_far_ask(coop->context, a->place, &want);
	if (!tsr_gpu_tell(coop, good))
		a->room = 0;
}

/** Sends what the coop has written to the room. It may be written again when this returns. */
TSR_DEV void tsr_gpu_far_send(tsr_coop_t *coop, tsr_gpu_asking_t *a, const tsr_gpu_request_t &want)
{
	tsr_port_drain<TSR_SCOPE_SYSTEM>();
	tsr_gpu_far_pass(coop, a, want);
}

/** Has what is asked for in the room when this returns. What was there is lost. */
TSR_DEV void tsr_gpu_far_fetch(tsr_coop_t *coop, tsr_gpu_asking_t *a, const tsr_gpu_request_t &want)
{
	tsr_gpu_far_pass(coop, a, want);
	tsr_port_refresh<TSR_SCOPE_SYSTEM>();
}

/** Nobody reads or writes the room any more. */
TSR_DEV void tsr_gpu_far_end(tsr_coop_t *coop, const tsr_gpu_asking_t &a)
{
	tsr_gpu_meet(coop);
	if (a.room && tsr_gpu_leads(coop))
		tsr_gpu_far_give(coop->context, a.place);
}

/** One side of a copy. */
typedef struct tsr_gpu_side {
	char *mine; /* my address of it; where it is far, only to name the place */
	int64_t pitch;
	int peer;
	bool far;
} tsr_gpu_side_t;

TSR_DEV void tsr_gpu_far_copy_part(tsr_coop_t *coop, tsr_gpu_asking_t *a, const tsr_gpu_side_t &dst,
				   const tsr_gpu_side_t &src, int64_t rows, int64_t row_bytes)
{
	tsr_gpu_one_place_t there;
	if (src.far) {
		tsr_gpu_far_fetch(coop, a,
				  tsr_gpu_far_rows(coop, TSR_GPU_ASK_GET, src.mine, src.pitch,
						   row_bytes, rows, src.peer));
	} else {
		const tsr_gpu_rows_of_bytes_t job = {a->room,   src.mine, row_bytes,
						     src.pitch, rows,     row_bytes};
		tsr_gpu_copy_rows(coop, there, job);
	}
	if (!a->room)
		return;
	if (dst.far) {
		tsr_gpu_far_send(coop, a,
				 tsr_gpu_far_rows(coop, TSR_GPU_ASK_PUT, dst.mine, dst.pitch,
						  row_bytes, rows, dst.peer));
	} else {
		const tsr_gpu_rows_of_bytes_t job = {dst.mine,  a->room, dst.pitch,
						     row_bytes, rows,    row_bytes};
		tsr_gpu_copy_rows(coop, there, job);
	}
}

TSR_GPU_CALLED void tsr_gpu_far_copy_seldom(tsr_coop_t *coop, const tsr_gpu_side_t &dst,
					    const tsr_gpu_side_t &src, int64_t rows,
					    int64_t row_bytes)
{
	const int64_t wide = row_bytes < TSR_GPU_ROOM_BYTES ? row_bytes : TSR_GPU_ROOM_BYTES,
		      high = wide > 0 ? TSR_GPU_ROOM_BYTES / wide : 1;
	if (rows <= 0 || row_bytes <= 0)
		return;
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	TSR_GPU_NO_UNROLL
	for (int64_t row = 0; row < rows; row += high)
		TSR_GPU_NO_UNROLL
	for (int64_t byte = 0; byte < row_bytes && a.room; byte += wide) {
		tsr_gpu_side_t to = dst, from = src;
		to.mine += row * dst.pitch + byte;
		from.mine += row * src.pitch + byte;
		tsr_gpu_far_copy_part(coop, &a, to, from, rows - row < high ? rows - row : high,
				      row_bytes - byte < wide ? row_bytes - byte : wide);
	}
	tsr_gpu_far_end(coop, a);
}

/** Copies rows of bytes of which one side is far, or both are: in parts that fit the room. */
TSR_DEV void tsr_gpu_far_copy(tsr_coop_t *coop, const tsr_gpu_side_t &dst,
			      const tsr_gpu_side_t &src, int64_t rows, int64_t row_bytes)
{
	tsr_coop_t seldom = tsr_gpu_seldom(coop);
	tsr_gpu_far_copy_seldom(&seldom, dst, src, rows, row_bytes);
	tsr_gpu_seldom_end(coop, &seldom);
}

/** The side of a copy at `peer`; `mine`: my address, `native`: that by which it is reached here. */
TSR_DEV tsr_gpu_side_t tsr_gpu_side(const tsr_coop_t *coop, const void *mine, const void *native,
				    int64_t pitch, int peer, bool in_heap)
{
	tsr_gpu_side_t side;
	side.far = in_heap && tsr_gpu_is_far(coop, peer);
	side.mine = (char *)(side.far ? mine : native);
	side.pitch = pitch;
	side.peer = peer;
	return side;
}

/**
 * A part of a view in the room, without gaps: `rows` rows of `cols` columns from
 * `at` on, which may lie outside. The view that is returned has it at the same
 * coordinates, and is my own.
 */
TSR_DEV tsr_view_t tsr_gpu_far_in_room(const char *room, tsr_view_t view, tsr_pos_t at,
				       int64_t cols)
{
	const int64_t bytes = tsr_gpu_dtype_bytes(view.dtype);
	view.data = (void *)(room - (at.row * cols + at.col) * bytes);
	view.ld = cols;
	return view;
}

/** The part of a tile at `at` that is inside the view; no rows: none. */
typedef struct tsr_gpu_inside {
	int64_t row, col, rows, cols;
} tsr_gpu_inside_t;

TSR_DEV tsr_gpu_inside_t tsr_gpu_far_inside(tsr_view_t view, tsr_pos_t at, int64_t rows,
					    int64_t cols)
{
	tsr_gpu_inside_t part;
	part.row = at.row > 0 ? at.row : 0;
	part.col = at.col > 0 ? at.col : 0;
	const int64_t row_end = at.row + rows < view.rows ? at.row + rows : view.rows,
		      col_end = at.col + cols < view.cols ? at.col + cols : view.cols;
	part.rows = row_end > part.row && col_end > part.col ? row_end - part.row : 0;
	part.cols = part.rows > 0 ? col_end - part.col : 0;
	return part;
}

/**
 * Gets the part of a far view that a tile covers into the room, `skip` bytes
 * behind its begin: the tile's own rows and columns, those outside being
 * whatever they were. All of the coop may read it when this returns.
 */
TSR_DEV tsr_view_t tsr_gpu_far_get_tile(tsr_coop_t *coop, tsr_gpu_asking_t *a, int64_t skip,
					tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols,
					int peer)
{
	const int64_t bytes = tsr_gpu_dtype_bytes(view.dtype);
	const tsr_gpu_inside_t part = tsr_gpu_far_inside(view, at, rows, cols);
	tsr_pos_t first;
	first.row = part.row;
	first.col = part.col;
	if (part.rows > 0 && a->room) {
		tsr_gpu_request_t want =
			tsr_gpu_far_rows(coop, TSR_GPU_ASK_GET,
					 (const char *)view.data +
						 (part.row * view.ld + part.col) * bytes,
					 view.ld * bytes, part.cols * bytes, part.rows, peer);
		want.bits = (uint64_t)skip;
		tsr_gpu_far_fetch(coop, a, want);
	}
	return tsr_gpu_far_in_room(a->room + skip, view, first, part.cols);
}

#endif
