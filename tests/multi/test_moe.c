/*
 * Mixtures of experts against loops over tokens: the places of all choices, what
 * the rows of the experts hold, and the bits of the sums. Products of small
 * integers are exact and the weights are random, so another order of sums shows.
 * One plan runs several routings, and all of its patterns.
 */
#include <stdlib.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"
#include "tests/multi/each_world.h"

enum { TOKENS = 29, EXPERTS = 6, CHOICES = 3, HIDDEN = 20, INNER = 12, PADDING = 16 };

/** Everything of one layer, of all ranks. Tokens are numbered over the ranks. */
typedef struct layer {
	int ranks, first[TSR_MAX_RANKS + 1]; /* each rank's first token; behind the last, all */
	int32_t *chosen;
	float *weights, *x, *w1, *w2;
	int32_t *place; /* of each choice: rank * capacity + row */
	int capacity;
} layer_t;

static void layer_free(layer_t *l)
{
	free(l->chosen);
	free(l->weights);
	free(l->x);
	free(l->w1);
	free(l->w2);
	free(l->place);
}

static float small_integer(uint64_t seed, int64_t index)
{
	return (float)tsr_random_int(seed, (uint64_t)index, -3, 4);
}

/**
 * The choices: of kind 0 and 1 drawn; of kind 2 some tokens have none, or fewer;
 * of kind 3 all tokens have the same.
 */
static int32_t choose(uint64_t seed, int kind, int token, int choice)
{
	const int32_t first = (int32_t)tsr_random_int(seed, (uint64_t)token, 0, EXPERTS);
	if (kind == 3)
		return 4 - choice;
	if (kind == 2 && (token % 5 == 0 || (token % 5 == 1 && choice == 1)))
		return choice == 2 ? EXPERTS + 7 : -1; /* no expert has these numbers */
	return (first + choice * (token % 2 ? 1 : 2)) % EXPERTS;
}

static int layer_make(tsr_world_t *world, int kind, uint64_t seed, layer_t *l)
{
	const int all = l->first[l->ranks];
	l->chosen = calloc((size_t)(all * CHOICES) + 1, sizeof *l->chosen);
	l->place = calloc((size_t)(all * CHOICES) + 1, sizeof *l->place);
	l->weights = calloc((size_t)(all * CHOICES) + 1, sizeof *l->weights);
	l->x = calloc((size_t)(all * HIDDEN) + 1, sizeof *l->x);
	l->w1 = calloc(EXPERTS * HIDDEN * INNER, sizeof *l->w1);
	l->w2 = calloc(EXPERTS * INNER * HIDDEN, sizeof *l->w2);
	CHECK(l->chosen && l->place && l->weights && l->x && l->w1 && l->w2);
	for (int i = 0; i < all * CHOICES; i++) {
		l->chosen[i] = choose(seed, kind, i / CHOICES, i % CHOICES);
		l->weights[i] = tsr_random_f32(seed + 1, (uint64_t)i) - 0.5F;
	}
	for (int i = 0; i < all * HIDDEN; i++)
		l->x[i] = small_integer(seed + 2, i);
	for (int i = 0; i < EXPERTS * HIDDEN * INNER; i++) {
		l->w1[i] = small_integer(seed + 3, i);
		l->w2[i] = small_integer(seed + 4, i);
	}
	return 0;
}

/* ------------------------------------------------------------ the loops */

/** Gives the tokens of one rank their rows at an expert, from `row` on. Returns the next row. */
static int place_rank(layer_t *l, int expert, int source, int owner, int row)
{
	for (int i = l->first[source] * CHOICES; i < l->first[source + 1] * CHOICES; i++)
		if (l->chosen[i] == expert)
			l->place[i] = owner * l->capacity + row++;
	return row;
}

/** The places of all choices. */
static void place_all(layer_t *l)
{
	for (int i = 0; i < l->first[l->ranks] * CHOICES; i++)
		l->place[i] = -1;
	for (int owner = 0; owner < l->ranks; owner++) {
		const share_t share = share_of(EXPERTS, owner, l->ranks);
		int row = 0;
		for (int64_t e = share.first; e < share.first + share.count; e++) {
			for (int i = 0; i < l->ranks; i++)
				row = place_rank(l, (int)e, (owner - i + l->ranks) % l->ranks,
						 owner, row);
			row = (row + PADDING - 1) / PADDING * PADDING;
		}
	}
}

/** Column `col` of what an expert makes of a token: exact. */
static float through(const layer_t *l, int expert, int token, int col)
{
	float y = 0;
	for (int f = 0; f < INNER; f++) {
		float inner = 0;
		for (int h = 0; h < HIDDEN; h++)
			inner +=
				l->x[token * HIDDEN + h] * l->w1[(expert * HIDDEN + h) * INNER + f];
		y += (inner > 0 ? inner : 0) * l->w2[(expert * INNER + f) * HIDDEN + col];
	}
	return y;
}

/** An output: on each rank in the order of choices, then the ranks in their order. */
static float combined(const layer_t *l, int token, int col)
{
	float sum = 0;
	for (int owner = 0; owner < l->ranks; owner++) {
		const share_t share = share_of(EXPERTS, owner, l->ranks);
		float part = 0;
		for (int j = 0; j < CHOICES; j++) {
			const int i = token * CHOICES + j, e = l->chosen[i];
			if (e >= share.first && e < share.first + share.count) {
				const float product = l->weights[i] * through(l, e, token, col);
				part += product;
			}
		}
		sum += part;
	}
	return sum;
}

/* ------------------------------------------------------------ the workload */

static workload_config_t make_config(int64_t pattern, int blocks, int bands)
{
	workload_config_t config = {.pattern = pattern};
	workload_value_t *v = config.value;
	v[MOE_TOKENS].x[0] = TOKENS;
	v[MOE_LAYER] = (workload_value_t){{EXPERTS, HIDDEN, INNER}};
	v[MOE_TOP_K].x[0] = CHOICES;
	v[MOE_PRODUCTS].x[0] = 2;
	v[MOE_ACTIVATION].x[0] = MOE_RELU;
	v[MOE_ROUTING].x[0] = WORKLOAD_EQUAL;
	v[MOE_SPREAD].x[0] = MOE_RAMP;
	v[MOE_PADDING].x[0] = PADDING;
	v[MOE_DTYPE].x[0] = TSR_F32;
	v[MOE_TILE] = (workload_value_t){{16, 16, 16}};
	v[MOE_BLOCKS].x[0] = blocks;
	v[MOE_CHUNK_ROWS].x[0] = 4 + bands;
	v[MOE_BANDS].x[0] = bands;
	return config;
}

/** Writes this rank's part of the layer. */
static int fill(tsr_world_t *world, const workload_t *w, workload_run_t *run, const layer_t *l)
{
	const int rank = tsr_world_rank(world), first = l->first[rank];
	const share_t share = share_of(EXPERTS, rank, l->ranks);
	const int64_t skip = share.first * HIDDEN * INNER;
	CHECK(matrix_write(world, w->view(run, MOE_X), l->x + first * HIDDEN) == TSR_OK);
	CHECK(matrix_write(world, w->view(run, MOE_W1), l->w1 + skip) == TSR_OK);
	CHECK(matrix_write(world, w->view(run, MOE_W2), l->w2 + skip) == TSR_OK);
	CHECK(matrix_write(world, w->view(run, MOE_CHOSEN), l->chosen + first * CHOICES) == TSR_OK);
	CHECK(matrix_write(world, w->view(run, MOE_WEIGHTS), l->weights + first * CHOICES) ==
	      TSR_OK);
	CHECK(matrix_poison(world, w->view(run, MOE_OUT)) == TSR_OK);
	return 0;
}

static int check_places(tsr_world_t *world, const moe_plan_t *plan, const layer_t *l)
{
	int32_t table[8 * TOKENS * CHOICES];
	tsr_view_t view = plan->args.places;
	view.rows = l->ranks * TOKENS;
	CHECK(matrix_read(world, view, table) == TSR_OK);
	for (int source = 0; source < l->ranks; source++)
		for (int i = l->first[source] * CHOICES; i < l->first[source + 1] * CHOICES; i++) {
			const int at = source * TOKENS * CHOICES + i - l->first[source] * CHOICES;
			CHECK(table[at] == l->place[i], "choice %d of token %d: place %d, not %d",
			      i % CHOICES, i / CHOICES, table[at], l->place[i]);
		}
	return 0;
}

/** Each row of this rank's experts holds its token. */
static int check_rows(tsr_world_t *world, const moe_plan_t *plan, const layer_t *l)
{
	const int rank = tsr_world_rank(world);
	float *rows = malloc((size_t)l->capacity * HIDDEN * sizeof *rows);
	CHECK(rows && matrix_read(world, plan->args.rows, rows) == TSR_OK);
	for (int i = 0; i < l->first[l->ranks] * CHOICES; i++)
		if (l->place[i] / l->capacity == rank && l->place[i] >= 0)
			CHECK(memcmp(rows + (l->place[i] - rank * l->capacity) * HIDDEN,
				     l->x + i / CHOICES * HIDDEN, HIDDEN * sizeof *rows) == 0,
			      "row %d is not token %d", l->place[i] - rank * l->capacity,
			      i / CHOICES);
	free(rows);
	return 0;
}

static int check_sums(tsr_world_t *world, const workload_t *w, workload_run_t *run,
		      const layer_t *l)
{
	const int first = l->first[tsr_world_rank(world)],
		  end = l->first[tsr_world_rank(world) + 1];
	float out[TOKENS * HIDDEN];
	CHECK(matrix_read(world, w->view(run, MOE_OUT), out) == TSR_OK);
	for (int i = 0; i < (end - first) * HIDDEN; i++) {
		const float wanted = combined(l, first + i / HIDDEN, i % HIDDEN);
		CHECK(memcmp(&out[i], &wanted, sizeof wanted) == 0 || (out[i] == 0 && wanted == 0),
		      "token %d, column %d: %.9g and not %.9g", first + i / HIDDEN, i % HIDDEN,
		      (double)out[i], (double)wanted);
	}
	return 0;
}

/** Fills, runs and checks one routing. */
static int try_routing(tsr_world_t *world, const workload_t *w, workload_run_t *run, int kind,
		       uint64_t seed)
{
	const moe_plan_t *plan = (const moe_plan_t *)run;
	layer_t l = {.ranks = tsr_world_size(world), .capacity = plan->args.capacity};
	for (int rank = 0; rank <= l.ranks; rank++)
		l.first[rank] = (int)moe_tokens_before(&plan->config, rank, l.ranks);
	if (layer_make(world, kind, seed, &l) || fill(world, w, run, &l))
		return 1;
	place_all(&l);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(w->start(run) == TSR_OK && w->sync(run) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_barrier(world) == TSR_OK);
	if (check_places(world, plan, &l) || check_rows(world, plan, &l) ||
	    check_sums(world, w, run, &l))
		return 1;
	layer_free(&l);
	return 0;
}

static int try_plan(tsr_world_t *world, int argc, char **argv)
{
	static const struct {
		int64_t pattern;
		int blocks, bands;
	} forms[] = {{MOE_BULK_SYNCHRONOUS, 2, 1},
		     {MOE_FUSED, 4, 2},
		     {MOE_COPY_ENGINES, 3, 1},
		     {MOE_BULK_SYNCHRONOUS, 5, 1},
		     {MOE_FUSED, 6, 1}};
	const workload_t *w;
	workload_run_t *run;
	workload_config_t config = make_config(forms[0].pattern, forms[0].blocks, forms[0].bands);
	(void)argc, (void)argv;
	CHECK(workload_find("moe", &w) == TSR_OK);
	CHECK(w->open(world, &config, &run) == TSR_OK, "%s", tsr_last_error());
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		config = make_config(forms[i].pattern, forms[i].blocks, forms[i].bands);
		CHECK(w->reconfigure(run, &config) == TSR_OK, "%s", tsr_last_error());
		for (int kind = 0; kind < 4; kind++)
			if (try_routing(world, w, run, kind, 100 * (uint64_t)kind + i))
				return 1;
	}
	CHECK(w->close(run, TSR_OK) == TSR_OK);
	return 0;
}

Test(moe, agrees_with_loops_over_tokens)
{
	each_world(try_plan, NULL);
}

/* ------------------------------------------------------------ no room */

/* Three experts, of which each rank has one or none, but for worlds of one and two. */
enum { FULL = 16 }; /* rows of a rank */

/**
 * The choice of a token in step `step`: all tokens have the first two experts; none
 * has any; rank 0's tokens have the first, which they fill exactly, or the second.
 */
static int32_t choose_in(int step, int rank, int token, int choice)
{
	if (step == 0)
		return choice;
	return step == 2 && rank == 0 && choice == 0 ? token >= FULL : -1;
}

/** The rank and the expert without room in a step; false: all rows fit. */
static bool lacks_room(int step, int ranks, int *rank_out, int *expert_out)
{
	*rank_out = step == 0 ? (ranks - 1) / 3 : 0;
	*expert_out = step == 2;
	return step == 0 || (step == 2 && ranks == 1);
}

static int try_step(tsr_world_t *world, const workload_t *w, workload_run_t *run, int step)
{
	int32_t chosen[TOKENS * 2];
	int rank = 0, expert = 0;
	char sentence[80];
	for (int i = 0; i < TOKENS * 2; i++)
		chosen[i] = choose_in(step, tsr_world_rank(world), i / 2, i % 2);
	CHECK(matrix_write(world, w->view(run, MOE_CHOSEN), chosen) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(w->start(run) == TSR_OK);
	const bool lacks = lacks_room(step, tsr_world_size(world), &rank, &expert);
	CHECK(w->sync(run) == (lacks ? TSR_ERR_NO_MEMORY : TSR_OK), "step %d: %s", step,
	      tsr_last_error());
	(void)snprintf(sentence, sizeof sentence, "rank %d has no room for all tokens of expert %d",
		       rank, expert);
	CHECK(!lacks || strncmp(tsr_last_error(), sentence, strlen(sentence)) == 0,
	      "%s, and not: %s", tsr_last_error(), sentence);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int try_overflow(tsr_world_t *world, int argc, char **argv)
{
	const workload_t *w;
	workload_run_t *run;
	workload_config_t config = make_config(MOE_BULK_SYNCHRONOUS, 2, 1);
	(void)argc, (void)argv;
	config.value[MOE_LAYER] = (workload_value_t){{3, HIDDEN, INNER}};
	config.value[MOE_TOP_K].x[0] = 2;
	config.value[MOE_SPREAD].x[0] = MOE_EVEN;
	config.value[MOE_CAPACITY].x[0] = FULL;
	CHECK(workload_find("moe", &w) == TSR_OK);
	CHECK(w->open(world, &config, &run) == TSR_OK, "%s", tsr_last_error());
	for (int step = 0; step < 3; step++) /* runs go on after an error of this kind */
		if (try_step(world, w, run, step))
			return 1;
	CHECK(w->close(run, TSR_OK) == TSR_OK);
	return 0;
}

Test(moe, names_rank_and_expert_without_room)
{
	each_world(try_overflow, NULL);
}
