/* Values of a workload's parameters in JSON. */
#include <stdio.h>

#include "tools/bench/bench.h"

json_t *bench_value_json(const workload_param_t *param, const workload_value_t *value, bool by_axes)
{
	if (param->kind == WORKLOAD_DTYPE)
		return json_string(tsr_dtype_name((tsr_dtype_t)value->x[0]));
	if (param->kind == WORKLOAD_NAME)
		return json_string(value->x[0] > 0 ? param->names[value->x[0] - 1] : "");
	if (param->kind == WORKLOAD_NUMBER)
		return json_integer((json_int_t)value->x[0]);
	if (!by_axes || !param->axes)
		return json_pack("[I,I,I]", (json_int_t)value->x[0], (json_int_t)value->x[1],
				 (json_int_t)value->x[2]);
	json_t *object = json_object();
	for (int i = 0; i < WORKLOAD_EXTENTS; i++) {
		const char key[] = {param->axes[i], '\0'};
		(void)json_object_set_new(object, key, json_integer((json_int_t)value->x[i]));
	}
	return object;
}

bool bench_value_from_json(const workload_param_t *param, const json_t *json,
			   workload_value_t *value_out)
{
	workload_value_t value = {{0}};
	tsr_dtype_t dtype;
	if (param->kind == WORKLOAD_DTYPE) {
		if (!json_is_string(json) ||
		    tsr_dtype_parse(json_string_value(json), &dtype) != TSR_OK)
			return false;
		value.x[0] = (int64_t)dtype;
	} else if (param->kind == WORKLOAD_NAME) {
		if (!json_is_string(json) ||
		    bench_value_parse(param, json_string_value(json), &value) != TSR_OK)
			return false;
	} else if (param->kind == WORKLOAD_NUMBER) {
		if (!json_is_integer(json))
			return false;
		value.x[0] = json_integer_value(json);
	} else {
		if (!json_is_array(json) || json_array_size(json) != WORKLOAD_EXTENTS)
			return false;
		for (size_t i = 0; i < WORKLOAD_EXTENTS; i++) {
			if (!json_is_integer(json_array_get(json, i)))
				return false;
			value.x[i] = json_integer_value(json_array_get(json, i));
		}
	}
	*value_out = value;
	return true;
}

const char *bench_key(const char *name, char key_out[BENCH_KEY_TEXT])
{
	(void)snprintf(key_out, BENCH_KEY_TEXT, "%s", name);
	for (char *at = key_out; *at; at++)
		if (*at == '-')
			*at = '_';
	return key_out;
}
