/*
 * The baseline of GPUs: opening, timing, closing. The vendor's libraries and
 * the backend use the same GPU in the same way, so that inputs are read where
 * they lie in the heap; results have memory of their own. Nothing here can end
 * a wait in NCCL's own calls: a rank that is stuck there when the world has
 * ended is killed by the launcher, within the deadline.
 */
#include "bench/gpu/gpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/stores.h"

bool bench_gpu_ok(const bench_gpu_t *gpu, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE, "%s cannot %s (%d: %s); %s",
			       gpu->vendor->runtime, what, code, gpu->vendor->text(gpu, code),
			       gpu->vendor->cure);
	return code == 0;
}

/**
 * A GPU is current on a thread only while one of the functions of the table
 * runs there, as in the backend.
 */
static bool enter(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	return bench_gpu_ok(gpu, gpu->vendor->enter(gpu), "make the GPU current", sentence);
}

/* ------------------------------------------------------------ memory */

static bool is_dense(tsr_view_t view)
{
	return view.ld == view.cols || view.cols == 0;
}

/** Memory for a part. All bits set is a NaN in every dtype. */
static bool open_part(const bench_baseline_t *b, bench_gpu_t *gpu, int matrix,
		      char sentence[BENCH_SENTENCE])
{
	const bench_runtime_t *run = &gpu->run;
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	gpu->matrix[matrix] = NULL;
	if (bytes == 0)
		return true;
	if (!bench_gpu_ok(gpu, run->alloc(&gpu->memory[matrix], bytes), "allocate a matrix",
			  sentence))
		return false;
	gpu->matrix[matrix] = gpu->memory[matrix];
	return bench_gpu_ok(gpu, run->fill(gpu->memory[matrix], 0xff, bytes, gpu->stream),
			    "fill memory", sentence);
}

/**
 * The matrix among whose parts a part stands from the beginning, as NCCL
 * gathers in place; or -1. An input stands where it is.
 */
static int gathered_into(const bench_baseline_t *b, int matrix)
{
	const bool input = bench_matrix_of(b, matrix, b->rank).use == WORKLOAD_INPUT;
	for (int i = 0; !input && i < b->step_count; i++)
		if (b->steps[i].op == WORKLOAD_ALL_GATHER && b->steps[i].from == matrix)
			return b->steps[i].to;
	return -1;
}

/** Inputs stand where the run has them, or are copied: at least padded ones. */
static bool open_matrices(const bench_baseline_t *b, bench_gpu_t *gpu,
			  char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 0; good && i < b->matrices; i++) {
		if (bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT) {
			const tsr_view_t view = b->task.workload->view(b->task.run, i);
			if (is_dense(view) && !gpu->vendor->copies_inputs)
				gpu->matrix[i] = (char *)(uintptr_t)view.data;
			else
				good = open_part(b, gpu, i, sentence);
		} else if (gathered_into(b, i) < 0) {
			good = open_part(b, gpu, i, sentence);
		}
	}
	for (int i = 0; good && i < b->matrices; i++)
		if (gathered_into(b, i) >= 0)
			gpu->matrix[i] = gpu->matrix[gathered_into(b, i)] +
					 bench_parts_offset(b, i, b->rank);
	return good;
}

/** With the GPU current. */
static bool open_memory(bench_gpu_t *gpu, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	const bench_runtime_t *run = &gpu->run;
	return bench_gpu_ok(gpu, run->stream_create(&gpu->stream, BENCH_STREAM_NON_BLOCKING),
			    "make a stream", sentence) &&
	       bench_gpu_ok(gpu, run->event_create(&gpu->begin, BENCH_EVENT_DEFAULT),
			    "make an event", sentence) &&
	       bench_gpu_ok(gpu, run->event_create(&gpu->end, BENCH_EVENT_DEFAULT), "make an event",
			    sentence) &&
	       open_matrices(b, gpu, sentence) &&
	       /* No other stream reads outputs: what this one does has ended before. */
	       bench_gpu_ok(gpu, run->stream_sync(gpu->stream), "fill memory", sentence);
}

/* ------------------------------------------------------------ libraries */

/** What runs a step: one of two libraries, or the baseline's own kernels. */
typedef enum runner { BY_PRODUCTS, BY_COLLECTIVES, BY_ROWS } runner_t;

static runner_t runner_of(const workload_step_t *step)
{
	return step->op == WORKLOAD_PRODUCT     ? BY_PRODUCTS
	       : step->op == WORKLOAD_COPY_ROWS ? BY_ROWS
						: BY_COLLECTIVES;
}

/**
 * Sets the same sentence for all steps that run by one of them, where they have
 * none yet.
 */
static void miss(bench_baseline_t *b, runner_t runner, const char *sentence)
{
	for (int i = 0; i < b->step_count; i++)
		if (runner_of(&b->steps[i]) == runner && b->missing[i][0] == '\0')
			(void)snprintf(b->missing[i], BENCH_SENTENCE, "%s", sentence);
}

/** Whether a step copies rows; then its kernels are loaded. */
static bool open_rows(bench_gpu_t *gpu, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	static const bench_kernels_t kernels = {"the kernels that copy rows", bench_rows_ptx,
						bench_rows_hip};
	bool wanted = false, good;
	for (int i = 0; i < b->step_count; i++)
		wanted |= b->steps[i].op == WORKLOAD_COPY_ROWS;
	good = !wanted || gpu->vendor->load(gpu, &kernels, &gpu->rows_module, sentence);
	for (int i = 0; wanted && good && i < BENCH_ROWS_UNITS; i++)
		good = bench_gpu_ok(gpu,
				    gpu->run.module_function(&gpu->rows[i], gpu->rows_module,
							     bench_rows_unit(i).kernel),
				    "find the kernels that copy rows", sentence);
	return good;
}

static bool open_stores(bench_gpu_t *gpu, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	static const bench_kernels_t kernels = {"the kernel of plain stores", bench_stores_ptx,
						bench_stores_hip};
	const bench_runtime_t *run = &gpu->run;
	tsr_device_props_t device = {.size = sizeof device};
	if (tsr_world_device(b->world, &device) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	gpu->blocks = BENCH_STORES_BLOCKS_PER_SM * device.resident_blocks;
	return gpu->vendor->load(gpu, &kernels, &gpu->module, sentence) &&
	       bench_gpu_ok(gpu,
			    run->module_function(&gpu->stores, gpu->module, BENCH_STORES_KERNEL),
			    "find the kernel of plain stores", sentence) &&
	       bench_gpu_ok(gpu, run->alloc(&gpu->from, b->push_bytes), "allocate what is stored",
			    sentence) &&
	       bench_gpu_ok(gpu, run->fill(gpu->from, 0x5a, b->push_bytes, gpu->stream),
			    "fill memory", sentence);
}

static bool extents_fit(const bench_baseline_t *b)
{
	for (int i = 0; i < b->matrices; i++) {
		const workload_matrix_t matrix = bench_matrix_of(b, i, b->rank);
		if (matrix.rows > INT_MAX || matrix.cols > INT_MAX)
			return false;
	}
	return true;
}

static bool open_products(bench_gpu_t *gpu, const bench_baseline_t *b,
			  char sentence[BENCH_SENTENCE])
{
	const bench_vendor_t *vendor = gpu->vendor;
	bench_product_t product;
	if (!extents_fit(b)) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%s takes extents up to %d; use such",
			       vendor->product, INT_MAX);
		return false;
	}
	if (!vendor->open_products(gpu, sentence))
		return false;
	for (int i = 0; vendor->prepare && i < b->step_count; i++)
		if (b->steps[i].op == WORKLOAD_PRODUCT &&
		    bench_gpu_product(b, gpu, &b->steps[i], &product) &&
		    !vendor->prepare(gpu, i, &product, sentence))
			return false;
	return true;
}

/**
 * Two ranks on one GPU have no link between them, and NCCL takes one rank a
 * GPU. The same sentence on every rank.
 */
static tsr_status_t find_shared_gpu(const bench_baseline_t *b, const bench_gpu_t *gpu,
				    char sentence[BENCH_SENTENCE])
{
	char all[TSR_MAX_RANKS][BENCH_BUS_ID];
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(b->world), gpu->bus, all, BENCH_BUS_ID);
	for (int r = 0; status == TSR_OK && r < b->size; r++)
		for (int q = 0; q < r; q++)
			if (sentence[0] == '\0' && strncmp(all[q], all[r], BENCH_BUS_ID) == 0)
				(void)snprintf(sentence, BENCH_SENTENCE,
					       "ranks %d and %d share the GPU at %.31s, and %s "
					       "takes one rank a GPU; use fewer ranks",
					       q, r, all[q], gpu->vendor->collectives.what);
	return status;
}

static void name_versions(bench_baseline_t *b, const bench_gpu_t *gpu)
{
	const bench_vendor_t *vendor = gpu->vendor;
	int product[3], nccl = 0;
	size_t used;
	if (gpu->has_products && vendor->version(gpu, product))
		used = (size_t)snprintf(b->name, sizeof b->name, "%s %d.%d.%d", vendor->product,
					product[0], product[1], product[2]);
	else
		used = (size_t)snprintf(b->name, sizeof b->name, "no %s", vendor->product);
	if (gpu->comm.comm && gpu->comm.nccl.version(&nccl) == 0)
		(void)snprintf(b->name + used, sizeof b->name - used, " + %s %d.%d.%d",
			       vendor->collectives.what, nccl / 10000, nccl / 100 % 100,
			       nccl % 100);
	else
		(void)snprintf(b->name + used, sizeof b->name - used, " + no %s",
			       vendor->collectives.what);
}

/** Neither library takes other dtypes. The same on every rank. */
static bool takes_dtypes(const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	bool takes = true;
	for (int i = 0; takes && i < b->step_count; i++) {
		const tsr_dtype_t dtype = bench_matrix_of(b, b->steps[i].from, b->rank).dtype;
		takes = bench_gpu_type(dtype) >= 0 && bench_comm_takes(dtype);
		if (!takes)
			(void)snprintf(sentence, BENCH_SENTENCE,
				       "the baseline is for bf16, f16 and f32, and not for %s; use "
				       "one of them",
				       tsr_dtype_name(dtype));
	}
	return takes;
}

/** The libraries and kernels of this rank alone; then ranks tell each other. */
static tsr_status_t open_own(bench_baseline_t *b, bench_gpu_t *gpu, char product[BENCH_SENTENCE],
			     char rows[BENCH_SENTENCE])
{
	bool good;
	if (product[0] == '\0') {
		gpu->has_products = open_products(gpu, b, product);
		(void)open_rows(gpu, b, rows);
	} else {
		memcpy(rows, product, BENCH_SENTENCE);
	}
	tsr_status_t status = bench_agree(b->world, product, &good);
	return status == TSR_OK ? bench_agree(b->world, rows, &good) : status;
}

/**
 * With the GPU current on every rank: each library on its own, so that one
 * which is missing leaves the rest.
 */
static tsr_status_t open_libraries(bench_baseline_t *b, bench_gpu_t *gpu)
{
	char product[BENCH_SENTENCE] = "", comm[BENCH_SENTENCE] = "", push[BENCH_SENTENCE] = "",
	     rows[BENCH_SENTENCE] = "";
	const bool takes = takes_dtypes(b, product);
	bool good;
	tsr_status_t status = open_own(b, gpu, product, rows);
	if (status == TSR_OK)
		status = find_shared_gpu(b, gpu, comm);
	memcpy(push, comm, sizeof push);
	if (!takes)
		memcpy(comm, product, sizeof comm);
	if (status == TSR_OK && comm[0] == '\0')
		status = bench_comm_open(&gpu->comm, &gpu->vendor->collectives, b->world, comm);
	if (status == TSR_OK && push[0] == '\0' && b->pushed) {
		(void)open_stores(gpu, b, push);
		status = bench_agree(b->world, push, &good);
	}
	miss(b, BY_PRODUCTS, product);
	miss(b, BY_COLLECTIVES, comm);
	miss(b, BY_ROWS, rows);
	if (b->missing_push[0] == '\0')
		memcpy(b->missing_push, push, sizeof push);
	name_versions(b, gpu);
	return status;
}

/* ------------------------------------------------------------ opening and closing */

/** Null, with a sentence, where the host has no memory. */
static bench_gpu_t *make_gpu(const bench_vendor_t *vendor, char sentence[BENCH_SENTENCE])
{
	bench_gpu_t *gpu = calloc(1, sizeof *gpu + vendor->own_bytes);
	if (!gpu) {
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "the host has no memory for the baseline; free some");
		return NULL;
	}
	gpu->vendor = vendor;
	gpu->own = gpu + 1;
	return gpu;
}

/** Up to the streams and matrices; true where the GPU was made current. */
static bool open_gpu(const bench_baseline_t *b, bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	tsr_device_props_t device = {.size = sizeof device};
	if (tsr_world_device(b->world, &device) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	if (!gpu->vendor->find(gpu, sentence))
		return false;
	gpu->opened = gpu->vendor->open(gpu, device.ordinal, sentence);
	if (!gpu->opened || !enter(gpu, sentence))
		return false;
	if (open_memory(gpu, b, sentence))
		gpu->comm.stream = gpu->stream;
	return true;
}

/** Every rank takes every collective step, whatever it lacks itself. */
tsr_status_t bench_gpu_open(bench_baseline_t *b, const bench_vendor_t *vendor)
{
	char sentence[BENCH_SENTENCE] = "";
	bool good = false;
	bench_gpu_t *gpu = b->state = make_gpu(vendor, sentence);
	(void)snprintf(b->name, sizeof b->name, "%s + %s", vendor->product,
		       vendor->collectives.what);
	const bool entered = gpu && open_gpu(b, gpu, sentence);
	tsr_status_t status = bench_agree(b->world, sentence, &good);
	if (status == TSR_OK && good)
		status = open_libraries(b, gpu);
	if (status == TSR_OK && !good) {
		bench_miss_steps(b, sentence);
		if (b->missing_push[0] == '\0')
			memcpy(b->missing_push, sentence, sizeof sentence);
	}
	if (entered)
		vendor->leave(gpu);
	return status;
}

/** With the GPU current. */
static void release(bench_gpu_t *gpu, bool failed)
{
	const bench_runtime_t *run = &gpu->run;
	bench_comm_close(&gpu->comm, failed);
	gpu->vendor->close_products(gpu);
	if (gpu->module)
		(void)run->module_unload(gpu->module);
	if (gpu->rows_module)
		(void)run->module_unload(gpu->rows_module);
	for (int i = 0; i < WORKLOAD_MATRICES; i++)
		if (gpu->memory[i])
			(void)run->free(gpu->memory[i]);
	if (gpu->from)
		(void)run->free(gpu->from);
	if (gpu->begin)
		(void)run->event_destroy(gpu->begin);
	if (gpu->end)
		(void)run->event_destroy(gpu->end);
	if (gpu->stream)
		(void)run->stream_destroy(gpu->stream);
}

void bench_gpu_close(bench_baseline_t *b, bool failed)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	if (gpu && gpu->opened) {
		if (enter(gpu, sentence)) {
			release(gpu, failed);
			gpu->vendor->leave(gpu);
		}
		gpu->vendor->close(gpu);
	}
	free(gpu);
}

/* ------------------------------------------------------------ timing and reading */

/**
 * Polls, so that it has a deadline: a kernel of NCCL waits for its peers for
 * ever.
 */
static tsr_status_t await(const bench_baseline_t *b, const bench_gpu_t *gpu)
{
	char sentence[BENCH_SENTENCE];
	uint64_t deadline_ns = tsr_world_deadline_ns(b->world), begin_ns = bench_now_ns();
	int code;
	while ((code = gpu->run.event_query(gpu->end)) == BENCH_NOT_READY) {
		if (bench_now_ns() - begin_ns > deadline_ns)
			return tsr_error(TSR_ERR_TIMEOUT,
					 "the baseline did not end on rank %d within %.1f s: has "
					 "another rank failed? TESSERA_DEADLINE gives it longer",
					 b->rank, (double)deadline_ns * 1e-9);
		(void)sched_yield();
	}
	return bench_gpu_ok(gpu, code, "run the baseline", sentence)
		       ? TSR_OK
		       : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}

static tsr_status_t time_entered(const bench_baseline_t *b, const bench_gpu_t *gpu,
				 const bench_timed_t *timed, uint64_t *ns_out)
{
	char sentence[BENCH_SENTENCE];
	const bench_runtime_t *run = &gpu->run;
	float ms = 0;
	if (!bench_gpu_put_operands(b, gpu, sentence) || !bench_gpu_put(b, gpu, timed, sentence) ||
	    !bench_gpu_ok(gpu, run->event_record(gpu->begin, gpu->stream), "record an event",
			  sentence) ||
	    !bench_gpu_put(b, gpu, timed, sentence) ||
	    !bench_gpu_ok(gpu, run->event_record(gpu->end, gpu->stream), "record an event",
			  sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	tsr_status_t status = await(b, gpu);
	if (status != TSR_OK)
		return status;
	if (!bench_gpu_ok(gpu, run->event_elapsed(&ms, gpu->begin, gpu->end), "read events",
			  sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	*ns_out = (uint64_t)((double)ms * 1e6);
	return TSR_OK;
}

tsr_status_t bench_gpu_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	tsr_status_t status = tsr_barrier(b->world);
	if (status != TSR_OK)
		return status;
	*ns_out = 0;
	if (timed->push == BENCH_PUSH_PAIR && b->rank != 0)
		return TSR_OK;
	if (!enter(gpu, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	status = time_entered(b, gpu, timed, ns_out);
	gpu->vendor->leave(gpu);
	return status;
}

tsr_status_t bench_gpu_read(bench_baseline_t *b, int matrix, void *dense_out)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	if (!enter(gpu, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	bool good = bytes == 0 ||
		    bench_gpu_ok(gpu, gpu->run.copy_to_host(dense_out, gpu->matrix[matrix], bytes),
				 "copy a matrix to the host", sentence);
	gpu->vendor->leave(gpu);
	return good ? TSR_OK : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}
