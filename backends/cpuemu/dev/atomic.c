/* Atomics: the typed functions behind the macros, over the bits of the memory layer. */
#include "cpuemu/dev/memory/bell.h"
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/far.h"

static bool releases(int order)
{
	return order == TSR_RELEASE || order == TSR_ACQ_REL || order == TSR_SEQ_CST;
}

static bool acquires(int order)
{
	return order == TSR_ACQUIRE || order == TSR_ACQ_REL || order == TSR_SEQ_CST;
}

static const char *const op_names[] = {
	[TSR_CPU_LOAD] = "tsr_atomic_load", [TSR_CPU_STORE] = "tsr_atomic_store",
	[TSR_CPU_XCHG] = "tsr_atomic_xchg", [TSR_CPU_ADD] = "tsr_atomic_add",
	[TSR_CPU_AND] = "tsr_atomic_and",   [TSR_CPU_OR] = "tsr_atomic_or",
	[TSR_CPU_XOR] = "tsr_atomic_xor",   [TSR_CPU_MIN] = "tsr_atomic_min",
	[TSR_CPU_MAX] = "tsr_atomic_max",   [TSR_CPU_CAS] = "tsr_atomic_cas",
};

/** What one call asks for. */
typedef struct atomic_call {
	tsr_mem_kind_t kind;
	enum tsr_cpu_op op;
	void *p;
	uint64_t bits, desired; /* operand; compare-and-swap: expected and desired */
	int peer, order, failure, scope;
} atomic_call_t;

static uint64_t explore(const tsr_mem_t *mem, const atomic_call_t *call)
{
	const tsr_explored_atomic_t atomic = {call->kind,    call->op,    call->bits,
					      call->desired, call->order, call->failure,
					      call->scope,   false};
	return tsr_explored_atomic(mem, &atomic);
}

static uint64_t act(tsr_coop_t *coop, const atomic_call_t *call)
{
	tsr_mem_t mem;
	const size_t bytes = tsr_mem_kind_bytes(call->kind);
	tsr_mem_access_t access = call->op == TSR_CPU_LOAD ? TSR_MEM_READ : TSR_MEM_WRITE;
	uint64_t old;
	if (!tsr_mem_reach(coop, op_names[call->op], call->p, bytes, bytes, call->peer, access,
			   &mem))
		return 0;
	if (mem.explored)
		return explore(&mem, call);
	if (!mem.far && releases(call->order) && call->op != TSR_CPU_LOAD)
		tsr_far_release(coop->block->env, call->scope);
	if (call->op == TSR_CPU_CAS)
		old = tsr_mem_cas(&mem, call->kind, call->bits, call->desired, call->order,
				  call->failure, call->scope);
	else
		old = tsr_mem_atomic(&mem, call->kind, call->op, call->bits, call->order,
				     call->scope);
	if (access == TSR_MEM_WRITE && !mem.far)
		/* it may be a flag that somebody waits for */
		tsr_bell_ring(coop->block->env, &mem);
	return old;
}

/**
 * Once for the coop: its threads meet before a release and after an acquire,
 * and all receive the old value.
 */
static uint64_t act_once(tsr_coop_t *coop, const atomic_call_t *call)
{
	const bool before = releases(call->order) && call->op != TSR_CPU_LOAD;
	const bool after =
		(acquires(call->order) || acquires(call->failure)) && call->op != TSR_CPU_STORE;
	uint64_t old = 0;
	if (before && !tsr_cpu_meet(coop, op_names[call->op]))
		return 0;
	if (tsr_cpu_leads(coop))
		old = act(coop, call);
	if (coop->count > 1)
		old = tsr_cpu_give(coop, op_names[call->op], old);
	if (after)
		tsr_cpu_met(coop);
	return old;
}

#define DEFINE_ATOMIC(suffix_, type_, kind_)                                                       \
	type_ tsr_cpu_atomic_##suffix_(tsr_coop_t *coop, enum tsr_cpu_op op, void *p, type_ value, \
				       int peer, int order, int scope)                             \
	{                                                                                          \
		atomic_call_t call = {.kind = (kind_),                                             \
				      .op = op,                                                    \
				      .p = p,                                                      \
				      .peer = peer,                                                \
				      .order = order,                                              \
				      .scope = scope};                                             \
		type_ old;                                                                         \
		memcpy(&call.bits, &value, sizeof value);                                          \
		call.bits = act_once(coop, &call);                                                 \
		memcpy(&old, &call.bits, sizeof old);                                              \
		return old;                                                                        \
	}                                                                                          \
	type_ tsr_cpu_cas_##suffix_(tsr_coop_t *coop, void *p, type_ expected, type_ desired,      \
				    int peer, int order, int failure, int scope)                   \
	{                                                                                          \
		atomic_call_t call = {                                                             \
			.kind = (kind_), .op = TSR_CPU_CAS, .p = p, .peer = peer, .order = order}; \
		type_ old;                                                                         \
		call.failure = failure;                                                            \
		call.scope = scope;                                                                \
		memcpy(&call.bits, &expected, sizeof expected);                                    \
		memcpy(&call.desired, &desired, sizeof desired);                                   \
		call.bits = act_once(coop, &call);                                                 \
		memcpy(&old, &call.bits, sizeof old);                                              \
		return old;                                                                        \
	}

/* The low bytes of the bits hold the value. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "values of 4 bytes lie in the low half of the bits");
DEFINE_ATOMIC(u32, uint32_t, TSR_MEM_U32)
DEFINE_ATOMIC(i32, int32_t, TSR_MEM_I32)
DEFINE_ATOMIC(u64, uint64_t, TSR_MEM_U64)
DEFINE_ATOMIC(i64, int64_t, TSR_MEM_I64)
DEFINE_ATOMIC(f32, float, TSR_MEM_F32)
DEFINE_ATOMIC(f64, double, TSR_MEM_F64)

#if defined(__GNUC__) && !defined(__clang__)
/* a stand-alone fence is what was asked for; tsr_scoped_fence tells ThreadSanitizer */
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* The processor's fence, whose every scope is the machine's. */
static void machine_fence(int order)
{
	switch (order) {
	case TSR_ACQUIRE:
		atomic_thread_fence(memory_order_acquire);
		break;
	case TSR_RELEASE:
		atomic_thread_fence(memory_order_release);
		break;
	case TSR_ACQ_REL:
		atomic_thread_fence(memory_order_acq_rel);
		break;
	default:
		atomic_thread_fence(memory_order_seq_cst);
		break;
	}
}

static void fence(tsr_coop_t *coop, int order, int scope)
{
	if (tsr_cpu_exploration(coop)) {
		tsr_explored_fence(coop, order, scope);
		return;
	}
	if (releases(order))
		tsr_far_release(coop->block->env, scope);
	tsr_scoped_fence(order, scope);
	machine_fence(order);
}

/**
 * By the coop's first thread, between the meetings of an access with that
 * order: it acts for the coop in what comes before or after the fence as well.
 */
void tsr_cpu_fence(tsr_coop_t *coop, int order, int scope)
{
	if (releases(order) && !tsr_cpu_meet(coop, "tsr_fence"))
		return;
	if (tsr_cpu_leads(coop))
		fence(coop, order, scope);
	if (acquires(order))
		tsr_cpu_meet(coop, "tsr_fence");
}

/**
 * Nothing of mine is still in a store buffer, or on its way to another node;
 * orders nothing for others, so it has no partner.
 */
static void flush(const tsr_coop_t *coop)
{
	if (coop->block->env->host->net)
		tsr_far_settle(coop->block->env);
	machine_fence(TSR_SEQ_CST);
}

void tsr_flush(tsr_coop_t *coop, int peer)
{
	if ((unsigned)peer >= (unsigned)tsr_size(coop))
		tsr_cpu_misuse(coop, __func__, TSR_RANKS_CURE, "of rank %d of a %s of %d", peer,
			       tsr_cpu_circle(coop), tsr_size(coop));
	else if (tsr_cpu_exploration(coop))
		tsr_exploration_flush(tsr_cpu_exploration(coop));
	else
		flush(coop);
	tsr_cpu_meet(coop, __func__);
}
