/* Accesses to far memory, as commands to the net; and those that others make to mine. */
#include "cpuemu/dev/memory/far.h"

#include "cpuemu/dev/memory/bell.h"
#include "cpuemu/far.h"
#include "src/net/net.h"

enum { STAGE_BYTES = 16384 }; /* of a copy between two far heaps */

static struct tsr_net *net_of(const tsr_mem_t *mem)
{
	return mem->far->host->net;
}

/** Rows from `at` on, an address that only names a place in the owner's heap. */
static tsr_net_rows_t rows_at(const tsr_mem_t *mem, const unsigned char *at, size_t pitch,
			      size_t bytes, size_t rows)
{
	return (tsr_net_rows_t){.offset = (uint64_t)(at - mem->far->base[mem->rank]),
				.pitch_bytes = pitch,
				.row_bytes = bytes,
				.rows = rows};
}

void tsr_far_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from, size_t pitch,
		  size_t bytes, size_t rows)
{
	tsr_net_get(net_of(mem), mem->rank, rows_at(mem, from, pitch, bytes, rows), private_to,
		    bytes);
}

void tsr_far_write(const tsr_mem_t *mem, unsigned char *to, size_t pitch, const void *private_from,
		   size_t bytes, size_t rows)
{
	tsr_net_put(net_of(mem), mem->rank, rows_at(mem, to, pitch, bytes, rows), private_from,
		    bytes);
}

void tsr_far_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes)
{
	tsr_net_fill(net_of(mem), mem->rank, rows_at(mem, to, bytes, bytes, 1), 0);
}

/** From one far heap to another: in pieces, through a stage. */
static void copy_through(const tsr_mem_t *to_mem, unsigned char *to, const tsr_mem_t *from_mem,
			 const unsigned char *from, size_t bytes)
{
	unsigned char stage[STAGE_BYTES];
	for (size_t done = 0, n; done < bytes; done += n) {
		n = bytes - done < sizeof stage ? bytes - done : sizeof stage;
		tsr_far_read(from_mem, stage, from + done, n, n, 1);
		tsr_far_write(to_mem, to + done, n, stage, n, 1);
	}
}

void tsr_far_copy(const tsr_mem_t *to_mem, unsigned char *to, size_t to_pitch,
		  const tsr_mem_t *from_mem, const unsigned char *from, size_t from_pitch,
		  size_t bytes, size_t rows)
{
	if (!from_mem->far) {
		tsr_net_put(net_of(to_mem), to_mem->rank,
			    rows_at(to_mem, to, to_pitch, bytes, rows), from, from_pitch);
		return;
	}
	if (!to_mem->far) {
		tsr_net_get(net_of(from_mem), from_mem->rank,
			    rows_at(from_mem, from, from_pitch, bytes, rows), to, to_pitch);
		return;
	}
	for (size_t i = 0; i < rows; i++)
		copy_through(to_mem, to + i * to_pitch, from_mem, from + i * from_pitch, bytes);
}

/* ------------------------------------------------------------------ ordered accesses */

static bool releases(int order, int scope)
{
	return scope == TSR_SCOPE_SYSTEM &&
	       (order == TSR_RELEASE || order == TSR_ACQ_REL || order == TSR_SEQ_CST);
}

static tsr_net_atomic_t access_to(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
				  uint64_t bits)
{
	return (tsr_net_atomic_t){.offset = (uint64_t)(mem->at - mem->far->base[mem->rank]),
				  .kind = (uint8_t)kind,
				  .op = (uint8_t)op,
				  .bytes = (uint8_t)tsr_mem_kind_bytes(kind),
				  .bits = bits};
}

/**
 * A store has no result to wait for, unless it is seq_cst: then it takes its
 * place in the one order of all before what follows it.
 */
uint64_t tsr_far_atomic(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
			uint64_t bits, int order, int scope)
{
	const tsr_net_atomic_t access = access_to(mem, kind, op, bits);
	if (op != TSR_CPU_STORE || order == TSR_SEQ_CST)
		return tsr_net_fetch(net_of(mem), mem->rank, access, releases(order, scope));
	tsr_net_update(net_of(mem), mem->rank, access, releases(order, scope));
	return 0;
}

uint64_t tsr_far_cas(const tsr_mem_t *mem, tsr_mem_kind_t kind, uint64_t expected, uint64_t desired,
		     int order, int scope)
{
	tsr_net_atomic_t access = access_to(mem, kind, TSR_CPU_CAS, desired);
	access.expected = expected;
	return tsr_net_fetch(net_of(mem), mem->rank, access, releases(order, scope));
}

void tsr_far_raise(const tsr_mem_t *mem, uint64_t value, tsr_signal_op_t op, int scope)
{
	const enum tsr_cpu_op what = op == TSR_SIGNAL_ADD ? TSR_CPU_ADD : TSR_CPU_STORE;
	tsr_net_update(net_of(mem), mem->rank, access_to(mem, TSR_MEM_U64, what, value),
		       scope == TSR_SCOPE_SYSTEM);
}

void tsr_far_each(const tsr_mem_t *mem, unsigned char *to, tsr_mem_kind_t kind, enum tsr_cpu_op op,
		  const void *values, size_t count)
{
	tsr_mem_t first = *mem;
	first.at = to;
	tsr_net_each(net_of(mem), mem->rank, access_to(&first, kind, op, 0), values, count);
}

void tsr_far_settle(const tsr_cpu_env_t *env)
{
	tsr_net_flush(env->host->net);
}

bool tsr_far_help(const tsr_cpu_env_t *env, bool (*over)(void *ctx), void *ctx)
{
	return tsr_net_help(env->host->net, over, ctx);
}

/* ------------------------------------------------------------------ what others do to mine */

/** A word of my heap that a far rank accesses. False: the access makes no sense. */
static bool is_access(const tsr_net_atomic_t *a)
{
	return a->kind <= TSR_MEM_BF16 && a->op <= TSR_CPU_CAS &&
	       a->bytes == tsr_mem_kind_bytes((tsr_mem_kind_t)a->kind) && a->offset % a->bytes == 0;
}

/**
 * By the thread that serves the net. It acts for the far thread: whatever order
 * that one asked for, this access has the strongest, between this rank's proxy
 * and this rank's threads. Partner: that of the far thread's access. Litmus:
 * MP.rel.acq.diffGPU-ss.
 */
static uint64_t apply(const tsr_mem_t *mem, const tsr_net_atomic_t *a)
{
	const tsr_mem_kind_t kind = (tsr_mem_kind_t)a->kind;
	const enum tsr_cpu_op op = (enum tsr_cpu_op)a->op;
	if (op == TSR_CPU_CAS)
		return tsr_mem_cas(mem, kind, a->expected, a->bits, TSR_ACQ_REL, TSR_ACQUIRE,
				   TSR_SCOPE_SYSTEM);
	return tsr_mem_atomic(mem, kind, op, a->bits,
			      op == TSR_CPU_LOAD    ? TSR_ACQUIRE
			      : op == TSR_CPU_STORE ? TSR_RELEASE
						    : TSR_ACQ_REL,
			      TSR_SCOPE_SYSTEM);
}

bool tsr_cpu_serve_atomic(const tsr_cpu_env_t *env, const tsr_net_atomic_t *a, uint64_t *old_out)
{
	const tsr_mem_t mem = {.at = env->base[env->rank] + a->offset, .rank = env->rank};
	if (!is_access(a))
		return false;
	const uint64_t old = apply(&mem, a);
	if (old_out)
		*old_out = old;
	if (a->op != TSR_CPU_LOAD)
		tsr_bell_ring(env, &mem);
	return true;
}

bool tsr_cpu_serve_each(const tsr_cpu_env_t *env, const tsr_net_atomic_t *first, const void *values,
			size_t count)
{
	tsr_net_atomic_t a = *first;
	if (!is_access(first) || first->op == TSR_CPU_LOAD || first->op == TSR_CPU_CAS)
		return false;
	for (size_t i = 0; i < count; i++) {
		const tsr_mem_t mem = {.at = env->base[env->rank] + a.offset, .rank = env->rank};
		a.bits = 0;
		memcpy(&a.bits, (const unsigned char *)values + i * a.bytes, a.bytes);
		(void)apply(&mem, &a);
		tsr_bell_ring(env, &mem);
		a.offset += a.bytes;
	}
	return true;
}
