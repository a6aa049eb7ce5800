/* Who can be asked: --on NAME. */
#include "tools/litmus.h"
#include "tools/litmus_explore.h"
#include "tools/litmus_run.h"

const litmus_witness_t *const suite_witnesses[] = {
	&litmus_axioms, &litmus_views, &litmus_cache, &litmus_interleaving, &litmus_explore, &litmus_cpuemu,
	&litmus_cuda,   &litmus_hip,   NULL,
};
