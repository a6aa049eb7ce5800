/* --explain in JSON. */
#include <math.h>
#include <string.h>

#include "tools/bench/explain.h"

static json_t *value_json(const workload_t *workload, const char *param,
			  const workload_value_t *value)
{
	for (int i = 0; workload->params[i].name; i++)
		if (strcmp(workload->params[i].name, param) == 0)
			return bench_value_json(&workload->params[i], value, true);
	return json_string(workload->pattern(value->x[0]));
}

/** Null if the cost, or the time that its unit stands for, is not known. */
static json_t *time_json(const explain_choice_t *choice, double cost)
{
	return cost >= 0 && choice->unit_ns > 0 ? json_real(cost * choice->unit_ns) : json_null();
}

static json_t *parts_json(const explain_choice_t *choice, const explain_candidate_t *candidate)
{
	json_t *parts = json_object();
	for (int i = 0; i < choice->parts; i++)
		if (!isnan(candidate->part[i]))
			(void)json_object_set_new(parts, choice->part[i].name,
						  json_real(candidate->part[i]));
	return parts;
}

static json_t *candidates_json(const workload_t *workload, const explain_choice_t *choice)
{
	json_t *array = json_array();
	for (int i = 0; choice && i < choice->count; i++) {
		const explain_candidate_t *c = &choice->candidate[i];
		(void)json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:o, s:s?, s:s?}", "value",
				  value_json(workload, choice->param, &c->value), "cost",
				  c->cost >= 0 ? json_real(c->cost) : json_null(), "predicted_ns",
				  time_json(choice, c->cost), "parts", parts_json(choice, c),
				  "bound", c->bound, "left_out", c->left_out));
	}
	return array;
}

static json_t *choice_json(const workload_t *workload, const char *param, bench_origin_t origin,
			   const workload_value_t *used, const explain_choice_t *choice)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s?, s:s?, s:o, s:o}", "parameter", param, "origin",
			 bench_origin_text(origin), "value", value_json(workload, param, used),
			 "chosen",
			 choice ? value_json(workload, param, &choice->chosen) : json_null(),
			 "rule", choice ? choice->rule : NULL, "formula",
			 choice ? choice->formula : NULL, "margin",
			 choice ? json_real(choice->margin) : json_null(), "candidates",
			 candidates_json(workload, choice));
}

static json_t *param_json(const bench_options_t *options, const bench_result_t *result, int index)
{
	const workload_param_t *param = &options->workload->params[index];
	const explain_choice_t *choice = explain_find(result->explain, param->name);
	const bench_origin_t origin = bench_origin(options, result, index);
	const workload_value_t used = bench_value_in_use(result, index, choice);
	json_t *object = choice_json(options->workload, param->name, origin, &used, choice);
	(void)json_object_set_new(object, "asked",
				  origin == BENCH_CHOSEN
					  ? json_null()
					  : bench_value_json(param, &result->asked.value[index],
							     true));
	return object;
}

json_t *bench_explain_json(const bench_options_t *options, const bench_result_t *result)
{
	const workload_t *workload = options->workload;
	const explain_choice_t *fastest = explain_find(result->explain, EXPLAIN_PATTERN);
	if (!result->explain)
		return json_null();
	json_t *array = json_array();
	if (fastest)
		(void)json_array_append_new(array,
					    choice_json(workload, EXPLAIN_PATTERN, BENCH_CHOSEN,
							&fastest->chosen, fastest));
	for (int i = 0; workload->params[i].name; i++)
		if (!workload->params[i].problem)
			(void)json_array_append_new(array, param_json(options, result, i));
	return array;
}
