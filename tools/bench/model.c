/*
 * --model: each pattern is simulated in the configuration that was measured, by
 * the program of `tessera sim`.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/host/machine.h"
#include "tools/bench/bench.h"
#include "tools/sim/path.h"

enum { MOST_WORDS = 128, MOST_SECONDS = 120 };
extern char **environ;

/** What a simulation says of a pattern. */
typedef struct prediction {
	double ns, moment_ns[BENCH_MOMENTS];
} prediction_t;

/** The command line of a simulation, whose words live as long as it. */
typedef struct words {
	char *argv[MOST_WORDS];
	int argc;
	char text[MOST_WORDS][BENCH_VALUE_TEXT];
} words_t;

static void add_word(words_t *words, const char *word)
{
	if (words->argc + 1 == MOST_WORDS)
		return;
	(void)snprintf(words->text[words->argc], BENCH_VALUE_TEXT, "%s", word);
	words->argv[words->argc] = words->text[words->argc];
	words->argv[++words->argc] = NULL;
}

/** All that was measured: the values of all parameters. */
static void add_config(words_t *words, const workload_t *workload, const workload_config_t *config)
{
	char option[BENCH_VALUE_TEXT], value[BENCH_VALUE_TEXT];
	add_word(words, "--pattern");
	add_word(words, workload->pattern(config->pattern));
	for (int i = 0; workload->params[i].name; i++) {
		const workload_param_t *param = &workload->params[i];
		(void)bench_value_text(param, &config->value[i], value);
		if (param->least > 0 && strcmp(value, "0") == 0)
			continue; /* the pattern has no such thing */
		(void)snprintf(option, sizeof option, "--%s", param->name);
		add_word(words, option);
		add_word(words, value);
	}
}

/* ---------------------------------------------------------------- the simulation's process */

/** Waits for its end, and ends it where it takes too long. */
static bool ends_well(pid_t pid)
{
	const struct timespec look = {.tv_nsec = 5 * 1000 * 1000};
	int how = 0;
	for (long i = 0; i < MOST_SECONDS * 200L; i++) {
		const pid_t ended = waitpid(pid, &how, WNOHANG);
		if (ended == pid)
			return WIFEXITED(how) && WEXITSTATUS(how) == 0;
		if (ended < 0)
			return false;
		(void)nanosleep(&look, NULL);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &how, 0);
	return false;
}

static bool run_program(const char *path, char **argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	const int error = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return error == 0 && ends_well(pid);
}

/** Reads what it has written. False: nothing. */
static bool read_prediction(int fd, prediction_t *prediction_out)
{
	static const char *const keys[] = {[BENCH_FIRST_PRODUCT] = "first_product_ns",
					   [BENCH_LAST_PRODUCT] = "last_product_ns",
					   [BENCH_LAST_SEND] = "last_send_ns",
					   [BENCH_LAST_WORKER] = "last_worker_ns"};
	json_t *root = lseek(fd, 0, SEEK_SET) == 0 ? json_loadfd(fd, 0, NULL) : NULL;
	json_t *row = json_array_get(json_object_get(root, "patterns"), 0);
	json_t *traffic = json_object_get(row, "traffic");
	prediction_out->ns = json_number_value(json_object_get(row, "median_ns"));
	for (int m = 0; m < BENCH_MOMENTS; m++)
		prediction_out->moment_ns[m] = json_number_value(json_object_get(traffic, keys[m]));
	json_decref(root);
	return prediction_out->ns > 0;
}

static bool simulate(const bench_session_t *session, const char *machine,
		     const workload_config_t *config, prediction_t *prediction_out)
{
	char path[PATH_MAX], file[BENCH_VALUE_TEXT];
	words_t words = {.argc = 0};
	/* a file without a name, which the program inherits: nothing can be left of it */
	const int fd = memfd_create("tessera-model", 0);
	if (fd < 0)
		return false;
	(void)snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
	tool_sim_path(path);
	add_word(&words, "sim");
	add_word(&words, session->workload->name);
	add_word(&words, "--machine");
	add_word(&words, machine);
	add_config(&words, session->workload, config);
	add_word(&words, "--json");
	add_word(&words, file);
	const bool good = run_program(path, words.argv) && read_prediction(fd, prediction_out);
	(void)close(fd);
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
