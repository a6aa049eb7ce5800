/*
 * cuBLAS and NCCL, as a framework calls them: cublasGemmEx with f32 sums, then ncclAllGather. Both share the primary context of the
 * rank's GPU with the backend, so that A and B are read where they lie in the heap; their results have memory of their own.
 * Nothing here has a way to end a wait in NCCL's own calls: a rank that is stuck there when the world has ended is killed by the
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
	int blocks;        /* of the stores */
	uint64_t gathered; /* the parts, one after the other; 0: none */
	uint64_t c;        /* M x N */
	uint64_t from;     /* what is pushed */
	uint64_t a, b;     /* dense copies of A and B where the heap's rows are padded; else 0 */
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
	(void)snprintf(sentence, BENCH_SENTENCE, "the driver cannot %s (%d: %s); see nvidia-smi whether the GPU is full or lost",
		       what, code, meaning);
	return false;
}

static bool cublas_ok(const state_t *s, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE, "%s failed (%s); does cuBLAS fit the driver and the GPU?", what,
			       s->cublas.status_string(code));
	return code == 0;
}

static bool nccl_ok(const state_t *s, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE, "%s failed (%s); NCCL_DEBUG=WARN says more", what,
			       s->nccl.error_string(code));
	return code == 0;
}

/** A context is current on a thread only while one of the functions of the table runs there, as in the backend. */
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

/** Sets the same sentence for some steps, where they have none yet. */
static void miss(bench_baseline_t *b, bench_step_t first, bench_step_t last, const char *sentence)
{
	for (int step = (int)first; step <= (int)last; step++)
		if (b->missing[step][0] == '\0')
			(void)snprintf(b->missing[step], BENCH_SENTENCE, "%s", sentence);
}

static bool open_device(state_t *s, int ordinal, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	void *context = NULL;
	if (!cuda_ok(s, cu->init(0), "start", sentence) ||
	    !cuda_ok(s, cu->device_get(&s->device, ordinal), "find the rank's GPU", sentence) ||
	    !cuda_ok(s, cu->device_bus(s->bus, BUS_ID, s->device), "say where the GPU is", sentence) ||
	    !cuda_ok(s, cu->retain(&context, s->device), "give the GPU's context", sentence))
		return false;
	s->context = context;
	return true;
}

static bool is_dense(tsr_view_t view)
{
	return view.ld == view.cols || view.cols == 0;
}

static size_t dense_bytes(tsr_view_t view)
{
	return (size_t)(view.rows * view.cols) * tsr_dtype_bytes((tsr_dtype_t)view.dtype);
}

static bool open_operands(state_t *s, const bench_task_t *task, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	return (is_dense(task->a) || cuda_ok(s, cu->alloc(&s->a, dense_bytes(task->a)), "allocate a copy of A", sentence)) &&
	       (is_dense(task->b) || cuda_ok(s, cu->alloc(&s->b, dense_bytes(task->b)), "allocate a copy of B", sentence));
}

/** With the context current. */
static bool open_memory(state_t *s, const bench_baseline_t *b, char sentence[BENCH_SENTENCE])
{
	const bench_cuda_t *cu = &s->cuda;
	size_t c_bytes = bench_c_bytes(&b->task);
	return open_operands(s, &b->task, sentence) &&
	       cuda_ok(s, cu->stream_create(&s->stream, BENCH_CU_STREAM_NON_BLOCKING), "make a stream", sentence) &&
	       cuda_ok(s, cu->event_create(&s->begin, BENCH_CU_EVENT_DEFAULT), "make an event", sentence) &&
	       cuda_ok(s, cu->event_create(&s->end, BENCH_CU_EVENT_DEFAULT), "make an event", sentence) &&
	       cuda_ok(s, cu->alloc(&s->gathered, c_bytes), "allocate the gathered parts of C", sentence) &&
	       cuda_ok(s, cu->alloc(&s->c, c_bytes), "allocate C", sentence) &&
	       /* All bits set is a NaN in every dtype. */
	       cuda_ok(s, cu->fill(s->gathered, 0xff, c_bytes, s->stream), "fill memory", sentence) &&
	       cuda_ok(s, cu->fill(s->c, 0xff, c_bytes, s->stream), "fill memory", sentence) &&
	       /* C is read by no stream: what this one does has ended before. */
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
	return cuda_ok(s, cu->module_load(&s->module, bench_stores_ptx), "compile the kernel of plain stores", sentence) &&
	       cuda_ok(s, cu->module_function(&s->stores, s->module, BENCH_STORES_KERNEL), "find the kernel", sentence) &&
	       cuda_ok(s, cu->alloc(&s->from, b->push_bytes), "allocate what is stored", sentence) &&
	       cuda_ok(s, cu->fill(s->from, 0x5a, b->push_bytes, s->stream), "fill memory", sentence);
}

static bool open_cublas(state_t *s, const bench_task_t *task, char sentence[BENCH_SENTENCE])
{
	if (task->m > INT_MAX || task->n > INT_MAX || task->k > INT_MAX) {
		(void)snprintf(sentence, BENCH_SENTENCE, "cublasGemmEx takes extents up to %d; use such", INT_MAX);
		return false;
	}
	return bench_cublas_find(&s->cublas, sentence) && cublas_ok(s, s->cublas.create(&s->handle), "cublasCreate", sentence) &&
	       cublas_ok(s, s->cublas.set_stream(s->handle, s->stream), "cublasSetStream", sentence);
}

/** Two ranks on one GPU have no link between them, and NCCL takes one rank a GPU. The same sentence on every rank. */
static tsr_status_t find_shared_gpu(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	char all[TSR_MAX_RANKS][BUS_ID];
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(b->world), s->bus, all, BUS_ID);
	for (int r = 0; status == TSR_OK && r < b->size; r++)
		for (int q = 0; q < r; q++)
			if (sentence[0] == '\0' && strncmp(all[q], all[r], BUS_ID) == 0)
				(void)snprintf(
					sentence, BENCH_SENTENCE,
					"ranks %d and %d share the GPU at %.31s, and NCCL takes one rank a GPU; use fewer ranks", q,
					r, all[q]);
	return status;
}

/** With the context current. What one rank cannot do, none tries: in ncclCommInitRank they wait for each other. */
static tsr_status_t open_nccl(bench_baseline_t *b, state_t *s, char sentence[BENCH_SENTENCE])
{
	bench_nccl_id_t id;
	bool all = false;
	memset(&id, 0, sizeof id);
	(void)setenv("NCCL_NVLS_ENABLE", "0", 0); /* multicast over NVLink only where somebody asks for it */
	if (bench_nccl_find(&s->nccl, sentence) && b->rank == 0)
		(void)nccl_ok(s, s->nccl.unique_id(&id), "ncclGetUniqueId", sentence);
	tsr_status_t status = bench_agree(b->world, sentence, &all);
	if (status != TSR_OK || !all)
		return status;
	status = tsr_team_broadcast(tsr_world_team(b->world), &id, sizeof id, 0);
	if (status == TSR_OK)
		(void)nccl_ok(s, s->nccl.join(&s->comm, b->size, id, b->rank), "ncclCommInitRank", sentence);
	return status == TSR_OK ? bench_agree(b->world, sentence, &all) : status;
}

static void name_versions(bench_baseline_t *b, const state_t *s)
{
	int cublas = 0, nccl = 0;
	size_t used = 0;
	if (s->handle && s->cublas.version(s->handle, &cublas) == 0)
		used = (size_t)snprintf(b->name, sizeof b->name, "cuBLAS %d.%d.%d", cublas / 10000, cublas / 100 % 100,
					cublas % 100);
	else
		used = (size_t)snprintf(b->name, sizeof b->name, "no cuBLAS");
	if (s->comm && s->nccl.version(&nccl) == 0)
		(void)snprintf(b->name + used, sizeof b->name - used, " + NCCL %d.%d.%d", nccl / 10000, nccl / 100 % 100,
			       nccl % 100);
	else
		(void)snprintf(b->name + used, sizeof b->name - used, " + no NCCL");
}

/** With the context current on every rank: each library on its own, so that one which is missing leaves the rest. */
static tsr_status_t open_libraries(bench_baseline_t *b, state_t *s)
{
	char product[BENCH_SENTENCE] = "", gather[BENCH_SENTENCE] = "", push[BENCH_SENTENCE] = "";
	const bool has_names = names_of(b->task.dtype) != NULL; /* or neither library takes it: the same on every rank */
	bool good;
	if (!has_names)
		(void)snprintf(product, sizeof product, "the baseline is for bf16, f16 and f32, and not for %s; use one of them",
			       tsr_dtype_name(b->task.dtype));
	else
		(void)open_cublas(s, &b->task, product);
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
	miss(b, BENCH_PRODUCT, BENCH_PRODUCT, product);
	miss(b, BENCH_GATHER, BENCH_GATHER, gather);
	miss(b, BENCH_BOTH, BENCH_LAYOUT, product[0] ? product : gather);
	miss(b, BENCH_PUSH_PAIR, BENCH_PUSH_ALL, push);
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
		(void)snprintf(sentence, sizeof sentence, "the host has no memory for the baseline; free some");
	else if (tsr_world_device(b->world, &device) != TSR_OK)
		(void)snprintf(sentence, sizeof sentence, "%.400s", tsr_last_error());
	else if (bench_cuda_find(&s->cuda, sentence) && open_device(s, device.ordinal, sentence))
		entered = enter(s, sentence);
	if (entered)
		(void)open_memory(s, b, sentence);
	tsr_status_t status = bench_agree(b->world, sentence, &good);
	if (status == TSR_OK && good)
		status = open_libraries(b, s);
	else if (status == TSR_OK)
		miss(b, BENCH_PRODUCT, BENCH_PUSH_ALL, sentence);
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
		const uint64_t memory[] = {s->gathered, s->c, s->from, s->a, s->b};
		if (s->comm)
			(void)(failed ? s->nccl.abort(s->comm) : s->nccl.destroy(s->comm));
		if (s->handle)
			(void)s->cublas.destroy(s->handle);
		if (s->module)
			(void)cu->module_unload(s->module);
		for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
			if (memory[i])
				(void)cu->free(memory[i]);
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

/* ---------------------------------------------------------------- the steps: each is put on the stream */

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
	return to == 0 || cuda_ok(s, s->cuda.copy_2d(&copy, s->stream), "copy an operand", sentence);
}

/** Dense copies, where the heap's rows are padded: before each time, since A and B may have been written meanwhile. */
static bool put_operands(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	return put_dense(s, b->task.a, s->a, sentence) && put_dense(s, b->task.b, s->b, sentence);
}

/** Row-major C = A B is column-major C' = B' A': the same memory, rows and columns exchanged. My part lies where it is gathered. */
static bool put_product(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	static const float one = 1.0F, zero = 0.0F;
	const bench_task_t *t = &b->task;
	int type = names_of(t->dtype)->cublas, cols = (int)b->share.cols, m = (int)t->m, k = (int)t->k;
	if (cols == 0)
		return true;
	const void *a = s->a ? (const void *)(uintptr_t)s->a : (const void *)t->a.data;
	const void *bm = s->b ? (const void *)(uintptr_t)s->b : (const void *)t->b.data;
	void *c = (void *)(uintptr_t)(s->gathered + bench_part_offset(t, b->rank, b->size));
	return cublas_ok(s,
			 s->cublas.gemm(s->handle, BENCH_CUBLAS_OP_N, BENCH_CUBLAS_OP_N, cols, m, k, &one, bm, type, cols, a, type,
					k, &zero, c, type, cols, BENCH_CUBLAS_COMPUTE_32F, BENCH_CUBLAS_GEMM_DEFAULT),
			 "cublasGemmEx", sentence);
}

/** In place, as NCCL has it. Parts that differ in size go as a group of broadcasts. */
static bool put_gather(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	const bench_task_t *t = &b->task;
	size_t element = tsr_dtype_bytes(t->dtype);
	int type = names_of(t->dtype)->nccl;
	if (t->n % b->size == 0) {
		const void *mine = (const void *)(uintptr_t)(s->gathered + bench_part_offset(t, b->rank, b->size));
		return nccl_ok(s,
			       s->nccl.all_gather(mine, (void *)(uintptr_t)s->gathered,
						  bench_part_bytes(t, b->rank, b->size) / element, type, s->comm, s->stream),
			       "ncclAllGather", sentence);
	}
	bool good = nccl_ok(s, s->nccl.group_start(), "ncclGroupStart", sentence);
	for (int r = 0; good && r < b->size; r++) {
		void *part = (void *)(uintptr_t)(s->gathered + bench_part_offset(t, r, b->size));
		size_t bytes = bench_part_bytes(t, r, b->size);
		if (bytes > 0)
			good = nccl_ok(s, s->nccl.broadcast(part, part, bytes / element, type, r, s->comm, s->stream),
				       "ncclBroadcast", sentence);
	}
	return good && nccl_ok(s, s->nccl.group_end(), "ncclGroupEnd", sentence);
}

static bool put_layout(const bench_baseline_t *b, const state_t *s, char sentence[BENCH_SENTENCE])
{
	const bench_task_t *t = &b->task;
	size_t element = tsr_dtype_bytes(t->dtype);
	bool good = true;
	for (int r = 0; good && r < b->size; r++) {
		gas_share_t share = gas_share(t->n, r, b->size);
		const bench_copy_2d_t copy = {
			.src_type = BENCH_CU_MEMORY_DEVICE,
			.src_device = s->gathered + bench_part_offset(t, r, b->size),
			.src_pitch = (size_t)share.cols * element,
			.dst_type = BENCH_CU_MEMORY_DEVICE,
			.dst_device = s->c + (size_t)share.first_col * element,
			.dst_pitch = (size_t)t->n * element,
			.width_bytes = (size_t)share.cols * element,
			.height = (size_t)t->m,
		};
		if (share.cols > 0)
			good = cuda_ok(s, s->cuda.copy_2d(&copy, s->stream), "copy columns to their places", sentence);
	}
	return good;
}

/** To my piece of rank `to`'s room. */
static bool put_stores(const bench_baseline_t *b, const state_t *s, int to, char sentence[BENCH_SENTENCE])
{
	enum { PIECE = 16 };
	TSR_HEAP void *room;
	if (tsr_heap_translate(b->world, b->pushed, to, &room) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	uint64_t dst = (uint64_t)(uintptr_t)room + (uint64_t)b->rank * b->push_bytes, src = s->from, count = b->push_bytes / PIECE;
	void *arguments[] = {&dst, &src, &count};
	return cuda_ok(
		s, s->cuda.launch(s->stores, (unsigned)s->blocks, 1, 1, BENCH_STORES_THREADS, 1, 1, 0, s->stream, arguments, NULL),
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

static bool put(const bench_baseline_t *b, const state_t *s, bench_step_t step, char sentence[BENCH_SENTENCE])
{
	switch (step) {
	case BENCH_PRODUCT:
		return put_product(b, s, sentence);
	case BENCH_GATHER:
		return put_gather(b, s, sentence);
	case BENCH_BOTH:
		return put_product(b, s, sentence) && put_gather(b, s, sentence);
	case BENCH_LAYOUT:
		return put_product(b, s, sentence) && put_gather(b, s, sentence) && put_layout(b, s, sentence);
	case BENCH_PUSH_PAIR:
		return put_stores(b, s, 1, sentence);
	default: /* BENCH_PUSH_ALL */
		return put_pushes(b, s, sentence);
	}
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
			return tsr_error(
				TSR_ERR_TIMEOUT,
				"the baseline did not end on rank %d within %.1f s: has another rank failed? TESSERA_DEADLINE "
				"gives it longer",
				b->rank, (double)deadline_ns * 1e-9);
		(void)sched_yield();
	}
	return cuda_ok(s, code, "run the baseline", sentence) ? TSR_OK : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}

static tsr_status_t time_entered(const bench_baseline_t *b, const state_t *s, bench_step_t step, uint64_t *ns_out)
{
	char sentence[BENCH_SENTENCE];
	const bench_cuda_t *cu = &s->cuda;
	float ms = 0;
	if (!put_operands(b, s, sentence) || !put(b, s, step, sentence) ||
	    !cuda_ok(s, cu->event_record(s->begin, s->stream), "record an event", sentence) || !put(b, s, step, sentence) ||
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

static tsr_status_t baseline_time(bench_baseline_t *b, bench_step_t step, uint64_t *ns_out)
{
	const state_t *s = b->state;
	char sentence[BENCH_SENTENCE];
	tsr_status_t status = tsr_barrier(b->world);
	if (status != TSR_OK)
		return status;
	*ns_out = 0;
	if (step == BENCH_PUSH_PAIR && b->rank != 0)
		return TSR_OK;
	if (!enter(s, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	status = time_entered(b, s, step, ns_out);
	leave(s);
	return status;
}

static tsr_status_t baseline_read(bench_baseline_t *b, void *c_out)
{
	const state_t *s = b->state;
	char sentence[BENCH_SENTENCE];
	if (!enter(s, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	bool good = cuda_ok(s, s->cuda.copy_to_host(c_out, s->c, bench_c_bytes(&b->task)), "copy C to the host", sentence);
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
