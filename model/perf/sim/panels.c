/*
 * Panels of operands in a device's cache. Blocks that run at the same time walk
 * their panels together, so a panel that any of them reads is there for all;
 * those read last stay as long as there is room.
 */
#include <stdlib.h>

#include "model/perf/sim/sim.h"

/* Least recently read first would need a list; a table with times is searched as fast. */
enum { PANELS = 512 };

typedef struct panel {
	const void *at;
	double bytes, until_ns; /* when the last block that reads it will have done so */
} panel_t;

struct sim_panels {
	panel_t panel[TSR_MAX_RANKS][PANELS];
	int count[TSR_MAX_RANKS];
};

bool sim_panels_create(tsr_exploration_t *sim)
{
	sim->panels = calloc(1, sizeof *sim->panels);
	return sim->panels != NULL;
}

void sim_panels_destroy(tsr_exploration_t *sim)
{
	free(sim->panels);
}

/** Forgets panels that nobody reads any more, the oldest first, until the rest fits the cache. */
static void make_room(panel_t *panel, int *count, double room, double now_ns)
{
	for (;;) {
		double kept = 0;
		int oldest = -1;
		for (int i = 0; i < *count; i++) {
			if (panel[i].until_ns > now_ns)
				continue;
			kept += panel[i].bytes;
			if (oldest < 0 || panel[i].until_ns < panel[oldest].until_ns)
				oldest = i;
		}
		if (oldest < 0 || (kept <= room && *count < PANELS))
			return;
		panel[oldest] = panel[--*count];
	}
}

double sim_panel_miss(tsr_exploration_t *sim, int rank, const void *at, double bytes,
		      double until_ns)
{
	panel_t *panel = sim->panels->panel[rank];
	int *count = &sim->panels->count[rank];
	for (int i = 0; i < *count; i++)
		if (panel[i].at == at) {
			panel[i].until_ns = fmax(panel[i].until_ns, until_ns);
			return 0;
		}
	make_room(panel, count, sim->machine.kind.l2 * 1048576, sim->running->now_ns);
	if (*count < PANELS)
		panel[(*count)++] = (panel_t){at, bytes, until_ns};
	return bytes;
}
