/*
 * The pipeline between the copy engine and the tensor cores: its stages in
 * shared memory, and the barriers that say which side may use each stage.
 */
#ifndef TESSERA_CUDA_PIPELINE_H
#define TESSERA_CUDA_PIPELINE_H

#include "cuda/dev/hopper.h"
#include "cuda/dev/shared.h"
#include "cuda/dev/wgmma.h"

enum {
	TSR_CUDA_STAGES_MOST = 8,
	TSR_CUDA_SENDS_MOST = 8, /* sends of a tile to seven peers, and a signal or the end mark */
	TSR_CUDA_LOADED_ALL = 1 << 30, /* more than any number of chunks */
	/* limit for consumers' stores: bytes of a row fit into 31 bits */
	TSR_CUDA_LD_MOST = 1 << 30,
	TSR_CUDA_PITCH_MOST = 1 << 24, /* limit for sends: rows of a tile fit into 32 bits */
	/* alignment of the copy engine's boxes in shared memory */
	TSR_CUDA_SHARED_ALIGN = 1024,
	TSR_CUDA_NO_TASK = -1 /* in place of chunks: no task is left */
};

/*
 * Descriptors of operands in boxes of 128 bytes by 64 rows, in the copy
 * engine's layout. In units of 16 bytes: the address, the leading offset, the
 * stride; and 1 for the 128-byte swizzle.
 */
#define TSR_CUDA_OPERAND(address_, leading_, stride_)                                 \
	((uint64_t)(((address_)&0x3ffffu) >> 4) | (uint64_t)((leading_) >> 4) << 16 | \
	 (uint64_t)((stride_) >> 4) << 32 | 1ull << 62)

enum {
	TSR_CUDA_BOX_BYTES = 8192,  /* 64 rows of 128 bytes */
	TSR_CUDA_GROUP_BYTES = 1024 /* eight such rows: the swizzle's period */
};

/**
 * The descriptor of 16 of K of an operand. ALONG: K runs along the 128 bytes,
 * so that 16 of K are 32 bytes, and groups of eight rows of A, or columns of B,
 * follow each other. Otherwise those run along the 128 bytes, and from box to
 * box; 16 of K are 16 rows of the box.
 */
template <bool ALONG> TSR_DEV uint64_t tsr_cuda_operand(uint32_t box, int k)
{
	return ALONG ? TSR_CUDA_OPERAND(box + (uint32_t)k * 2u, 16, TSR_CUDA_GROUP_BYTES)
		     : TSR_CUDA_OPERAND(box + (uint32_t)k * 128u, TSR_CUDA_BOX_BYTES,
					TSR_CUDA_GROUP_BYTES);
}

/**
 * A request to the senders: send rows of a tile in my own memory to the same
 * place of other ranks; or other rows, or partial sums, to a place of one rank.
 * Or, if rows have no bytes, raise a flag: `from` is its address on the rank that
 * owns it, or null, and `away` the value.
 */
typedef struct tsr_cuda_send {
	const char *from;
	int64_t away; /* bytes from here to that place; 0: the same place of the ranks */
	uint32_t pitch_bytes, row_bytes;
	uint16_t rows;       /* 0: nothing is left to send */
	uint16_t first, end; /* the ranks from `first` to before `end` after mine */
	uint16_t stamp;      /* the lower half of the tile's */
} tsr_cuda_send_t;

/**
 * The tile that consumers stored last in my own memory. Valid while a coop's
 * `kept` is set.
 */
typedef struct tsr_cuda_kept {
	const char *at; /* its first element */
	int32_t ld;
	/* rows and columns inside the view, columns in the upper half */
	int32_t extent;
	int32_t stamp; /* stamp of the fragment */
} tsr_cuda_kept_t;

/**
 * A task, as consumers receive it with the stage of its first chunk: where its
 * tile begins, in 48 bits, and its number of chunks of K. Sixteen bytes that
 * are written and read by one access each, so that a thread that has one word
 * of it has all.
 */
typedef struct __attribute__((aligned(16))) tsr_cuda_task {
	uint32_t low_row, low_col;
	int16_t high_row, high_col;
	/* 0: the stage belongs to the current task. TSR_CUDA_NO_TASK: no task is left */
	int32_t chunks;
} tsr_cuda_task_t;

TSR_DEV tsr_cuda_task_t tsr_cuda_task(tsr_pos_t at, int chunks)
{
	return {(uint32_t)at.row, (uint32_t)at.col, (int16_t)(at.row >> 32),
		(int16_t)(at.col >> 32), chunks};
}

TSR_DEV tsr_pos_t tsr_cuda_task_at(const tsr_cuda_task_t &task)
{
	return {(int64_t)task.high_row << 32 | task.low_row,
		(int64_t)task.high_col << 32 | task.low_col};
}

/** Static shared memory of a kernel with a main loop. */
typedef struct __attribute__((aligned(128))) tsr_cuda_pipeline {
	uint32_t map[TSR_CUDA_MAP_BYTES / 4]; /* space in which a tensor map is built */
	uint64_t full[TSR_CUDA_STAGES_MOST];  /* the stage's operands have arrived */
	uint64_t empty[TSR_CUDA_STAGES_MOST]; /* they have been multiplied */
	uint64_t posted[TSR_CUDA_SENDS_MOST]; /* the tile may be sent */
	uint64_t ended[TSR_CUDA_SENDS_MOST];  /* it has been sent */
	tsr_cuda_send_t sends[TSR_CUDA_SENDS_MOST];
	uint64_t told[2][2]; /* words for the consumers, and for the loader */
	/* chunks requested so far, counted as if each task were a whole tile; senders pace
	 * themselves by it; unordered */
	uint32_t loaded;
	/* number of sends that consumers wait for; those are made without pauses; unordered */
	uint32_t awaited;
	tsr_cuda_kept_t kept; /* written by the consumers' leader */
	/* number of the task, if consumers ask the order themselves; written by their leader */
	int64_t number;
	/* attention: shared address of the panels (dev/panels.h), 0 if they are not used; the end
	 * of the tasks, of which `number` is the first */
	int64_t panels, end;
	unsigned char unused[40];
} tsr_cuda_pipeline_t;
static_assert(sizeof(tsr_cuda_pipeline_t) == TSR_GPU_LOOP_BYTES,
	      "the host knows a kernel with a pipeline by this size");

/** The block's pipeline; only one, whatever the number of its main loops. */
TSR_DEV tsr_cuda_pipeline_t *tsr_cuda_pipeline(void)
{
	TSR_PORT_SHARED tsr_cuda_pipeline_t pipeline;
	return &pipeline;
}

/** Tells senders how far the loader has come: tsr_cuda_keep_pace. */
TSR_DEV void tsr_cuda_tell_loaded(uint32_t chunks)
{
	tsr_cuda_shared_tell(tsr_cuda_shared_address(&tsr_cuda_pipeline()->loaded), chunks);
}

static_assert(sizeof(tsr_gpu_shared_t) < TSR_GPU_LOOP_BYTES, "a kernel without one has less");
static_assert((sizeof(tsr_gpu_shared_t) + 127) / 128 * 128 + TSR_GPU_LOOP_BYTES < 1024,
	      "TSR_GPU_TAKES_ALL_SHARED looks at what is left of whole KiB, and a pipeline is "
	      "aligned to 128");

/**
 * The division of dynamic shared memory for tiles of T: stages of A and B, 64
 * deep, both in whole boxes of 64 rows or columns; scratch memory for the
 * consumers; each stage's task.
 */
template <typename T> struct tsr_cuda_division {
	enum {
		a_bytes = ((int)T::M + 63) / 64 * 64 * 128,
		b_bytes = ((int)T::N + 63) / 64 * 64 * 128,
		stage_bytes = a_bytes + b_bytes,
		behind_bytes =
			TSR_GPU_SCRATCH_BYTES + TSR_CUDA_STAGES_MOST * (int)sizeof(tsr_cuda_task_t)
	};
};

/**
 * The ring of stages. The loader and each consumer have their own position in
 * it.
 */
typedef struct tsr_cuda_ring {
	uint32_t stage;       /* shared address of the first stage */
	uint32_t full, empty; /* shared addresses of the barriers */
	tsr_gpu_scratch_t *scratch;
	int stages, slot;
	/* parity of the current phase of `slot`: 0 at first, changes with each round */
	uint32_t parity;
} tsr_cuda_ring_t;

/** The task to which the chunk in stage `slot` belongs. */
TSR_DEV tsr_cuda_task_t *tsr_cuda_ring_task(const tsr_cuda_ring_t *ring)
{
	return (tsr_cuda_task_t *)(ring->scratch + 1) + ring->slot;
}

/**
 * The loader writes a task, in a free stage. Its later arrival, in
 * tsr_cuda_stage_load or tsr_cuda_stage_tell, is the partner of the wait in
 * tsr_cuda_await_stage. Litmus: MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_ring_leave(const tsr_cuda_ring_t *ring, const tsr_cuda_task_t &task)
{
	uint32_t word[4];
	__builtin_memcpy(word, &task, sizeof word);
	tsr_cuda_shared_store_all(tsr_cuda_shared_address(tsr_cuda_ring_task(ring)), word);
}

/**
 * A consumer reads a task, after tsr_cuda_await_stage. It hands the stage back
 * later: tsr_cuda_hand_back. Litmus: LB.retired.sameWG-ww.
 */
TSR_DEV tsr_cuda_task_t tsr_cuda_ring_take(const tsr_cuda_ring_t *ring)
{
	tsr_cuda_task_t task;
	uint32_t word[4];
	tsr_cuda_shared_load_all(word, tsr_cuda_shared_address(tsr_cuda_ring_task(ring)));
	__builtin_memcpy(&task, word, sizeof word);
	return task;
}

TSR_DEV void tsr_cuda_ring_advance(tsr_cuda_ring_t *ring)
{
	ring->slot++;
	if (ring->slot == ring->stages) {
		ring->slot = 0;
		ring->parity ^= 1u;
	}
}

/**
 * The dynamic shared memory behind the kernel's own, from the first address on
 * at which a box can be, and its size.
 */
TSR_DEV unsigned char *tsr_cuda_free_shared(const tsr_coop_t *coop, uint32_t *bytes_out)
{
	const uint32_t begin = tsr_cuda_shared_address(tsr_port_dynamic_shared());
	uint32_t free = begin + coop->context->shared_bytes;
	const uint32_t all = tsr_cuda_dynamic_bytes();
	free = (free + TSR_CUDA_SHARED_ALIGN - 1) / TSR_CUDA_SHARED_ALIGN * TSR_CUDA_SHARED_ALIGN;
	*bytes_out = begin + all > free ? begin + all - free : 0;
	return tsr_port_dynamic_shared() + (free - begin);
}

/**
 * The ring for tiles of T, with as many stages as there is room for. A pipeline
 * needs at least two.
 */
template <typename T>
TSR_DEV tsr_cuda_ring_t tsr_cuda_ring(const tsr_cuda_pipeline_t *pipeline, unsigned char *memory,
				      uint32_t bytes)
{
	typedef tsr_cuda_division<T> division;
	tsr_cuda_ring_t ring;
	int room = bytes > division::behind_bytes ? (int)(bytes - division::behind_bytes) : 0;
	ring.stage = tsr_cuda_shared_address(memory);
	ring.full = tsr_cuda_shared_address(pipeline->full);
	ring.empty = tsr_cuda_shared_address(pipeline->empty);
	ring.stages = room / division::stage_bytes < TSR_CUDA_STAGES_MOST
			      ? room / division::stage_bytes
			      : TSR_CUDA_STAGES_MOST;
	ring.scratch = (tsr_gpu_scratch_t *)(memory + ring.stages * division::stage_bytes);
	ring.slot = 0;
	ring.parity = 0;
	return ring;
}

/**
 * The barriers of the sending warps, called by one warp. Arrivals: the consumers'
 * leader at `posted`, each of the three sending warps at `ended`.
 */
TSR_DEV void tsr_cuda_sends_open(tsr_cuda_pipeline_t *pipeline, int lane)
{
	if (lane >= TSR_CUDA_SENDS_MOST)
		return;
	tsr_cuda_mbarrier_init<1>(tsr_cuda_shared_address(&pipeline->posted[lane]));
	tsr_cuda_mbarrier_init<TSR_CUDA_SENDER_THREADS / 32>(
		tsr_cuda_shared_address(&pipeline->ended[lane]));
}

TSR_DEV void tsr_cuda_sends_close(tsr_cuda_pipeline_t *pipeline, int lane)
{
	if (lane >= TSR_CUDA_SENDS_MOST)
		return;
	tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->posted[lane]));
	tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->ended[lane]));
}

/**
 * Called by one warp, before the block meets. Arrivals: the loader at `full`,
 * each of the two consuming warpgroups at `empty`.
 */
TSR_DEV void tsr_cuda_pipeline_open(tsr_cuda_pipeline_t *pipeline, int lane, bool loads,
				    int64_t first)
{
	if (lane < TSR_CUDA_STAGES_MOST) {
		tsr_cuda_mbarrier_init<1>(tsr_cuda_shared_address(&pipeline->full[lane]));
		tsr_cuda_mbarrier_init<2>(tsr_cuda_shared_address(&pipeline->empty[lane]));
	}
	tsr_cuda_sends_open(pipeline, lane);
	if (lane == 0) {
		pipeline->loaded = loads ? 0 : TSR_CUDA_LOADED_ALL;
		pipeline->awaited = 0;
		pipeline->number = first;
	}
	tsr_cuda_mbarrier_publish();
}

/** Called by one warp, after the block has met. */
TSR_DEV void tsr_cuda_pipeline_close(tsr_cuda_pipeline_t *pipeline, int lane)
{
	if (lane < TSR_CUDA_STAGES_MOST) {
		tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->full[lane]));
		tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->empty[lane]));
	}
	tsr_cuda_sends_close(pipeline, lane);
}

#endif
