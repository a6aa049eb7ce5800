/*
 * --dump: inputs, and outputs of every pattern, as raw arrays, and a manifest
 * that says what is where.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/matrices.h"
#include "tools/bench/bench.h"
#include "tools/document.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the dump is little-endian, and writes arrays as they are in memory");

/** `prefix`.`suffix`. */
static tsr_status_t dump_path(char path_out[PATH_MAX], const char *prefix, const char *suffix)
{
	if ((size_t)snprintf(path_out, PATH_MAX, "%s.%s", prefix, suffix) >= PATH_MAX)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "--dump names a path that is longer than %d bytes", PATH_MAX);
	return TSR_OK;
}

static tsr_status_t write_array(const char *prefix, const char *suffix, const void *data,
				size_t size_bytes)
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
		return tsr_error(TSR_ERR_SYSTEM, "--dump: '%s' cannot be written: %s", path,
				 strerror(cause));
	return TSR_OK;
}

/** The name of a file as the manifest gives it: beside the manifest. */
static json_t *file_json(const char *prefix, const char *suffix, int64_t rows, int64_t cols)
{
	const char *slash = strrchr(prefix, '/');
	return json_pack("{s:o, s:[I,I]}", "file",
			 json_sprintf("%s.%s", slash ? slash + 1 : prefix, suffix), "shape",
			 (json_int_t)rows, (json_int_t)cols);
}

/** A matrix's name as a key: in small letters, '_' for what is none. */
static const char *key_of(const workload_matrix_t *matrix, char key_out[BENCH_KEY_TEXT])
{
	(void)snprintf(key_out, BENCH_KEY_TEXT, "%s", matrix->name);
	for (char *at = key_out; *at; at++)
		*at = (char)(isalnum((unsigned char)*at) ? tolower((unsigned char)*at) : '_');
	return key_out;
}

/** Whether every rank has all of it: then rank 0's is enough. */
static bool is_whole(const workload_matrix_t *matrix)
{
	return matrix->part_rows == matrix->rows && matrix->part_cols == matrix->cols;
}

/** "c.banded.raw", and of a part "c.banded.3.raw". */
static void output_suffix(const bench_options_t *options, const workload_matrix_t *matrix,
			  int64_t pattern, int rank, char *suffix, size_t size)
{
	char key[BENCH_KEY_TEXT], part[16] = "";
	if (!is_whole(matrix))
		(void)snprintf(part, sizeof part, ".%d", rank);
	(void)snprintf(suffix, size, "%s.%s%s.raw", key_of(matrix, key),
		       options->workload->pattern(pattern), part);
}

/** One file, or one of each rank with the place of its part. */
static json_t *output_json(const bench_options_t *options, int index, int64_t pattern)
{
	const workload_t *workload = options->workload;
	char suffix[2 * BENCH_KEY_TEXT];
	workload_matrix_t matrix;
	json_t *parts = json_array();
	for (int rank = 0; rank < options->ranks &&
			   workload->matrix(&options->config, index, rank, options->ranks, &matrix);
	     rank++) {
		output_suffix(options, &matrix, pattern, rank, suffix, sizeof suffix);
		json_t *file = file_json(options->dump, suffix, matrix.part_rows, matrix.part_cols);
		if (is_whole(&matrix)) {
			json_decref(parts);
			return file;
		}
		(void)json_object_set_new(file, "first",
					  json_pack("[I,I]", (json_int_t)matrix.first_row,
						    (json_int_t)matrix.first_col));
		(void)json_array_append_new(parts, file);
	}
	return parts;
}

static json_t *outputs_json(const bench_options_t *options, int index)
{
	json_t *products = json_object();
	const char *name;
	for (int64_t p = 0; p < WORKLOAD_PATTERNS && (name = options->workload->pattern(p)) != NULL;
	     p++)
		if (options->patterns[p])
			(void)json_object_set_new(products, name, output_json(options, index, p));
	return products;
}

static json_t *manifest(const bench_options_t *options)
{
	const workload_t *workload = options->workload;
	json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:I, s:b}", "workload", workload->name,
				 "layout", "row-major, dense", "byte_order", "little", "ranks",
				 options->ranks, "seed", (json_int_t)options->inputs.seed,
				 "integers", options->inputs.integers);
	workload_matrix_t matrix;
	for (int i = 0; workload->params[i].name; i++) {
		char key[BENCH_KEY_TEXT];
		if (workload->params[i].problem)
			(void)json_object_set_new(root, bench_key(workload->params[i].name, key),
						  bench_value_json(&workload->params[i],
								   &options->config.value[i],
								   true));
	}
	for (int i = 0; workload->matrix(&options->config, i, 0, options->ranks, &matrix); i++) {
		char key[BENCH_KEY_TEXT], suffix[BENCH_KEY_TEXT + 8];
		(void)snprintf(suffix, sizeof suffix, "%s.raw", key_of(&matrix, key));
		if (matrix.use == WORKLOAD_INPUT)
			(void)json_object_set_new(root, key,
						  file_json(options->dump, suffix, matrix.rows,
							    matrix.cols));
		else if (matrix.use == WORKLOAD_OUTPUT)
			(void)json_object_set_new(root, key, outputs_json(options, i));
	}
	return root;
}

static tsr_status_t write_manifest(const bench_options_t *options)
{
	char path[PATH_MAX];
	tsr_status_t status = dump_path(path, options->dump, "json");
	if (status != TSR_OK)
		return status;
	json_t *root = manifest(options);
	if (!root)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the dump's manifest; free some");
	errno = 0;
	json_t *document = json_document("tessera-bench-dump/1", root);
	int failed = json_dump_file(document, path, JSON_INDENT(2));
	json_decref(document);
	json_decref(root);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--dump: '%s' cannot be written: %s", path,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

/** All of an input, whichever ranks have it. */
static tsr_status_t dump_input(const bench_options_t *options, workload_matrix_t matrix)
{
	char key[BENCH_KEY_TEXT], suffix[BENCH_KEY_TEXT + 8];
	const size_t bytes = (size_t)(matrix.rows * matrix.cols) * tsr_dtype_bytes(matrix.dtype);
	void *host = malloc(bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the inputs to dump; free some");
	matrix.first_row = matrix.first_col = 0;
	matrix.part_rows = matrix.rows;
	matrix.part_cols = matrix.cols;
	inputs_make(&options->inputs, &matrix, host);
	(void)snprintf(suffix, sizeof suffix, "%s.raw", key_of(&matrix, key));
	tsr_status_t status = write_array(options->dump, suffix, host, bytes);
	free(host);
	return status;
}

tsr_status_t bench_dump_inputs(const bench_options_t *options)
{
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK &&
			options->workload->matrix(&options->config, i, 0, options->ranks, &matrix);
	     i++)
		if (matrix.use == WORKLOAD_INPUT)
			status = dump_input(options, matrix);
	return status == TSR_OK ? write_manifest(options) : status;
}

static tsr_status_t dump_output(const bench_session_t *session, int index,
				const workload_matrix_t *matrix)
{
	const size_t bytes =
		(size_t)(matrix->part_rows * matrix->part_cols) * tsr_dtype_bytes(matrix->dtype);
	const int rank = tsr_world_rank(session->world);
	char suffix[2 * BENCH_KEY_TEXT];
	void *host = malloc(bytes + 1); /* a part may be empty */
	if (!host)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"the host has no memory for a copy of %s (%s): use a smaller shape",
			matrix->name, TSR_SIZE(bytes));
	output_suffix(session->options, matrix, bench_chosen(session).pattern, rank, suffix,
		      sizeof suffix);
	tsr_status_t status =
		bytes > 0 ? matrix_read(session->world,
					session->workload->view(session->run, index), host)
			  : TSR_OK;
	if (status == TSR_OK)
		status = write_array(session->options->dump, suffix, host, bytes);
	free(host);
	return status;
}

tsr_status_t bench_dump_outputs(const bench_session_t *session)
{
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && bench_matrix(session, i, &matrix); i++)
		if (matrix.use == WORKLOAD_OUTPUT &&
		    (tsr_world_rank(session->world) == 0 || !is_whole(&matrix)))
			status =
				bench_rank_0_only(session->world, dump_output(session, i, &matrix));
	return status;
}
