/*
 * The kernel that checks a mapping of a peer's heap: does what kernels do
 * there, and tells the host what came of it.
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
