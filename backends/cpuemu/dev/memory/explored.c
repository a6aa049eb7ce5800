/* How the port's words are said to the exploration. */
#include "cpuemu/dev/memory/explored.h"

#include "cpuemu/dev/memory/memory.h"

tsr_op_site_t tsr_explored_site(const tsr_coop_t *coop, const char *call)
{
	const tsr_cpu_worker_t *worker = coop->worker;
	return (tsr_op_site_t){.call = coop->part_of ? coop->part_of : call,
			       .file = coop->line > 0 ? coop->file : NULL,
			       .line = coop->line,
			       .tiled = worker->tiled,
			       .row = worker->tile.row,
			       .col = worker->tile.col,
			       .coop = coop,
			       .number = coop->calls,
			       .apart = worker->apart,
			       .composed = coop->part_of != NULL,
			       .tile_place = worker->tile_place,
			       .saved = worker->saved};
}

tsr_views_order_t tsr_explored_order(int order)
{
	switch (order) {
	case TSR_RELAXED:
		return TSR_VIEWS_RELAXED;
	case TSR_ACQUIRE:
		return TSR_VIEWS_ACQUIRE;
	case TSR_RELEASE:
		return TSR_VIEWS_RELEASE;
	case TSR_ACQ_REL:
		return TSR_VIEWS_ACQ_REL;
	default:
		return TSR_VIEWS_SEQ_CST;
	}
}

tsr_views_scope_t tsr_explored_scope(int scope)
{
	return scope == TSR_SCOPE_BLOCK    ? TSR_VIEWS_BLOCK
	       : scope == TSR_SCOPE_DEVICE ? TSR_VIEWS_DEVICE
					   : TSR_VIEWS_SYSTEM;
}

/* ------------------------------------------------------------------ plain accesses */

void tsr_mem_inside_explored(const tsr_mem_t *mem, const unsigned char *at, size_t bytes)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	tsr_exploration_inside(tsr_cpu_exploration(mem->explored), &site, mem->owner, at, bytes);
}

void tsr_explored_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from,
		       size_t pitch, size_t bytes, size_t count)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	const tsr_rows_of_bytes_t rows = {bytes, count, pitch};
	if (bytes > 0 && count > 0)
		tsr_exploration_read(tsr_cpu_exploration(mem->explored), &site, private_to, bytes,
				     from, &rows);
}

void tsr_explored_write(const tsr_mem_t *mem, unsigned char *to, size_t pitch,
			const void *private_from, size_t bytes, size_t count)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	const tsr_rows_of_bytes_t rows = {bytes, count, pitch};
	if (bytes > 0 && count > 0)
		tsr_exploration_write(tsr_cpu_exploration(mem->explored), &site, to, private_from,
				      bytes, &rows);
}

void tsr_explored_copy(const tsr_mem_t *mem, unsigned char *to, size_t to_pitch,
		       const unsigned char *from, size_t from_pitch, size_t bytes, size_t count)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	const tsr_rows_of_bytes_t rows = {bytes, count, from_pitch};
	if (bytes > 0 && count > 0)
		tsr_exploration_copy(tsr_cpu_exploration(mem->explored), &site, to, to_pitch, from,
				     &rows);
}

void tsr_explored_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	tsr_exploration_fill(tsr_cpu_exploration(mem->explored), &site, to, 0, bytes);
}

void tsr_explored_declare_writes(const tsr_mem_t *mem, const tsr_view_t *slab)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	const size_t element = tsr_cpu_bytes(slab->dtype);
	const tsr_rows_of_bytes_t rows = {(size_t)slab->cols * element, (size_t)slab->rows,
					  (size_t)slab->ld * element};
	tsr_exploration_declare_writes(tsr_cpu_exploration(mem->explored), &site, mem->at, &rows);
}

/* ------------------------------------------------------------------ ordered accesses */

static bool is_narrow(tsr_mem_kind_t kind)
{
	return tsr_mem_kind_bytes(kind) == 4;
}

/** The new bits, for the views: a pure function of the old. Additions of integers wrap. */
static uint64_t new_bits(const tsr_explored_atomic_t *u, uint64_t old)
{
	const bool real = tsr_mem_kind_is_real(u->kind);
	switch (u->op) {
	case TSR_CPU_CAS:
		return u->desired;
	case TSR_CPU_XCHG:
		return u->bits;
	case TSR_CPU_AND:
		return old & u->bits;
	case TSR_CPU_OR:
		return old | u->bits;
	case TSR_CPU_XOR:
		return old ^ u->bits;
	case TSR_CPU_ADD:
		if (!real)
			return is_narrow(u->kind) ? (uint32_t)(old + u->bits) : old + u->bits;
		/* fall through */
	default:
		return tsr_mem_combine(u->kind, u->op, old, u->bits);
	}
}

static bool apply(const void *context, uint64_t old, uint64_t *value_out)
{
	const tsr_explored_atomic_t *u = context;
	if (u->op == TSR_CPU_CAS && old != (is_narrow(u->kind) ? (uint32_t)u->bits : u->bits))
		return false;
	*value_out = new_bits(u, old);
	return true;
}

uint64_t tsr_explored_atomic(const tsr_mem_t *mem, const tsr_explored_atomic_t *atomic)
{
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	const tsr_views_access_t access = {
		.kind = atomic->op == TSR_CPU_LOAD    ? TSR_VIEWS_LOAD
			: atomic->op == TSR_CPU_STORE ? TSR_VIEWS_STORE
						      : TSR_VIEWS_UPDATE,
		.order = tsr_explored_order(atomic->order),
		.failure = tsr_explored_order(atomic->op == TSR_CPU_CAS ? atomic->failure
									: TSR_RELAXED),
		.scope = tsr_explored_scope(atomic->scope),
		.value = atomic->bits,
		.update = apply,
		.context = atomic,
		.adds = atomic->unread,
	};
	return tsr_exploration_act(tsr_cpu_exploration(mem->explored), &site, &access, mem->at,
				   tsr_mem_kind_bytes(atomic->kind));
}

void tsr_explored_raise(const tsr_mem_t *mem, uint64_t value, tsr_signal_op_t op, int scope)
{
	const tsr_explored_atomic_t atomic = {.kind = TSR_MEM_U64,
					      .op = op == TSR_SIGNAL_ADD ? TSR_CPU_ADD
									 : TSR_CPU_STORE,
					      .bits = value,
					      .order = TSR_RELEASE,
					      .scope = scope,
					      .unread = op == TSR_SIGNAL_ADD};
	const tsr_op_site_t site = tsr_explored_site(mem->explored, mem->call);
	if (op == TSR_SIGNAL_SET)
		tsr_exploration_signals(tsr_cpu_exploration(mem->explored), &site, mem->at, value,
					tsr_explored_scope(scope));
	(void)tsr_explored_atomic(mem, &atomic);
}

void tsr_explored_fence(const tsr_coop_t *coop, int order, int scope)
{
	const tsr_op_site_t site = tsr_explored_site(coop, "tsr_fence");
	tsr_exploration_fence(tsr_cpu_exploration(coop), &site, tsr_explored_order(order),
			      tsr_explored_scope(scope));
}

/* ------------------------------------------------------------------ waits */

tsr_wait_result_t tsr_explored_wait(const tsr_mem_t *words, tsr_explored_wait_t *wait)
{
	const tsr_device_team_t *team = words->explored->block->team;
	const tsr_op_site_t site = tsr_explored_site(words->explored, words->call);
	const tsr_flag_wait_t flags = {.flags = words->at,
				       .count = wait->count,
				       .start = wait->start,
				       .word_bytes = wait->word_bytes,
				       .shift = wait->shift,
				       .cmp = wait->cmp,
				       .value = wait->value,
				       .order = tsr_explored_order(wait->order),
				       .scope = tsr_explored_scope(wait->scope),
				       .from = wait->from == TSR_ANY_RANK ? -1
									  : team->ranks[wait->from],
				       .team = team->name,
				       .team_from = wait->from,
				       .deadline = !wait->ends_world,
				       .deadline_ns = wait->deadline_ns};
	return tsr_exploration_wait_flag(tsr_cpu_exploration(words->explored), &site, &flags,
					 &wait->which, &wait->seen) == TSR_FLAG_OK
		       ? TSR_WAIT_OK
		       : TSR_WAIT_EXPIRED;
}

void tsr_explored_meet(tsr_coop_t *coop, const char *call)
{
	const tsr_op_site_t site = tsr_explored_site(coop, call);
	tsr_exploration_meet(tsr_cpu_exploration(coop), &site, coop->block->explored, coop->count);
}

_Noreturn void tsr_explored_misuse(tsr_coop_t *coop, const char *call, const char *sentence)
{
	const tsr_op_site_t site = tsr_explored_site(coop, call);
	tsr_exploration_wrong(tsr_cpu_exploration(coop), TSR_WRONG_MISUSE, &site, sentence);
}

void tsr_explored_in_each(tsr_coop_t *coop, const char *call)
{
	tsr_cpu_misuse(coop, call,
		       "let its passes make no such calls, and leave none of these loops by break, "
		       "return or goto",
		       "in a TSR_EACH");
}

/* ------------------------------------------------------------------ collectives */

void tsr_explored_collective(tsr_coop_t *coop, const char *call, const tsr_collective_t *collective)
{
	const tsr_op_site_t site = tsr_explored_site(coop, call);
	tsr_exploration_collective(tsr_cpu_exploration(coop), &site, collective);
}
