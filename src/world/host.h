/* Declarations that only files of src/world use. */
#ifndef TESSERA_WORLD_HOST_H
#define TESSERA_WORLD_HOST_H

#include "src/world/stream.h"

/** Fills in world->host: the library's services for the backend. */
void tsr_world_make_host(tsr_world_t *world);

/**
 * The first half of tsr_finalize: waits for this rank's streams and for all
 * ranks.
 */
tsr_status_t tsr_world_settle(tsr_world_t *world);

/**
 * The second half: releases everything local of a world that has ended with
 * `status`, and returns that status with its sentence. Afterwards `world` is
 * invalid; the caller still has to leave the job.
 */
tsr_status_t tsr_world_close(tsr_world_t *world, tsr_status_t status);

#endif
