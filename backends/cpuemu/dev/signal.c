/* Signals and waits. */
#include "common/dev/states.h"
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/far.h"
#include "cpuemu/dev/memory/flag.h"
#include "cpuemu/events.h"
#include "src/base/compare.h"

/* ------------------------------------------------------------------ raising flags */

/**
 * By the coop's first thread, after the meeting: its release covers what all
 * threads did. Partner: flag_look.
 */
static void raise_flag(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *flag, uint64_t value,
		       tsr_signal_op_t op, int peer, int scope)
{
	tsr_mem_t mem;
	if (op != TSR_SIGNAL_SET && op != TSR_SIGNAL_ADD) {
		tsr_cpu_misuse(coop, call, "name TSR_SIGNAL_SET or TSR_SIGNAL_ADD",
			       "by an operation that does not exist, %d", (int)op);
		return;
	}
	if (!tsr_mem_reach(coop, call, flag, sizeof(uint64_t), sizeof(uint64_t), peer,
			   TSR_MEM_WRITE, &mem))
		return;
	tsr_cpu_event_signal(coop, &mem, value);
	if (mem.explored) {
		tsr_explored_raise(&mem, value, op, scope);
		return;
	}
	if (mem.far) {
		tsr_far_raise(&mem, value, op, scope);
		return;
	}
	tsr_far_release(coop->block->env, scope);
	tsr_mem_raise(mem.at, value, op, scope);
	tsr_bell_ring(coop->block->env, &mem);
}

static void signal_from(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *flag, uint64_t value,
			tsr_signal_op_t op, int peer, int scope)
{
	if (tsr_cpu_meet(coop, call) && tsr_cpu_leads(coop))
		raise_flag(coop, call, flag, value, op, peer, scope);
}

void tsr_signal(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op,
		int peer)
{
	signal_from(coop, __func__, flag, value, op, peer, TSR_SCOPE_SYSTEM);
}

static void signal_all_from(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *flag,
			    uint64_t value, tsr_signal_op_t op)
{
	if (!tsr_cpu_meet(coop, call) || !tsr_cpu_leads(coop))
		return;
	for (int i = 0; i < tsr_size(coop); i++)
		raise_flag(coop, call, flag, value, op, tsr_peer(coop, i), TSR_SCOPE_SYSTEM);
}

void tsr_signal_all(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op)
{
	signal_all_from(coop, __func__, flag, value, op);
}

void tsr_put_signal(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		    size_t size_bytes, TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op,
		    int peer)
{
	TSR_PART_OF(coop, __func__);
	tsr_put(coop, dst, src, size_bytes, peer);
	TSR_PART_OF(coop, TSR_PART_OF_NONE);
	signal_from(coop, __func__, flag, value, op, peer, TSR_SCOPE_SYSTEM);
}

void tsr_put_signal_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, TSR_HEAP uint64_t *flag,
		       uint64_t value, tsr_signal_op_t op, int peer)
{
	TSR_PART_OF(coop, __func__);
	tsr_put_2d(coop, dst, src, peer);
	TSR_PART_OF(coop, TSR_PART_OF_NONE);
	signal_from(coop, __func__, flag, value, op, peer, TSR_SCOPE_SYSTEM);
}

void tsr_cpu_signal_local(tsr_coop_t *coop, void *flag, uint64_t value, int scope)
{
	signal_from(coop, "tsr_signal_local", (TSR_HEAP uint64_t *)flag, value, TSR_SIGNAL_SET,
		    tsr_rank(coop), scope);
}

/* ------------------------------------------------------------------ waiting for flags */
/** After a poll has succeeded. Partner: raise_flag. */
__attribute__((noinline)) static void flag_found(tsr_cpu_wait_t *w, int which)
{
	(void)tsr_mem_acquire(w->flags.at + (size_t)which * sizeof(uint64_t), w->scope);
	w->which = which;
}

/**
 * Polls relaxed; acquires after success. A single flag is looked at without a
 * division, which takes as long as the rest.
 */
TSR_CPU_UNSEEN static bool flag_look(void *ctx)
{
	tsr_cpu_wait_t *w = ctx;
	if (w->count == 1) {
		w->seen = tsr_mem_poll(w->flags.at);
		if (w->seen < w->value)
			return false;
		flag_found(w, 0);
		return true;
	}
	for (int i = 0; i < w->count; i++) {
		int which = (w->start + i) % w->count;
		const unsigned char *at = w->flags.at + (size_t)which * sizeof(uint64_t);
		uint64_t seen = tsr_mem_poll(at);
		if (seen >= w->value) {
			flag_found(w, which);
			return true;
		}
		if (i == 0)
			w->seen = seen;
	}
	return false;
}

/**
 * As flag_look, for a word by any comparison. It may change between the poll
 * and the load that orders: what that one has seen counts. Partner: any release
 * of the word. Litmus: MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for a word
 * that is counted.
 */
TSR_CPU_UNSEEN static bool word_look(void *ctx)
{
	tsr_cpu_wait_t *w = ctx;
	const bool narrow = w->word_bytes == sizeof(uint32_t);
	if (!w->flags.far) {
		w->seen = narrow ? __atomic_load_n((const uint32_t *)(const void *)w->flags.at,
						   __ATOMIC_RELAXED)
				 : tsr_mem_poll(w->flags.at);
		if (!tsr_cmp_holds(w->cmp, w->seen, w->value))
			return false;
	}
	w->seen = tsr_mem_atomic(&w->flags, narrow ? TSR_MEM_U32 : TSR_MEM_U64, TSR_CPU_LOAD, 0,
				 w->order, w->scope);
	return tsr_cmp_holds(w->cmp, w->seen, w->value);
}

/** The same for flags of mine; `*which_out` on TSR_WAIT_OK. */
static tsr_wait_result_t flag_wait(tsr_coop_t *coop, const char *call,
				   const TSR_HEAP uint64_t *flags, int count, int start,
				   uint64_t value, int scope, int from, uint64_t deadline_ns,
				   bool ends_world, int *which_out)
{
	tsr_cpu_wait_t w = {.coop = coop,
			    .look = flag_look,
			    .count = count,
			    .start = start,
			    .value = value,
			    .order = TSR_ACQUIRE,
			    .scope = scope,
			    .from = from};
	tsr_wait_result_t how =
		tsr_cpu_wait_at(&w, call, flags, tsr_rank(coop), deadline_ns, ends_world);
	*which_out = w.which;
	return how;
}

/** The coop's first thread waits; the meeting hands its acquire on to the others. */
static tsr_wait_result_t coop_wait(tsr_coop_t *coop, const char *call,
				   const TSR_HEAP uint64_t *flag, uint64_t value, int scope,
				   int from, uint64_t deadline_ns, bool ends_world)
{
	int which;
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	if (tsr_cpu_leads(coop))
		how = flag_wait(coop, call, flag, 1, 0, value, scope, from, deadline_ns, ends_world,
				&which);
	if (coop->count > 1)
		how = (tsr_wait_result_t)tsr_cpu_give(coop, call, (uint64_t)how);
	tsr_cpu_met(coop);
	return coop->count > 1 && tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : how;
}

tsr_wait_result_t tsr_wait(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value, int from)
{
	return coop_wait(coop, __func__, flag, value, TSR_SCOPE_SYSTEM, from,
			 coop->block->env->host->deadline_ns, true);
}

tsr_wait_result_t tsr_wait_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
				 int from, uint64_t deadline_ns)
{
	return coop_wait(coop, __func__, flag, value, TSR_SCOPE_SYSTEM, from, deadline_ns, false);
}

tsr_wait_result_t tsr_cpu_wait_local(tsr_coop_t *coop, void *flag, uint64_t value, int scope)
{
	return coop_wait(coop, "tsr_wait_local", (TSR_HEAP uint64_t *)flag, value, scope,
			 tsr_rank(coop), coop->block->env->host->deadline_ns, true);
}

static tsr_wait_result_t coop_wait_any(tsr_coop_t *coop, const char *call, TSR_HEAP uint64_t *flags,
				       int count, int start, uint64_t value, uint64_t deadline_ns,
				       bool ends_world, int *which_out)
{
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	int which = 0;
	if (tsr_cpu_leads(coop)) {
		if (count < 1 || start < 0)
			tsr_cpu_misuse(
				coop, call,
				"wait for at least one flag, from the first or a later one on",
				"for %d flags from the %d-th on", count, start);
		else
			how = flag_wait(coop, call, flags, count, start % count, value,
					TSR_SCOPE_SYSTEM, TSR_ANY_RANK, deadline_ns, ends_world,
					&which);
	}
	if (coop->count > 1) {
		const uint64_t given =
			tsr_cpu_give(coop, call, (uint64_t)which << 8 | (uint64_t)how);
		how = tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : (tsr_wait_result_t)(given & 0xff);
		which = (int)(given >> 8);
	}
	tsr_cpu_met(coop);
	if (how == TSR_WAIT_OK)
		*which_out = which;
	return how;
}

tsr_wait_result_t tsr_wait_any(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count, int start,
			       uint64_t value, int *which_out)
{
	return coop_wait_any(coop, __func__, flags, count, start, value,
			     coop->block->env->host->deadline_ns, true, which_out);
}

tsr_wait_result_t tsr_wait_any_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
				     int start, uint64_t value, uint64_t deadline_ns,
				     int *which_out)
{
	return coop_wait_any(coop, __func__, flags, count, start, value, deadline_ns, false,
			     which_out);
}

/* ------------------------------------------------------------------ waiting for words */

/** By the coop's first thread; all are told how it ended, and what was seen. */
static tsr_wait_result_t word_wait(tsr_cpu_wait_t *w, const char *call, void *p, int peer,
				   uint64_t deadline_ns, bool ends_world, uint64_t *seen_out)
{
	tsr_coop_t *coop = w->coop;
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	if (w->word_bytes == sizeof(uint32_t))
		w->value = (uint32_t)w->value;
	if (tsr_cpu_leads(coop)) {
		if ((unsigned)w->cmp > TSR_CMP_ANY)
			tsr_cpu_misuse(coop, call, "name one of TSR_CMP_*",
				       "by a comparison that does not exist, %d", (int)w->cmp);
		else
			how = tsr_cpu_wait_at(w, call, (TSR_HEAP void *)p, peer, deadline_ns,
					      ends_world);
	}
	uint64_t seen = w->seen;
	if (coop->count > 1) {
		how = (tsr_wait_result_t)tsr_cpu_give(coop, call, (uint64_t)how);
		seen = tsr_cpu_give(coop, call, seen);
	}
	if (w->order == TSR_ACQUIRE)
		tsr_cpu_met(coop);
	if (coop->count > 1 && tsr_cpu_aborted(coop))
		how = TSR_WAIT_ABORTED;
	if (how == TSR_WAIT_OK && seen_out)
		*seen_out = seen;
	return how;
}

tsr_wait_result_t tsr_cpu_wait_word(tsr_coop_t *coop, void *p, size_t bytes, tsr_cmp_t cmp,
				    uint64_t value, int peer, int order, int scope, int from,
				    uint64_t *seen_out)
{
	tsr_cpu_wait_t w = {.coop = coop,
			    .look = word_look,
			    .count = 1,
			    .word_bytes = bytes,
			    .cmp = cmp,
			    .value = value,
			    .order = order,
			    .scope = scope,
			    .from = from};
	return word_wait(&w, "tsr_wait_word", p, peer, coop->block->env->host->deadline_ns, true,
			 seen_out);
}

tsr_wait_result_t tsr_cpu_wait_word_until(tsr_coop_t *coop, void *p, size_t bytes, tsr_cmp_t cmp,
					  uint64_t value, int peer, int order, int scope, int from,
					  uint64_t deadline_ns, uint64_t *seen_out)
{
	tsr_cpu_wait_t w = {.coop = coop,
			    .look = word_look,
			    .count = 1,
			    .word_bytes = bytes,
			    .cmp = cmp,
			    .value = value,
			    .order = order,
			    .scope = scope,
			    .from = from};
	return word_wait(&w, "tsr_wait_word_until", p, peer, deadline_ns, false, seen_out);
}

/* ------------------------------------------------------------------ the ranks' barrier */

/**
 * The epoch's own accesses, relaxed: only this rank's users of the barrier
 * touch it, one after the other.
 */
static uint64_t access_epoch(const tsr_mem_t *epoch, enum tsr_cpu_op op, uint64_t value)
{
	const tsr_explored_atomic_t atomic = {.kind = TSR_MEM_U64,
					      .op = op,
					      .bits = value,
					      .order = TSR_RELAXED,
					      .scope = TSR_SCOPE_DEVICE};
	if (epoch->explored)
		return tsr_explored_atomic(epoch, &atomic);
	return tsr_mem_atomic(epoch, TSR_MEM_U64, op, value, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

typedef struct meeting {
	tsr_coop_t *coop;
	const char *call;
	TSR_HEAP uint64_t *words;
	uint64_t epoch;
} meeting_t;

/** Tells a rank that this one has come, or that all of its node have. */
static void barrier_tell(const meeting_t *m, int peer)
{
	raise_flag(m->coop, m->call, m->words + TSR_BARRIER_ARRIVED(tsr_rank(m->coop)), m->epoch,
		   TSR_SIGNAL_SET, peer, TSR_SCOPE_SYSTEM);
}

static tsr_wait_result_t barrier_hear(const meeting_t *m, int from)
{
	int which;
	return flag_wait(m->coop, m->call, m->words + TSR_BARRIER_ARRIVED(from), 1, 0, m->epoch,
			 TSR_SCOPE_SYSTEM, from, m->coop->block->env->host->deadline_ns, true,
			 &which);
}

/**
 * The ranks of my node meet. Partner of each signal: the wait, on the others.
 * Litmus: MP.barrier.diffGPU-ss.
 */
static tsr_wait_result_t barrier_within(const meeting_t *m)
{
	const int me = tsr_rank(m->coop), node = tsr_port_node(m->coop, me),
		  members = tsr_port_node_members(m->coop, node),
		  place = tsr_port_node_place(m->coop, me);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 0; i < members; i++)
		barrier_tell(m, tsr_port_node_member(m->coop, node, (place + i) % members));
	for (int i = 1; i < members && how == TSR_WAIT_OK; i++)
		how = barrier_hear(m, tsr_port_node_member(m->coop, node, (place + i) % members));
	return how;
}

/**
 * The first of each node tells the ranks of the others. It has acquired that all
 * of its node have come, and its release hands that on. Partner: the wait below,
 * on the others. Litmus: ISA2.ra.diffGPU-ss.
 */
static tsr_wait_result_t barrier_between(const meeting_t *m)
{
	const int me = tsr_rank(m->coop), node = tsr_port_node(m->coop, me);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 1; i < tsr_size(m->coop); i++) {
		const int peer = tsr_peer(m->coop, i);
		if (tsr_port_node_place(m->coop, me) == 0 && tsr_port_node(m->coop, peer) != node)
			barrier_tell(m, peer);
	}
	for (int k = 0; k < tsr_port_nodes(m->coop) && how == TSR_WAIT_OK; k++)
		if (k != node)
			how = barrier_hear(m, tsr_port_node_member(m->coop, k, 0));
	return how;
}

/** By the coop's first thread: tells all, waits for all, advances the epoch. */
static tsr_wait_result_t barrier_meet(tsr_coop_t *coop, const char *call,
				      TSR_HEAP tsr_barrier_state_t *state)
{
	int me = tsr_rank(coop);
	TSR_HEAP uint64_t *words = (TSR_HEAP uint64_t *)state;
	const size_t bytes = (size_t)TSR_BARRIER_WORDS(tsr_size(coop)) * sizeof(uint64_t);
	tsr_mem_t epoch;
	if (!tsr_mem_reach(coop, call, state, bytes, sizeof(uint64_t), me, TSR_MEM_WRITE, &epoch))
		return TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(coop, call, state, words + TSR_BARRIER_EPOCH, 1, NULL, 0, 0, 0,
		       TSR_BARRIER_WORDS(tsr_size(coop)), 0);
	uint64_t next = access_epoch(&epoch, TSR_CPU_LOAD, 0) + 1;
	const meeting_t meeting = {coop, call, (TSR_HEAP uint64_t *)state, next};
	/* one node: all tell all; several: those of each meet, and one tells the other nodes */
	tsr_wait_result_t how = barrier_within(&meeting);
	if (how == TSR_WAIT_OK && tsr_port_nodes(coop) > 1)
		how = barrier_between(&meeting);
	if (how == TSR_WAIT_OK)
		(void)access_epoch(&epoch, TSR_CPU_STORE, next);
	return how;
}

tsr_wait_result_t tsr_barrier_ranks(tsr_coop_t *coop, TSR_HEAP tsr_barrier_state_t *state)
{
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	if (!tsr_cpu_meet(coop, __func__))
		return how;
	if (tsr_cpu_leads(coop))
		how = barrier_meet(coop, __func__, state);
	if (coop->count > 1)
		how = (tsr_wait_result_t)tsr_cpu_give(coop, __func__, (uint64_t)how);
	tsr_cpu_met(coop);
	return coop->count > 1 && tsr_cpu_aborted(coop) ? TSR_WAIT_ABORTED : how;
}
