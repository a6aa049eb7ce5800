/* The record of a run: what each worker of each block really did. */
#ifndef TESSERA_RECORD_H
#define TESSERA_RECORD_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What one worker of one block of one launch did. Bytes of payload; flags and
 * atomics are not counted. A copy on a stream counts as a launch of one worker:
 * `kernel` is the call's name, `role` "copy engine". Made by
 * `tsr_record_entry_t entry = {.size = sizeof entry};`.
 */
typedef struct tsr_record_entry {
	size_t size; /* sizeof this struct: set by the caller */
	int launch;  /* order of the launch on this rank, from 0 since tsr_record_start */
	int stream;  /* order in which the rank's streams were created, from 0 */
	int block, worker;
	char kernel[48], variant[32];
	/* as the kernel said by tsr_role; "" where it said nothing */
	char role[24];
	uint64_t products;             /* output tiles whose main loop it finished */
	uint64_t operand_bytes;        /* read by main loops */
	uint64_t local_written_bytes;  /* into this rank's heap */
	uint64_t local_read_bytes;     /* from this rank's heap, main loops apart */
	uint64_t remote_written_bytes; /* into peers' heaps */
	uint64_t remote_read_bytes;    /* from peers' heaps */
	uint64_t begin_ns, end_ns;     /* of the worker's run, on the rank's monotonic clock */
	uint64_t first_remote_ns;      /* begin of its first remote write; 0: none */
	uint64_t last_product_ns;      /* end of its last main loop; 0: none */
} tsr_record_entry_t;

/**
 * Begins to record this rank's launches; drops what was recorded. Any thread,
 * no launch in flight. Errors: TSR_ERR_UNSUPPORTED.
 */
TSR_API tsr_status_t tsr_record_start(tsr_world_t *world);

/** Ends recording. No launch in flight. */
TSR_API tsr_status_t tsr_record_stop(tsr_world_t *world);

/**
 * The `index`-th entry, by launch, block, worker. Any thread, until the next
 * tsr_record_start.
 * Errors: TSR_ERR_NOT_FOUND past the last, TSR_ERR_ARGUMENT (null, or a size
 * that is none).
 */
TSR_API tsr_status_t tsr_record_entry(const tsr_world_t *world, int index,
				      tsr_record_entry_t *entry_out);

#ifdef __cplusplus
}
#endif
#endif
