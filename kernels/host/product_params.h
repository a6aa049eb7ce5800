/*
 * Parameters that all workloads with a matrix product have, for their tables
 * (workload_param_t).
 */
#ifndef KERNELS_HOST_PRODUCT_PARAMS_H
#define KERNELS_HOST_PRODUCT_PARAMS_H

#include "kernels/workload.h"

/**
 * M x N x K of the whole product; `help_` says which part a rank has.
 * product_check refuses invalid shapes.
 */
#define PRODUCT_SHAPE(help_)                                                                  \
	{                                                                                     \
		.name = "shape", .letters = "MxNxK", .help = (help_), .kind = WORKLOAD_SHAPE, \
		.preset = "1024x1024x1024", .least = INT64_MIN, .most = INT64_MAX,            \
		.problem = true, .axes = "mnk"                                                \
	}

#define PRODUCT_DTYPE                                                                 \
	{                                                                             \
		.name = "dtype", .letters = "D",                                      \
		.help = "element type of A, B and C: bf16, f16 or f32; sums are f32", \
		.kind = WORKLOAD_DTYPE, .preset = "bf16", .problem = true             \
	}

/** Searched first; `candidate_` walks the tiles. */
#define PRODUCT_TILE(candidate_)                                                               \
	{                                                                                      \
		.name = "tile", .letters = "MxNxK",                                            \
		.help = "tile of the main loop, one that is built (default: what should take " \
			"least time)",                                                         \
		.kind = WORKLOAD_SHAPE, .least = 1, .most = INT32_MAX, .heading = "tile",      \
		.width = 12, .in_row = true, .stage = 1, .candidate = (candidate_)             \
	}

/** Searched in stage `stage_`; 0: never. */
#define PRODUCT_BLOCKS(stage_, candidate_)                                                         \
	{                                                                                          \
		.name = "blocks", .letters = "B",                                                  \
		.help = "blocks of a rank, all resident at one time (default: one for each tile)", \
		.least = 1, .most = 1 << 20, .heading = "blocks", .width = 6, .stage = (stage_),   \
		.candidate = (candidate_)                                                          \
	}

#endif
