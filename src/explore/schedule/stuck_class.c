/* What a wait-for graph is called, and the cycle, or the way to a root, that shows it. */
#include "src/explore/schedule/stuck_graph.h"

/* ------------------------------------------------------------------ who waits for whom */

static bool means(const tsr_graph_t *g, tsr_blocker_t blocker, int node)
{
	const tsr_stuck_node_t *n = &g->stuck->node[node];
	switch (blocker.kind) {
	case TSR_BLOCKER_TASK:
		return n->task == blocker.number;
	case TSR_BLOCKER_RANK:
		return n->who.rank == blocker.number;
	case TSR_BLOCKER_WORKERS:
		return n->who.rank == blocker.number && n->who.kind == TSR_TASK_WORKER;
	case TSR_BLOCKER_ANYBODY:
		return n->who.kind == TSR_TASK_WORKER;
	}
	return false;
}

bool tsr_graph_each(tsr_graph_t *g, int from, tsr_edge_fn found, void *argument)
{
	for (const tsr_reason_t *reason = g->reason[from]; reason; reason = reason->next) {
		if (reason->blocker.kind == TSR_BLOCKER_TASK) {
			const int task = reason->blocker.number;
			const int to =
				task >= 0 && task < g->explorer->tasks ? g->node_of[task] : -1;
			if (to >= 0 && to != from && found(g, from, to, argument))
				return true;
			continue;
		}
		for (int to = 0; to < g->stuck->nodes; to++)
			if (to != from && means(g, reason->blocker, to) &&
			    found(g, from, to, argument))
				return true;
	}
	return false;
}

/* ------------------------------------------------------------------ searches */

static bool any(tsr_graph_t *g, int from, int to, void *argument)
{
	(void)g, (void)from, (void)to, (void)argument;
	return true;
}

/** A search's end: a node, or any root. */
typedef struct tsr_target {
	int node, reached, count;
	bool root;
} tsr_target_t;

static bool reach(tsr_graph_t *g, int from, int to, void *argument)
{
	tsr_target_t *target = argument;
	const bool is_target = target->root ? g->stuck->node[to].root : to == target->node;

	if (g->before[to] >= 0 && !is_target)
		return false;
	if (is_target) {
		target->reached = from;
		target->node = to;
		return true;
	}
	g->before[to] = from;
	g->line[target->count++] = to;
	return false;
}

/**
 * The shortest way from `from` to the target, of one step at least: its nodes
 * without the target into `way`; how many, 0: no way.
 */
static int shortest(tsr_graph_t *g, int from, tsr_target_t *target, int *way)
{
	int count = 0;

	for (int i = 0; i < g->stuck->nodes; i++)
		g->before[i] = -1;
	g->before[from] = from;
	g->line[0] = from;
	target->count = 1;
	for (int i = 0; i < target->count; i++)
		if (tsr_graph_each(g, g->line[i], reach, target)) {
			for (int at = target->reached;; at = g->before[at]) {
				way[count++] = at;
				if (at == from)
					break;
			}
			for (int a = 0, b = count - 1; a < b; a++, b--) {
				const int swap = way[a];
				way[a] = way[b];
				way[b] = swap;
			}
			return count;
		}
	return 0;
}

static bool first_of(tsr_graph_t *g, int from, int to, void *argument)
{
	(void)g, (void)from;
	*(int *)argument = to;
	return true;
}

/**
 * A node that is on a cycle: each waits for somebody, so that whoever follows
 * the first named comes round. -1: some wait for nobody.
 */
static int on_cycle(tsr_graph_t *g, int from)
{
	int at = from;
	for (int i = 0; i < g->stuck->nodes; i++) /* by then it has come round */
		if (!tsr_graph_each(g, at, first_of, &at))
			return -1;
	return at;
}

/* ------------------------------------------------------------------ what to call it */

static bool find_cycle(tsr_graph_t *g, int through)
{
	tsr_target_t target = {.node = through};
	g->stuck->cycle_count = shortest(g, through, &target, g->stuck->cycle);
	return g->stuck->cycle_count > 0;
}

/**
 * Whether somebody's way through those who wait ends at one who waits for
 * nobody alive; it becomes the `cycle`.
 */
static bool find_root(tsr_graph_t *g)
{
	tsr_stuck_t *stuck = g->stuck;
	for (int i = 0; i < stuck->nodes; i++) {
		tsr_target_t target = {.root = true};
		if (stuck->node[i].root) {
			stuck->cycle[0] = i;
			stuck->cycle_count = 1;
			return true;
		}
		const int count = shortest(g, i, &target, stuck->cycle);
		if (count) {
			stuck->cycle[count] = target.node;
			stuck->cycle_count = count + 1;
			return true;
		}
	}
	return false;
}

/**
 * A node from which no root can be reached, and so a cycle can; -1: none. Nodes
 * that reach a root have `before` >= 0.
 */
static bool reaches_marked(tsr_graph_t *g, int from, int to, void *argument)
{
	(void)from, (void)argument;
	return g->before[to] >= 0;
}

static int rootless(tsr_graph_t *g)
{
	bool more = true;
	for (int i = 0; i < g->stuck->nodes; i++)
		g->before[i] = g->stuck->node[i].root ? i : -1;
	while (more) {
		more = false;
		for (int i = g->stuck->nodes - 1; i >= 0; i--)
			if (g->before[i] < 0 && tsr_graph_each(g, i, reaches_marked, NULL)) {
				g->before[i] = i;
				more = true;
			}
	}
	for (int i = 0; i < g->stuck->nodes; i++)
		if (g->before[i] < 0)
			return i;
	return -1;
}

tsr_stuck_class_t tsr_graph_classify(tsr_graph_t *g)
{
	tsr_stuck_t *stuck = g->stuck;
	bool spins = false;

	for (int i = 0; i < stuck->nodes; i++) {
		tsr_stuck_node_t *node = &stuck->node[i];
		spins = spins || node->kind == TSR_AWAIT_SPIN;
		node->root = node->kind != TSR_AWAIT_SPIN && !tsr_graph_each(g, i, any, NULL);
	}
	const int start = rootless(g);
	if (spins) {
		const int at = start >= 0 ? on_cycle(g, start) : -1;
		if (at < 0 || !find_cycle(g, at))
			find_root(g);
		return TSR_STUCK_LIVELOCK;
	}
	if (start < 0) {
		find_root(g);
		return TSR_STUCK_LOST_SIGNAL;
	}
	/* blocks of one rank are alike: the first speaks for all */
	for (int i = 0, rank = -1; i < stuck->nodes; i++) {
		if (stuck->node[i].kind != TSR_AWAIT_RESIDENCY || stuck->node[i].who.rank == rank)
			continue;
		if (find_cycle(g, i))
			return TSR_STUCK_RESIDENCY;
		rank = stuck->node[i].who.rank;
	}
	const int at = on_cycle(g, start);
	if (at >= 0)
		find_cycle(g, at);
	return TSR_STUCK_DEADLOCK;
}
