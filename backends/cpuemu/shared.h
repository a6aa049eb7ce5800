/*
 * The shared memory of emulated blocks, between two guards. A plain write of C
 * that leaves it changes a guard, and the emulator reports that.
 */
#ifndef TESSERA_CPUEMU_SHARED_H
#define TESSERA_CPUEMU_SHARED_H

#include "cpuemu/block.h"

/** Memory of `bytes` bytes, undefined, aligned to 128. Null: there is none left. */
unsigned char *tsr_cpu_shared_make(size_t bytes);

/** Makes it undefined again, for the next block. */
void tsr_cpu_shared_reset(unsigned char *shared, size_t bytes);

/** `shared` may be null. */
void tsr_cpu_shared_free(unsigned char *shared);

/**
 * Fails the launch if a guard of the block has changed. Called by each worker
 * at its end.
 */
void tsr_cpu_shared_check(tsr_coop_t *coop);

#endif
