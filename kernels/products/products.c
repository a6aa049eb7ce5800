/* Workloads as calls of a library (tessera/products.h). */
#include "tessera/products.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/host/errors.h"
#include "kernels/host/plan.h"

enum { MATRICES = 3 };

struct tsr_product {
	tsr_world_t *world;
	const workload_t *workload;
	workload_run_t *run;
	workload_config_t config; /* everything is chosen */
	unsigned given;
	tsr_stream_t *stream; /* of the last run; only compared, it may be destroyed */
	tsr_event_t *ended;   /* the end of the last run */
};

/* ------------------------------------------------------------ descriptions */

/** The workload of a kind of product; null: there is no such kind. */
static const char *workload_of(tsr_product_kind_t kind)
{
	static const char *const names[] = {
		[TSR_PRODUCT_GEMM_ALL_SCATTER] = "gemm-all-scatter",
		[TSR_PRODUCT_ALL_GATHER_GEMM] = "all-gather-gemm",
		[TSR_PRODUCT_GEMM_REDUCE_SCATTER] = "gemm-reduce-scatter",
		[TSR_PRODUCT_GEMM_ALL_REDUCE] = "gemm-all-reduce",
	};
	const bool known =
		kind >= TSR_PRODUCT_GEMM_ALL_SCATTER && kind <= TSR_PRODUCT_GEMM_ALL_REDUCE;
	return known ? names[kind] : NULL;
}

/** Copies the caller's description, of whatever version, to ours. */
static tsr_status_t take_desc(const tsr_product_desc_t *theirs, tsr_product_desc_t *desc_out)
{
	const size_t least = offsetof(tsr_product_desc_t, pattern) + sizeof theirs->pattern;
	if (!theirs)
		return tsr_error(TSR_ERR_ARGUMENT, "a product is made by a tsr_product_desc_t, not "
						   "by null");
	if (theirs->size < least || theirs->size > 4096)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "size of a tsr_product_desc_t is %zu: initialise it with {.size = "
				 "sizeof desc}",
				 theirs->size);
	for (size_t i = sizeof *desc_out; i < theirs->size; i++)
		if (((const unsigned char *)theirs)[i] != 0)
			return tsr_error(TSR_ERR_UNSUPPORTED,
					 "a tsr_product_desc_t asks for what this version of the "
					 "library does not know: use the version that the program "
					 "was compiled for");
	*desc_out = (tsr_product_desc_t){.size = 0};
	memcpy(desc_out, theirs, theirs->size < sizeof *desc_out ? theirs->size : sizeof *desc_out);
	return TSR_OK;
}

/** Sets a parameter, if the workload has it. */
static void set(const workload_t *workload, const char *name, workload_value_t value,
		workload_config_t *config)
{
	for (int i = 0; workload->params[i].name; i++)
		if (strcmp(workload->params[i].name, name) == 0)
			config->value[i] = value;
}

/** Finds the pattern of this name. The sentence of an error lists all. */
static tsr_status_t find_pattern(const workload_t *workload, const char *name, int64_t *pattern_out)
{
	char all[512] = "";
	size_t used = 0;
	for (int64_t p = 0; workload->pattern(p); p++) {
		if (strcmp(workload->pattern(p), name) == 0) {
			*pattern_out = p;
			return TSR_OK;
		}
		if (used < sizeof all)
			used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
						 p ? ", " : "", workload->pattern(p));
	}
	return tsr_error(TSR_ERR_NOT_FOUND, "%s has no pattern '%.64s': there are %s",
			 workload->name, name, all);
}

static tsr_status_t check_desc(const tsr_product_desc_t *desc)
{
	if (!workload_of(desc->kind))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d is no kind of product: see tsr_product_kind_t", desc->kind);
	if (desc->given >> MATRICES != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "given is 0x%x, but a product has the matrices A (1), B (2) and C "
				 "(4)",
				 desc->given);
	if ((unsigned)desc->gather > TSR_GATHER_B_BY_ROWS)
		return tsr_error(TSR_ERR_ARGUMENT, "%d is no way to gather: see tsr_gather_t",
				 desc->gather);
	return TSR_OK;
}

/** The workload and the configuration that a description asks for. */
static tsr_status_t configure(const tsr_product_desc_t *desc, int ranks, tsr_product_t *product)
{
	tsr_status_t status = check_desc(desc);
	if (status == TSR_OK)
		status = workload_find(workload_of(desc->kind), &product->workload);
	if (status != TSR_OK)
		return status;
	const workload_t *workload = product->workload;
	workload_config_t *config = &product->config;
	const int64_t along = desc->gather == TSR_GATHER_A_BY_COLUMNS ? 2 : 1,
		      operand = desc->gather == TSR_GATHER_B_BY_ROWS ? 2 : 1;
	set(workload, "shape", (workload_value_t){{desc->m, desc->n, desc->k}}, config);
	set(workload, "dtype", (workload_value_t){{desc->dtype}}, config);
	set(workload, "sums", (workload_value_t){{desc->sums ? desc->sums : TSR_F32}}, config);
	set(workload, "along", (workload_value_t){{along}}, config);
	set(workload, "operand", (workload_value_t){{operand}}, config);
	product->given = desc->given;
	if (desc->pattern)
		status = find_pattern(workload, desc->pattern, &config->pattern);
	if (status == TSR_OK) /* the problem, by the first pattern if none is named */
		status = workload->check(config, ranks);
	if (!desc->pattern)
		config->pattern = WORKLOAD_FASTEST;
	return status;
}

/* ------------------------------------------------------------ life */

/** What ranks tell each other of a product before they make it. */
typedef struct said {
	int32_t status;
	uint32_t given;
	char name[32];
	workload_config_t config;
} said_t;

/** Sees that all ranks ask for the same, and could read it. */
static tsr_status_t agree(const tsr_product_t *product, tsr_status_t mine)
{
	const int ranks = tsr_world_size(product->world);
	const kept_error_t error = error_keep(mine);
	said_t said = {.status = mine, .given = product->given, .config = product->config};
	said_t *all = calloc((size_t)ranks, sizeof *all);
	if (!all)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a product; free "
						    "some");
	snprintf(said.name, sizeof said.name, "%s",
		 product->workload ? product->workload->name : "");
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(product->world), &said, all, sizeof said);
	if (status == TSR_OK && mine != TSR_OK)
		status = error_again(&error);
	for (int r = 0; status == TSR_OK && r < ranks; r++)
		if (all[r].status != TSR_OK)
			status = tsr_error((tsr_status_t)all[r].status,
					   "tsr_product_create failed on rank %d with %s; see the "
					   "error of that rank",
					   r, tsr_status_name((tsr_status_t)all[r].status));
	for (int r = 0; status == TSR_OK && r < ranks; r++)
		if (memcmp(&all[r], &said, sizeof said) != 0)
			status = tsr_error(TSR_ERR_MISMATCH,
					   "tsr_product_create: rank %d asked for another product "
					   "than rank %d: give all ranks the same description",
					   r, tsr_world_rank(product->world));
	free(all);
	return status;
}

static tsr_status_t open_product(tsr_product_t *product)
{
	tsr_status_t status = plan_open_with(product->workload->plan, product->world,
					     &product->config, product->given, &product->run);
	if (status == TSR_OK)
		status = tsr_event_create(product->world, &product->ended);
	if (status == TSR_OK)
		product->workload->chosen(product->run, &product->config);
	return status;
}

tsr_status_t tsr_product_create(tsr_world_t *world, const tsr_product_desc_t *desc,
				tsr_product_t **product_out)
{
	if (!world || !product_out)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_product_create: world and product_out must not be null");
	tsr_product_desc_t ours;
	tsr_product_t *product = calloc(1, sizeof *product);
	if (!product)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a product; free "
						    "some");
	product->world = world;
	tsr_status_t status = take_desc(desc, &ours);
	if (status == TSR_OK)
		status = configure(&ours, tsr_world_size(world), product);
	status = agree(product, status);
	if (status == TSR_OK)
		status = open_product(product);
	if (status != TSR_OK) {
		const kept_error_t error = error_keep(status);
		(void)tsr_product_destroy(product);
		return error_again(&error);
	}
	*product_out = product;
	return TSR_OK;
}

tsr_status_t tsr_product_destroy(tsr_product_t *product)
{
	if (!product)
		return TSR_OK;
	tsr_status_t status = product->run ? plan_close(product->run, TSR_OK) : TSR_OK;
	if (product->ended)
		status = error_first(status, tsr_event_destroy(product->ended));
	free(product);
	return status;
}

/* ------------------------------------------------------------ matrices */

/** The number of a matrix in its workload; -1: there is no such matrix. */
static int number_of(tsr_product_matrix_t matrix)
{
	return matrix == TSR_PRODUCT_A   ? 0
	       : matrix == TSR_PRODUCT_B ? 1
	       : matrix == TSR_PRODUCT_C ? 2
					 : -1;
}

static workload_matrix_t part_of(const tsr_product_t *product, int number)
{
	workload_matrix_t matrix;
	(void)product->workload->matrix(&product->config, number, tsr_world_rank(product->world),
					tsr_world_size(product->world), &matrix);
	return matrix;
}

static tsr_status_t check_matrix(const char *call, const tsr_product_t *product,
				 tsr_product_matrix_t matrix, const void *out)
{
	if (!product || !out)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: no pointer may be null", call);
	if (number_of(matrix) < 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: a product has the matrices TSR_PRODUCT_A, _B and _C, and no "
				 "%d",
				 call, matrix);
	return TSR_OK;
}

tsr_status_t tsr_product_part(const tsr_product_t *product, tsr_product_matrix_t matrix,
			      tsr_product_part_t *part_out)
{
	const tsr_status_t status = check_matrix("tsr_product_part", product, matrix, part_out);
	if (status != TSR_OK)
		return status;
	if (part_out->size < sizeof *part_out || part_out->size > 4096)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "size of a tsr_product_part_t is %zu: initialise it with {.size = "
				 "sizeof part}",
				 part_out->size);
	const workload_matrix_t m = part_of(product, number_of(matrix));
	const size_t size = part_out->size;
	memset(part_out, 0, size);
	*part_out = (tsr_product_part_t){size,        m.rows,      m.cols,      m.first_row,
					 m.first_col, m.part_rows, m.part_cols, m.in_place};
	return TSR_OK;
}

tsr_status_t tsr_product_view(const tsr_product_t *product, tsr_product_matrix_t matrix,
			      tsr_view_t *view_out)
{
	const tsr_status_t status = check_matrix("tsr_product_view", product, matrix, view_out);
	if (status != TSR_OK)
		return status;
	if ((product->given & (unsigned)matrix) != 0)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_product_view: this matrix is given to each "
						   "run, so the product has no memory for it");
	const workload_matrix_t m = part_of(product, number_of(matrix));
	tsr_view_t view = plan_view(product->run, number_of(matrix));
	if (m.in_place) {
		view.data = (TSR_HEAP char *)view.data - (m.first_row * view.ld + m.first_col) *
								 (int64_t)tsr_dtype_bytes(m.dtype);
		view.rows = m.rows;
		view.cols = m.cols;
	}
	*view_out = view;
	return TSR_OK;
}

const char *tsr_product_pattern(const tsr_product_t *product)
{
	return product->workload->pattern(product->config.pattern);
}

/* ------------------------------------------------------------ runs */

/** Checks a given matrix against what the product was made for. */
static tsr_status_t check_given(const tsr_product_t *product, int number, const tsr_view_t *view)
{
	const workload_matrix_t m = part_of(product, number);
	const bool given = (product->given >> number & 1) != 0;
	if (given != (view != NULL))
		return tsr_error(TSR_ERR_ARGUMENT,
				 given ? "tsr_product_run: %s is null, but the product was made "
					 "for one that each run is given"
				       : "tsr_product_run was given %s, but the product was made "
					 "with memory of its own for it: pass null, or name it in "
					 "`given` of the description",
				 m.name);
	if (!given)
		return TSR_OK;
	const int64_t rows = m.in_place ? m.rows : m.part_rows,
		      cols = m.in_place ? m.cols : m.part_cols;
	if (view->rows != rows || view->cols != cols || view->dtype != (int32_t)m.dtype)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_product_run: %s is %lld x %lld in %s, and must be %lld x "
				 "%lld in %s on this rank",
				 m.name, (long long)view->rows, (long long)view->cols,
				 tsr_dtype_name((tsr_dtype_t)view->dtype), (long long)rows,
				 (long long)cols, tsr_dtype_name(m.dtype));
	tsr_view_t checked;
	return rows == 0 || cols == 0 ? TSR_OK
				      : tsr_heap_view(product->world, view->data, m.dtype, rows,
						      cols, view->ld, &checked);
}

static tsr_status_t check_run(const tsr_product_t *product, tsr_stream_t *stream,
			      const tsr_view_t *const views[MATRICES])
{
	if (!product || !stream)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_product_run: product and stream must not be null");
	if (tsr_stream_team(stream) != tsr_world_team(product->world))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_product_run: the product belongs to all ranks of its world, "
				 "and the stream to another team: make it of tsr_world_team");
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < MATRICES; i++)
		status = check_given(product, i, views[i]);
	return status;
}

tsr_status_t tsr_product_run(tsr_product_t *product, tsr_stream_t *stream, const tsr_view_t *a,
			     const tsr_view_t *b, const tsr_view_t *c)
{
	const tsr_view_t *const views[MATRICES] = {a, b, c};
	tsr_status_t status = check_run(product, stream, views);
	if (status == TSR_OK && product->stream && product->stream != stream)
		status = tsr_stream_wait_event(stream, product->ended);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < MATRICES; i++)
		if (views[i])
			plan_place(product->run, i, *views[i]);
	status = plan_start_on(product->run, stream);
	if (status == TSR_OK)
		status = tsr_event_record(product->ended, stream);
	product->stream = stream;
	return status;
}
