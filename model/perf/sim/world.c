/*
 * What a world says of itself and is filled with, where it is simulated. The
 * linker puts each __wrap_X in the place of X (--wrap).
 */
#include <stdio.h>

#include "kernels/host/inputs.h"
#include "kernels/host/matrices.h"
#include "model/perf/sim/sim.h"
#include "tessera/dev.h"

tsr_status_t __real_tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props);
tsr_status_t __wrap_tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props);
const char *__wrap_tsr_world_backend(const tsr_world_t *world);
const machine_t *__wrap_machine_find(const char *backend, const char *device);
tsr_status_t __wrap_machine_place(const tsr_world_t *world, tsr_device_props_t *device_out,
				  workload_place_t *place_out);
tsr_status_t __real_inputs_fill(tsr_world_t *world, const workload_inputs_t *inputs,
				const workload_matrix_t *matrix, tsr_view_t view);
tsr_status_t __wrap_inputs_fill(tsr_world_t *world, const workload_inputs_t *inputs,
				const workload_matrix_t *matrix, tsr_view_t view);
tsr_status_t __wrap_matrix_poison(tsr_world_t *world, tsr_view_t view);
tsr_status_t __wrap_tsr_openblas_prepare(void);
tsr_status_t __wrap_bench_remember(void *session, const void *result);
tsr_coop_t __real_tsr_split(tsr_coop_t *block);
tsr_coop_t __wrap_tsr_split(tsr_coop_t *block);

/** The device of the simulated machine, as its backend would describe it. */
tsr_status_t __wrap_tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props)
{
	/* what backends say of their devices: backends/cuda, backends/hip */
	enum { WORKERS = 4 };
	const machine_t *kind = &sim_machine.kind;
	const tsr_status_t status = __real_tsr_world_device(world, props);
	if (status != TSR_OK)
		return status;
	snprintf(props->name, sizeof props->name, "%s, simulated",
		 kind->device[0] ? kind->device[0] : kind->name);
	props->resident_blocks = (int)kind->multiprocessors;
	props->parallel_blocks = props->resident_blocks;
	props->workers_per_block = WORKERS;
	props->shared_bytes = (size_t)kind->shared_memory * 1024;
	props->tile_depth = sim_tile_depth(&sim_machine);
	return TSR_OK;
}

const char *__wrap_tsr_world_backend(const tsr_world_t *world)
{
	(void)world;
	return sim_machine.name;
}

const machine_t *__wrap_machine_find(const char *backend, const char *device)
{
	(void)backend;
	(void)device;
	return &sim_machine.kind;
}

tsr_status_t __wrap_machine_place(const tsr_world_t *world, tsr_device_props_t *device_out,
				  workload_place_t *place_out)
{
	*device_out = (tsr_device_props_t){.size = sizeof *device_out};
	const tsr_status_t status = __wrap_tsr_world_device(world, device_out);
	if (status == TSR_OK)
		*place_out = (workload_place_t){.ranks = tsr_world_size(world),
						.device = device_out,
						.machine = &sim_machine.kind,
						.nodes = tsr_world_nodes(world)};
	return status;
}

/** Matrices have no values; what is drawn decides what kernels do. */
tsr_status_t __wrap_inputs_fill(tsr_world_t *world, const workload_inputs_t *inputs,
				const workload_matrix_t *matrix, tsr_view_t view)
{
	return matrix->draw.below > 0 || matrix->dtype == TSR_I32
		       ? __real_inputs_fill(world, inputs, matrix, view)
		       : TSR_OK;
}

tsr_status_t __wrap_matrix_poison(tsr_world_t *world, tsr_view_t view)
{
	(void)world;
	(void)view;
	return TSR_OK;
}

/**
 * The emulator's blocks have one worker. A device's have more, which hide each
 * other's latencies when they take turns at what the block has to do.
 */
tsr_coop_t __wrap_tsr_split(tsr_coop_t *block)
{
	enum { WORKERS = 3 }; /* backends/gpu/dev/context.h: blocks that multiply */
	tsr_exploration_t *sim = sim_running();
	sim->running->latency_part = 1.0 / WORKERS;
	return __real_tsr_split(block);
}

/** Nothing is multiplied. */
tsr_status_t __wrap_tsr_openblas_prepare(void)
{
	return TSR_OK;
}

/** What a search has found here is no device's. */
tsr_status_t __wrap_bench_remember(void *session, const void *result)
{
	(void)session;
	(void)result;
	return TSR_OK;
}
