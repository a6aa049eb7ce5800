/* Bodies of dev/coop.h, and the construction of a kernel's coops. */
#ifndef TESSERA_GPU_DEV_COOP_H
#define TESSERA_GPU_DEV_COOP_H

#include "gpu/dev/port.h"

TSR_DEV tsr_coop_t tsr_gpu_block(const tsr_gpu_context_t *context, tsr_gpu_shared_t *shared,
				 tsr_gpu_scratch_t *scratch, int workers)
{
	tsr_coop_t block;
	block.context = context;
	block.told = shared->told[0];
	block.scratch = scratch;
	block.thread = tsr_port_thread();
	block.threads = TSR_PORT_BLOCK_THREADS(workers);
	block.worker = 0;
	block.workers = workers;
	block.whole = 1;
	block.turn = 0;
	block.posted = 0;
	block.unended = 0;
	block.has_senders = 0;
	block.kept = 0;
	block.stamps = 0;
	block.file = "";
	block.line = 0;
	return block;
}

/** Worker 0: the first threads, or all. */
TSR_DEV tsr_coop_t tsr_gpu_worker_main(const tsr_gpu_context_t *context, tsr_gpu_shared_t *shared,
				       tsr_gpu_scratch_t *scratch, int workers)
{
	tsr_coop_t worker = tsr_gpu_block(context, shared, scratch, workers);
	worker.told = shared->told[1];
	worker.whole = workers == 1;
	if (workers > 1)
		worker.threads = TSR_PORT_MAIN_THREADS;
	return worker;
}

/**
 * Any other worker. All have the same number of threads; they come after those
 * of worker 0.
 */
TSR_DEV tsr_coop_t tsr_gpu_worker_mover(const tsr_gpu_context_t *context, tsr_gpu_shared_t *shared,
					tsr_gpu_scratch_t *scratch, int workers)
{
	tsr_coop_t worker = tsr_gpu_block(context, shared, scratch, workers);
	int behind = tsr_port_thread() - TSR_PORT_MAIN_THREADS;
	worker.worker = workers == 2 ? 1 : 1 + behind / TSR_PORT_MOVER_THREADS;
	if (worker.worker < 1)
		/* lets the compiler remove what the kernel's body does for worker 0 only */
		__builtin_unreachable();
	worker.told = shared->told[1 + worker.worker];
	worker.scratch = scratch + worker.worker;
	worker.thread = behind % TSR_PORT_MOVER_THREADS;
	worker.threads = TSR_PORT_MOVER_THREADS;
	worker.whole = 0;
	return worker;
}

/*
 * Waits for stores that the port makes in its own way: TSR_PORT_OUTGOING
 * (gpu/dev/port.h).
 */
TSR_DEV void tsr_port_settle(tsr_coop_t *coop);

/* Raises a flag behind such stores, if there are any: whether it did, or will. */
TSR_DEV bool tsr_port_signal_later(tsr_coop_t *coop, uint64_t *flag, uint64_t value,
				   tsr_signal_op_t op, int peer);

/** A meeting of the coop's threads. */
TSR_DEV void tsr_gpu_meet(const tsr_coop_t *coop)
{
	if (coop->whole)
		tsr_port_meet_block();
	else
		tsr_port_meet_worker(coop->worker, coop->threads);
}

/**
 * The same for shared memory only: each thread sees what all have stored there.
 * A release does not cover their other accesses until the coop has met again.
 */
TSR_DEV void tsr_gpu_meet_shared(const tsr_coop_t *coop)
{
#if defined(TSR_PORT_MEET_SHARED)
	TSR_PORT_MEET_SHARED(coop);
#else
	tsr_gpu_meet(coop);
#endif
}

/**
 * A copy of the coop for a rare path. What the path computes from the thread's
 * number is then computed only there; earlier, it would take registers from a
 * main loop's accumulator.
 */
TSR_DEV tsr_coop_t tsr_gpu_seldom(const tsr_coop_t *coop)
{
	tsr_coop_t seldom = *coop;
	int64_t thread = coop->thread;
	tsr_port_forget(&thread);
	seldom.thread = (int)thread;
	return seldom;
}

/**
 * Ends that path: takes over what may have changed. Who the threads are has not,
 * and must not come from a copy that a function has had the address of: the
 * compiler would no longer know how many they are, and lay down the code for each
 * number.
 */
TSR_DEV void tsr_gpu_seldom_end(tsr_coop_t *coop, const tsr_coop_t *seldom)
{
	coop->turn = seldom->turn;
	coop->posted = seldom->posted;
	coop->unended = seldom->unended;
	coop->kept = seldom->kept;
	coop->stamps = seldom->stamps;
}

/** Whether this thread acts where the coop acts only once. */
TSR_DEV int tsr_gpu_leads(const tsr_coop_t *coop)
{
	return coop->thread == 0;
}

/**
 * Gives the leading thread's `word` to all threads; they meet once. The next
 * call uses the other word. No thread is ahead of another by more than one
 * meeting, so no word is overwritten before all have read it.
 */
TSR_DEV uint64_t tsr_gpu_tell(tsr_coop_t *coop, uint64_t word)
{
	uint64_t *told = &coop->told[coop->turn];
	coop->turn ^= 1;
	if (tsr_gpu_leads(coop))
		*told = word;
	tsr_gpu_meet(coop);
	return *told;
}

TSR_DEV int tsr_rank(const tsr_coop_t *coop)
{
	return coop->context->rank;
}

TSR_DEV int tsr_size(const tsr_coop_t *coop)
{
	return coop->context->size;
}

TSR_DEV int tsr_block_index(const tsr_coop_t *coop)
{
	(void)coop;
	return tsr_port_block();
}

TSR_DEV int tsr_block_count(const tsr_coop_t *coop)
{
	return coop->context->blocks;
}

TSR_DEV int tsr_worker_index(const tsr_coop_t *coop)
{
	return coop->worker;
}

TSR_DEV int tsr_worker_count(const tsr_coop_t *coop)
{
	return coop->workers;
}

TSR_DEV void tsr_sync(tsr_coop_t *coop)
{
	tsr_gpu_meet(coop);
}

/** The coop begins, as a worker of this number, where a run is recorded: gpu/dev/record.h. */
TSR_DEV void tsr_gpu_record_open(const tsr_coop_t *coop, int worker);

/**
 * Workers with as many threads as can meet without a barrier. They exchange no
 * elements, so their words are in the block's scratch memory. The block meets
 * first, because it, or workers that it had before, may still read there.
 */
static_assert(TSR_PORT_WIDE_THREADS <= TSR_MAX_SPLIT * TSR_PORT_PART_THREADS &&
		      TSR_PORT_BLOCK_THREADS(1) <= TSR_MAX_SPLIT * TSR_PORT_PART_THREADS,
	      "a block is divided into more workers than TSR_MAX_SPLIT says");

TSR_DEV tsr_coop_t tsr_split(tsr_coop_t *block)
{
	tsr_port_settle(block);
	tsr_gpu_meet(block);
	/* the block does this before or after a main loop, which keeps nothing of it */
	tsr_coop_t part = tsr_gpu_seldom(block);
	const int thread = part.thread;
	part.worker = thread / TSR_PORT_PART_THREADS;
	part.workers = block->threads / TSR_PORT_PART_THREADS;
	part.told = (uint64_t *)block->scratch->bytes + 2 * part.worker;
	part.scratch = 0;
	part.thread = thread % TSR_PORT_PART_THREADS;
	part.threads = TSR_PORT_PART_THREADS;
	part.whole = 0;
	part.turn = 0;
	tsr_gpu_record_open(&part, part.worker);
	return part;
}

TSR_DEV void tsr_shared_clear(tsr_coop_t *block, void *shared, size_t size_bytes)
{
	unsigned char *bytes = (unsigned char *)shared;
	uint32_t *words = (uint32_t *)shared;
	const size_t whole =
		(uintptr_t)shared % sizeof *words == 0 ? size_bytes / sizeof *words : 0;
	tsr_gpu_meet(block);
	for (size_t i = (size_t)block->thread; i < whole; i += (size_t)block->threads)
		words[i] = 0;
	for (size_t i = whole * sizeof *words + (size_t)block->thread; i < size_bytes;
	     i += (size_t)block->threads)
		bytes[i] = 0;
	tsr_gpu_meet(block);
}

#endif
