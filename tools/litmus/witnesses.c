/* Who can be asked: --on NAME. */
#include "tools/litmus/explore.h"
#include "tools/litmus/run/run.h"
#include "tools/litmus/suite.h"

const litmus_witness_t *const suite_witnesses[] = {
	&litmus_axioms,       &litmus_views,   &litmus_cache,
	&litmus_interleaving, &litmus_explore, &litmus_cpuemu,
	&litmus_cuda,         &litmus_hip,     NULL,
};
