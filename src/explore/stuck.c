/* Where nobody can go on: who waits for whom, and what to call it. */
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/explore/explorer_state.h"

enum { EDGES_SHOWN = 8 }; /* of one node: where all of many others are meant, some stand for them */

/** One of those that a node waits for. */
typedef struct tsr_reason {
	int node;
	tsr_blocker_t blocker;
	struct tsr_reason *next;
} tsr_reason_t;

typedef struct tsr_graph {
	const tsr_explorer_t *explorer;
	tsr_stuck_t *stuck;
	tsr_reason_t **reason; /* of each node, in the order in which they were told */
	tsr_reason_t **last;
	int *node_of;             /* of each task; -1: none */
	int room, *before, *line; /* of a search: where each node was reached from (-1: not), and nodes in line */
	bool exhausted;
} tsr_graph_t;

const char *tsr_stuck_name(tsr_stuck_class_t stuck)
{
	static const char *const names[] = {"deadlock", "lost-signal", "residency", "livelock"};
	return names[stuck];
}

void tsr_stuck_destroy(tsr_stuck_t *stuck)
{
	if (!stuck)
		return;
	free(stuck->node);
	free(stuck->edge);
	free(stuck->cycle);
	free(stuck);
}

/* ------------------------------------------------------------------ nodes, and whom they wait for */

static tsr_stuck_node_t *add_node(tsr_graph_t *g)
{
	if (g->stuck->nodes == g->room) {
		const int room = g->room ? 2 * g->room : 64;
		tsr_stuck_node_t *more = realloc(g->stuck->node, (size_t)room * sizeof *more);
		if (!more) {
			g->exhausted = true;
			return NULL;
		}
		g->stuck->node = more;
		g->room = room;
	}
	tsr_stuck_node_t *node = &g->stuck->node[g->stuck->nodes++];
	*node = (tsr_stuck_node_t){.task = TSR_NO_TASK};
	return node;
}

static void add_task(tsr_graph_t *g, int task)
{
	const tsr_task_t *t = tsr_task_of(g->explorer, task);
	const tsr_await_t *await = t->live->await;
	tsr_stuck_node_t *node = add_node(g);

	if (!node)
		return;
	g->node_of[task] = g->stuck->nodes - 1;
	node->task = task;
	node->who = t->who;
	node->kind = await ? await->kind : TSR_AWAIT_SPIN;
	if (t->live->pending)
		node->site = t->live->pending->site;
	if (await && await->describe)
		await->describe(await->context, node->sentence, sizeof node->sentence);
}

static void add_unbegun(void *argument, const tsr_unbegun_t *block)
{
	tsr_stuck_node_t *node = add_node(argument);
	if (!node)
		return;
	node->who = block->who;
	node->kind = TSR_AWAIT_RESIDENCY;
}

static void add_reason(tsr_graph_t *g, int node, tsr_blocker_t blocker)
{
	tsr_reason_t *reason = malloc(sizeof *reason);
	if (!reason) {
		g->exhausted = true;
		return;
	}
	*reason = (tsr_reason_t){node, blocker, NULL};
	*(g->last[node] ? &g->last[node]->next : &g->reason[node]) = reason;
	g->last[node] = reason;
}

typedef struct tsr_telling {
	tsr_graph_t *graph;
	int node;
} tsr_telling_t;

static void told_blocker(void *argument, tsr_blocker_t blocker)
{
	const tsr_telling_t *telling = argument;
	add_reason(telling->graph, telling->node, blocker);
}

/** The blocks come in the same order as before, when they became nodes. */
static void told_unbegun(void *argument, const tsr_unbegun_t *block)
{
	tsr_telling_t *telling = argument;
	for (int i = 0; i < block->count; i++)
		add_reason(telling->graph, telling->node, (tsr_blocker_t){TSR_BLOCKER_TASK, block->waits_for[i]});
	telling->node++;
}

static void collect_reasons(tsr_graph_t *g)
{
	const tsr_explorer_config_t *config = &g->explorer->config;
	tsr_telling_t telling = {g, 0};

	for (; telling.node < g->stuck->nodes && g->stuck->node[telling.node].task != TSR_NO_TASK; telling.node++) {
		const tsr_await_t *await = tsr_task_of(g->explorer, g->stuck->node[telling.node].task)->live->await;
		if (await && await->blockers)
			await->blockers(await->context, told_blocker, &telling);
		if (!g->reason[telling.node] && !g->exhausted) /* nobody is known: it may be anybody */
			add_reason(g, telling.node, (tsr_blocker_t){TSR_BLOCKER_ANYBODY, 0});
	}
	if (config->unbegun)
		config->unbegun(config->context, told_unbegun, &telling);
}

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
		return true;
	}
	return false;
}

/** Calls `found` for the nodes that `from` waits for, the same perhaps more than once, until it says true; whether it did. */
static bool each_blocker(tsr_graph_t *g, int from, bool (*found)(tsr_graph_t *g, int from, int to, void *argument), void *argument)
{
	for (const tsr_reason_t *reason = g->reason[from]; reason; reason = reason->next) {
		if (reason->blocker.kind == TSR_BLOCKER_TASK) {
			const int task = reason->blocker.number;
			const int to = task >= 0 && task < g->explorer->tasks ? g->node_of[task] : -1;
			if (to >= 0 && to != from && found(g, from, to, argument))
				return true;
			continue;
		}
		for (int to = 0; to < g->stuck->nodes; to++)
			if (to != from && means(g, reason->blocker, to) && found(g, from, to, argument))
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
 * The shortest way from `from` to the target, of one step at least: its nodes without the target into `way`; how many, 0: no way.
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
		if (each_blocker(g, g->line[i], reach, target)) {
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

/** A node that is on a cycle: each waits for somebody, so that whoever follows the first named comes round. -1: some wait for
 * nobody. */
static int on_cycle(tsr_graph_t *g, int from)
{
	int at = from;
	for (int i = 0; i < g->stuck->nodes; i++) /* by then it has come round */
		if (!each_blocker(g, at, first_of, &at))
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

/** Whether somebody's way through those who wait ends at one who waits for nobody alive; it becomes the `cycle`. */
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

/** A node from which no root can be reached, and so a cycle can; -1: none. Nodes that reach a root have `before` >= 0. */
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
			if (g->before[i] < 0 && each_blocker(g, i, reaches_marked, NULL)) {
				g->before[i] = i;
				more = true;
			}
	}
	for (int i = 0; i < g->stuck->nodes; i++)
		if (g->before[i] < 0)
			return i;
	return -1;
}

static tsr_stuck_class_t classify(tsr_graph_t *g)
{
	tsr_stuck_t *stuck = g->stuck;
	bool spins = false;

	for (int i = 0; i < stuck->nodes; i++) {
		tsr_stuck_node_t *node = &stuck->node[i];
		spins = spins || node->kind == TSR_AWAIT_SPIN;
		node->root = node->kind != TSR_AWAIT_SPIN && !each_blocker(g, i, any, NULL);
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
	for (int i = 0; i < stuck->nodes; i++)
		if (stuck->node[i].kind == TSR_AWAIT_RESIDENCY && find_cycle(g, i))
			return TSR_STUCK_RESIDENCY;
	const int at = on_cycle(g, start);
	if (at >= 0)
		find_cycle(g, at);
	return TSR_STUCK_DEADLOCK;
}

/* ------------------------------------------------------------------ edges */

static bool has_edge(const tsr_stuck_t *stuck, int first, int from, int to)
{
	for (int i = first; i < stuck->edges; i++)
		if (stuck->edge[i].from == from && stuck->edge[i].to == to)
			return true;
	return false;
}

static bool add_edge(tsr_graph_t *g, int from, int to, void *argument)
{
	const int first = *(const int *)argument;
	if (!has_edge(g->stuck, first, from, to))
		g->stuck->edge[g->stuck->edges++] = (tsr_stuck_edge_t){from, to};
	return g->stuck->edges - first >= EDGES_SHOWN;
}

/** Who comes after the node on the cycle, or on the way to a root; -1: it is not on it, or the root itself. */
static int after_on_cycle(const tsr_stuck_t *stuck, int node)
{
	for (int i = 0; i < stuck->cycle_count; i++)
		if (stuck->cycle[i] == node)
			return stuck->node[node].root ? -1 : stuck->cycle[(i + 1) % stuck->cycle_count];
	return -1;
}

static int by_number(const void *a, const void *b)
{
	const tsr_stuck_edge_t *x = a, *y = b;
	return (x->to > y->to) - (x->to < y->to);
}

static void add_edges(tsr_graph_t *g)
{
	tsr_stuck_t *stuck = g->stuck;
	for (int from = 0; from < stuck->nodes; from++) {
		int first = stuck->edges;
		const int next = after_on_cycle(stuck, from);
		if (next >= 0)
			add_edge(g, from, next, &first);
		each_blocker(g, from, add_edge, &first);
		qsort(stuck->edge + first, (size_t)(stuck->edges - first), sizeof *stuck->edge, by_number);
	}
}

/* ------------------------------------------------------------------ the whole */

static bool build(tsr_graph_t *g)
{
	const tsr_explorer_t *e = g->explorer;
	const size_t tasks = (size_t)e->tasks + 1;

	g->node_of = malloc(tasks * sizeof *g->node_of);
	if (!g->node_of)
		return false;
	for (int task = 0; task < e->tasks; task++)
		g->node_of[task] = -1;
	for (int task = tsr_taskset_after(&e->alive, -1); task >= 0; task = tsr_taskset_after(&e->alive, task))
		add_task(g, task);
	if (e->config.unbegun)
		e->config.unbegun(e->config.context, add_unbegun, g);
	const size_t nodes = (size_t)g->stuck->nodes + 1;
	g->reason = calloc(nodes, sizeof *g->reason);
	g->last = calloc(nodes, sizeof *g->last);
	g->before = malloc(nodes * sizeof *g->before);
	g->line = malloc(nodes * sizeof *g->line);
	g->stuck->cycle = malloc(nodes * sizeof *g->stuck->cycle);
	g->stuck->edge = malloc(nodes * (EDGES_SHOWN + 1) * sizeof *g->stuck->edge);
	if (g->exhausted || !g->reason || !g->last || !g->before || !g->line || !g->stuck->cycle || !g->stuck->edge)
		return false;
	collect_reasons(g);
	if (g->exhausted)
		return false;
	g->stuck->class = classify(g);
	add_edges(g);
	return true;
}

tsr_status_t tsr_explorer_stuck(const tsr_explorer_t *e, tsr_stuck_t **stuck_out)
{
	tsr_graph_t g = {.explorer = e, .stuck = calloc(1, sizeof *g.stuck)};
	const bool built = g.stuck && build(&g);

	for (int i = 0; g.stuck && g.reason && i < g.stuck->nodes; i++)
		while (g.reason[i]) {
			tsr_reason_t *reason = g.reason[i];
			g.reason[i] = reason->next;
			free(reason);
		}
	free(g.reason);
	free(g.last);
	free(g.node_of);
	free(g.before);
	free(g.line);
	if (!built) {
		tsr_stuck_destroy(g.stuck);
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to say who waits for whom");
	}
	*stuck_out = g.stuck;
	return TSR_OK;
}
