/* Who calls, and the meeting of a block's workers. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/wait.h"

int tsr_rank(const tsr_coop_t *coop)
{
	return coop->block->team->rank;
}

int tsr_size(const tsr_coop_t *coop)
{
	return coop->block->team->size;
}

int tsr_peer_is_mapped(const tsr_coop_t *coop, int peer)
{
	const tsr_device_team_t *team = coop->block->team;
	return peer >= 0 && peer < team->size &&
	       !tsr_host_is_far(coop->block->env->host, team->ranks[peer]);
}

int tsr_port_nodes(const tsr_coop_t *coop)
{
	return coop->block->team->nodes.count;
}

int tsr_port_node(const tsr_coop_t *coop, int rank)
{
	return coop->block->team->nodes.node[rank];
}

int tsr_port_node_place(const tsr_coop_t *coop, int rank)
{
	return coop->block->team->nodes.place[rank];
}

int tsr_port_node_members(const tsr_coop_t *coop, int node)
{
	const tsr_cpu_nodes_t *nodes = &coop->block->team->nodes;
	return nodes->first[node + 1] - nodes->first[node];
}

int tsr_port_node_member(const tsr_coop_t *coop, int node, int place)
{
	const tsr_cpu_nodes_t *nodes = &coop->block->team->nodes;
	return nodes->member[nodes->first[node] + place];
}

int tsr_block_index(const tsr_coop_t *coop)
{
	return coop->block->index;
}

int tsr_block_count(const tsr_coop_t *coop)
{
	return coop->block->count;
}

int tsr_worker_index(const tsr_coop_t *coop)
{
	return coop->kind == TSR_CPU_BLOCK ? 0 : coop->worker->index;
}

int tsr_worker_count(const tsr_coop_t *coop)
{
	if (coop->kind == TSR_CPU_WORKER && coop->block->parts > 0)
		return coop->block->parts;
	return (int)coop->block->kernel->workers;
}

/** Whether the coop is a block that may be split; else the misuse is noted. */
static bool is_whole(tsr_coop_t *block)
{
	if (block->kind == TSR_CPU_BLOCK && block->block->kernel->workers == 1)
		return true;
	return tsr_cpu_misuse(block, "tsr_split",
			      "split what is one worker: a block of TSR_KERNEL or TSR_KERNEL_WIDE",
			      block->kind == TSR_CPU_LOADER   ? "in a gate"
			      : block->kind == TSR_CPU_WORKER ? "by a worker"
							      : "of a block that has workers");
}

tsr_coop_t tsr_split(tsr_coop_t *block)
{
	if (!is_whole(block)) {
		tsr_cpu_met(block);
		return *block;
	}
	tsr_cpu_meet(block, __func__);
	if (block->block->parts == 0) {
		block->block->parts = 1;
		if (tsr_cpu_exploration(block))
			tsr_cpu_explore_split(block);
	}
	tsr_coop_t worker = *block;
	worker.kind = TSR_CPU_WORKER;
	worker.index = 0;
	worker.count = 1;
	return worker;
}

/**
 * Opens the phase for the waiting workers. Partner: the acquire of `phase` in
 * meeting_over; the count as in tsr_bell_ring.
 */
static void open_phase(tsr_cpu_block_t *block)
{
	/* Relaxed: nobody arrives again before the phase below is open. */
	atomic_store_explicit(&block->arrived, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&block->phase, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&block->sleepers, memory_order_seq_cst) != 0)
		tsr_futex_wake_all(&block->phase);
}

typedef struct meeting {
	tsr_cpu_block_t *block;
	uint32_t phase;
} meeting_t;

static bool meeting_over(void *ctx)
{
	meeting_t *meeting = ctx;
	/* Acquire: partner is the release in open_phase, which carries what all workers did before
	 * they arrived.
	 * Litmus: MP.rel.acq.sameWG-ww. */
	return atomic_load_explicit(&meeting->block->phase, memory_order_acquire) != meeting->phase;
}

static void meeting_sleep(void *ctx, uint64_t ns)
{
	meeting_t *meeting = ctx;
	/* partner: open_phase */
	atomic_fetch_add_explicit(&meeting->block->sleepers, 1, memory_order_seq_cst);
	tsr_futex_wait(&meeting->block->phase, meeting->phase, ns);
	atomic_fetch_sub_explicit(&meeting->block->sleepers, 1, memory_order_relaxed);
}

static void meeting_expired(tsr_coop_t *coop, const char *call, uint64_t waited_ns)
{
	uint32_t arrived = atomic_load_explicit(&coop->block->arrived, memory_order_relaxed);
	tsr_wait_record_t record = {
		.expected = coop->block->kernel->workers, .seen = arrived, .waited_ns = waited_ns};
	snprintf(record.allocation, sizeof record.allocation, "the block's meeting");
	record.from = record.owner = coop->block->env->rank;
	record.team_from = tsr_rank(coop);
	tsr_wait_keep(coop, &record, NULL);
	tsr_wait_fail(
		coop, &record,
		"%s: %u of the block's %u workers came; all of them make every call with the block",
		call, (unsigned)arrived, (unsigned)coop->block->kernel->workers);
}

/** The threads wait for each other. */
static bool gather(tsr_coop_t *coop, const char *call)
{
	tsr_cpu_block_t *block = coop->block;
	if (coop->count == 1)
		return true;
	if (tsr_cpu_exploration(coop)) {
		tsr_explored_meet(coop, call);
		return true;
	}
	meeting_t meeting = {block, atomic_load_explicit(&block->phase, memory_order_relaxed)};
	/* Acquire and release: each arrival hands on what came before it, the last one opens the
	 * phase with all of it. Partner: itself on the other workers. Litmus: MP.rmw.sameGPU-aa. */
	if (atomic_fetch_add_explicit(&block->arrived, 1, memory_order_acq_rel) + 1 ==
	    (uint32_t)coop->count) {
		open_phase(block);
		return true;
	}
	tsr_patience_t patience = {.over = meeting_over, .sleep = meeting_sleep, .ctx = &meeting};
	patience.deadline_ns = block->env->host->deadline_ns;
	int how = tsr_wait_patiently(coop, &patience);
	if (how == TSR_WAIT_EXPIRED)
		meeting_expired(coop, call, patience.waited_ns);
	return how == TSR_WAIT_OK;
}

void tsr_cpu_met(tsr_coop_t *coop)
{
	/* Not by a gate: the other threads of its main loop go on and do not meet here. */
	if (!tsr_cpu_exploration(coop))
		return;
	if (coop->worker->in_each)
		tsr_explored_in_each(coop, "a meeting");
	if (coop->kind != TSR_CPU_LOADER)
		tsr_exploration_met(tsr_cpu_exploration(coop));
}

bool tsr_cpu_meet_others(tsr_coop_t *coop, const char *call)
{
	if (tsr_cpu_exploration(coop) && coop->worker->in_each)
		tsr_explored_in_each(coop, call);
	tsr_cpu_met(coop);
	return gather(coop, call);
}

uint64_t tsr_cpu_give(tsr_coop_t *coop, const char *call, uint64_t value)
{
	if (coop->count == 1)
		return value;
	if (tsr_cpu_leads(coop))
		coop->block->given = value;
	if (!gather(coop, call))
		return 0;
	value = coop->block->given;
	return gather(coop, call) ? value : 0;
}

void tsr_sync(tsr_coop_t *coop)
{
	if (coop->kind == TSR_CPU_LOADER)
		tsr_cpu_misuse(coop, __func__,
			       "a gate may wait and read atomics; it runs on its own", "in a gate");
	else
		tsr_cpu_meet(coop, __func__);
}

void tsr_role(tsr_coop_t *coop, const char *role)
{
	tsr_text_cut(role ? role : "", sizeof coop->worker->record.role, coop->worker->record.role);
}

/** Sums values where they stand, a stage of them at a time; the sum of all. */
static uint32_t sum_up(const tsr_mem_t *mem, size_t count)
{
	enum { STAGE = 512 };
	uint32_t stage[STAGE], sum = 0; /* without a sign: they may wrap around */
	for (size_t first = 0; first < count; first += STAGE) {
		const size_t n = count - first < STAGE ? count - first : STAGE;
		unsigned char *at = mem->at + first * sizeof *stage;
		tsr_mem_read(mem, stage, at, n * sizeof *stage);
		for (size_t i = 0; i < n; i++) {
			const uint32_t value = stage[i];
			stage[i] = sum;
			sum += value;
		}
		tsr_mem_write(mem, at, stage, n * sizeof *stage);
	}
	return sum;
}

int32_t tsr_coop_scan(tsr_coop_t *coop, int32_t *values, int count)
{
	uint32_t sum = 0;
	tsr_mem_t mem;
	tsr_cpu_meet(coop, __func__);
	if (count > 0 && tsr_cpu_leads(coop) &&
	    tsr_mem_reach_shared(coop, __func__, "values", values, count, TSR_MEM_WRITE, &mem))
		sum = sum_up(&mem, (size_t)count);
	sum = (uint32_t)tsr_cpu_give(coop, __func__, sum);
	tsr_cpu_met(coop);
	return (int32_t)sum;
}

void tsr_shared_clear(tsr_coop_t *block, void *shared, size_t size_bytes)
{
	tsr_mem_t mem;
	int64_t first, last;
	tsr_cpu_meet(block, __func__);
	tsr_cpu_share(block, (int64_t)size_bytes, &first, &last);
	if (block->kind != TSR_CPU_BLOCK)
		tsr_cpu_misuse(block, __func__, "all workers clear it together, with the block",
			       "by one worker");
	else if (first < last &&
		 tsr_mem_reach(block, __func__, (unsigned char *)shared + first,
			       (size_t)(last - first), 1, tsr_rank(block), TSR_MEM_WRITE, &mem))
		tsr_mem_clear(&mem, mem.at, (size_t)(last - first));
	tsr_cpu_meet(block, __func__);
}
