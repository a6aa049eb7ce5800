/* Parameters that all workloads with attention have, for their tables (workload_param_t). */
#ifndef ATTEND_PARAMS_H
#define ATTEND_PARAMS_H

#include "kernels/host/product_params.h"
#include "kernels/workload.h"

/* Of an extent: rows of all heads are counted in 32 bits on GPUs. */
enum { ATTEND_MOST = 1 << 30 };

#define ATTEND_EXTENT(name_, letters_, least_, preset_, help_)                                \
	{                                                                                     \
		.name = (name_), .letters = (letters_), .help = (help_), .preset = (preset_), \
		.least = (least_), .most = ATTEND_MOST, .problem = true                       \
	}

/** The values of the parameter `mask`, and their names. */
enum { ATTEND_FULL = 1, ATTEND_CAUSAL };
extern const char *const attend_mask_names[];

#define ATTEND_MASK                                                                         \
	{                                                                                   \
		.name = "mask", .letters = "NAME",                                          \
		.help = "full or causal; causal: the last query sees the last key",         \
		.kind = WORKLOAD_NAME, .preset = "full", .least = 1, .most = ATTEND_CAUSAL, \
		.names = attend_mask_names, .problem = true                                 \
	}

#define ATTEND_DTYPE                                                                     \
	{                                                                                \
		.name = "dtype", .letters = "D",                                         \
		.help = "element type of Q, K, V and O: bf16, f16 or f32; sums are f32", \
		.kind = WORKLOAD_DTYPE, .preset = "bf16", .problem = true                \
	}

#define ATTEND_TILE(candidate_)                                                              \
	{                                                                                    \
		.name = "tile", .letters = "MxNxD",                                          \
		.help = "queries of a tile, keys of a step, columns of a head: one that is " \
			"built (default: the largest)",                                      \
		.kind = WORKLOAD_SHAPE, .least = 1, .most = INT32_MAX, .heading = "tile",    \
		.width = 12, .in_row = true, .stage = 1, .candidate = (candidate_)           \
	}

#endif
