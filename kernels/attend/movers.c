#include "kernels/attend/movers.h"

#include <inttypes.h>

#include "kernels/choices/cost.h"

/*
 * What attention reaches of the tensor cores' rate: 621 of 989 TFLOP/s, measured
 * on one H100 with 1536 keys and heads of 128 columns (docs/performance.md).
 */
static const double ATTEND_OF_PEAK = 0.62;

/*
 * What a block moves beside attention, of what it moves when nothing else runs:
 * memory and its caches are busy. On two H100s causal ring attention of 6144
 * positions took 3.7 ms with four movers and 2.3 with eight, and Ulysses of 3072
 * positions 17.9 ms with seven and 10.9 with sixteen: 20 GB/s for each of them.
 */
static const double BESIDE_ATTENTION = 0.5;

/** Seconds of a run in which `movers` of `blocks` blocks move. Records it as a candidate. */
static double time_beside(const workload_place_t *place, const attend_work_t *work, int blocks,
			  int movers)
{
	const machine_t *m = place->machine;
	const double rate = ATTEND_OF_PEAK * 1e12 * m->tensor_rate / m->multiprocessors,
		     rounds = (double)cost_rounds(work->tasks, blocks - movers),
		     attending = rounds * work->operations / (double)work->tasks / rate,
		     by_blocks = (work->link_bytes + work->own_bytes) /
				 (1e9 * m->block_rate * BESIDE_ATTENTION * movers),
		     link = place->ranks > 2 ? m->link_all : m->link_pair,
		     by_links = work->link_bytes / (1e9 * link),
		     moving = by_blocks > by_links ? by_blocks : by_links,
		     time = attending > moving ? attending : moving;
	explain_try(place->explain, explain_number(movers));
	explain_count(place->explain, "rounds", rounds);
	explain_part(place->explain, "attend", attending);
	explain_part(place->explain, "move by blocks", by_blocks);
	explain_part(place->explain, "move by links", by_links);
	explain_bound(place->explain, attending > moving     ? "attention"
				      : by_blocks > by_links ? "blocks that move"
							     : "links");
	explain_cost(place->explain, time);
	return time;
}

/** The number of movers of least time, up to `most`. */
static int cheapest(const workload_place_t *place, const attend_work_t *work, int blocks, int most)
{
	int best = 1;
	explain_begin(place->explain, "comm-blocks");
	explain_unit(place->explain, 1e9);
	explain_formula(place->explain, "max(attend, move by blocks, move by links)");
	double least = time_beside(place, work, blocks, 1);
	for (int movers = 2; movers <= most; movers++) {
		const double time = time_beside(place, work, blocks, movers);
		if (time < least) {
			best = movers;
			least = time;
		}
	}
	explain_end(place->explain, explain_number(best), 0,
		    "the least cost: the longer of attending and moving");
	return best;
}

int attend_movers(const workload_place_t *place, const attend_work_t *work, int blocks)
{
	const int64_t most = work->chunks < blocks - 1 ? work->chunks : blocks - 1;
	if (work->tasks == 0 || most < 2) {
		explain_rule(place->explain, "comm-blocks", explain_number(1),
			     "one, because there is no more to move or to compute");
		return 1;
	}
	if (cost_knows_links(place->machine))
		return cheapest(place, work, blocks, (int)most);
	const int sixth = (blocks + 5) / 6, movers = sixth < most ? sixth : (int)most;
	explain_rule(place->explain, "comm-blocks", explain_number(movers),
		     EXPLAIN_SIXTH "; at most %" PRId64 ", as there are chunks and blocks", blocks,
		     most);
	return movers;
}

tsr_status_t attend_choose_blocks(const workload_place_t *place, int64_t tasks, int movers,
				  int *blocks)
{
	const int most = place->device->resident_blocks, left = most > movers ? most - movers : 1;
	if (*blocks == 0) {
		*blocks = movers + (tasks < left ? (int)tasks : left);
		explain_blocks(place->explain, *blocks, tasks, movers, most);
	}
	if (*blocks > most)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks wait for each other, and %s holds %d at one time; "
				 "launch fewer blocks",
				 *blocks, place->device->name, most);
	if (movers >= *blocks)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks only move, and none computes: take more blocks",
				 movers, *blocks);
	return TSR_OK;
}
