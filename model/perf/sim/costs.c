/* What accesses and main loops cost: which resources they share, and how fast one goes alone. */
#include <stdlib.h>
#include <string.h>

#include "kernels/choices/cost.h"
#include "model/perf/sim/sim.h"

/* The resources of a rank; then those of each pair of ranks. */
enum { MEMORY, EGRESS, INGRESS, RESOURCES };

static int resource_of(int rank, int which)
{
	return rank * RESOURCES + which;
}

/* Worlds of more ranks have no resource for each pair: what a device sends to all bounds them. */
enum { MOST_PAIRED = 16 };

static bool is_mesh(const sim_machine_t *machine, int size)
{
	return machine->kind.link_mesh > 0 && size <= MOST_PAIRED;
}

static int pair_of(const tsr_exploration_t *sim, int from, int to)
{
	return sim->size * RESOURCES + from * sim->size + to;
}

/* The last one is of the machine: the processors that the blocks of all ranks share. */
static int processors_of(const sim_machine_t *machine, int size)
{
	return size * RESOURCES + (is_mesh(machine, size) ? size * size : 0);
}

/* The figures have 10^9 bytes a second, which are bytes in a nanosecond. */
sim_flows_t *sim_links_create(const sim_machine_t *machine, int size)
{
	const machine_t *kind = &machine->kind;
	const double out = machine_egress(kind, size > 1 ? size - 1 : 1);
	const int pairs = is_mesh(machine, size) ? size * size : 0;
	double rates[TSR_MAX_RANKS * RESOURCES + MOST_PAIRED * MOST_PAIRED + 1];
	for (int r = 0; r < size; r++) {
		rates[resource_of(r, MEMORY)] = kind->memory_rate;
		rates[resource_of(r, EGRESS)] = out;
		rates[resource_of(r, INGRESS)] = out;
	}
	for (int pair = 0; pair < pairs; pair++)
		rates[size * RESOURCES + pair] = kind->link_pair;
	rates[processors_of(machine, size)] = kind->cores;
	return sim_flows_create(rates, size * RESOURCES + pairs + 1);
}

int sim_rank_at(const tsr_exploration_t *sim, const void *address)
{
	for (int r = 0; r < sim->size; r++)
		if ((uintptr_t)address - (uintptr_t)sim->heap[r].base < sim->heap[r].bytes)
			return r;
	return -1;
}

/** As backends/cuda says; hip says none, because no depth is better than another there. */
int sim_tile_depth(const sim_machine_t *machine)
{
	enum { CUDA_TILE_DEPTH = 64 };
	return strcmp(machine->kind.backend, "cuda") == 0 ? CUDA_TILE_DEPTH : 0;
}

double sim_cycles(const tsr_exploration_t *sim, double cycles)
{
	return cycles / sim->machine.kind.clock;
}

double sim_product_ns(const tsr_exploration_t *sim, double products, int element_bytes, int depth)
{
	/* tiles that the device is not fast at, and elements of more bytes, go through other
	 * instructions: many times slower, whose rates are not measured; processors multiply all
	 * elements as f32 */
	enum { SLOW_TILES = 8, SLOW_ELEMENTS = 16 };
	const double width = sim->machine.kind.tensor_width;
	double slower = depth < sim_tile_depth(&sim->machine) ? SLOW_TILES : 1;
	if (element_bytes > 2 && !(sim->machine.kind.cores > 0))
		slower = SLOW_ELEMENTS;
	return sim_cycles(sim, 2 * products * slower / width);
}

double sim_tile_products(const tsr_exploration_t *sim, int m, int n)
{
	return cost_tile(&sim->machine.kind, (tile_size_t){m, n, 0});
}

double sim_epilogue_ns(const tsr_exploration_t *sim, int m, int n, int workers)
{
	return sim_cycles(sim, sim->machine.kind.epilogue * m * n * workers / (128.0 * 256.0));
}

static void demand(sim_ask_t *ask, int resource, double weight)
{
	if (weight > 0)
		ask->demand[ask->count++] = (sim_demand_t){resource, weight};
}

static void demand_link(const tsr_exploration_t *sim, sim_ask_t *ask, int from, int to,
			double weight)
{
	demand(ask, resource_of(from, EGRESS), weight);
	demand(ask, resource_of(to, INGRESS), weight);
	if (is_mesh(&sim->machine, sim->size))
		demand(ask, pair_of(sim, from, to), weight);
}

/** A block that goes as fast as it can takes a processor, where blocks share them. */
static void demand_processor(const tsr_exploration_t *sim, sim_ask_t *ask)
{
	if (sim->machine.kind.cores > 0)
		demand(ask, processors_of(&sim->machine, sim->size), 1 / ask->most);
}

/** How fast one block moves bytes, or a copy engine. */
static double block_rate(const tsr_exploration_t *sim, int from, int to)
{
	const machine_t *kind = &sim->machine.kind;
	const int me = sim->running->who.rank;
	if (sim->running->is_engine)
		return kind->copy_rate > 0 ? kind->copy_rate : kind->link_pair;
	if (from >= 0 && from != me)
		return kind->block_copy;
	if (to >= 0 && to != me)
		return from >= 0 ? kind->block_copy : kind->block_rate;
	return kind->block_memory_rate;
}

void sim_move(tsr_exploration_t *sim, int from, int to, double bytes)
{
	const machine_t *kind = &sim->machine.kind;
	sim_task_t *self = sim->running;
	const int me = self->who.rank;
	const bool far_read = from >= 0 && from != me, far_write = to >= 0 && to != me;
	if (self->is_host || (from < 0 && to < 0) || !(bytes > 0))
		return;
	if (self->copies && far_write && !far_read) {
		self->copies->ranks[self->copies->count++] = to;
		self->copies->bytes = bytes;
		return;
	}
	sim_ask_t ask = {.most = block_rate(sim, from, to)};
	/* blocks that all end a tile at one time do not go on at one time: the first ones, which
	 * fill the link, go on first */
	if (far_write && from < 0)
		ask.turns = (int)fmax(1, kind->link_pair / ask.most);
	if (from >= 0)
		demand(&ask, resource_of(from, MEMORY), 1);
	if (to >= 0)
		demand(&ask, resource_of(to, MEMORY), 1);
	if (far_read)
		demand_link(sim, &ask, from, me, kind->link_pair / kind->load_rate);
	if (far_write)
		demand_link(sim, &ask, me, to, self->adds ? kind->link_pair / kind->add_rate : 1);
	if (from >= 0 && !self->is_engine)
		self->now_ns +=
			(far_read ? kind->link_latency : kind->memory_latency) * self->latency_part;
	demand_processor(sim, &ask);
	sim_flow(sim, &ask, bytes);
	if (to >= 0)
		self->drained_ns = fmax(self->drained_ns,
					self->now_ns + (far_write ? kind->link_latency / 2
								  : kind->memory_latency / 2));
}

/** The links that bytes to each of some ranks take. */
static void demand_links(const tsr_exploration_t *sim, sim_ask_t *ask, const int *ranks, int count)
{
	const int me = sim->running->who.rank;
	demand(ask, resource_of(me, EGRESS), count);
	for (int i = 0; i < count && ask->count + 2 <= SIM_FLOW_DEMANDS; i++) {
		demand(ask, resource_of(ranks[i], INGRESS), 1);
		if (is_mesh(&sim->machine, sim->size))
			demand(ask, pair_of(sim, me, ranks[i]), 1);
	}
}

/** A block reads each byte once, and stores it to each of them. */
void sim_copy_to_all(tsr_exploration_t *sim, const sim_copies_t *copies)
{
	const machine_t *kind = &sim->machine.kind;
	sim_task_t *self = sim->running;
	const double read_ns = fmax(0, 1 / kind->block_copy - 1 / kind->block_rate);
	if (copies->count == 0)
		return;
	sim_ask_t ask = {.most = 1 / (read_ns + copies->count / kind->block_rate)};
	demand(&ask, resource_of(self->who.rank, MEMORY), 1);
	demand_links(sim, &ask, copies->ranks, copies->count);
	self->now_ns += kind->memory_latency * self->latency_part;
	demand_processor(sim, &ask);
	sim_flow(sim, &ask, copies->bytes);
	self->drained_ns = fmax(self->drained_ns, self->now_ns + kind->link_latency / 2);
}

/** To all of them at one time, of which the first ones' links may hold it up. */
void sim_send_beside(tsr_exploration_t *sim, const int *ranks, int count, double bytes)
{
	sim_ask_t ask = {.most = sim->machine.kind.block_rate / count};
	if (count == 0 || !(bytes > 0))
		return;
	demand_links(sim, &ask, ranks, count);
	sim_flow_beside(sim, &ask, bytes);
}

void sim_multiply(tsr_exploration_t *sim, const sim_work_t *work)
{
	const machine_t *kind = &sim->machine.kind;
	sim_ask_t ask = {.most = work->by_worker && kind->worker_part > 0 ? kind->worker_part : 1};
	const int me = sim->running->who.rank;
	const double ns = work->ns > 1 ? work->ns : 1;
	if (work->peer >= 0 && work->peer != me) {
		demand(&ask, resource_of(work->peer, MEMORY), work->link_bytes / ns);
		demand_link(sim, &ask, work->peer, me,
			    work->link_bytes / ns * kind->link_pair / kind->load_rate);
	}
	demand(&ask, resource_of(me, MEMORY), work->memory_bytes / ns);
	if (work->beside_sending)
		ask.most *= 1 - kind->send_loss;
	demand_processor(sim, &ask);
	sim_flow(sim, &ask, ns);
}
