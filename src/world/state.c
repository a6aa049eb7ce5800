/* How large the states of device collectives are. */
#include "common/dev/states.h"
#include "tessera/team.h"

size_t tsr_barrier_state_bytes(int ranks)
{
	return ranks < 1 ? 0 : (size_t)TSR_BARRIER_WORDS(ranks) * sizeof(uint64_t);
}

size_t tsr_all_gather_state_bytes(int ranks)
{
	return ranks < 1 ? 0 : (size_t)TSR_ALL_GATHER_WORDS(ranks) * sizeof(uint64_t);
}

size_t tsr_collective_state_bytes(int ranks)
{
	return ranks < 1 ? 0 : (size_t)TSR_COLLECTIVE_WORDS(ranks) * sizeof(uint64_t);
}
