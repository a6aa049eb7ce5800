/* Parts of src/world that are nobody else's. */
#ifndef TESSERA_WORLD_HOST_H
#define TESSERA_WORLD_HOST_H

#include "src/world/stream.h"

/** Fills world->host: the library's services for the backend. */
void tsr_world_make_host(tsr_world_t *world);

/** The first half of tsr_finalize: this rank's streams and all ranks have come to their end. */
tsr_status_t tsr_world_settle(tsr_world_t *world);

/**
 * The second: releases everything local of a world that has ended with
 * `status`, and hands that on with its sentence. `world` is invalid afterwards;
 * the membership is still the caller's to leave.
 */
tsr_status_t tsr_world_close(tsr_world_t *world, tsr_status_t status);

#endif
