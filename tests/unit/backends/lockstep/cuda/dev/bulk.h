/* A stand-in for backends/cuda/dev/bulk.h: copies in bulk are made at once. */
#ifndef TESSERA_LOCKSTEP_BULK_H
#define TESSERA_LOCKSTEP_BULK_H

#include "cuda/dev/hopper.h"

TSR_DEV void tsr_cuda_bulk_load(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
	memcpy(lockstep_at(to), from, bytes);
	lockstep_count(barrier, 0, bytes);
}

TSR_DEV void tsr_cuda_bulk_store(void *to, uint32_t from, uint32_t bytes)
{
	memcpy(to, lockstep_at(from), bytes);
}

template <int LEFT> TSR_DEV void tsr_cuda_bulk_stores_read(void)
{
}

TSR_DEV void tsr_cuda_bulk_stores_end(void)
{
}

#endif
