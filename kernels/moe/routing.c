/* The choices of all tokens, and how many rows they give each rank. */
#include <pthread.h>
#include <stdlib.h>
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

/** Of one problem: how many rows each rank's experts have. */
typedef struct counted {
	moe_config_t config; /* what the rows depend on; the rest is 0 */
	int ranks;
	moe_rows_t rows[TSR_MAX_RANKS];
} counted_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static counted_t kept;

enum { TOKENS_AT_ONCE = 4096 };

/** Counts each expert's choices. Without memory they are all 0. */
static void count_choices(const moe_config_t *c, int ranks, int64_t *counts)
{
	const int64_t all = moe_tokens_before(c, ranks, ranks);
	int32_t *choices = malloc((size_t)(TOKENS_AT_ONCE * c->top_k) * sizeof *choices);
	for (int64_t first = 0; choices && first < all; first += TOKENS_AT_ONCE) {
		const int64_t left = all - first,
			      count = left < TOKENS_AT_ONCE ? left : TOKENS_AT_ONCE;
		moe_choices(c, ranks, first, count, choices);
		for (int64_t i = 0; i < count * c->top_k; i++)
			counts[choices[i]]++;
	}
	free(choices);
}

static void count_rows(const moe_config_t *c, int ranks, moe_rows_t *rows_out)
{
	const int64_t padding = moe_padding(c, ranks);
	int64_t counts[MOE_EXPERTS] = {0};
	count_choices(c, ranks, counts);
	for (int rank = 0; rank < ranks; rank++) {
		const share_t share = share_of(c->experts, rank, ranks);
		rows_out[rank] = (moe_rows_t){0, 0};
		for (int64_t e = share.first; e < share.first + share.count; e++) {
			rows_out[rank].real += counts[e];
			rows_out[rank].padded += (counts[e] + padding - 1) / padding * padding;
		}
	}
}

moe_rows_t moe_rows_of(const moe_config_t *c, int rank, int ranks)
{
	moe_config_t config;
	memset(&config, 0, sizeof config); /* compared byte by byte */
	config.tokens = c->tokens;
	config.experts = c->experts;
	config.top_k = c->top_k;
	config.odds = c->odds;
	config.routing_seed = c->routing_seed;
	config.spread = c->spread;
	config.padding = c->padding;
	config.dtype = c->dtype;
	(void)pthread_mutex_lock(&lock);
	if (kept.ranks != ranks || memcmp(&kept.config, &config, sizeof config) != 0) {
		count_rows(&config, ranks, kept.rows);
		kept.config = config;
		kept.ranks = ranks;
	}
	const moe_rows_t rows = kept.rows[rank];
	(void)pthread_mutex_unlock(&lock);
	return rows;
}
