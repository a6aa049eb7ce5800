/* Checks that a coop holds the lock that it releases. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/memory.h"

/** The newest value of the lock's word. No access of the program: it orders nothing. */
static uint64_t word_of(const tsr_mem_t *mem)
{
	if (mem->explored)
		return tsr_exploration_newest(tsr_cpu_exploration(mem->explored), mem->at,
					      sizeof(uint64_t));
	return tsr_mem_atomic(mem, TSR_MEM_U64, TSR_CPU_LOAD, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

/*
 * Nobody but the holder changes the word of a lock that is held. So what the
 * holder sees is the newest value, whatever the order of the load.
 */
int tsr_port_may_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
{
	const char *call = "tsr_unlock";
	tsr_mem_t mem;
	char who[TSR_WHO_TEXT];
	if (!tsr_cpu_leads(coop) || tsr_cpu_aborted(coop))
		return 1;
	if (!tsr_mem_reach(coop, call, lock, sizeof *lock, sizeof *lock, peer, TSR_MEM_WRITE, &mem))
		return 0;
	const uint64_t word = word_of(&mem);
	if (word == 1 + (uint64_t)tsr_rank(coop))
		return 1;
	if (word == 0)
		return tsr_cpu_misuse(coop, call,
				      "call tsr_unlock once for each tsr_lock that has returned "
				      "TSR_WAIT_OK, with the same lock and peer",
				      "of a lock that is free");
	if (word > (uint64_t)tsr_size(coop))
		return tsr_cpu_misuse(coop, call,
				      "pass a u64 that is zero before the first tsr_lock and that "
				      "nothing else writes",
				      "of a word that is no lock: it is %llu",
				      (unsigned long long)word);
	return tsr_cpu_misuse(coop, call,
			      "call tsr_unlock only if tsr_lock of this lock and peer has returned "
			      "TSR_WAIT_OK",
			      "of a lock that %s holds", tsr_cpu_member(coop, (int)word - 1, who));
}
