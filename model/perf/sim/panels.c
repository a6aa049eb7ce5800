/*
 * Panels of operands in a device's cache. Blocks that run at the same time walk
 * their panels together, so a panel that any of them reads is there for all. It
 * stays as long as there is room.
 */
#include <stdlib.h>

#include "model/perf/sim/sim.h"

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

/**
 * Forgets panels that nobody reads any more, if they do not fit the cache. All
 * of them: who walks once more through what does not fit finds none in time.
 */
static void make_room(panel_t *panel, int *count, double room, double now_ns)
{
	double idle = 0;
	int kept = 0;
	for (int i = 0; i < *count; i++)
		idle += panel[i].until_ns > now_ns ? 0 : panel[i].bytes;
	if (idle <= room && *count < PANELS)
		return;
	for (int i = 0; i < *count; i++)
		if (panel[i].until_ns > now_ns)
			panel[kept++] = panel[i];
	*count = kept;
}

double sim_panel_miss(tsr_exploration_t *sim, int rank, const void *at, double bytes,
		      double until_ns)
{
	panel_t *panel = sim->panels->panel[rank];
	int *count = &sim->panels->count[rank];
	make_room(panel, count, sim->machine.kind.l2 * 1048576, sim->running->now_ns);
	for (int i = 0; i < *count; i++)
		if (panel[i].at == at) {
			panel[i].until_ns = fmax(panel[i].until_ns, until_ns);
			return 0;
		}
	if (*count < PANELS)
		panel[(*count)++] = (panel_t){at, bytes, until_ns};
	return bytes;
}
