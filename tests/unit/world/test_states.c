/* The states of collectives are as large as their contracts say (team.h, and World of Python). */
#include <criterion/criterion.h>

#include "tessera/team.h"

Test(states, are_as_large_as_their_contract_says)
{
	for (int ranks = 1; ranks <= 64; ranks++) {
		const size_t each = (size_t)ranks;
		cr_expect_eq(tsr_barrier_state_bytes(ranks), 8 + 8 * each);
		cr_expect_eq(tsr_all_gather_state_bytes(ranks), 384 * each);
		cr_expect_eq(tsr_collective_state_bytes(ranks),
			     ((size_t)10 << 20) + 384 + 768 * each, "%d ranks: %zu bytes", ranks,
			     tsr_collective_state_bytes(ranks));
	}
	cr_expect_eq(tsr_collective_state_bytes(0), 0);
}
