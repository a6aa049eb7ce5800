/*
 * The library's own kernels: the one that checks a mapping of a peer's heap,
 * which does what kernels do there and tells the host what came of it, and the
 * one that tells the host what the device's clock says.
 */
#include "tessera/dev.h"

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
