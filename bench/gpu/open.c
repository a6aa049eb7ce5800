/*
 * The baseline of GPUs: opening and closing. The vendor's libraries and the
 * backend use the same GPU in the same way. Nothing here can end a wait in
 * NCCL's own calls: a rank that is stuck there when the world has ended is
 * killed by the launcher, within the deadline.
 */
#include "bench/gpu/gpu.h"

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

bool bench_gpu_enter(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	return bench_gpu_ok(gpu, gpu->vendor->enter(gpu), "make the GPU current", sentence);
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
	       bench_gpu_open_matrices(b, gpu, sentence) &&
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

static bool open_products(bench_gpu_t *gpu, const bench_baseline_t *b,
			  char sentence[BENCH_SENTENCE])
{
	const bench_vendor_t *vendor = gpu->vendor;
	bench_product_t product;
	if (!bench_extents_fit(b, vendor->product, sentence) ||
	    !vendor->open_products(gpu, sentence))
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
					       q, r, all[q], gpu->vendor->collectives->what);
	return status;
}

static void name_versions(bench_baseline_t *b, const bench_gpu_t *gpu)
{
	const bench_vendor_t *vendor = gpu->vendor;
	int number = 0;
	size_t used;
	if (gpu->has_products && vendor->version(gpu, &number)) {
		const bench_version_t v = bench_version_of(number, vendor->major);
		used = (size_t)snprintf(b->name, sizeof b->name, "%s %d.%d.%d", vendor->product,
					v.major, v.minor, v.patch);
	} else {
		used = (size_t)snprintf(b->name, sizeof b->name, "no %s", vendor->product);
	}
	if (gpu->comm.comm && gpu->comm.nccl.version(&number) == 0) {
		const bench_version_t v = bench_version_of(number, BENCH_NCCL_MAJOR);
		(void)snprintf(b->name + used, sizeof b->name - used, " + %s %d.%d.%d",
			       vendor->collectives->what, v.major, v.minor, v.patch);
	} else {
		(void)snprintf(b->name + used, sizeof b->name - used, " + no %s",
			       vendor->collectives->what);
	}
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
		status = bench_comm_open(&gpu->comm, gpu->vendor->collectives, b->world, comm);
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
	if (!gpu->opened || !bench_gpu_enter(gpu, sentence))
		return false;
	if (open_memory(gpu, b, sentence))
		gpu->comm.stream = gpu->stream;
	return true;
}

/** Every rank takes every collective step, whatever it lacks itself. */
static tsr_status_t open_all(bench_baseline_t *b)
{
	const bench_vendor_t *vendor = b->engine->vendor;
	char sentence[BENCH_SENTENCE] = "";
	bool good = false;
	bench_gpu_t *gpu = b->state = make_gpu(vendor, sentence);
	(void)snprintf(b->name, sizeof b->name, "%s + %s", vendor->product,
		       vendor->collectives->what);
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

static void close_all(bench_baseline_t *b, bool failed)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	if (gpu && gpu->opened) {
		if (bench_gpu_enter(gpu, sentence)) {
			release(gpu, failed);
			gpu->vendor->leave(gpu);
		}
		gpu->vendor->close(gpu);
	}
	free(gpu);
}

const bench_baseline_ops_t bench_gpu_ops = {
	.open = open_all,
	.time = bench_gpu_time,
	.read = bench_gpu_read,
	.close = close_all,
	.push_bytes = (size_t)256 << 20,
};
