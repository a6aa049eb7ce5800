/*
 * The record of a run: what each worker of each block did, in sums (entries)
 * and one after the other (events).
 */
#ifndef TESSERA_RECORD_H
#define TESSERA_RECORD_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What one worker of one block of one launch did. Bytes are those of the
 * payload; flags and atomics are not counted. A copy on a stream counts as a
 * launch with one worker: `kernel` is the name of the call and `role` is "copy
 * engine". Initialise it with
 * `tsr_record_entry_t entry = {.size = sizeof entry};`.
 */
typedef struct tsr_record_entry {
	size_t size; /* set by the caller: sizeof this struct */
	int launch;  /* index of the launch on this rank since tsr_record_start, from 0 */
	int stream;  /* index of the stream on this rank, in order of creation, from 0 */
	int block, worker;
	char kernel[48], variant[32];
	/* given by tsr_role; "" if the kernel did not call it */
	char role[24];
	/* output tiles whose main loop this worker finished; on a GPU also its parts of tiles that
	 * several blocks share */
	uint64_t products;
	/* read by main loops; on a GPU those of whole tiles, at a matrix's edge too */
	uint64_t operand_bytes;
	uint64_t local_written_bytes;  /* into this rank's heap */
	uint64_t local_read_bytes;     /* from this rank's heap, without main loops */
	uint64_t remote_written_bytes; /* into peers' heaps */
	uint64_t remote_read_bytes;    /* from peers' heaps */
	uint64_t begin_ns, end_ns;     /* of this worker, on the rank's monotonic clock */
	uint64_t first_remote_ns;      /* start of its first remote write; 0: none */
	uint64_t last_product_ns;      /* end of its last main loop; 0: none */
	uint64_t first_product_ns;     /* start of its first main loop; 0: none */
	uint64_t last_remote_ns;       /* end of its last remote write; 0: none */
	uint64_t wait_ns;              /* sum of the times of its waits for flags and words */
	uint64_t events;               /* its events that were kept */
	uint64_t events_lost;          /* and those for which there was no room any more */
	/* how far this rank's clock and the host's may be apart, and so twice that is how far two
	 * ranks' clocks may be; 0: they are one clock */
	uint64_t clock_error_ns;
} tsr_record_entry_t;

/** What an event is. */
typedef enum tsr_record_kind {
	TSR_RECORD_MARK,    /* tsr_mark */
	TSR_RECORD_PRODUCT, /* a main loop, its gates included */
	TSR_RECORD_WAIT,    /* a wait for a flag or word, until it had the value */
	TSR_RECORD_SIGNAL,  /* a flag that was raised */
	TSR_RECORD_SEND     /* writes to one peer's heap, without a pause between them */
} tsr_record_kind_t;

/** The most events that are kept of one worker of one block of one launch. */
#define TSR_RECORD_EVENTS 16384

/**
 * Something that one worker did. Initialise it with
 * `tsr_record_event_t event = {.size = sizeof event};`.
 */
typedef struct tsr_record_event {
	size_t size;                       /* set by the caller: sizeof this struct */
	int launch, stream, block, worker; /* as in the worker's entry */
	int kind;                          /* tsr_record_kind_t */
	/* rank in the world: of a wait, who was to signal (-1: any rank); of a signal and a send,
	 * whose heap was written; otherwise the worker's own */
	int peer;
	/* of a mark, its name; of a wait and a signal, the allocation that has the flag, or "shared
	 * memory" */
	char name[32];
	/* of a wait and a signal: the rank whose memory has the flag, and the flag's place in the
	 * allocation */
	int owner;
	uint64_t offset_bytes;
	int64_t value;             /* of a mark; of a flag, what was waited for, or written */
	uint64_t bytes;            /* of a send: payload; of a product: operands */
	uint64_t begin_ns, end_ns; /* on the clock of the entries; a mark's are equal */
} tsr_record_event_t;

/**
 * Starts to record this rank's launches, and drops earlier entries. Any thread;
 * no launch may be in flight.
 *
 * Errors:     TSR_ERR_UNSUPPORTED (the backend cannot record), TSR_ERR_NO_MEMORY
 *             (no room for the record), TSR_ERR_SYSTEM (the device's clock
 *             cannot be read).
 */
TSR_API tsr_status_t tsr_record_start(tsr_world_t *world);

/**
 * Stops recording. Any thread; no launch may be in flight.
 *
 * Errors:     TSR_ERR_UNSUPPORTED (a kernel ran that keeps no record; what
 *             others have recorded is kept).
 */
TSR_API tsr_status_t tsr_record_stop(tsr_world_t *world);

/**
 * The `index`-th entry, ordered by launch, block and worker. Valid until the
 * next tsr_record_start.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_NOT_FOUND (past the last entry), TSR_ERR_ARGUMENT (a null
 *             pointer, or an invalid `size`).
 */
TSR_API tsr_status_t tsr_record_entry(const tsr_world_t *world, int index,
				      tsr_record_entry_t *entry_out);

/**
 * The `index`-th event, ordered by launch, block and worker, and for each
 * worker by end. Valid until the next tsr_record_start.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_NOT_FOUND (past the last event), TSR_ERR_ARGUMENT (a null
 *             pointer, or an invalid `size`).
 * Source:     Iris paper, section 3.4 (traces of device code).
 */
TSR_API tsr_status_t tsr_record_event(const tsr_world_t *world, int index,
				      tsr_record_event_t *event_out);

#ifdef __cplusplus
}
#endif
#endif
