/*
 * --model: each pattern is simulated in the configuration that was measured, by
 * the program of `tessera sim`.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "kernels/choices/machine.h"
#include "tools/bench/bench.h"
#include "tools/beside.h"
#include "tools/child.h"

enum { MOST_SECONDS = 120 };

/** What a simulation says of a pattern. */
typedef struct prediction {
	double ns, moment_ns[BENCH_MOMENTS];
} prediction_t;

/** All that was measured: the values of all parameters. */
static void add_config(tool_child_t *words, const workload_t *workload,
		       const workload_config_t *config)
{
	char value[BENCH_VALUE_TEXT];
	tool_child_add(words, "--pattern");
	tool_child_add(words, "%s", workload->pattern(config->pattern));
	for (int i = 0; workload->params[i].name; i++) {
		const workload_param_t *param = &workload->params[i];
		(void)bench_value_text(param, &config->value[i], value);
		if (param->least > 0 && strcmp(value, "0") == 0)
			continue; /* the pattern has no such thing */
		tool_child_add(words, "--%s", param->name);
		tool_child_add(words, "%s", value);
	}
}

/** Reads what it has written. False: nothing. */
static bool read_prediction(const json_t *root, prediction_t *prediction_out)
{
	static const char *const keys[] = {[BENCH_FIRST_PRODUCT] = "first_product_ns",
					   [BENCH_LAST_PRODUCT] = "last_product_ns",
					   [BENCH_LAST_SEND] = "last_send_ns",
					   [BENCH_LAST_WORKER] = "last_worker_ns"};
	json_t *row = json_array_get(json_object_get(root, "patterns"), 0);
	json_t *traffic = json_object_get(row, "traffic");
	prediction_out->ns = json_number_value(json_object_get(row, "median_ns"));
	for (int m = 0; m < BENCH_MOMENTS; m++)
		prediction_out->moment_ns[m] = json_number_value(json_object_get(traffic, keys[m]));
	return prediction_out->ns > 0;
}

static bool simulate(const bench_session_t *session, const char *machine,
		     const workload_config_t *config, prediction_t *prediction_out)
{
	char path[PATH_MAX];
	tool_child_t words = {.argc = 0};
	tool_path_beside("tessera-sim", path);
	tool_child_add(&words, "sim");
	tool_child_add(&words, "%s", session->workload->name);
	tool_child_add(&words, "--machine");
	tool_child_add(&words, "%s", machine);
	add_config(&words, session->workload, config);
	json_t *root = tool_child_json(&words, path, MOST_SECONDS, NULL, 0);
	const bool good = read_prediction(root, prediction_out);
	json_decref(root);
	return good;
}

/* ---------------------------------------------------------------- the table */

/** "412.3 / 398.0", in microseconds; "-" where one is not known. */
static void print_pair(double measured_ns, double simulated_ns)
{
	char text[BENCH_SHORT_TEXT] = "-";
	if (measured_ns > 0 && simulated_ns > 0)
		(void)snprintf(text, sizeof text, "%.1f / %.1f", measured_ns * 1e-3,
			       simulated_ns * 1e-3);
	(void)printf(" %19s", text);
}

static void print_row(const bench_session_t *session, const char *machine,
		      const bench_result_t *result)
{
	const double ns = (double)bench_median_ns(&result->times);
	prediction_t prediction = {0};
	(void)printf("%-27s", session->workload->pattern(result->config.pattern));
	if (!simulate(session, machine, &result->config, &prediction)) {
		(void)printf(" not simulated: see 'tessera sim' with these options\n");
		return;
	}
	(void)printf(" %9.1f %9.1f %7.3f", ns * 1e-3, prediction.ns * 1e-3, prediction.ns / ns);
	for (int m = 0; m < BENCH_MOMENTS; m++)
		print_pair(result->traffic.moment_ns[m], prediction.moment_ns[m]);
	(void)printf("\n");
	(void)fflush(stdout);
}

void bench_print_model(const bench_session_t *session, const bench_result_t *results, int count)
{
	tsr_device_props_t device = {.size = sizeof device, .name = "?"};
	char name[BENCH_VALUE_TEXT];
	(void)tsr_world_device(session->world, &device);
	const machine_t *machine = machine_find(tsr_world_backend(session->world), device.name);
	const size_t length = strlen(machine->name);
	(void)snprintf(name, sizeof name, "%s%s%d", machine->name,
		       machine->name[length - 1] == 'x' ? "" : "x", tsr_world_size(session->world));
	(void)printf("beside the model of %s: us, and from the first worker's begin to the moments "
		     "of a recorded run, measured / simulated\n",
		     name);
	(void)printf("%-27s %9s %9s %7s %19s %19s %19s %19s\n", "pattern", "measured", "simulated",
		     "ratio", "first product", "products end", "sends end", "workers end");
	for (int i = 0; i < count; i++)
		print_row(session, name, &results[i]);
}
