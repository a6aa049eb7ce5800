/*
 * Teams of a node, and across nodes: whatever nodes there are, who is in them,
 * in which order, and that they meet.
 */
#include "tests/contract/contract_test.h"

/** Member `at` of `team` is rank `rank` of `parent`. */
static int is_member(const tsr_team_t *team, int at, const tsr_team_t *parent, int rank)
{
	return tsr_team_world_rank(team, at) == tsr_team_world_rank(parent, rank);
}

static int node_of(const tsr_team_t *parent, int rank)
{
	return tsr_world_node(tsr_team_world(parent), tsr_team_world_rank(parent, rank));
}

/** The number of members of the parent before `rank` that are on its node. */
static int place_of(const tsr_team_t *parent, int rank)
{
	int place = 0;
	for (int r = 0; r < rank; r++)
		place += node_of(parent, r) == node_of(parent, rank);
	return place;
}

static int check_teams(tsr_world_t *world, const tsr_team_t *parent, tsr_team_t *node,
		       tsr_team_t *across)
{
	const int me = tsr_team_rank(parent), nodes = tsr_world_nodes(world);
	int in_node = 0, over = 0;
	for (int r = 0; r < tsr_team_size(parent); r++)
		if (node_of(parent, r) == node_of(parent, me))
			CHECK(is_member(node, in_node++, parent, r), "rank %d", r);
	for (int k = 0; k < nodes; k++)
		for (int r = 0; r < tsr_team_size(parent); r++)
			if (node_of(parent, r) == k && place_of(parent, r) == place_of(parent, me))
				CHECK(is_member(across, over++, parent, r), "rank %d", r);
	CHECK(tsr_team_size(node) == in_node && tsr_team_size(across) == over);
	CHECK(tsr_team_rank(node) == place_of(parent, me));
	CHECK(strcmp(tsr_team_name(node), "node") == 0);
	CHECK(strcmp(tsr_team_name(across), "across") == 0);
	CHECK(tsr_team_barrier(node) == TSR_OK && tsr_team_barrier(across) == TSR_OK);
	return 0;
}

static int teams_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	tsr_team_t *parents[2] = {tsr_world_team(world), NULL}, *node, *across, *alone;
	(void)argc, (void)argv;
	/* all but one, the last first */
	CHECK(tsr_team_split(parents[0], me == 1 ? TSR_NO_TEAM : 0, -me, "most", &parents[1]) ==
	      TSR_OK);
	for (int i = 0; i < 2; i++) {
		if (parents[i] == NULL)
			continue;
		CHECK(tsr_team_split_node(parents[i], &node, &across) == TSR_OK);
		if (check_teams(world, parents[i], node, across))
			return 1;
		CHECK(tsr_team_split_node(parents[i], NULL, &alone) == TSR_OK);
		CHECK(tsr_team_size(alone) == tsr_team_size(across));
		CHECK(tsr_team_destroy(alone) == TSR_OK);
		CHECK(tsr_team_split_node(parents[i], &alone, NULL) == TSR_OK);
		CHECK(tsr_team_size(alone) == tsr_team_size(node));
	}
	CHECK(tsr_team_split_node(parents[0], NULL, NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_team_split_node(NULL, &node, &across) == TSR_ERR_ARGUMENT);
	return 0;
}

Test(node_teams, have_the_members_of_a_node_and_one_of_each)
{
	world_each(teams_body, NULL);
}
