/* Teams: how they are made of others, and what may be asked of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/world/team.h"

/* ------------------------------------------------------------------ this rank's part of a team */

static tsr_team_t *make_team(tsr_world_t *world, const int *ranks, int count, const char *name)
{
	tsr_team_t *team = calloc(1, sizeof *team + (size_t)count * sizeof *ranks);
	if (team == NULL)
		return NULL;
	team->world = world;
	pthread_mutex_lock(&world->order_lock);
	team->number = world->teams_made++;
	pthread_mutex_unlock(&world->order_lock);
	memcpy(team->ranks, ranks, (size_t)count * sizeof *ranks);
	tsr_text_cut(name, sizeof team->name, team->name);
	team->host = (tsr_host_team_t){.size = count, .ranks = team->ranks, .name = team->name};
	while (team->host.rank < count && ranks[team->host.rank] != world->rank)
		team->host.rank++;
	return team;
}

static void drop_team(tsr_team_t *team)
{
	if (team->device != NULL)
		team->world->backend->team->destroy(team->world->device, team->device);
	if (team->meeting != NULL && team->meeting != tsr_boot_everybody(team->world->boot))
		tsr_meeting_forget(team->meeting);
	free(team);
}

tsr_status_t tsr_world_make_team(tsr_world_t *world)
{
	int ranks[TSR_MAX_RANKS];
	for (int r = 0; r < world->size; r++)
		ranks[r] = r;
	tsr_team_t *team = make_team(world, ranks, world->size, "");
	if (team == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a team; free some");
	team->meeting = tsr_boot_everybody(world->boot);
	const tsr_status_t status =
		world->backend->team->create(world->device, &team->host, &team->device);
	if (status != TSR_OK) {
		drop_team(team);
		return status;
	}
	world->team = team;
	return TSR_OK;
}

void tsr_world_drop_teams(tsr_world_t *world)
{
	while (world->teams != NULL) {
		tsr_team_t *team = world->teams;
		world->teams = team->next;
		drop_team(team);
	}
	if (world->team != NULL)
		drop_team(world->team);
	world->team = NULL;
}

/* ------------------------------------------------------------------ making */

/**
 * The members of a team that is to be: ranks of its parent, in order; none
 * where this rank joins no team.
 */
typedef struct members {
	int count;
	int rank[TSR_MAX_RANKS];
} members_t;

/** What a member tells the others before any of them uses the new team. */
typedef struct ready {
	int32_t status; /* tsr_status_t of its own part */
	int32_t place;  /* of the meeting: told by the new team's first member */
} ready_t;

static tsr_status_t prepare(tsr_team_t *parent, const members_t *members, const char *name,
			    tsr_team_t **team_out, int32_t *place_out)
{
	tsr_world_t *world = parent->world;
	int ranks[TSR_MAX_RANKS];
	for (int i = 0; i < members->count; i++)
		ranks[i] = parent->ranks[members->rank[i]];
	tsr_team_t *team = make_team(world, ranks, members->count, name);
	if (team == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a team; free some");
	*team_out = team;
	tsr_status_t status = tsr_meeting_create(world->boot, team->ranks, members->count,
						 team->host.rank, team->name, &team->meeting);
	if (status == TSR_OK)
		status = world->backend->team->create(world->device, &team->host, &team->device);
	if (status == TSR_OK && team->host.rank == 0)
		status = tsr_meeting_take_place(team->meeting, place_out);
	return status;
}

/** The first member of `parent` that failed; -1: none. */
static int failed(const ready_t *ready, int count)
{
	for (int i = 0; i < count; i++)
		if (ready[i].status != TSR_OK)
			return i;
	return -1;
}

/**
 * The second half, common to split and create. Every member of `parent` comes,
 * also those that join no team.
 */
static tsr_status_t found(tsr_team_t *parent, const char *call, const char *arguments,
			  const members_t *members, const char *name, tsr_team_t **team_out)
{
	tsr_world_t *world = parent->world;
	tsr_team_t *team = NULL;
	ready_t mine = {TSR_OK, -1}, all[TSR_MAX_RANKS];
	char sentence[512] = "", who[TSR_WHO_TEXT];
	if (members->count > 0)
		mine.status = prepare(parent, members, name, &team, &mine.place);
	if (mine.status != TSR_OK)
		snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	tsr_status_t status =
		tsr_meeting_exchange(parent->meeting, call, arguments, &mine, all, sizeof mine);
	const int first = status == TSR_OK ? failed(all, parent->host.size) : -1;
	if (first >= 0 && mine.status != TSR_OK)
		status = tsr_error(mine.status, "%s", sentence);
	else if (first >= 0)
		status = tsr_error((tsr_status_t)all[first].status,
				   "%s: %s could not make its part of a team; see what it said",
				   call,
				   tsr_who_text(parent->ranks[first], first, parent->name, who));
	if (status != TSR_OK && mine.place >= 0)
		tsr_meeting_give_place(team->meeting, mine.place);
	if (status != TSR_OK && team != NULL)
		drop_team(team);
	if (status != TSR_OK)
		return status;
	if (team != NULL) {
		tsr_meeting_enter(team->meeting, all[members->rank[0]].place);
		pthread_mutex_lock(&world->streams_lock);
		team->next = world->teams;
		world->teams = team;
		pthread_mutex_unlock(&world->streams_lock);
	}
	*team_out = team;
	return TSR_OK;
}

typedef struct choice {
	int32_t colour, key;
} choice_t;

/** Those of my colour, by key, then by rank. */
static void choose_members(const choice_t *all, int count, int colour, members_t *members)
{
	members->count = 0;
	if (colour == TSR_NO_TEAM)
		return;
	for (int r = 0; r < count; r++) {
		if (all[r].colour != colour)
			continue;
		int at = members->count++;
		for (; at > 0 && all[members->rank[at - 1]].key > all[r].key; at--)
			members->rank[at] = members->rank[at - 1];
		members->rank[at] = r;
	}
}

tsr_status_t tsr_team_split(tsr_team_t *parent, int colour, int key, const char *name,
			    tsr_team_t **team_out)
{
	static const char call[] = "tsr_team_split";
	if (parent == NULL || team_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: parent and team_out must not be null",
				 call);
	if (colour < TSR_NO_TEAM)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s by colour %d: colours are 0 or more, or TSR_NO_TEAM", call,
				 colour);
	const choice_t mine = {colour, key};
	choice_t all[TSR_MAX_RANKS];
	members_t members;
	const tsr_status_t status =
		tsr_meeting_exchange(parent->meeting, call, "", &mine, all, sizeof mine);
	if (status != TSR_OK)
		return status;
	choose_members(all, parent->host.size, colour, &members);
	return found(parent, call, "ready", &members, name != NULL ? name : "team", team_out);
}

/** Writes the list as what ranks compare: its numbers, and the team's name. */
static void describe_list(const int *ranks, int count, const char *name, char *text, size_t size)
{
	char called[TSR_TEAM_NAME];
	tsr_text_cut(name, sizeof called, called);
	size_t used = (size_t)snprintf(text, size, "'%s':", called);
	for (int i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, " %d", ranks[i]);
}

static tsr_status_t check_list(const tsr_team_t *parent, const int *ranks, int count)
{
	bool seen[TSR_MAX_RANKS] = {false};
	if (ranks == NULL || count < 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_create of %d ranks: a team has at least 1", count);
	for (int i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= parent->host.size)
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"tsr_team_create with rank %d: the parent has ranks 0 to %d",
				ranks[i], parent->host.size - 1);
		if (seen[ranks[i]])
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"tsr_team_create with rank %d twice: a member has one place",
				ranks[i]);
		seen[ranks[i]] = true;
	}
	return TSR_OK;
}

tsr_status_t tsr_team_create(tsr_team_t *parent, const int *ranks, int count, const char *name,
			     tsr_team_t **team_out)
{
	if (parent == NULL || team_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_create: parent and team_out must not be null");
	const tsr_status_t status = check_list(parent, ranks, count);
	if (status != TSR_OK)
		return status;
	char arguments[40 + 5 * TSR_MAX_RANKS];
	members_t members = {0};
	bool joins = false;
	for (int i = 0; i < count; i++)
		joins = joins || ranks[i] == parent->host.rank;
	for (int i = 0; joins && i < count; i++)
		members.rank[members.count++] = ranks[i];
	name = name != NULL ? name : "team";
	describe_list(ranks, count, name, arguments, sizeof arguments);
	return found(parent, "tsr_team_create", arguments, &members, name, team_out);
}

/* ------------------------------------------------------------------ the end */

static void unlist(tsr_team_t *team)
{
	tsr_world_t *world = team->world;
	pthread_mutex_lock(&world->streams_lock);
	for (tsr_team_t **link = &world->teams; *link != NULL; link = &(*link)->next)
		if (*link == team) {
			*link = team->next;
			break;
		}
	pthread_mutex_unlock(&world->streams_lock);
}

tsr_status_t tsr_team_destroy(tsr_team_t *team)
{
	static const char call[] = "tsr_team_destroy";
	if (team == NULL)
		return TSR_OK;
	if (team == team->world->team)
		return tsr_error(TSR_ERR_ARGUMENT, "%s of the world's team: it ends with the world",
				 call);
	const int32_t mine = tsr_team_has_stream(team);
	int32_t all[TSR_MAX_RANKS];
	char who[TSR_WHO_TEXT];
	const tsr_status_t status =
		tsr_meeting_exchange(team->meeting, call, "", &mine, all, sizeof mine);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < team->host.size; i++)
		if (all[i])
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"%s: %s still has a stream of the team; destroy its streams first",
				call, tsr_who_text(team->ranks[i], i, team->name, who));
	unlist(team);
	tsr_meeting_leave(team->meeting);
	drop_team(team);
	return TSR_OK;
}

/* ------------------------------------------------------------------ questions */

tsr_team_t *tsr_world_team(tsr_world_t *world)
{
	return world != NULL ? world->team : NULL;
}

int tsr_team_rank(const tsr_team_t *team)
{
	return team->host.rank;
}

int tsr_team_size(const tsr_team_t *team)
{
	return team->host.size;
}

int tsr_team_world_rank(const tsr_team_t *team, int rank)
{
	return rank >= 0 && rank < team->host.size ? team->ranks[rank] : -1;
}

int tsr_team_rank_of(const tsr_team_t *team, int world_rank)
{
	for (int i = 0; i < team->host.size; i++)
		if (team->ranks[i] == world_rank)
			return i;
	return -1;
}

const char *tsr_team_name(const tsr_team_t *team)
{
	return team->name;
}

tsr_world_t *tsr_team_world(const tsr_team_t *team)
{
	return team->world;
}
