/* A team as src/world keeps it. */
#ifndef TESSERA_WORLD_TEAM_H
#define TESSERA_WORLD_TEAM_H

#include "src/base/text.h"
#include "src/world/world.h"
#include "tessera/team.h"

struct tsr_team {
	tsr_world_t *world;
	struct tsr_team *next; /* in world->teams: not the world's own */
	tsr_meeting_t *meeting;
	tsr_device_team_t *device; /* null until the heaps are mapped */
	tsr_host_team_t host;      /* what the backend holds on to */
	char name[TSR_TEAM_NAME];  /* "": the world's */
	int ranks[];               /* ranks[i]: of member i in the world */
};

/**
 * Makes the team of all ranks, when the heaps are mapped. Errors:
 * TSR_ERR_NO_MEMORY, those of the backend.
 */
tsr_status_t tsr_world_make_team(tsr_world_t *world);

/** Releases all teams, which nobody uses any more. */
void tsr_world_drop_teams(tsr_world_t *world);

/**
 * Waits for this rank's streams of `team`, or of all teams where it is null;
 * the first failure. In src/world/stream.c.
 */
tsr_status_t tsr_world_sync_streams(tsr_world_t *world, const tsr_team_t *team);

/** Whether this rank has a stream of the team. In src/world/stream.c. */
bool tsr_team_has_stream(const tsr_team_t *team);

#endif
