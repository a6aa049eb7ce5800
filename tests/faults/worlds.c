/*
 * A process that joins one world after the other: worlds N. Of each world it
 * prints its rank, how many there are, and the sum of what all ranks have put
 * into its heap.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tessera/tessera.h"

/** Each rank sends its number and one to all; the sum of them arrives. */
static tsr_status_t sum_ranks(tsr_world_t *world, int64_t *sum_out)
{
	const int64_t mine = tsr_world_rank(world) + 1;
	int64_t all[256], sum = 0;
	const tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine);
	for (int r = 0; r < tsr_world_size(world) && status == TSR_OK; r++)
		sum += all[r];
	*sum_out = sum;
	return status;
}

int main(int argc, char **argv)
{
	const int worlds = argc > 1 ? atoi(argv[1]) : 3;
	for (int number = 1; number <= worlds; number++) {
		tsr_world_t *world;
		int64_t sum = 0;
		tsr_status_t status = tsr_init(&world);
		if (status == TSR_OK) {
			status = sum_ranks(world, &sum);
			if (status == TSR_OK)
				printf("world %d: rank %d of %d, sum %" PRId64 "\n", number,
				       tsr_world_rank(world), tsr_world_size(world), sum);
			const tsr_status_t ended = tsr_finalize(world);
			status = status != TSR_OK ? status : ended;
		}
		if (status != TSR_OK) {
			printf("world %d: %s\n", number, tsr_last_error());
			return 1;
		}
	}
	return 0;
}
