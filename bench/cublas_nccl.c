/*
 * cuBLAS and NCCL, as a framework calls them: cublasGemmEx with f32 sums, and
 * NCCL's collectives. Both share the primary context of the rank's GPU with the
 * backend, so that inputs are read where they lie in the heap; their results
 * have memory of their own. Nothing here has a way to end a wait in NCCL's own
 * calls: a rank that is stuck there when the world has ended is killed by the
 * launcher, within the deadline.
 */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stores.h"
#include "bench/vendor.h"

enum { BUS_ID = 32 };

typedef struct state {
	bench_cuda_t cuda;
	bench_cublas_t cublas;
	bench_nccl_t nccl;
	int device; /* the driver's handle */
	char bus[BUS_ID];
	void *context, *stream, *begin, *end; /* null: not made */
	void *handle, *comm, *module, *stores;
	int blocks;    /* of the stores */
	uint64_t from; /* what is pushed */
	/* of each matrix that has some: what steps make, and dense copies of inputs */
	uint64_t memory[WORKLOAD_MATRICES];
	/* where the rank's part stands: there, in the heap, or among the gathered parts */
	uint64_t matrix[WORKLOAD_MATRICES];
} state_t;

/** How a dtype is called. */
typedef struct dtype_names {
	tsr_dtype_t dtype;
	int cublas, nccl;
} dtype_names_t;

static const dtype_names_t dtypes[] = {
	{TSR_BF16, BENCH_R_16BF, BENCH_NCCL_BF16},
	{TSR_F16, BENCH_R_16F, BENCH_NCCL_F16},
	{TSR_F32, BENCH_R_32F, BENCH_NCCL_F32},
};

static const dtype_names_t *names_of(tsr_dtype_t dtype)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].dtype == dtype)
			return &dtypes[i];
	return NULL;
}

/* ---------------------------------------------------------------- what the libraries say */

static bool cuda_ok(const state_t *s, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	const char *meaning = NULL;
	if (code == 0)
		return true;
	if (s->cuda.error_string(code, &meaning) != 0)
		meaning = "unknown error";
	(void)snprintf(
		sentence, BENCH_SENTENCE,
		"the driver cannot %s (%d: %s); see nvidia-smi whether the GPU is full or lost",
		what, code, meaning);
	return false;
}

static bool cublas_ok(const state_t *s, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); does cuBLAS fit the driver and the GPU?", what,
			       s->cublas.status_string(code));
	return code == 0;
}

static bool nccl_ok(const state_t *s, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); NCCL_DEBUG=WARN says more", what,
			       s->nccl.error_string(code));
	return code == 0;
}

/**
 * A context is current on a thread only while one of the functions of the table
 * runs there, as in the backend.
 */
static bool enter(const state_t *s, char sentence[BENCH_SENTENCE])
{
	return cuda_ok(s, s->cuda.push(s->context), "make the GPU's context current", sentence);
}

static void leave(const state_t *s)
{
	void *popped;
	(void)s->cuda.pop(&popped);
}

/* ---------------------------------------------------------------- setting up */

/** Sets the same sentence for all steps that a library runs, where they have none yet. */
static void miss(bench_baseline_t *b, bool product, const char *sentence)
{
	for (int i = 0; i < b->step_count; i++)
		if ((b->steps[i].op == WORKLOAD_PRODUCT) == product && b->missing[i][0] == '\0')
			(void)snprintf(b->missing[i], BENCH_SENTENCE, "%s", sentence);
}

static bool open_device(state_t *s, int ordinal, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	void *context = NULL;
	if (!cuda_ok(s, cu->init(0), "start", sentence) ||
	    !cuda_ok(s, cu->device_get(&s->device, ordinal), "find the rank's GPU", sentence) ||
	    !cuda_ok(s, cu->device_bus(s->bus, BUS_ID, s->device), "say where the GPU is",
		     sentence) ||
	    !cuda_ok(s, cu->retain(&context, s->device), "give the GPU's context", sentence))
		return false;
	s->context = context;
	return true;
}

static bool is_dense(tsr_view_t view)
{
	return view.ld == view.cols || view.cols == 0;
}

/** Memory for a part. All bits set is a NaN in every dtype. */
static bool open_part(const bench_baseline_t *b, state_t *s, int matrix,
		      char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	s->matrix[matrix] = 0;
	if (bytes == 0)
		return true;
	if (!cuda_ok(s, cu->alloc(&s->memory[matrix], bytes), "allocate a matrix", sentence))
		return false;
	s->matrix[matrix] = s->memory[matrix];
	return cuda_ok(s, cu->fill(s->memory[matrix], 0xff, bytes, s->stream), "fill memory",
		       sentence);
}

/**
 * The matrix among whose parts a part stands from the beginning, as NCCL
 * gathers in place; or -1.
 */
static int gathered_into(const bench_baseline_t *b, int matrix)
{
	for (int i = 0; i < b->step_count; i++)
		if (b->steps[i].op == WORKLOAD_ALL_GATHER && b->steps[i].from == matrix)
			return b->steps[i].to;
	return -1;
}

/** Inputs stand where the run has them, or are copied where their rows are padded. */
static bool open_matrices(const bench_baseline_t *b, state_t *s, char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 0; good && i < b->matrices; i++) {
		if (bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT) {
			const tsr_view_t view = b->task.workload->view(b->task.run, i);
			if (is_dense(view))
				s->matrix[i] = (uint64_t)(uintptr_t)view.data;
			else
				good = open_part(b, s, i, sentence);
		} else if (gathered_into(b, i) < 0) {
			good = open_part(b, s, i, sentence);
		}
	}
	for (int i = 0; i < b->matrices; i++)
		if (gathered_into(b, i) >= 0)
			s->matrix[i] =
				s->matrix[gathered_into(b, i)] + bench_parts_offset(b, i, b->rank);
	return good;
}

/** With the context current. */
static bool open_memory(state_t *s, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	return cuda_ok(s, cu->stream_create(&s->stream, BENCH_CU_STREAM_NON_BLOCKING),
		       "make a stream", sentence) &&
	       cuda_ok(s, cu->event_create(&s->begin, BENCH_CU_EVENT_DEFAULT), "make an event",
		       sentence) &&
	       cuda_ok(s, cu->event_create(&s->end, BENCH_CU_EVENT_DEFAULT), "make an event",
		       sentence) &&
	       open_matrices(b, s, sentence) &&
	       /* Outputs are read by no stream: what this one does has ended before. */
	       cuda_ok(s, cu->stream_sync(s->stream), "fill memory", sentence);
}

static bool open_stores(state_t *s, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	tsr_device_props_t device = {.size = sizeof device};
	if (tsr_world_device(b->world, &device) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	s->blocks = BENCH_STORES_BLOCKS_PER_SM * device.resident_blocks;
	return cuda_ok(s, cu->module_load(&s->module, bench_stores_ptx),
		       "compile the kernel of plain stores", sentence) &&
	       cuda_ok(s, cu->module_function(&s->stores, s->module, BENCH_STORES_KERNEL),
		       "find the kernel", sentence) &&
	       cuda_ok(s, cu->alloc(&s->from, b->push_bytes), "allocate what is stored",
		       sentence) &&
	       cuda_ok(s, cu->fill(s->from, 0x5a, b->push_bytes, s->stream), "fill memory",
		       sentence);
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

static bool open_cublas(state_t *s, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	if (!extents_fit(b)) {
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "cublasGemmEx takes extents up to %d; use such", INT_MAX);
		return false;
	}
	return bench_cublas_find(&s->cublas, sentence) &&
	       cublas_ok(s, s->cublas.create(&s->handle), "cublasCreate", sentence) &&
	       cublas_ok(s, s->cublas.set_stream(s->handle, s->stream), "cublasSetStream",
			 sentence);
}

/**
 * Two ranks on one GPU have no link between them, and NCCL takes one rank a
 * GPU. The same sentence on every rank.
 */
static tsr_status_t find_shared_gpu(const bench_baseline_t *b, const state_t *s,
				    char sentence[BENCH_SENTENCE])
{
	char all[TSR_MAX_RANKS][BUS_ID];
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(b->world), s->bus, all, BUS_ID);
	for (int r = 0; status == TSR_OK && r < b->size; r++)
		for (int q = 0; q < r; q++)
			if (sentence[0] == '\0' && strncmp(all[q], all[r], BUS_ID) == 0)
				(void)snprintf(sentence, BENCH_SENTENCE,
					       "ranks %d and %d share the GPU at %.31s, and NCCL "
					       "takes one rank a GPU; use fewer ranks",
					       q, r, all[q]);
	return status;
}

/**
 * With the context current. What one rank cannot do, none tries: in
 * ncclCommInitRank they wait for each other.
 */
static tsr_status_t open_nccl(bench_baseline_t *b, state_t *s, char sentence[BENCH_SENTENCE])
{
	bench_nccl_id_t id;
	bool all = false;
	memset(&id, 0, sizeof id);
	/* multicast over NVLink only where somebody asks for it */
	(void)setenv("NCCL_NVLS_ENABLE", "0", 0);
	if (bench_nccl_find(&s->nccl, sentence) && b->rank == 0)
		(void)nccl_ok(s, s->nccl.unique_id(&id), "ncclGetUniqueId", sentence);
	tsr_status_t status = bench_agree(b->world, sentence, &all);
	if (status != TSR_OK || !all)
		return status;
	status = tsr_team_broadcast(tsr_world_team(b->world), &id, sizeof id, 0);
	if (status == TSR_OK)
		(void)nccl_ok(s, s->nccl.join(&s->comm, b->size, id, b->rank), "ncclCommInitRank",
			      sentence);
	return status == TSR_OK ? bench_agree(b->world, sentence, &all) : status;
}

static void name_versions(bench_baseline_t *b, const state_t *s)
{
	int cublas = 0, nccl = 0;
	size_t used = 0;
	if (s->handle && s->cublas.version(s->handle, &cublas) == 0)
		used = (size_t)snprintf(b->name, sizeof b->name, "cuBLAS %d.%d.%d", cublas / 10000,
					cublas / 100 % 100, cublas % 100);
	else
		used = (size_t)snprintf(b->name, sizeof b->name, "no cuBLAS");
	if (s->comm && s->nccl.version(&nccl) == 0)
		(void)snprintf(b->name + used, sizeof b->name - used, " + NCCL %d.%d.%d",
			       nccl / 10000, nccl / 100 % 100, nccl % 100);
	else
		(void)snprintf(b->name + used, sizeof b->name - used, " + no NCCL");
}

/**
 * With the context current on every rank: each library on its own, so that one
 * which is missing leaves the rest.
 */
static tsr_status_t open_libraries(bench_baseline_t *b, state_t *s)
{
	char product[BENCH_SENTENCE] = "", gather[BENCH_SENTENCE] = "", push[BENCH_SENTENCE] = "";
	const tsr_dtype_t dtype = bench_matrix_of(b, 0, b->rank).dtype;
	/* or neither library takes it: the same on every rank */
	const bool has_names = names_of(dtype) != NULL;
	bool good;
	if (!has_names)
		(void)snprintf(
			product, sizeof product,
			"the baseline is for bf16, f16 and f32, and not for %s; use one of them",
			tsr_dtype_name(dtype));
	else
		(void)open_cublas(s, b, product);
	tsr_status_t status = bench_agree(b->world, product, &good);
	if (status == TSR_OK)
		status = find_shared_gpu(b, s, gather);
	memcpy(push, gather, sizeof push);
	if (!has_names)
		memcpy(gather, product, sizeof gather);
	if (status == TSR_OK && gather[0] == '\0')
		status = open_nccl(b, s, gather);
	if (status == TSR_OK && push[0] == '\0' && b->pushed) {
		(void)open_stores(s, b, push);
		status = bench_agree(b->world, push, &good);
	}
	miss(b, true, product);
	miss(b, false, gather);
	if (b->missing_push[0] == '\0')
		memcpy(b->missing_push, push, sizeof push);
	name_versions(b, s);
	return status;
}

/** Every rank takes every collective step, whatever it lacks itself. */
static tsr_status_t baseline_open(bench_baseline_t *b)
{
	char sentence[BENCH_SENTENCE] = "";
	bool good = false, entered = false;
	tsr_device_props_t device = {.size = sizeof device};
	state_t *s = b->state = calloc(1, sizeof *s);
	(void)snprintf(b->name, sizeof b->name, "cuBLAS + NCCL");
	if (!s)
		(void)snprintf(sentence, sizeof sentence,
			       "the host has no memory for the baseline; free some");
	else if (tsr_world_device(b->world, &device) != TSR_OK)
		(void)snprintf(sentence, sizeof sentence, "%.400s", tsr_last_error());
	else if (bench_cuda_find(&s->cuda, sentence) && open_device(s, device.ordinal, sentence))
		entered = enter(s, sentence);
	if (entered)
		(void)open_memory(s, b, sentence);
	tsr_status_t status = bench_agree(b->world, sentence, &good);
	if (status == TSR_OK && good)
		status = open_libraries(b, s);
	if (status == TSR_OK && !good) {
		bench_miss_steps(b, sentence);
		if (b->missing_push[0] == '\0')
			memcpy(b->missing_push, sentence, sizeof sentence);
	}
	if (entered)
		leave(s);
	return status;
}

static void baseline_close(bench_baseline_t *b, bool failed)
{
	state_t *s = b->state;
	char sentence[BENCH_SENTENCE];
	if (s && s->context && enter(s, sentence)) {
		const bench_cuda_t *cu = &s->cuda;
		if (s->comm)
			(void)(failed ? s->nccl.abort(s->comm) : s->nccl.destroy(s->comm));
		if (s->handle)
			(void)s->cublas.destroy(s->handle);
		if (s->module)
			(void)cu->module_unload(s->module);
		for (int i = 0; i < WORKLOAD_MATRICES; i++)
			if (s->memory[i])
				(void)cu->free(s->memory[i]);
		if (s->from)
			(void)cu->free(s->from);
		if (s->begin)
			(void)cu->event_destroy(s->begin);
		if (s->end)
			(void)cu->event_destroy(s->end);
		if (s->stream)
			(void)cu->stream_destroy(s->stream);
		leave(s);
	}
	if (s && s->context)
		(void)s->cuda.release(s->device);
	free(s);
}

/* --------------------------------------------------------- the steps: each is put on the stream */

static bool put_dense(const state_t *s, tsr_view_t from, uint64_t to, char sentence[BENCH_SENTENCE])
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)from.dtype);
	const bench_copy_2d_t copy = {
		.src_type = BENCH_CU_MEMORY_DEVICE,
		.src_device = (uint64_t)(uintptr_t)from.data,
		.src_pitch = (size_t)from.ld * element,
		.dst_type = BENCH_CU_MEMORY_DEVICE,
		.dst_device = to,
		.dst_pitch = (size_t)from.cols * element,
		.width_bytes = (size_t)from.cols * element,
		.height = (size_t)from.rows,
	};
	return cuda_ok(s, s->cuda.copy_2d(&copy, s->stream), "copy an operand", sentence);
}

/**
 * Dense copies, where the heap's rows are padded: before each time, since
 * inputs may have been written meanwhile.
 */
static bool put_operands(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 0; good && i < b->matrices; i++)
		if (s->memory[i] && bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT)
			good = put_dense(s, b->task.workload->view(b->task.run, i), s->memory[i],
					 sentence);
	return good;
}

static void *address_of(const state_t *s, int matrix)
{
	return (void *)(uintptr_t)s->matrix[matrix];
}

/** Row-major C = A B is column-major C' = B' A': the same memory, rows and columns exchanged. */
static bool put_product(const bench_baseline_t *b, const state_t *s, const workload_step_t *step,
			char sentence[BENCH_SENTENCE])
{
	static const float one = 1.0F, zero = 0.0F;
	const workload_matrix_t x = bench_matrix_of(b, step->from, b->rank),
				y = bench_matrix_of(b, step->with, b->rank);
	const int type = names_of(x.dtype)->cublas, m = (int)x.part_rows, k = (int)x.part_cols,
		  cols = (int)y.part_cols;
	if (m == 0 || cols == 0)
		return true;
	if (k == 0)
		return cuda_ok(s,
			       s->cuda.fill(s->matrix[step->to], 0,
					    bench_part_bytes(b, step->to, b->rank), s->stream),
			       "fill memory", sentence);
	return cublas_ok(s,
			 s->cublas.gemm(s->handle, BENCH_CUBLAS_OP_N, BENCH_CUBLAS_OP_N, cols, m, k,
					&one, address_of(s, step->with), type, cols,
					address_of(s, step->from), type, k, &zero,
					address_of(s, step->to), type, cols,
					BENCH_CUBLAS_COMPUTE_32F, BENCH_CUBLAS_GEMM_DEFAULT),
			 "cublasGemmEx", sentence);
}

/** In place, as NCCL has it. Parts that differ in size go as a group of broadcasts. */
static bool put_gather(const bench_baseline_t *b, const state_t *s, const workload_step_t *step,
		       char sentence[BENCH_SENTENCE])
{
	const int type = names_of(bench_matrix_of(b, step->from, b->rank).dtype)->nccl;
	if (bench_parts_are_equal(b, step->from))
		return nccl_ok(s,
			       s->nccl.all_gather(address_of(s, step->from),
						  address_of(s, step->to),
						  bench_part_elements(b, step->from, b->rank), type,
						  s->comm, s->stream),
			       "ncclAllGather", sentence);
	bool good = nccl_ok(s, s->nccl.group_start(), "ncclGroupStart", sentence);
	for (int r = 0; good && r < b->size; r++) {
		void *part = (char *)address_of(s, step->to) + bench_parts_offset(b, step->from, r);
		const size_t elements = bench_part_elements(b, step->from, r);
		if (elements > 0)
			good = nccl_ok(s,
				       s->nccl.broadcast(part, part, elements, type, r, s->comm,
							 s->stream),
				       "ncclBroadcast", sentence);
	}
	return good && nccl_ok(s, s->nccl.group_end(), "ncclGroupEnd", sentence);
}

/** Parts that differ in size go as a group of reductions, each to its rank. */
static bool put_reduce(const bench_baseline_t *b, const state_t *s, const workload_step_t *step,
		       char sentence[BENCH_SENTENCE])
{
	const tsr_dtype_t dtype = bench_matrix_of(b, step->from, b->rank).dtype;
	const int type = names_of(dtype)->nccl;
	if (bench_parts_are_equal(b, step->to))
		return nccl_ok(s,
			       s->nccl.reduce_scatter(address_of(s, step->from),
						      address_of(s, step->to),
						      bench_part_elements(b, step->to, b->rank),
						      type, BENCH_NCCL_SUM, s->comm, s->stream),
			       "ncclReduceScatter", sentence);
	bool good = nccl_ok(s, s->nccl.group_start(), "ncclGroupStart", sentence);
	for (int r = 0; good && r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->to, r);
		const char *from = (char *)address_of(s, step->from) +
				   (size_t)(part.first_row * part.cols) * tsr_dtype_bytes(dtype);
		const size_t elements = bench_part_elements(b, step->to, r);
		if (elements > 0)
			good = nccl_ok(s,
				       s->nccl.reduce(from, address_of(s, step->to), elements, type,
						      BENCH_NCCL_SUM, r, s->comm, s->stream),
				       "ncclReduce", sentence);
	}
	return good && nccl_ok(s, s->nccl.group_end(), "ncclGroupEnd", sentence);
}

static bool put_places(const bench_baseline_t *b, const state_t *s, const workload_step_t *step,
		       char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int r = 0; good && r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->with, r);
		const size_t element = tsr_dtype_bytes(part.dtype);
		const bench_copy_2d_t copy = {
			.src_type = BENCH_CU_MEMORY_DEVICE,
			.src_device = s->matrix[step->from] + bench_parts_offset(b, step->with, r),
			.src_pitch = (size_t)part.part_cols * element,
			.dst_type = BENCH_CU_MEMORY_DEVICE,
			.dst_device =
				s->matrix[step->to] +
				(size_t)(part.first_row * part.cols + part.first_col) * element,
			.dst_pitch = (size_t)part.cols * element,
			.width_bytes = (size_t)part.part_cols * element,
			.height = (size_t)part.part_rows,
		};
		if (part.part_rows > 0 && part.part_cols > 0)
			good = cuda_ok(s, s->cuda.copy_2d(&copy, s->stream),
				       "copy parts to their places", sentence);
	}
	return good;
}

/** To my piece of rank `to`'s room. */
static bool put_stores(const bench_baseline_t *b, const state_t *s, int to,
		       char sentence[BENCH_SENTENCE])
{
	enum { PIECE = 16 };
	TSR_HEAP void *room;
	if (tsr_heap_translate(b->world, b->pushed, to, &room) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	uint64_t dst = (uint64_t)(uintptr_t)room + (uint64_t)b->rank * b->push_bytes, src = s->from,
		 count = b->push_bytes / PIECE;
	void *arguments[] = {&dst, &src, &count};
	return cuda_ok(s,
		       s->cuda.launch(s->stores, (unsigned)s->blocks, 1, 1, BENCH_STORES_THREADS, 1,
				      1, 0, s->stream, arguments, NULL),
		       "launch plain stores", sentence);
}

/** Rank r stores to r + 1 first, so that no two ranks ever store to one. */
static bool put_pushes(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 1; good && i < b->size; i++)
		good = put_stores(b, s, (b->rank + i) % b->size, sentence);
	return good;
}

static bool put_step(const bench_baseline_t *b, const state_t *s, const workload_step_t *step,
		     char sentence[BENCH_SENTENCE])
{
	switch (step->op) {
	case WORKLOAD_PRODUCT:
		return put_product(b, s, step, sentence);
	case WORKLOAD_ALL_GATHER:
		return put_gather(b, s, step, sentence);
	case WORKLOAD_REDUCE_SCATTER:
		return put_reduce(b, s, step, sentence);
	default: /* WORKLOAD_PLACE */
		return put_places(b, s, step, sentence);
	}
}

static bool put(const bench_baseline_t *b, const state_t *s, const bench_timed_t *timed,
		char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = timed->first; good && i < timed->first + timed->count; i++)
		good = put_step(b, s, &b->steps[i], sentence);
	if (timed->push == BENCH_PUSH_PAIR)
		return put_stores(b, s, 1, sentence);
	return timed->push == BENCH_PUSH_ALL ? put_pushes(b, s, sentence) : good;
}

/* ---------------------------------------------------------------- timing */

/** Polls, so that it has a deadline: a kernel of NCCL waits for its peers for ever. */
static tsr_status_t await(const bench_baseline_t *b, const state_t *s)
{
	char sentence[BENCH_SENTENCE];
	uint64_t deadline_ns = tsr_world_deadline_ns(b->world), begin_ns = bench_now_ns();
	int code;
	while ((code = s->cuda.event_query(s->end)) == BENCH_CU_NOT_READY) {
		if (bench_now_ns() - begin_ns > deadline_ns)
			return tsr_error(TSR_ERR_TIMEOUT,
					 "the baseline did not end on rank %d within %.1f s: has "
					 "another rank failed? TESSERA_DEADLINE "
					 "gives it longer",
					 b->rank, (double)deadline_ns * 1e-9);
		(void)sched_yield();
	}
	return cuda_ok(s, code, "run the baseline", sentence)
		       ? TSR_OK
		       : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}

static tsr_status_t time_entered(const bench_baseline_t *b, const state_t *s,
				 const bench_timed_t *timed, uint64_t *ns_out)
{
	char sentence[BENCH_SENTENCE];
	const bench_cuda_t *cu = &s->cuda;
	float ms = 0;
	if (!put_operands(b, s, sentence) || !put(b, s, timed, sentence) ||
	    !cuda_ok(s, cu->event_record(s->begin, s->stream), "record an event", sentence) ||
	    !put(b, s, timed, sentence) ||
	    !cuda_ok(s, cu->event_record(s->end, s->stream), "record an event", sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	tsr_status_t status = await(b, s);
	if (status != TSR_OK)
		return status;
	if (!cuda_ok(s, cu->event_elapsed(&ms, s->begin, s->end), "read events", sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	*ns_out = (uint64_t)((double)ms * 1e6);
	return TSR_OK;
}

static tsr_status_t baseline_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out)
{
	const state_t *s = b->state;
	char sentence[BENCH_SENTENCE];
	tsr_status_t status = tsr_barrier(b->world);
	if (status != TSR_OK)
		return status;
	*ns_out = 0;
	if (timed->push == BENCH_PUSH_PAIR && b->rank != 0)
		return TSR_OK;
	if (!enter(s, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	status = time_entered(b, s, timed, ns_out);
	leave(s);
	return status;
}

static tsr_status_t baseline_read(bench_baseline_t *b, int matrix, void *dense_out)
{
	const state_t *s = b->state;
	char sentence[BENCH_SENTENCE];
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	if (!enter(s, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	bool good =
		bytes == 0 || cuda_ok(s, s->cuda.copy_to_host(dense_out, s->matrix[matrix], bytes),
				      "copy a matrix to the host", sentence);
	leave(s);
	return good ? TSR_OK : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}

const bench_baseline_ops_t bench_cublas_nccl = {
	.open = baseline_open,
	.time = baseline_time,
	.read = baseline_read,
	.close = baseline_close,
	.push_bytes = (size_t)256 << 20,
};
