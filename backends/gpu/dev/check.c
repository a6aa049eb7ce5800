/*
 * The library's own kernels: the one that checks a mapping of a peer's heap,
 * which does what kernels do there and tells the host what came of it; the one
 * that tells the host what the device's clock says; and those that work for ranks
 * of other nodes.
 */
#define TSR_NODES 1
#include "tessera/dev.h"

#include "gpu/far/served.h"

/** What a far rank does to words of this rank's heap. A few warps. */
TSR_PORT_ENTRY(TSR_GPU_SERVE_THREADS) tsr_gpu_serve(TSR_PORT_BY_VALUE(tsr_gpu_service_t) service)
{
	tsr_gpu_serve_all(service);
}

/** Has TSR_GPU_STACK_BYTES of local memory, so that the driver provides it. One thread. */
TSR_PORT_ENTRY(1) tsr_gpu_stack(uint64_t nothing)
{
	volatile unsigned char room[TSR_GPU_STACK_BYTES];
	for (int i = 0; i < TSR_GPU_STACK_BYTES; i += 64)
		room[(uint64_t)i + nothing] = 0;
	if (room[nothing] != 0)
		*(volatile uint64_t *)nothing = 0; /* never: the reads are not left out */
}

/** Puts rows to a far heap: a copy on a stream. One block. */
TSR_PORT_ENTRY(TSR_GPU_CARRY_THREADS)
tsr_gpu_carry(TSR_PORT_BY_VALUE(tsr_gpu_context_t) context,
	      TSR_PORT_BY_VALUE(tsr_gpu_carried_t) carried)
{
	TSR_PORT_SHARED tsr_gpu_shared_t shared;
	TSR_PORT_SHARED tsr_gpu_scratch_t scratch[1];
	tsr_coop_t block = tsr_gpu_block(&context, &shared, scratch, 1);
	block.threads = TSR_GPU_CARRY_THREADS;
	const tsr_gpu_side_t dst = {carried.dst, carried.dst_pitch, carried.peer, true},
			     src = {(char *)carried.src, carried.src_pitch, context.rank, false};
	tsr_gpu_far_copy(&block, dst, src, carried.rows, carried.row_bytes);
}

/**
 * Stores `pattern` to the first of two words, loads it back, and adds 1 to the
 * second twice. All at system scope: the words are another rank's, perhaps
 * another GPU's; `seen` is host memory. One thread. Nobody else touches the
 * words: no access has a partner.
 */
TSR_PORT_ENTRY(1) tsr_gpu_check(uint64_t *words, uint64_t pattern, uint64_t *seen)
{
	tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(&words[0], pattern);
	seen[0] = tsr_port_load<TSR_ACQUIRE, TSR_SCOPE_SYSTEM>(&words[0]);
	seen[1] = tsr_port_add<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(&words[1], (uint64_t)1);
	seen[2] = tsr_port_add<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(&words[1], (uint64_t)1);
	seen[3] = pattern;
}

/** The least by which the clock advances, in a few looks at it. */
TSR_DEV uint64_t tsr_gpu_clock_step(void)
{
	uint64_t least = ~(uint64_t)0;
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < 8; i++) {
		const uint64_t begin = tsr_port_clock();
		uint64_t now = begin;
		while (now == begin)
			now = tsr_port_clock();
		least = now - begin < least ? now - begin : least;
	}
	return least;
}

/**
 * Answers the host TSR_GPU_CLOCK_ROUNDS times, or until `limit` ticks have
 * passed without a question. One thread. Partner of each access: its
 * counterpart in backends/gpu/clock.c. Litmus: MP.rel.acq.diffGPU-ss in each
 * direction.
 */
TSR_PORT_ENTRY(1) tsr_gpu_clock(tsr_gpu_clock_t *clock, uint64_t limit)
{
	uint64_t now = tsr_port_clock();
	clock->step = tsr_gpu_clock_step();
	TSR_GPU_NO_UNROLL
	for (uint32_t round = 1; round <= TSR_GPU_CLOCK_ROUNDS; round++) {
		const uint64_t begin = now;
		while (tsr_port_load<TSR_ACQUIRE, TSR_SCOPE_SYSTEM>(&clock->asked) < round)
			if (tsr_port_clock() - begin > limit)
				return;
		clock->ticks = now = tsr_port_clock();
		tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(&clock->answered, round);
	}
}
