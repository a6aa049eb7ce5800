/*
 * The data plane between nodes: puts, gets and atomics to the heap of a rank on
 * another node, which is not mapped here. A carrier (carrier.h) carries the
 * messages; the order and the checks are made here.
 *
 * Each rank has one. A call writes a command into a queue (command.h). Whoever
 * serves the queue sends messages, and applies to this rank's heap what other
 * ranks have sent. That is the rank's proxy thread, or a thread that waits, in a
 * call or for a far rank's signal (tsr_net_help); one at a time.
 *
 * Order:      what a rank does to one peer takes effect there in the order of the
 *             calls. A put is weak: when it returns, its source may be reused, and
 *             nothing is promised about when it takes effect. What a release
 *             covers is everything that this rank has put, filled or updated
 *             before, on all peers.
 * Threads:    all threads of the rank may call put ... flush at the same time.
 * Errors:     they return also when the world has ended or the deadline has
 *             passed. In the latter case they have called `fail`.
 */
#ifndef TESSERA_NET_NET_H
#define TESSERA_NET_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/os/secret.h"
#include "src/net/slow.h"
#include "tessera/status.h"

typedef struct tsr_net tsr_net_t;

enum {
	TSR_NET_ADDRESS_BYTES = 1024, /* the plug-in's address, and the name of its release */
	TSR_NET_RELEASE_BYTES = 32,
	TSR_NET_DESCRIPTION_BYTES = 256,
	TSR_NET_STAGED_BYTES = 65536 /* no message has more bytes of rows or operands */
};

typedef struct tsr_net_settings {
	int rank, size;
	const int *node_of; /* node_of[r], `size` of them; ranks on my node are never asked for */
	tsr_key_t key;      /* the job's */
	uint64_t deadline_ns;
	const char *interface;     /* TESSERA_NET_INTERFACE, or null: the plug-in's choice */
	_Atomic uint32_t *aborted; /* not 0: the world has ended; all waits return */
	void *ctx;
	/* ends the world; called once, by any thread */
	void (*fail)(void *ctx, tsr_status_t status, const char *sentence);
	const char *plugin; /* TESSERA_NET_PLUGIN, or null: looked for beside the library */
	tsr_slow_t slow;    /* TESSERA_NET_DELAY, TESSERA_NET_RATE; 0: the network as it is */
} tsr_net_settings_t;

/**
 * One atomic access to a word of a far heap. The net does not read `kind` and
 * `op`; they are the back end's numbers.
 */
typedef struct tsr_net_atomic {
	uint64_t offset;         /* of the word in the heap; a multiple of `bytes` */
	uint8_t kind, op, bytes; /* bytes: width 2, 4 or 8 */
	uint64_t bits, expected; /* expected: of a compare-and-swap */
} tsr_net_atomic_t;

/** Rows of bytes in a heap. `pitch_bytes` is at least `row_bytes`. */
typedef struct tsr_net_rows {
	uint64_t offset;
	size_t pitch_bytes, row_bytes, rows;
} tsr_net_rows_t;

/**
 * What far ranks may reach: this rank's heap, and nothing else. The functions
 * are called by whoever serves the queue, one call at a time.
 */
typedef struct tsr_net_memory {
	void *ctx;
	unsigned char *heap; /* host memory; null: `write` ... `settle` reach it */
	size_t bytes;
	/**
	 * Rows without gaps, from `from` to the heap, TSR_NET_STAGED_BYTES at most; all bytes of
	 * rows. Behind all that was asked before. They return when `from` may be reused.
	 */
	void (*write)(void *ctx, tsr_net_rows_t to, const void *from);
	void (*fill)(void *ctx, tsr_net_rows_t to, int byte);
	/** As many bytes of rows of the heap, to rows without gaps. They are there on return. */
	void (*read)(void *ctx, tsr_net_rows_t from, void *to);
	/** Returns when all that was asked before has taken effect. Null: it has when asked. */
	void (*settle)(void *ctx);
	/**
	 * Applies it, with release and acquire at system scope, and wakes who waits for the word.
	 * `old_out` is null where nobody wants the old bits. False: there is no such kind or
	 * operation.
	 */
	bool (*atomic)(void *ctx, const tsr_net_atomic_t *access, uint64_t *old_out);
	/** The same, without a result, to `count` words side by side from that one on. */
	bool (*each)(void *ctx, const tsr_net_atomic_t *first, const void *values, size_t count);
} tsr_net_memory_t;

/**
 * Loads the carrier and opens it. `settings` is copied, what it points to must
 * outlive the net. Errors: TSR_ERR_UNSUPPORTED (no carrier; the sentence says
 * what to install), TSR_ERR_SYSTEM (it cannot use the network),
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_net_open(const tsr_net_settings_t *settings, tsr_net_t **net_out);

/** Writes the address at which peers reach this rank. Errors: TSR_ERR_SYSTEM. */
tsr_status_t tsr_net_address(tsr_net_t *net, unsigned char address_out[TSR_NET_ADDRESS_BYTES]);

/**
 * Connects to all far ranks; `addresses` has one of each rank of the world.
 * Every rank calls it. Starts the proxy thread. `memory` is copied. Returns
 * when every far peer has answered. Errors: TSR_ERR_PEER_LOST (the deadline has
 * passed; the sentence names who did not answer), TSR_ERR_ABORTED (the world
 * has ended), TSR_ERR_CONFIG on every rank (two ranks have different releases
 * of what carries the messages; the sentence names them), TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_net_connect(tsr_net_t *net,
			     const unsigned char (*addresses)[TSR_NET_ADDRESS_BYTES],
			     const tsr_net_memory_t *memory);

/** Copies rows to the peer's heap. Returns when the source may be reused. */
void tsr_net_put(tsr_net_t *net, int peer, tsr_net_rows_t to, const void *from, size_t from_pitch);

/** Copies rows from the peer's heap. Returns when the bytes are there. */
void tsr_net_get(tsr_net_t *net, int peer, tsr_net_rows_t from, void *to, size_t to_pitch);

/** Sets all bytes of rows of the peer's heap. As weak as a put. */
void tsr_net_fill(tsr_net_t *net, int peer, tsr_net_rows_t to, int byte);

/**
 * An atomic access to a word of the peer's heap. Returns the old bits, 0 where
 * the world has ended.
 */
uint64_t tsr_net_fetch(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release);

/** The same without the old bits. Does not wait for the target. */
void tsr_net_update(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release);

/**
 * The same operation on `count` words side by side, the first one of which is
 * that of `first`, each with its own operand at `values`. As weak as a put:
 * returns when `values` may be reused.
 */
void tsr_net_each(tsr_net_t *net, int peer, tsr_net_atomic_t first, const void *values,
		  size_t count);

/**
 * Returns when everything that this rank has put, filled or updated before is
 * applied at its targets.
 */
void tsr_net_flush(tsr_net_t *net);

/** The calls above, for back ends that are plug-ins, and so link nothing of this. */
typedef struct tsr_net_calls {
	void (*put)(tsr_net_t *net, int peer, tsr_net_rows_t to, const void *from,
		    size_t from_pitch);
	void (*get)(tsr_net_t *net, int peer, tsr_net_rows_t from, void *to, size_t to_pitch);
	uint64_t (*fetch)(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release);
	void (*update)(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release);
	void (*each)(tsr_net_t *net, int peer, tsr_net_atomic_t first, const void *values,
		     size_t count);
	void (*flush)(tsr_net_t *net);
} tsr_net_calls_t;

extern const tsr_net_calls_t tsr_net_calls;

/**
 * For a thread that waits for what a far rank sends: serves the queue itself, so
 * that no other thread has to wake it. Returns when `over` has said that the wait
 * is over, which is the result; or when nothing has come for a while, or somebody
 * else serves. `over` makes no call of the net.
 */
bool tsr_net_help(tsr_net_t *net, bool (*over)(void *ctx), void *ctx);

/**
 * Called after the last collective of the world, when no other thread is in a
 * call. Completes what is under way if the world has not ended; waits a few
 * seconds at most. Null is allowed.
 */
void tsr_net_close(tsr_net_t *net);

/**
 * What this rank has sent to far ranks so far: messages that make or answer an
 * access, and the bytes of rows and operands in them. Any thread.
 */
typedef struct tsr_net_counts {
	uint64_t messages, bytes;
} tsr_net_counts_t;

tsr_net_counts_t tsr_net_sent_so_far(const tsr_net_t *net);

/** What carries the messages, such as "UCX 1.13.1, tcp over lo". */
const char *tsr_net_description(const tsr_net_t *net);

/**
 * The file of the carrier that this library, or the program that has it in
 * itself, finds beside itself. False: there is none.
 */
bool tsr_net_find_plugin(char *path_out, size_t bytes);

/**
 * Writes a line about the carrier that tsr_net_open would load, such as its
 * version and the devices that it finds. Errors: those of the loading.
 */
tsr_status_t tsr_net_about(const char *plugin, char text_out[TSR_NET_DESCRIPTION_BYTES]);

#endif
