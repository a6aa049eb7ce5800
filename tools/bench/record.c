/* The record of a run, of all ranks. */
#include <stdlib.h>

#include "tools/bench/bench.h"

/** One rank's part of bench_traffic_t. */
typedef struct rank_traffic {
	int launches;
	uint64_t products;
	uint64_t operand_bytes, local_written_bytes, local_read_bytes, remote_written_bytes,
		remote_read_bytes;
	uint64_t first_remote_ns, last_product_ns;
} rank_traffic_t;

static int entry_count(const tsr_world_t *world)
{
	tsr_record_entry_t entry = {.size = sizeof entry};
	int count = 0;
	while (tsr_record_entry(world, count, &entry) == TSR_OK)
		count++;
	return count;
}

static rank_traffic_t sum_rank(const tsr_world_t *world)
{
	rank_traffic_t sum = {0};
	tsr_record_entry_t e = {.size = sizeof e};
	for (int i = 0; tsr_record_entry(world, i, &e) == TSR_OK; i++) {
		if (e.launch >= sum.launches)
			sum.launches = e.launch + 1;
		sum.products += e.products;
		sum.operand_bytes += e.operand_bytes;
		sum.local_written_bytes += e.local_written_bytes;
		sum.local_read_bytes += e.local_read_bytes;
		sum.remote_written_bytes += e.remote_written_bytes;
		sum.remote_read_bytes += e.remote_read_bytes;
		if (e.first_remote_ns &&
		    (sum.first_remote_ns == 0 || e.first_remote_ns < sum.first_remote_ns))
			sum.first_remote_ns = e.first_remote_ns;
		if (e.last_product_ns > sum.last_product_ns)
			sum.last_product_ns = e.last_product_ns;
	}
	return sum;
}

static void add_rank(bench_traffic_t *all, const rank_traffic_t *rank)
{
	if (rank->launches > all->launches)
		all->launches = rank->launches;
	all->products += rank->products;
	all->operand_bytes += rank->operand_bytes;
	all->local_written_bytes += rank->local_written_bytes;
	all->local_read_bytes += rank->local_read_bytes;
	all->remote_written_bytes += rank->remote_written_bytes;
	all->remote_read_bytes += rank->remote_read_bytes;
	/* Both stamps are of the rank's own clock. */
	if (rank->first_remote_ns) {
		all->senders++;
		all->early_senders += rank->first_remote_ns < rank->last_product_ns;
	}
}

tsr_status_t bench_record_sum(tsr_world_t *world, bench_traffic_t *traffic_out)
{
	rank_traffic_t mine = sum_rank(world), all[TSR_MAX_RANKS];
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine);
	if (status != TSR_OK)
		return status;
	*traffic_out = (bench_traffic_t){.recorded = true};
	for (int r = 0; r < tsr_world_size(world); r++)
		add_rank(traffic_out, &all[r]);
	return TSR_OK;
}

tsr_status_t bench_record_gather(tsr_world_t *world, tsr_record_entry_t **entries_out,
				 int **counts_out)
{
	int mine = entry_count(world), ranks = tsr_world_size(world), most = 1;
	int *counts = calloc((size_t)ranks, sizeof *counts);
	tsr_record_entry_t *entries = NULL, *own = NULL;
	tsr_status_t status =
		counts ? tsr_team_gather_all(tsr_world_team(world), &mine, counts, sizeof mine)
		       : TSR_OK;
	for (int r = 0; counts && status == TSR_OK && r < ranks; r++)
		most = counts[r] > most ? counts[r] : most;
	if (counts && status == TSR_OK) {
		own = calloc((size_t)most, sizeof *own);
		entries = calloc((size_t)most * (size_t)ranks, sizeof *entries);
	}
	if (status == TSR_OK && (!own || !entries))
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "the host has no memory for the record of the run; free some");
	for (int i = 0; status == TSR_OK && i < mine; i++)
		own[i].size = sizeof own[i], status = tsr_record_entry(world, i, &own[i]);
	if (status == TSR_OK)
		status = tsr_team_gather_all(tsr_world_team(world), own, entries,
					     (size_t)most * sizeof *own);
	free(own);
	if (status != TSR_OK) {
		free(counts);
		free(entries);
		return status;
	}
	/* Rows of one rank follow those of the rank before it. */
	for (int r = 1, at = counts[0]; r < ranks; at += counts[r++])
		for (int i = 0; i < counts[r]; i++)
			entries[at + i] = entries[r * most + i];
	*entries_out = entries;
	*counts_out = counts;
	return TSR_OK;
}
