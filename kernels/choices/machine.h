/*
 * What the devices and links of a machine can do. Each figure is in a file of
 * model/perf/machines/, with its unit and its source. The build makes a table of
 * the files.
 */
#ifndef KERNELS_CHOICES_MACHINE_H
#define KERNELS_CHOICES_MACHINE_H

#include "kernels/workload.h"

/*
 * FIGURE(name, unit, meaning): what each file must say, and the fields of
 * machine_t. A file has null for a figure that is not known; its field is 0.
 *
 * Two units are times. "elements": as long as a block takes to multiply so many
 * elements of a tile by one unit of K. "K": as long as it takes to multiply one
 * element, or a whole tile, to that depth.
 */
#define MACHINE_FIGURES(FIGURE)                                                                 \
	/* The device */                                                                        \
	FIGURE(multiprocessors, "1", "number of thread blocks that run at the same time")       \
	FIGURE(clock, "GHz", "clock rate during a product")                                     \
	FIGURE(tensor_rate, "TFLOP/s", "dense products of bf16, by the whole device")           \
	FIGURE(shared_memory, "KiB", "shared memory of a multiprocessor")                       \
	FIGURE(l2, "MiB", "second-level cache")                                                 \
	FIGURE(memory_rate, "GB/s", "rate of reading device memory")                            \
	FIGURE(epilogue, "cycles", "time in which a block stores a tile and computes nothing")  \
	FIGURE(tensor_width, "1", "dense operations of bf16 by a multiprocessor in a cycle")    \
	FIGURE(attend_part, "1", "part of its tensor rate at which a block attends")            \
	FIGURE(worker_part, "1", "part of it at which one of a block's workers multiplies")     \
	FIGURE(send_loss, "1", "part of it that a block loses while it sends")                  \
	FIGURE(first_operand, "us", "from a main loop's begin to its first product")            \
	FIGURE(memory_latency, "ns", "time of a load from own memory")                          \
	FIGURE(block_memory_rate, "GB/s", "rate of one block's accesses to own memory")         \
	FIGURE(launch, "us", "from a kernel's end to the next one's begin on its stream")       \
	FIGURE(cores, "1", "processors that the blocks of all ranks share; not on GPUs")        \
	/* Links and signals */                                                                 \
	FIGURE(link_pair, "GB/s", "rate of stores to one peer")                                 \
	FIGURE(link_all, "GB/s", "rate of stores to three peers, if all devices do so")         \
	FIGURE(link_mesh, "1", "1: each pair of devices has a link of its own; 0: a switch")    \
	FIGURE(load_rate, "GB/s", "rate of loads from one peer, if both do so")                 \
	FIGURE(add_rate, "GB/s", "rate of adds to one peer")                                    \
	FIGURE(block_rate, "GB/s", "rate of one block's stores to a peer")                      \
	FIGURE(block_copy, "GB/s", "rate of one block's copies to a peer, beside others")       \
	FIGURE(link_latency, "ns", "time of a load from a peer's memory, idle links")           \
	FIGURE(copy_rate, "GB/s", "rate of a copy engine to a peer")                            \
	FIGURE(copy_start, "us", "shortest time of a copy")                                     \
	FIGURE(signal, "ns", "latency of a release and the acquire that sees it, idle links")   \
	FIGURE(fence, "ns", "time of a fence at system scope, nothing in flight")               \
	FIGURE(launch_gap, "bytes", "what a link carries between two launches on a stream")     \
	/* Tiles, in terms of what is multiplied meanwhile */                                   \
	FIGURE(load_edge, "elements", "cost of loading one row or column of a tile")            \
	FIGURE(load_box, "columns", "columns of one load; a part of them costs as much")        \
	FIGURE(read_column, "elements", "cost of reading a column of B, if A has few rows")     \
	FIGURE(hand_over, "K", "depth that takes as long as passing a tile's sums on")          \
	/* Sending, in terms of what is multiplied meanwhile */                                 \
	FIGURE(link_blocks, "blocks", "number of blocks that fill the links if they only send") \
	FIGURE(send_depth, "K", "depth at which computing a tile takes as long as sending it")  \
	FIGURE(read_depth, "K", "part of send_depth that reading takes, once for all peers")    \
	FIGURE(last_sends, "1", "time of sending last tiles by all blocks, over the links'")    \
	/* Margins of choices, by what was measured of the alternatives */                      \
	FIGURE(divide_gain, "1", "part of a run's time that dividing last tiles must save")     \
	FIGURE(spare_ratio, "1", "time of sending over computing above which more may send")    \
	FIGURE(tight_ratio, "1", "ratio of the two above which they hold each other up")        \
	FIGURE(tight_loss, "1", "factor on the time of such a run")

#define MACHINE_FIELD(name_, unit_, meaning_) double name_;

typedef struct machine {
	const char *name;      /* the name of its file: "h200" */
	const char *backend;   /* the backend of its devices */
	const char *device[4]; /* beginnings of its devices' names; null behind the last */
	bool is_default;       /* for the backend's devices that no file names */
	MACHINE_FIGURES(MACHINE_FIELD)
} machine_t;

#undef MACHINE_FIELD

/** What a figure is called, and where it stands in a machine_t. */
typedef struct machine_figure {
	const char *name, *unit, *meaning;
	size_t at;
} machine_figure_t;

/* All figures, in the order of MACHINE_FIGURES. */
extern const machine_figure_t machine_figures[];
extern const int machine_figure_count;

/** A figure's place in a machine. */
static inline double *machine_value(machine_t *machine, const machine_figure_t *figure)
{
	return (double *)(void *)((char *)machine + figure->at);
}

/* All machines. The build makes the table (site_scons/machines.py). */
extern const machine_t machine_table[];
extern const int machine_count;
/* The machine for a backend without a file: the emulator's, which has no figures of links. */
extern const machine_t *const machine_otherwise;

/**
 * Finds the machine for a backend's device: the one whose file names the device,
 * else the backend's default, else machine_otherwise. Any thread.
 */
const machine_t *machine_find(const char *backend, const char *device);

/**
 * GB/s that a rank stores to `peers` others, at least one, while all others do
 * so too. 0: not known.
 */
double machine_egress(const machine_t *machine, int peers);

/**
 * Describes where this rank runs. The place points to `device_out`, which must
 * live as long. Errors: those of tsr_world_device.
 */
tsr_status_t machine_place(const tsr_world_t *world, tsr_device_props_t *device_out,
			   workload_place_t *place_out);

#endif
