/*
 * The functions of a workload_t, for a file that defines `kind`. They pass on
 * what they are asked, with the kind.
 */
#ifndef SPLIT_K_WORKLOAD_H
#define SPLIT_K_WORKLOAD_H

#include "kernels/host/product_params.h"
#include "kernels/split_k/split_k.h"

static const splitk_kind_t kind;

/* The numbers of these in every table of patterns. */

/* ------------------------------------------------------------ candidates of a search */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	(void)place;
	return splitk_try_tile(&kind, config, index, value_out);
}

static bool try_bands(const workload_config_t *config, const workload_place_t *place, int index,
		      workload_value_t *value_out)
{
	(void)place;
	return splitk_try_bands(&kind, config, index, value_out);
}

/*
 * The second shape has rows that tensor cores and 16-byte stores accept, and
 * does not fill its tiles.
 */
static const char *const large_cases[] = {
	"--shape 512x512x512",
	"--shape 200x264x72 --tile 128x128x64",
	"--shape 520x328x2112 --tile 128x128x64 --blocks 7 --bands 2",
	NULL,
};

/* ------------------------------------------------------------ for the tools */

static const char *pattern(int64_t number)
{
	return splitk_pattern_name(&kind, number);
}

static const char *kernel(int64_t number, int index)
{
	return splitk_kernel(&kind, number, index);
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	return splitk_check(&kind, config, ranks);
}

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	return splitk_matrix(&kind, config, index, rank, ranks, matrix_out);
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	return splitk_cost(&kind, config, rank, ranks);
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	return splitk_choose(&kind, config, place, config_out);
}

static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	return splitk_fastest(&kind, config, place);
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&kind.plan, world, config, run_out);
}

/** These functions, for the initialiser of a workload_t. */
#define SPLITK_FUNCTIONS                                                                           \
	.compute_pattern = SPLITK_BULK_SYNCHRONOUS, .large_cases = large_cases,                    \
	.pattern = pattern, .kernel = kernel, .check = check, .check_inputs = splitk_check_inputs, \
	.matrix = matrix, .expect = splitk_expect, .cost = cost, .choose = choose,                 \
	.fastest = fastest, .open = open_run, .plan = &kind.plan, PLAN_FUNCTIONS

#endif
