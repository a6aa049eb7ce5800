/* The record of a run, of all ranks. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

/** One rank's part of bench_traffic_t. */
typedef struct rank_traffic {
	int launches;
	uint64_t products;
	uint64_t operand_bytes, local_written_bytes, local_read_bytes, remote_written_bytes,
		remote_read_bytes;
	uint64_t first_remote_ns, begin_ns;
	uint64_t moment_ns[BENCH_MOMENTS]; /* by the rank's clock */
} rank_traffic_t;

static void later(uint64_t *moment_ns, uint64_t ns)
{
	*moment_ns = ns > *moment_ns ? ns : *moment_ns;
}

static void earlier(uint64_t *moment_ns, uint64_t ns)
{
	*moment_ns = ns && (*moment_ns == 0 || ns < *moment_ns) ? ns : *moment_ns;
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
		earlier(&sum.first_remote_ns, e.first_remote_ns);
		earlier(&sum.begin_ns, e.begin_ns);
		earlier(&sum.moment_ns[BENCH_FIRST_PRODUCT], e.first_product_ns);
		later(&sum.moment_ns[BENCH_LAST_PRODUCT], e.last_product_ns);
		later(&sum.moment_ns[BENCH_LAST_SEND], e.last_remote_ns);
		later(&sum.moment_ns[BENCH_LAST_WORKER], e.end_ns);
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
		all->early_senders += rank->first_remote_ns < rank->moment_ns[BENCH_LAST_PRODUCT];
	}
}

static double mean_moment(const rank_traffic_t *all, int ranks, bench_moment_t moment)
{
	double sum = 0;
	int count = 0;
	for (int r = 0; r < ranks; r++)
		if (all[r].moment_ns[moment] > all[r].begin_ns) {
			sum += (double)(all[r].moment_ns[moment] - all[r].begin_ns);
			count++;
		}
	return count ? sum / count : 0;
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
	for (int m = 0; m < BENCH_MOMENTS; m++)
		traffic_out->moment_ns[m] = mean_moment(all, tsr_world_size(world), m);
	return TSR_OK;
}

/* ------------------------------------------------------------------ rows of all ranks */

/** Reads row `index` of this rank. */
typedef tsr_status_t (*read_fn)(const tsr_world_t *world, int index, void *row_out);

static tsr_status_t read_entry(const tsr_world_t *world, int index, void *row_out)
{
	tsr_record_entry_t *entry = row_out;
	entry->size = sizeof *entry;
	return tsr_record_entry(world, index, entry);
}

static tsr_status_t read_event(const tsr_world_t *world, int index, void *row_out)
{
	tsr_record_event_t *event = row_out;
	event->size = sizeof *event;
	return tsr_record_event(world, index, event);
}

/** This rank's rows, and their number; null where there is no memory. */
static unsigned char *own_rows(const tsr_world_t *world, read_fn read, size_t row_bytes,
			       int *count_out)
{
	unsigned char *rows = NULL;
	for (int count = 0, room = 0;; count++) {
		if (count == room) {
			room = room ? 2 * room : 64;
			unsigned char *grown = realloc(rows, (size_t)room * row_bytes);
			if (!grown) {
				free(rows);
				return NULL;
			}
			rows = grown;
		}
		if (read(world, count, rows + (size_t)count * row_bytes) != TSR_OK) {
			*count_out = count;
			return rows;
		}
	}
}

/** Rows that are gathered: as many of each rank as the rank with most has. */
typedef struct gathered {
	size_t row_bytes;
	unsigned char *own, *rows;
	int *counts;
	int most;
} gathered_t;

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "the host has no memory for the record of the run; free some");
}

static tsr_status_t gather(tsr_world_t *world, read_fn read, gathered_t *g)
{
	const int ranks = tsr_world_size(world);
	int mine = 0;
	g->own = own_rows(world, read, g->row_bytes, &mine);
	g->counts = calloc((size_t)ranks, sizeof *g->counts);
	if (!g->own || !g->counts)
		return no_memory();
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(world), &mine, g->counts, sizeof mine);
	if (status != TSR_OK)
		return status;
	g->most = 1;
	for (int r = 0; r < ranks; r++)
		g->most = g->counts[r] > g->most ? g->counts[r] : g->most;
	unsigned char *grown = realloc(g->own, (size_t)g->most * g->row_bytes);
	if (!grown)
		return no_memory();
	g->own = grown;
	memset(g->own + (size_t)mine * g->row_bytes, 0, (size_t)(g->most - mine) * g->row_bytes);
	g->rows = calloc((size_t)g->most * (size_t)ranks, g->row_bytes);
	if (!g->rows)
		return no_memory();
	return tsr_team_gather_all(tsr_world_team(world), g->own, g->rows,
				   (size_t)g->most * g->row_bytes);
}

/** The rows of all ranks, each rank's behind those of the rank before it. */
static tsr_status_t gather_rows(tsr_world_t *world, read_fn read, size_t row_bytes, void **rows_out,
				int **counts_out)
{
	gathered_t g = {.row_bytes = row_bytes};
	const tsr_status_t status = gather(world, read, &g);
	free(g.own);
	if (status != TSR_OK) {
		free(g.counts);
		free(g.rows);
		return status;
	}
	const size_t each = (size_t)g.most * row_bytes;
	unsigned char *to = g.rows;
	for (int r = 0; r < tsr_world_size(world); r++) {
		const size_t bytes = (size_t)g.counts[r] * row_bytes;
		memmove(to, g.rows + (size_t)r * each, bytes);
		to += bytes;
	}
	*rows_out = g.rows;
	*counts_out = g.counts;
	return TSR_OK;
}

tsr_status_t bench_record_gather(tsr_world_t *world, bool events, bench_recording_t *recording_out)
{
	bench_recording_t recording = {.ranks = tsr_world_size(world)};
	void *entries = NULL, *happened = NULL;
	tsr_status_t status = gather_rows(world, read_entry, sizeof *recording.entries, &entries,
					  &recording.entry_counts);
	recording.entries = entries;
	if (status == TSR_OK && events)
		status = gather_rows(world, read_event, sizeof *recording.events, &happened,
				     &recording.event_counts);
	recording.events = happened;
	if (status == TSR_OK)
		*recording_out = recording;
	else
		bench_record_free(&recording);
	return status;
}

bench_left_out_t bench_record_left_out(const bench_recording_t *recording)
{
	bench_left_out_t left = {0};
	const tsr_record_entry_t *e = recording->entries;
	for (int r = 0; r < recording->ranks; r++)
		for (int i = 0; i < recording->entry_counts[r]; i++, e++) {
			left.events += e->events_lost;
			if (e->clock_error_ns > left.clock_error_ns)
				left.clock_error_ns = e->clock_error_ns;
		}
	return left;
}

void bench_record_free(bench_recording_t *recording)
{
	free(recording->entries);
	free(recording->entry_counts);
	free(recording->events);
	free(recording->event_counts);
}
