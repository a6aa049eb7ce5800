/* --dump: the inputs and every pattern's C as raw arrays, and a manifest that says what is where. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the dump is little-endian, and writes arrays as they are in memory");

/** `prefix`.`suffix`. */
static tsr_status_t dump_path(char path_out[PATH_MAX], const char *prefix, const char *suffix)
{
	if ((size_t)snprintf(path_out, PATH_MAX, "%s.%s", prefix, suffix) >= PATH_MAX)
		return tsr_error(TSR_ERR_ARGUMENT, "--dump names a path that is longer than %d bytes", PATH_MAX);
	return TSR_OK;
}

static tsr_status_t write_array(const char *prefix, const char *suffix, const void *data, size_t size_bytes)
{
	char path[PATH_MAX];
	tsr_status_t status = dump_path(path, prefix, suffix);
	if (status != TSR_OK)
		return status;
	errno = 0;
	FILE *file = fopen(path, "wb");
	bool written = file && fwrite(data, 1, size_bytes, file) == size_bytes;
	int cause = errno;
	/* A full disk may show at the close only. */
	if (file && fclose(file) != 0 && written) {
		written = false;
		cause = errno;
	}
	if (!written)
		return tsr_error(TSR_ERR_SYSTEM, "--dump: '%s' cannot be written: %s", path, strerror(cause));
	return TSR_OK;
}

/** The name of a file as the manifest gives it: beside the manifest. */
static json_t *file_json(const char *prefix, const char *suffix, int64_t rows, int64_t cols)
{
	const char *slash = strrchr(prefix, '/');
	return json_pack("{s:o, s:[I,I]}", "file", json_sprintf("%s.%s", slash ? slash + 1 : prefix, suffix), "shape",
			 (json_int_t)rows, (json_int_t)cols);
}

static json_t *manifest(const bench_gas_options_t *options)
{
	const gas_config_t *c = &options->config;
	json_t *products = json_object();
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		char suffix[64];
		const char *name = gas_pattern_name((gas_pattern_t)p);
		(void)snprintf(suffix, sizeof suffix, "c.%s.raw", name);
		if (options->patterns[p])
			(void)json_object_set_new(products, name, file_json(options->dump, suffix, c->m, c->n));
	}
	return json_pack("{s:s, s:{s:I, s:I, s:I}, s:s, s:s, s:s, s:i, s:I, s:b, s:o, s:o, s:o}", "workload", "gemm-all-scatter",
			 "shape", "m", (json_int_t)c->m, "n", (json_int_t)c->n, "k", (json_int_t)c->k, "dtype",
			 tsr_dtype_name(c->dtype), "layout", "row-major, dense", "byte_order", "little", "ranks", options->ranks,
			 "seed", (json_int_t)options->inputs.seed, "integers", options->inputs.integers, "a",
			 file_json(options->dump, "a.raw", c->m, c->k), "b", file_json(options->dump, "b.raw", c->k, c->n), "c",
			 products);
}

static tsr_status_t write_manifest(const bench_gas_options_t *options)
{
	char path[PATH_MAX];
	tsr_status_t status = dump_path(path, options->dump, "json");
	if (status != TSR_OK)
		return status;
	json_t *root = manifest(options);
	if (!root)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for the dump's manifest; free some");
	errno = 0;
	int failed = json_dump_file(root, path, JSON_INDENT(2));
	json_decref(root);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--dump: '%s' cannot be written: %s", path,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

tsr_status_t bench_gas_dump_inputs(const bench_gas_options_t *options)
{
	const gas_config_t *c = &options->config;
	size_t element = tsr_dtype_bytes(c->dtype);
	size_t a_bytes = (size_t)(c->m * c->k) * element, b_bytes = (size_t)(c->k * c->n) * element;
	void *host = malloc(a_bytes > b_bytes ? a_bytes : b_bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for the inputs to dump; free some");
	gas_inputs_a(c, &options->inputs, host);
	tsr_status_t status = write_array(options->dump, "a.raw", host, a_bytes);
	if (status == TSR_OK) {
		gas_inputs_b(c, &options->inputs, gas_share(c->n, 0, 1), host);
		status = write_array(options->dump, "b.raw", host, b_bytes);
	}
	free(host);
	return status == TSR_OK ? write_manifest(options) : status;
}

tsr_status_t bench_gas_dump_c(const bench_gas_options_t *options, tsr_world_t *world, const gas_plan_t *plan)
{
	tsr_view_t c = gas_plan_c(plan);
	size_t size_bytes = (size_t)(c.rows * c.cols) * tsr_dtype_bytes((tsr_dtype_t)c.dtype);
	char suffix[64];
	void *host = malloc(size_bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a copy of C (%s): use a smaller shape",
				 TSR_SIZE(size_bytes));
	(void)snprintf(suffix, sizeof suffix, "c.%s.raw", gas_pattern_name(gas_plan_config(plan)->pattern));
	tsr_status_t status = gas_matrix_read(world, c, host);
	if (status == TSR_OK)
		status = write_array(options->dump, suffix, host, size_bytes);
	free(host);
	return status;
}
