/* Values of a workload's parameters as they are typed, and what follows from them for all ranks. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

bool bench_value_is_automatic(const workload_value_t *value)
{
	for (int i = 0; i < WORKLOAD_EXTENTS; i++)
		if (value->x[i] != 0)
			return false;
	return true;
}

/** Extents, such as 512x512x512. */
static tsr_status_t parse_extents(const workload_param_t *param, const char *text,
				  workload_value_t *value_out)
{
	const char *at = text;
	for (int i = 0; i < WORKLOAD_EXTENTS; i++) {
		char *end;
		errno = 0;
		const long long value = strtoll(at, &end, 10);
		if (errno == ERANGE)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "--%s '%s' overflows: an extent has more than 63 bits",
					 param->name, text);
		if (end == at || *end != (i < WORKLOAD_EXTENTS - 1 ? 'x' : '\0'))
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"--%s '%s' is not %s, three whole numbers such as 512x512x512",
				param->name, text, param->letters);
		if (value < param->least || value > param->most)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "--%s '%s' is no %s: each extent must be in %" PRId64
					 " .. %" PRId64,
					 param->name, text, param->name, param->least, param->most);
		value_out->x[i] = value;
		at = end + 1;
	}
	return TSR_OK;
}

static tsr_status_t parse_name(const workload_param_t *param, const char *text,
			       workload_value_t *value_out)
{
	const char *const *names = param->names;
	for (int i = 0; names[i]; i++)
		if (strcmp(text, names[i]) == 0) {
			value_out->x[0] = i + 1;
			return TSR_OK;
		}
	const char *near = tsr_nearest_name(text, names);
	if (near)
		return tsr_error(TSR_ERR_NOT_FOUND, "--%s '%s' is unknown; did you mean '%s'?",
				 param->name, text, near);
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "--%s '%s' is unknown; 'tessera bench --list' says what there is",
			 param->name, text);
}

tsr_status_t bench_value_parse(const workload_param_t *param, const char *text,
			       workload_value_t *value_out)
{
	char option[BENCH_KEY_TEXT];
	long number = 0;
	tsr_dtype_t dtype;
	tsr_status_t status;
	workload_value_t value = {{0}};
	switch (param->kind) {
	case WORKLOAD_SHAPE:
		status = parse_extents(param, text, &value);
		break;
	case WORKLOAD_DTYPE:
		status = tsr_dtype_parse(text, &dtype);
		value.x[0] = status == TSR_OK ? (int64_t)dtype : 0;
		break;
	case WORKLOAD_NAME:
		status = parse_name(param, text, &value);
		break;
	default:
		(void)snprintf(option, sizeof option, "--%s", param->name);
		status =
			tsr_parse_int(option, text, (long)param->least, (long)param->most, &number);
		value.x[0] = number;
	}
	if (status == TSR_OK)
		*value_out = value;
	return status;
}

const char *bench_value_text(const workload_param_t *param, const workload_value_t *value,
			     char text_out[BENCH_VALUE_TEXT])
{
	const int64_t *x = value->x;
	if (param->kind == WORKLOAD_SHAPE)
		(void)snprintf(text_out, BENCH_VALUE_TEXT, "%" PRId64 "x%" PRId64 "x%" PRId64, x[0],
			       x[1], x[2]);
	else if (param->kind == WORKLOAD_DTYPE)
		(void)snprintf(text_out, BENCH_VALUE_TEXT, "%s", tsr_dtype_name((tsr_dtype_t)x[0]));
	else if (param->kind == WORKLOAD_NAME)
		(void)snprintf(text_out, BENCH_VALUE_TEXT, "%s",
			       x[0] > 0 ? param->names[x[0] - 1] : "");
	else
		(void)snprintf(text_out, BENCH_VALUE_TEXT, "%" PRId64, x[0]);
	return text_out;
}

/** Whether the values of a problem are named: a few speak for themselves. */
static bool has_names(const workload_t *workload)
{
	enum { MOST_WITHOUT_NAMES = 8 };
	int problems = 0;
	for (int i = 0; workload->params[i].name; i++)
		problems += workload->params[i].problem;
	return problems > MOST_WITHOUT_NAMES;
}

/** A value of a problem; with its name only if it is given. */
static const char *problem_value(const workload_param_t *param, const workload_value_t *given,
				 bool is_named, char text_out[BENCH_VALUE_TEXT])
{
	char value[BENCH_VALUE_TEXT];
	if (!is_named)
		return bench_value_text(param, given, text_out);
	text_out[0] = '\0';
	if (given->x[0] != 0)
		(void)snprintf(text_out, BENCH_VALUE_TEXT, "%s %s", param->name,
			       bench_value_text(param, given, value));
	return text_out;
}

const char *bench_problem_text(const workload_t *workload, const workload_config_t *config,
			       char text_out[BENCH_PROBLEM_TEXT])
{
	const bool is_named = has_names(workload);
	size_t used = 0;
	text_out[0] = '\0';
	for (int i = 0; workload->params[i].name && used < BENCH_PROBLEM_TEXT; i++) {
		char value[BENCH_VALUE_TEXT];
		const char *text =
			problem_value(&workload->params[i], &config->value[i], is_named, value);
		if (workload->params[i].problem && text[0])
			used += (size_t)snprintf(text_out + used, BENCH_PROBLEM_TEXT - used, "%s%s",
						 used == 0  ? ""
						 : is_named ? ", "
							    : " ",
						 text);
	}
	return text_out;
}

double bench_all_operations(const workload_t *workload, const workload_config_t *config, int ranks)
{
	double operations = 0;
	for (int r = 0; r < ranks; r++)
		operations += workload->cost(config, r, ranks).operations;
	return operations;
}
