/*
 * The data that the host half of a GPU backend passes to every launch, and the
 * notes that kernels pass back. C11 and C++17.
 */
#ifndef TESSERA_GPU_DEV_CONTEXT_H
#define TESSERA_GPU_DEV_CONTEXT_H

#include <stdint.h>

#include "tessera/types.h"

/*
 * The entry of kernel `name` is the symbol TSR_GPU_ENTRY_PREFIX + name, for a
 * variant TSR_GPU_ENTRY_PREFIX + name + "__" + variant:
 *     extern "C" void tsr_entry_<name>(tsr_gpu_context_t context, args_t args)
 * Both parameters are passed by value, args at the next offset with its
 * alignment. A block has as many threads as the kernel's launch bounds say
 * (backends/<name>/dev/threads.h).
 *
 * Dynamic shared memory has tsr_kernel_t.shared_bytes, or as much as a block
 * can have if the kernel's main loop wants it. The host recognises such a
 * kernel by the size of its static shared memory modulo 1 KiB, which is at
 * least TSR_GPU_LOOP_BYTES. In other kernels it is less: scratch memory, and
 * what the driver may add, are whole KiB.
 */
#define TSR_GPU_ENTRY_PREFIX "tsr_entry_"

/* shared memory through which a coop's threads exchange elements */
#define TSR_GPU_SCRATCH_BYTES 8192
#define TSR_GPU_LOOP_BYTES 768
#define TSR_GPU_TAKES_ALL_SHARED(static_bytes_) ((static_bytes_) % 1024 >= TSR_GPU_LOOP_BYTES)

/**
 * Most notes that are kept for one rank; as many as a world keeps wait records.
 */
#define TSR_GPU_NOTES 64

/**
 * Most workers of a block. The scratch memory of each is part of the block's
 * shared memory.
 */
#define TSR_GPU_MAX_WORKERS 4

enum {
	TSR_GPU_NOTE_WAIT = 1,    /* a wait expired */
	TSR_GPU_NOTE_RANK = 2,    /* a rank outside the team (debug builds) */
	TSR_GPU_NOTE_POINTER = 3, /* memory outside the heap (debug builds) */
	/* an element type that the call does not accept, in `peer` (debug builds) */
	TSR_GPU_NOTE_DTYPE = 4,
	/* a fragment was not added in the way that it was sent (debug builds) */
	TSR_GPU_NOTE_SENT = 5,
	TSR_GPU_NOTE_COLLECTIVE = 6, /* views, a dtype or a root that the call does not take */
	/* a key or a row, in `peer`, of `size_bytes` of them (debug builds) */
	TSR_GPU_NOTE_INDEX = 7
};
enum { TSR_GPU_NOTE_MARKED = 64 };

/**
 * A report to the host: what happened, and where. Rank and kernel are those of
 * the launch.
 */
typedef struct tsr_gpu_note {
	/* TSR_GPU_NOTE_*; 0 until the rest is written: stored last, release at system scope */
	uint32_t kind;
	uint32_t fatal;  /* not 0: the world ends */
	uint32_t launch; /* number from the context */
	int32_t block, worker;
	/* wait: the rank that should have signalled, or TSR_ANY_RANK; otherwise the rank
	 * argument */
	int32_t peer;
	int32_t line;
	/* wait: 0 for a flag of mine, 1 + tsr_cmp_t for a word, TSR_GPU_NOTE_MARKED for one that
	 * carries its own flag; then `expected` and `seen` are epochs */
	uint32_t word;
	int32_t owner; /* of a word: the rank whose copy was read */
	uint32_t reserved;
	uint64_t address; /* of the flag or the memory, in this rank's address space */
	uint64_t size_bytes;
	uint64_t expected, seen; /* wait: values of the flag or the word */
	uint64_t waited_ns;
	char file[96]; /* a longer name is cut at the front */
} tsr_gpu_note_t;

/* ---- the record of a run: record.h fills it in, gpu/record/ of the host reads it */

enum {
	/* the values of tsr_record_kind_t */
	TSR_GPU_EVENT_MARK,
	TSR_GPU_EVENT_PRODUCT,
	TSR_GPU_EVENT_WAIT,
	TSR_GPU_EVENT_SIGNAL,
	TSR_GPU_EVENT_SEND
};

enum {
	/* Threads of a block that share a lane; one of them at a time leads a coop. */
	TSR_GPU_LANE_THREADS = 32,
	TSR_GPU_EVENTS_EACH = 63,      /* of a chunk */
	TSR_GPU_EVENTS_MOST = 16384,   /* of a lane: TSR_RECORD_EVENTS */
	TSR_GPU_EVENT_NAME_CHARS = 32, /* of a mark, the end included */
	/* numbers of what is no worker of the kernel's: the loading warp of a main loop, and its
	 * sending warps */
	TSR_GPU_WORKER_LOADER = 32,
	TSR_GPU_WORKER_SENDER = 33
};

/** What a coop did: tsr_record_event_t. Times are ticks of the port's clock. */
typedef struct tsr_gpu_event {
	uint32_t kind;
	int32_t peer; /* as in the call: a member of the team, or TSR_ANY_RANK */
	uint64_t begin, end;
	int64_t value;
	union {
		char name[TSR_GPU_EVENT_NAME_CHARS]; /* of a mark */
		struct {
			uint64_t address; /* of a flag: this rank's address of it */
			uint64_t bytes;
			int32_t owner; /* of a flag: the member whose copy it is */
		} of;
	} more;
} tsr_gpu_event_t;

/** A lane's events are a list of chunks. */
typedef struct tsr_gpu_chunk {
	uint32_t next; /* 1 + the index of the next chunk; 0: the last */
	uint32_t unused[15];
	tsr_gpu_event_t event[TSR_GPU_EVENTS_EACH];
} tsr_gpu_chunk_t;

/**
 * What a lane's warp knows of it, in shared memory: to read the lane itself takes
 * a microsecond and more beside a product. 0 at first.
 */
typedef struct tsr_gpu_lane_state {
	tsr_gpu_event_t *next;  /* place of the next event */
	tsr_gpu_chunk_t *chunk; /* the chunk that is filled */
	uint64_t end;           /* of the last event; 0: the lane has not begun */
	uint64_t since;         /* begin of the product that runs */
	uint64_t first_product, first_remote;
	uint32_t room;   /* places left in the chunk */
	uint32_t events; /* that were kept */
	int32_t sent_to; /* 1 + the peer of the last event if that is a send, else 0 */
	uint32_t lost;   /* events */
} tsr_gpu_lane_state_t;

/* Lanes of a block, at most: of 1024 threads. Their states are whole KiB. */
#define TSR_GPU_LANES_MOST 32

/**
 * What one warp of one block did, or the coop that one of its threads leads.
 * One thread at a time writes it, and none reads it: sums grow by atomic
 * additions that return nothing. The host reads it when the launch has ended. 0
 * at first.
 */
typedef struct tsr_gpu_lane {
	uint64_t begin, end; /* begin 0: it did nothing */
	uint64_t first_product, last_product, first_remote, last_remote;
	uint64_t waited;
	uint64_t products, operand_bytes;
	uint64_t local_written_bytes, local_read_bytes, remote_written_bytes, remote_read_bytes;
	uint32_t events, lost;
	uint32_t first_chunk; /* 1 + index; 0: none */
	int32_t worker;
	char role[24];
} tsr_gpu_lane_t;

/** Where a launch is recorded: memory of this device. */
typedef struct tsr_gpu_record {
	tsr_gpu_lane_t *lanes; /* of this launch: lanes_each for each block */
	tsr_gpu_chunk_t *chunks;
	uint32_t *chunks_taken; /* more than chunk_count: events were lost */
	uint32_t chunk_count;
	int32_t lanes_each;
} tsr_gpu_record_t;

/**
 * The addresses behind every rank's heap that windows are mapped to, as offsets
 * from the heap's base. Behind this struct is a byte for each unit of them: 0 if
 * nothing is mapped there, equal in all units of a window, and different in the
 * next one. Memory of this device, which kernels of debug builds read.
 */
typedef struct tsr_gpu_windows {
	uint64_t begin, end;
} tsr_gpu_windows_t;
enum { TSR_GPU_WINDOW_UNIT = 2 << 20 };

/**
 * How the host asks for the time of a device's clock: mapped host memory. The
 * host raises `asked`, and the kernel answers with the clock's ticks.
 */
typedef struct tsr_gpu_clock {
	uint32_t asked __attribute__((aligned(128)));
	uint32_t answered __attribute__((aligned(128)));
	uint64_t ticks;
	uint64_t step; /* the least by which the clock was seen to advance */
} tsr_gpu_clock_t;
enum { TSR_GPU_CLOCK_ROUNDS = 64 };

/* ---- ranks of other nodes: gpu/dev/far.h asks, gpu/far/ of the host answers */

/** tsr_gpu_context_t.peer_offset of a rank of another node, whose heap is not mapped. */
#define TSR_GPU_FAR_OFFSET INT64_MIN

enum {
	TSR_GPU_REQUESTS = 64,       /* that a rank's kernels may make at one time */
	TSR_GPU_ROOM_BYTES = 1 << 18 /* memory of each for what is sent or comes */
};

/** The state of a request. */
enum { TSR_GPU_REQUEST_IDLE, TSR_GPU_REQUEST_ASKED, TSR_GPU_REQUEST_ANSWERED };

/** What a request asks for. */
enum {
	TSR_GPU_ASK_PUT,     /* rows of the room to rows of the far heap */
	TSR_GPU_ASK_GET,     /* the other way */
	TSR_GPU_ASK_FETCH,   /* an atomic access with a result */
	TSR_GPU_ASK_UPDATE,  /* one without */
	TSR_GPU_ASK_EACH,    /* the same to `rows` rows of words; the operands are in the room */
	TSR_GPU_ASK_SCATTER, /* words of 4 bytes; the room has pairs of place and value */
	TSR_GPU_ASK_FLUSH    /* that all that this rank has written to far heaps is there */
};

/** An atomic access to a far word: tsr_net_atomic_t.kind and .op. */
enum {
	TSR_GPU_WORD_U32,
	TSR_GPU_WORD_I32,
	TSR_GPU_WORD_U64,
	TSR_GPU_WORD_I64,
	TSR_GPU_WORD_F32,
	TSR_GPU_WORD_F64,
	TSR_GPU_WORD_F16,
	TSR_GPU_WORD_BF16
};
enum {
	TSR_GPU_OP_LOAD,
	TSR_GPU_OP_STORE,
	TSR_GPU_OP_XCHG,
	TSR_GPU_OP_ADD,
	TSR_GPU_OP_AND,
	TSR_GPU_OP_OR,
	TSR_GPU_OP_XOR,
	TSR_GPU_OP_MIN,
	TSR_GPU_OP_MAX,
	TSR_GPU_OP_CAS
};

/**
 * An access to a far heap that a kernel asks the host for: mapped host memory.
 * The kernel fills it in and stores `state` last; the host acts, and answers by
 * the same word. Each request has a room of its own (tsr_gpu_far_t.rooms).
 */
typedef struct tsr_gpu_request {
	uint32_t state __attribute__((aligned(128)));
	int32_t peer; /* a rank of the world; of a flush: any */
	uint8_t what, kind, op;
	uint8_t release; /* of fetch and update: it releases what this rank did before */
	uint32_t bytes;  /* of a word */
	uint64_t offset; /* in the peer's heap */
	/* Rows of the far heap, `pitch_bytes` apart; in the room there are no gaps between. Of a
	 * scatter: `rows` pairs. */
	uint64_t pitch_bytes, row_bytes, rows;
	uint64_t bits, expected; /* of fetch and update */
	uint64_t old;            /* the answer of a fetch */
} tsr_gpu_request_t;

/** The requests of a rank. */
typedef struct tsr_gpu_far {
	tsr_gpu_request_t *requests; /* mapped host memory */
	char *rooms;                 /* the same: TSR_GPU_ROOM_BYTES for each request */
	/* memory of this device: a bit for each request that a coop has; then how often kernels
	 * have written to far heaps, and of these writes how many a flush has covered */
	uint32_t *taken;
	uint64_t *written, *flushed;
} tsr_gpu_far_t;

/**
 * The nodes of a team: memory of this device. The numbers of nodes; then of each
 * member its world rank, its node, and its number among those of its node; then
 * for each node, and behind the last, where its members begin; then all members,
 * node by node.
 */
#define TSR_GPU_NODES_WORDS(size_, nodes_) (1 + 3 * (size_) + (nodes_) + 1 + (size_))

/** What the kernel that serves other ranks' accesses does: TSR_GPU_SERVE_ENTRY. */
typedef struct tsr_gpu_service {
	char *word;
	const char *operands; /* of `count` words side by side; null: one, with `bits` */
	uint64_t count, bits, expected;
	uint64_t *old; /* null: nobody wants it */
	uint32_t kind, op;
} tsr_gpu_service_t;

/**
 * One launch. The host fills it in before every launch; it is equal for all
 * blocks.
 */
typedef struct tsr_gpu_context {
	int32_t rank, size; /* this rank's number in the stream's team, and the number of members */
	int32_t blocks;     /* blocks of the launch */
	uint32_t launch;    /* the host's number for it, for notes */
	uint64_t heap_bytes; /* of every rank */
	uint64_t deadline_ns;
	uint32_t clock_khz; /* ticks per millisecond of the clock that the port reads */
	/* the kernel's own part of the dynamic shared memory, at its beginning:
	 * tsr_kernel_t.shared_bytes */
	uint32_t shared_bytes;
	/* mapped host memory: not 0 after the world has ended. Kernels may set it to 1 */
	uint32_t *abort;
	tsr_gpu_note_t *notes; /* mapped host memory: TSR_GPU_NOTES notes */
	/* memory of this device: number of notes claimed; notes beyond TSR_GPU_NOTES are dropped */
	uint32_t *notes_taken;
	void *workspace;          /* memory of this device for the port itself; null: none */
	uint32_t workspace_parts; /* number of parts; the port defines them */
	uint32_t workspace_each;  /* size of a part; equal in launches of all teams */
	char *heap;               /* this rank's heap, at its own address */
	/* memory of this device: bytes from `heap` to each member's heap, as this device sees it; 0
	 * for this rank. Constant while the team exists */
	const int64_t *peer_offset;
	const tsr_gpu_windows_t *windows; /* null: the backend has none */
/*
 * Last, and unknown to kernels that know no other nodes, or keep no record:
 * drivers copy as many bytes of a parameter as the kernel has.
 */
#if !defined(TSR_PORT_DEVICE) || defined(TSR_NODES) || defined(TSR_RECORDED)
	const tsr_gpu_far_t *far; /* memory of this device; null: the world is one node */
	const int32_t *nodes;     /* of the team: TSR_GPU_NODES_WORDS */
#endif
#if !defined(TSR_PORT_DEVICE) || defined(TSR_RECORDED)
	tsr_gpu_record_t record;
#endif
} tsr_gpu_context_t;

#endif
