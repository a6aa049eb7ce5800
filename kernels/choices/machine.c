#include "kernels/choices/machine.h"

#include <stddef.h>
#include <string.h>

#define FIGURE(name_, unit_, meaning_) {#name_, unit_, meaning_, offsetof(machine_t, name_)},
const machine_figure_t machine_figures[] = {MACHINE_FIGURES(FIGURE)};
#undef FIGURE
const int machine_figure_count = sizeof machine_figures / sizeof *machine_figures;

static bool names_device(const machine_t *machine, const char *device)
{
	const int most = (int)(sizeof machine->device / sizeof *machine->device);
	for (int i = 0; i < most && machine->device[i]; i++)
		if (strncmp(device, machine->device[i], strlen(machine->device[i])) == 0)
			return true;
	return false;
}

const machine_t *machine_find(const char *backend, const char *device)
{
	const machine_t *found = NULL;
	for (int i = 0; i < machine_count; i++) {
		const machine_t *machine = &machine_table[i];
		if (strcmp(machine->backend, backend) != 0)
			continue;
		if (names_device(machine, device))
			return machine;
		if (machine->is_default)
			found = machine;
	}
	return found ? found : machine_otherwise;
}

double machine_egress(const machine_t *machine, int peers)
{
	if (machine->link_mesh > 0)
		return machine->link_pair * peers;
	return peers == 1 ? machine->link_pair : machine->link_all;
}

tsr_status_t machine_place(const tsr_world_t *world, tsr_device_props_t *device_out,
			   workload_place_t *place_out)
{
	*device_out = (tsr_device_props_t){.size = sizeof *device_out};
	const tsr_status_t status = tsr_world_device(world, device_out);
	if (status == TSR_OK)
		*place_out = (workload_place_t){
			.ranks = tsr_world_size(world),
			.device = device_out,
			.machine = machine_find(tsr_world_backend(world), device_out->name),
			.nodes = tsr_world_nodes(world)};
	return status;
}
