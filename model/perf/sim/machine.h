/*
 * The machine that is simulated: a number of devices of one kind, whose figures
 * stand in model/perf/machines/.
 */
#ifndef MODEL_PERF_SIM_MACHINE_H
#define MODEL_PERF_SIM_MACHINE_H

#include "kernels/choices/machine.h"
#include "tessera/status.h"

typedef struct sim_machine {
	char name[48];  /* "h200x8" */
	machine_t kind; /* its figures, some of which may have been set */
	int devices;
} sim_machine_t;

/**
 * Finds a machine by its name: a kind, "x", and a number of devices; or the path
 * of a machine's file, a comma, and that number. Errors: TSR_ERR_CONFIG (no such
 * kind, or the file is none).
 */
tsr_status_t sim_machine_find(const char *name, sim_machine_t *machine_out);

/**
 * Changes a figure: "link_pair=450GB/s", in the figure's own unit, which may be
 * left out. Errors: TSR_ERR_CONFIG (no such figure, no number, another unit).
 */
tsr_status_t sim_machine_set(sim_machine_t *machine, const char *assignment);

/** Whether all figures that a simulation needs are known. Errors: TSR_ERR_CONFIG. */
tsr_status_t sim_machine_check(sim_machine_t *machine);

/** Says which figures there are, with their values and units, a line for each. */
void sim_machine_print(const sim_machine_t *machine);

#endif
