/* The record of a run: what each worker of each block did. */
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
	uint64_t products;             /* output tiles whose main loop this worker finished */
	uint64_t operand_bytes;        /* read by main loops */
	uint64_t local_written_bytes;  /* into this rank's heap */
	uint64_t local_read_bytes;     /* from this rank's heap, without main loops */
	uint64_t remote_written_bytes; /* into peers' heaps */
	uint64_t remote_read_bytes;    /* from peers' heaps */
	uint64_t begin_ns, end_ns;     /* of this worker, on the rank's monotonic clock */
	uint64_t first_remote_ns;      /* start of its first remote write; 0: none */
	uint64_t last_product_ns;      /* end of its last main loop; 0: none */
} tsr_record_entry_t;

/**
 * Starts to record this rank's launches, and drops earlier entries. Any thread;
 * no launch may be in flight.
 *
 * Errors:     TSR_ERR_UNSUPPORTED (the backend cannot record).
 */
TSR_API tsr_status_t tsr_record_start(tsr_world_t *world);

/** Stops recording. Any thread; no launch may be in flight. */
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

#ifdef __cplusplus
}
#endif
#endif
