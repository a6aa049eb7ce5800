/* Who can be asked: --on NAME. */
#include "tools/litmus.h"

const litmus_witness_t *const suite_witnesses[] = {
	&litmus_axioms,
	NULL,
};
