/*
 * What a machine's devices and links can do. Each figure stands in a file of
 * model/perf/machines/, with its unit and where it comes from; the build makes a
 * table of them.
 */
#ifndef KERNELS_HOST_MACHINE_H
#define KERNELS_HOST_MACHINE_H

#include "kernels/workload.h"

/*
 * FIGURE(name, unit, meaning): all that a file must say, and the fields of
 * machine_t. A file writes null where a figure is not known; the field is 0 then.
 *
 * An element is one product of a tile's area: what a block takes for it is the
 * unit of time in which a row of a tile and what is sent of it are compared.
 */
#define MACHINE_FIGURES(FIGURE)                                                                    \
	/* The device */                                                                           \
	FIGURE(multiprocessors, "1", "thread blocks that run at one time")                         \
	FIGURE(clock, "GHz", "while it multiplies")                                                \
	FIGURE(tensor_rate, "TFLOP/s", "of products of bf16, whole device")                        \
	FIGURE(shared_memory, "KiB", "of one multiprocessor")                                      \
	FIGURE(l2, "MiB", "second-level cache")                                                    \
	FIGURE(memory_rate, "GB/s", "reading its own memory")                                      \
	FIGURE(epilogue, "cycles", "in which a block stores a tile and multiplies nothing")        \
	/* Links and signals */                                                                    \
	FIGURE(link_pair, "GB/s", "stores to one other device")                                    \
	FIGURE(link_all, "GB/s", "stores to three others, while these do the same")                \
	FIGURE(block_rate, "GB/s", "stores of one block to another device")                        \
	FIGURE(copy_rate, "GB/s", "copy engine to one other device")                               \
	FIGURE(copy_start, "us", "a copy of any size takes at least")                              \
	FIGURE(signal, "ns", "from a release to the acquire that sees it, links idle")             \
	FIGURE(fence, "ns", "at system scope, nothing on its way")                                 \
	FIGURE(launch_gap, "bytes", "sent by a link while one launch gives way to the next")       \
	/* Tiles, in terms of what is multiplied meanwhile */                                      \
	FIGURE(load_edge, "elements", "loading a row or a column of a tile")                       \
	FIGURE(load_box, "columns", "loaded together: tiles are rounded up to them")               \
	FIGURE(read_column, "elements", "reading a column of B that few rows are multiplied with") \
	FIGURE(hand_over, "K", "of a tile: passing its sums from one block to another")            \
	/* Sending, in terms of what is multiplied meanwhile */                                    \
	FIGURE(link_blocks, "blocks", "fill the links when they do nothing but send")              \
	FIGURE(send_depth, "K", "of a tile, as long to compute as to send to one device")          \
	FIGURE(read_depth, "K", "of a tile, as long to compute as to read before it is sent")      \
	FIGURE(last_sends, "1", "times the links' time, where blocks send their own last tiles")   \
	/* Margins of choices, by what was measured of the alternatives */                         \
	FIGURE(divide_gain, "1", "part of the time that dividing last tiles must save")            \
	FIGURE(spare_ratio, "1", "sending to computing, where computing has time to spare")        \
	FIGURE(tight_ratio, "1", "of two times, above which each holds up the other")              \
	FIGURE(tight_loss, "1", "times as long, where they do")

#define MACHINE_FIELD(name_, unit_, meaning_) double name_;

typedef struct machine {
	const char *name;      /* of its file: "h200" */
	const char *backend;   /* whose devices it is of */
	const char *device[4]; /* how the names of its devices begin; null behind the last */
	bool is_default;       /* of the backend's devices that no file names */
	MACHINE_FIGURES(MACHINE_FIELD)
} machine_t;

#undef MACHINE_FIELD

/* All of them, which the build makes (site_scons/machines.py). */
extern const machine_t machine_table[];
extern const int machine_count;
/* That of a backend without a file: the emulator's, which knows of no links. */
extern const machine_t *const machine_otherwise;

/**
 * The machine of a backend's device: the one that names the device, or else the
 * backend's default, or else machine_otherwise. Any thread.
 */
const machine_t *machine_find(const char *backend, const char *device);

/**
 * The place where this rank runs. `device_out` must live as long as the place.
 * Errors: those of tsr_world_device.
 */
tsr_status_t machine_place(const tsr_world_t *world, tsr_device_props_t *device_out,
			   workload_place_t *place_out);

#endif
