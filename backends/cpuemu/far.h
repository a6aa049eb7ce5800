/* What far ranks do to this rank's heap: the thread that serves the net calls these. */
#ifndef TESSERA_CPUEMU_FAR_HOST_H
#define TESSERA_CPUEMU_FAR_HOST_H

#include "cpuemu/block.h"
#include "src/net/net.h"

/**
 * Applies an access to a word of my heap, whose place the net has checked, and
 * wakes who waits for the word. False: there is no such access.
 */
bool tsr_cpu_serve_atomic(const tsr_cpu_env_t *env, const tsr_net_atomic_t *access,
			  uint64_t *old_out);

/** The same, without a result, to `count` words from that one on. */
bool tsr_cpu_serve_each(const tsr_cpu_env_t *env, const tsr_net_atomic_t *first, const void *values,
			size_t count);

#endif
