/*
 * Teams: ordered subsets of the world's ranks, that exchange, and whose kernels
 * see no rank but theirs.
 */
#ifndef TESSERA_TEAM_H
#define TESSERA_TEAM_H

#include <stddef.h>

#include "tessera/status.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A team: some ranks of the world in an order. Its members are counted from 0
 * in that order. A stream belongs to a team: in its kernels tsr_rank, tsr_size,
 * peers and `from` count the members. A rank may be in any number of teams,
 * which work at the same time. The heap is the world's: allocation is
 * collective over the world, whatever teams use the memory.
 */
typedef struct tsr_team tsr_team_t;

/**
 * The team of all ranks, each with its number in the world; it lives as long as
 * the world. Null for null. Any thread.
 */
TSR_API tsr_team_t *tsr_world_team(tsr_world_t *world);

/** In place of a colour: the caller joins none of the new teams. */
#define TSR_NO_TEAM (-1)

/**
 * Splits `parent`: members that name the same `colour` (0 or more) form a team,
 * in the order of their keys; of equal keys the lower rank in `parent` comes
 * first. A member that names TSR_NO_TEAM gets a null team, which is no error.
 *
 * Called by:  every member of `parent`, one thread a rank.
 * @param name  what reports call the team; copied, cut behind 31 characters;
 *              null means "team". The members give the same.
 * Errors:     TSR_ERR_ARGUMENT (a colour below TSR_NO_TEAM), TSR_ERR_NO_MEMORY,
 *             TSR_ERR_MISMATCH, those of tsr_team_barrier. All members succeed,
 *             or none.
 * Source:     MPI_Comm_split; NVSHMEM's teams.
 */
TSR_API tsr_status_t tsr_team_split(tsr_team_t *parent, int colour, int key, const char *name,
				    tsr_team_t **team_out);

/**
 * Makes a team of a list: member i is rank ranks[i] of `parent`. Every member
 * of `parent` gives the same list; those outside it get a null team, which is
 * no error.
 *
 * Called by:  every member of `parent`, one thread a rank. `name`: as of
 *             tsr_team_split.
 * Errors:     TSR_ERR_ARGUMENT (no ranks, a rank twice or outside `parent`),
 *             TSR_ERR_MISMATCH (lists that differ), TSR_ERR_NO_MEMORY, those of
 *             tsr_team_barrier. All members of `parent` succeed, or none.
 */
TSR_API tsr_status_t tsr_team_create(tsr_team_t *parent, const int *ranks, int count,
				     const char *name, tsr_team_t **team_out);

/**
 * Ends a team, whose streams have been destroyed. `team` is invalid after
 * TSR_OK. Null is TSR_OK. Teams that are left end with the world.
 *
 * Called by:  every member, one thread a rank.
 * Errors:     TSR_ERR_ARGUMENT (a member has a stream of the team, or it is the
 *             world's), those of tsr_team_barrier. After an error the team
 *             lives on.
 */
TSR_API tsr_status_t tsr_team_destroy(tsr_team_t *team);

/** This rank's number in the team, 0 .. tsr_team_size - 1. Any thread, as all below. */
TSR_API int tsr_team_rank(const tsr_team_t *team);

/** The number of members. */
TSR_API int tsr_team_size(const tsr_team_t *team);

/** The number in the world of the member `rank`; -1 where there is no such member. */
TSR_API int tsr_team_world_rank(const tsr_team_t *team, int rank);

/** The member that is rank `world_rank` of the world; -1 where it is none. */
TSR_API int tsr_team_rank_of(const tsr_team_t *team, int world_rank);

/** Its name; of the world's "". Valid as long as the team. */
TSR_API const char *tsr_team_name(const tsr_team_t *team);

/** The world that it is of. */
TSR_API tsr_world_t *tsr_team_world(const tsr_team_t *team);

/**
 * Waits for this rank's streams of the team, then for every member. What any
 * member did before it happens before what any member does after it, on hosts
 * and devices. Streams of other teams are not waited for: a kernel there may
 * wait for whoever comes later.
 *
 * Called by:  every member, one thread a rank.
 * Errors:     TSR_ERR_TIMEOUT, TSR_ERR_PEER_LOST (both name the ranks that did
 *             not arrive), TSR_ERR_MISMATCH (another member made another
 *             collective call of this team; the sentence names both),
 *             TSR_ERR_KERNEL (a kernel of this rank failed), TSR_ERR_ABORTED.
 *             Where a rank is lost or late, the world ends, not the team alone.
 */
TSR_API tsr_status_t tsr_team_barrier(tsr_team_t *team);

/**
 * Copies `size_bytes` of host memory at `data` from the member `root` to every
 * member.
 * Called by:  every member, one thread a rank. Errors: as tsr_team_barrier, and
 *             TSR_ERR_ARGUMENT for a root outside the team.
 */
TSR_API tsr_status_t tsr_team_broadcast(tsr_team_t *team, void *data, size_t size_bytes, int root);

/**
 * Gathers `size_bytes` of host memory from every member: what member r has at
 * `mine` lands at `all + r * size_bytes` on every member.
 * Called by:  every member, one thread a rank. Errors: as tsr_team_barrier.
 */
TSR_API tsr_status_t tsr_team_gather_all(tsr_team_t *team, const void *mine, void *all,
					 size_t size_bytes);

/**
 * Bytes of the state of tsr_barrier_ranks, and of tsr_all_gather, for a team of
 * `ranks`; one for a larger team serves as well. 0 for less than one rank. Any
 * thread.
 */
TSR_API size_t tsr_barrier_state_bytes(int ranks);
TSR_API size_t tsr_all_gather_state_bytes(int ranks);

#ifdef __cplusplus
}
#endif
#endif
