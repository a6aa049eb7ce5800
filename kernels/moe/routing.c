/* The choices of all tokens, and what they give each rank to do. */
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

void moe_choices(const moe_config_t *c, int ranks, int64_t first, int64_t count,
		 int32_t *choices_out)
{
	const workload_inputs_t inputs = {0};
	const workload_matrix_t matrix = {
		.dtype = TSR_I32,
		.draw = {.below = c->experts, .odds = c->odds, .seed = (uint64_t)c->routing_seed},
		.rows = moe_tokens_before(c, ranks, ranks),
		.cols = c->top_k,
		.first_row = first,
		.part_rows = count,
		.part_cols = c->top_k};
	inputs_make(&inputs, &matrix, choices_out);
}

/** The rank that has an expert. */
static int owner_of(const moe_config_t *c, int ranks, int32_t expert)
{
	return (int)((((int64_t)expert + 1) * ranks - 1) / c->experts);
}

/** Counts one token of rank `source`: its choices, and the other ranks that it goes to. */
static void count_token(const moe_config_t *c, int ranks, int source, const int32_t *chosen,
			int64_t *counts, moe_load_t *loads_out)
{
	bool goes[TSR_MAX_RANKS] = {false};
	/* a host without memory draws no choices: -1 */
	for (int64_t j = 0; j < c->top_k && chosen[j] >= 0; j++) {
		const int owner = owner_of(c, ranks, chosen[j]);
		counts[chosen[j]]++;
		if (!goes[owner] && owner != source) {
			loads_out[source].sent++;
			loads_out[owner].received++;
		}
		goes[owner] = true;
	}
}

/** Counts the tokens of rank `source`. */
static void count_tokens(const moe_config_t *c, int ranks, int source, int64_t *counts,
			 moe_load_t *loads_out)
{
	enum { AT_ONCE = 1024 };
	int32_t choices[AT_ONCE * MOE_CHOICES];
	const int64_t begin = moe_tokens_before(c, source, ranks),
		      end = begin + moe_tokens_of(c, source, ranks);
	for (int64_t first = begin; first < end; first += AT_ONCE) {
		const int64_t count = end - first < AT_ONCE ? end - first : AT_ONCE;
		moe_choices(c, ranks, first, count, choices);
		for (int64_t i = 0; i < count; i++)
			count_token(c, ranks, source, choices + i * c->top_k, counts, loads_out);
	}
}

void moe_count_loads(const moe_config_t *c, int ranks, moe_load_t loads_out[TSR_MAX_RANKS])
{
	const int64_t padding = moe_padding(c, ranks);
	int64_t counts[MOE_EXPERTS] = {0};
	memset(loads_out, 0, (size_t)ranks * sizeof *loads_out);
	for (int source = 0; source < ranks; source++)
		count_tokens(c, ranks, source, counts, loads_out);
	for (int64_t e = 0; e < c->experts; e++) {
		moe_load_t *load = &loads_out[owner_of(c, ranks, (int32_t)e)];
		load->rows += counts[e];
		load->padded += (counts[e] + padding - 1) / padding * padding;
		load->experts += counts[e] > 0;
	}
}
