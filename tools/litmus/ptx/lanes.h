/* Runs a litmus test as PTX on a rank's GPU, through the driver. */
#ifndef TESSERA_TOOLS_LITMUS_PTX_LANES_H
#define TESSERA_TOOLS_LITMUS_PTX_LANES_H

#include "tessera/world.h"
#include "tools/litmus/ptx/ptx.h"

/* at most: more of them than one GPU holds at a time would not meet */
enum { LITMUS_LANES_TEAMS = 60 };

typedef struct litmus_lanes litmus_lanes_t;

/**
 * The driver, and a stream on the rank's GPU. Errors: TSR_ERR_NO_DEVICE,
 * TSR_ERR_NO_MEMORY, TSR_ERR_SYSTEM. Close it in any case.
 */
tsr_status_t litmus_lanes_open(tsr_world_t *world, litmus_lanes_t **lanes_out);
/**
 * Null is nothing. Waits for nothing: after a TSR_ERR_TIMEOUT what is on the
 * GPU is left to the end of the process.
 */
void litmus_lanes_close(litmus_lanes_t *lanes);

/**
 * Compiles a plan's code for all of its devices, in place of the plan before,
 * and has it on the GPU. `meetings` is memory of this GPU that holds the first
 * word of a launch's meetings, and is written to.
 * Errors: TSR_ERR_UNSUPPORTED (the driver does not take the code, and says
 * why), TSR_ERR_TIMEOUT, TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t litmus_lanes_load(litmus_lanes_t *lanes, const litmus_plan_t *plan, uint64_t meetings);

/**
 * Plays one device of the plan and waits for the end. Errors: TSR_ERR_TIMEOUT
 * (the world's deadline; loading and playing say so from then on),
 * TSR_ERR_SYSTEM.
 */
tsr_status_t litmus_lanes_play(litmus_lanes_t *lanes, int device, const litmus_ptx_args_t *args,
			       int blocks);

#endif
