/*
 * What every registered workload promises in its struct: names, limits, and
 * matrices whose parts are a whole.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/workload.h"
#include "tools/bench/bench.h"

/* Options of all workloads, which none may have as a parameter. */
static const char *const common[] = {"ranks",  "backend",  "placement", "pattern", "iterations",
				     "warmup", "verify",   "integers",  "seed",    "baseline",
				     "tune",   "no-tuned", "record",    "json",    "dump",
				     "help",   "runs",     "in-flight", NULL};

/** The configuration with every parameter as it is preset. */
static workload_config_t preset_of(const workload_t *w)
{
	workload_config_t config;
	memset(&config, 0, sizeof config);
	for (int i = 0; w->params[i].name; i++)
		if (w->params[i].preset)
			cr_assert(bench_value_parse(&w->params[i], w->params[i].preset,
						    &config.value[i]) == TSR_OK,
				  "%s: --%s: %s", w->name, w->params[i].name, tsr_last_error());
	return config;
}

Test(registry, names_are_those_of_one)
{
	const workload_t *w, *found;
	cr_assert(workload_at(0));
	for (int i = 0; (w = workload_at(i)) != NULL; i++) {
		cr_expect_eq(w->size, sizeof *w);
		cr_expect(w->title[0] && w->summary[0] && w->source[0]);
		cr_expect(workload_find(w->name, &found) == TSR_OK && found == w, "%s", w->name);
		cr_expect(i == 0 || strcmp(workload_at(i - 1)->name, w->name) < 0, "%s", w->name);
	}
	cr_expect(workload_find("gemm-all-scater", &found) == TSR_ERR_NOT_FOUND);
	cr_expect(strstr(tsr_last_error(), "did you mean 'gemm-all-scatter'?"), "%s",
		  tsr_last_error());
}

Test(registry, parameters_and_patterns_are_whole)
{
	const workload_t *w;
	for (int i = 0; (w = workload_at(i)) != NULL; i++) {
		int params = 0, patterns = 0;
		for (const workload_param_t *p = w->params; p->name; p++, params++) {
			for (int c = 0; common[c]; c++)
				cr_expect(strcmp(p->name, common[c]) != 0,
					  "%s: --%s is an option of all", w->name, p->name);
			for (const workload_param_t *q = w->params; q != p; q++)
				cr_expect(strcmp(p->name, q->name) != 0, "%s: --%s twice", w->name,
					  p->name);
			cr_expect(p->letters && p->help);
			cr_expect(!p->in_row || p->heading, "%s: --%s has no heading", w->name,
				  p->name);
			cr_expect((p->stage > 0) == (p->candidate != NULL), "%s: --%s", w->name,
				  p->name);
			cr_expect(!p->problem || p->preset, "%s: what is computed is preset: --%s",
				  w->name, p->name);
			cr_expect(!p->problem || p->stage == 0,
				  "%s: what is computed is not searched: --%s", w->name, p->name);
		}
		while (w->pattern(patterns))
			patterns++;
		cr_expect(params > 0 && params < WORKLOAD_PARAMS, "%s: %d parameters", w->name,
			  params);
		cr_expect(patterns > 0 && patterns <= WORKLOAD_PATTERNS, "%s: %d patterns", w->name,
			  patterns);
		cr_expect(w->compute_pattern < patterns &&
				  (w->compute == NULL) == (w->compute_pattern < 0),
			  "%s", w->name);
		cr_expect(w->cases[0], "%s has no case", w->name);
	}
}

/** What a case's options say, beside what is preset. */
static workload_config_t config_of(const workload_t *w, const char *line)
{
	workload_config_t config = preset_of(w);
	char words[256], *rest = words, *word;
	cr_assert(snprintf(words, sizeof words, "%s", line) < (int)sizeof words);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		const char *value = strtok_r(NULL, " ", &rest);
		int p = 0;
		while (w->params[p].name && strcmp(word + 2, w->params[p].name) != 0)
			p++;
		cr_assert(strncmp(word, "--", 2) == 0 && w->params[p].name && value, "%s: %s: %s",
			  w->name, line, word);
		cr_expect(bench_value_parse(&w->params[p], value, &config.value[p]) == TSR_OK,
			  "%s: %s", line, tsr_last_error());
	}
	return config;
}

Test(registry, cases_can_be_run)
{
	static const char *const none[] = {NULL};
	const workload_t *w;
	for (int i = 0; (w = workload_at(i)) != NULL; i++) {
		const char *const *const lists[] = {w->cases,
						    w->large_cases ? w->large_cases : none};
		for (int l = 0; l < 2; l++)
			for (int c = 0; lists[l][c]; c++) {
				workload_config_t config = config_of(w, lists[l][c]);
				for (config.pattern = 0; w->pattern(config.pattern);
				     config.pattern++)
					cr_expect(w->check(&config, 3) == TSR_OK, "%s %s: %s",
						  w->name, lists[l][c], tsr_last_error());
			}
	}
}

/** Parts lie within the whole; those of all ranks are at least all of it. */
static void expect_parts(const workload_t *w, const workload_config_t *config, int index, int ranks)
{
	workload_matrix_t m;
	double elements = 0;
	for (int r = 0; r < ranks; r++) {
		cr_assert(w->matrix(config, index, r, ranks, &m));
		cr_expect(m.first_row >= 0 && m.part_rows >= 0 &&
				  m.first_row + m.part_rows <= m.rows,
			  "%s, %s", w->name, m.name);
		cr_expect(m.first_col >= 0 && m.part_cols >= 0 &&
				  m.first_col + m.part_cols <= m.cols,
			  "%s, %s", w->name, m.name);
		elements += (double)m.part_rows * (double)m.part_cols;
	}
	cr_expect(m.use == WORKLOAD_BETWEEN || elements >= (double)m.rows * (double)m.cols,
		  "%s: %s is not all there on %d ranks", w->name, m.name, ranks);
}

Test(registry, parts_of_matrices_are_a_whole)
{
	static const int worlds[] = {1, 2, 3, 5, 8, 64};
	const workload_t *w;
	for (int i = 0; (w = workload_at(i)) != NULL; i++) {
		const workload_config_t config = preset_of(w);
		workload_step_t steps[WORKLOAD_STEPS];
		workload_matrix_t m;
		int matrices = 0, inputs = 0, outputs = 0;
		for (; w->matrix(&config, matrices, 0, 1, &m); matrices++) {
			inputs += m.use == WORKLOAD_INPUT;
			outputs += m.use == WORKLOAD_OUTPUT;
			for (size_t n = 0; n < sizeof worlds / sizeof *worlds; n++)
				expect_parts(w, &config, matrices, worlds[n]);
		}
		cr_expect(inputs > 0 && outputs > 0 && matrices <= WORKLOAD_MATRICES, "%s",
			  w->name);
		const int count = w->baseline ? w->baseline(&config, steps) : 0;
		cr_expect(count >= 0 && count <= WORKLOAD_STEPS, "%s", w->name);
		for (int s = 0; s < count; s++)
			cr_expect(steps[s].from < matrices && steps[s].with < matrices &&
					  steps[s].to < matrices && steps[s].to >= 0,
				  "%s: %s", w->name, steps[s].name);
	}
}

/** How many times as large a problem is on a team: 1, unless each rank brings its own rows. */
static double growth(const workload_t *w, const workload_config_t *config, int ranks)
{
	workload_matrix_t alone, together;
	cr_assert(w->matrix(config, 0, 0, 1, &alone) && w->matrix(config, 0, 0, ranks, &together));
	return (double)together.rows / (double)alone.rows;
}

Test(registry, presets_can_be_run_and_cost_something)
{
	const workload_t *w;
	for (int i = 0; (w = workload_at(i)) != NULL; i++) {
		workload_config_t config = preset_of(w);
		for (config.pattern = 0; w->pattern(config.pattern); config.pattern++)
			for (int ranks = 1; ranks <= 8; ranks++) {
				const double alone = w->cost(&config, 0, 1).operations *
						     growth(w, &config, ranks);
				cr_expect(w->check(&config, ranks) == TSR_OK, "%s: %s", w->name,
					  tsr_last_error());
				cr_expect(fabs(bench_all_operations(w, &config, ranks) - alone) <=
						  1e-6 * alone,
					  "%s", w->name);
				/* ranks meet, or share nothing */
				const workload_cost_t cost = w->cost(&config, 0, ranks);
				cr_expect((cost.link_bytes > 0) == (ranks > 1) ||
						  (cost.link_bytes == 0 && cost.meetings == 0),
					  "%s, %d ranks", w->name, ranks);
			}
	}
}
