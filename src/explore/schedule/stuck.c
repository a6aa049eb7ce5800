/* Where nobody can go on: who waits for whom. */
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/explore/schedule/stuck_graph.h"

enum { EDGES_SHOWN = 8 }; /* of one node: where all of many others are meant, some stand for them */

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

/* ---------------------------------------------------------------- nodes, and whom they wait for */

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
	const tsr_source_t *site = tsr_spin_site(g->explorer, t->live);
	if (site)
		node->site = *site;
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
	*reason = (tsr_reason_t){blocker, NULL};
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
		add_reason(telling->graph, telling->node,
			   (tsr_blocker_t){TSR_BLOCKER_TASK, block->waits_for[i]});
	telling->node++;
}

static void collect_reasons(tsr_graph_t *g)
{
	const tsr_explorer_config_t *config = &g->explorer->config;
	tsr_telling_t telling = {g, 0};

	for (; telling.node < g->stuck->nodes && g->stuck->node[telling.node].task != TSR_NO_TASK;
	     telling.node++) {
		const tsr_await_t *await =
			tsr_task_of(g->explorer, g->stuck->node[telling.node].task)->live->await;
		if (await && await->blockers)
			await->blockers(await->context, told_blocker, &telling);
		/* nobody is known: it may be anybody */
		if (!g->reason[telling.node] && !g->exhausted)
			add_reason(g, telling.node, (tsr_blocker_t){TSR_BLOCKER_ANYBODY, 0});
	}
	if (config->unbegun)
		config->unbegun(config->context, told_unbegun, &telling);
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

/**
 * Who comes after the node on the cycle, or on the way to a root; -1: it is not
 * on it, or the root itself.
 */
static int after_on_cycle(const tsr_stuck_t *stuck, int node)
{
	for (int i = 0; i < stuck->cycle_count; i++)
		if (stuck->cycle[i] == node)
			return stuck->node[node].root ? -1
						      : stuck->cycle[(i + 1) % stuck->cycle_count];
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
		tsr_graph_each(g, from, add_edge, &first);
		qsort(stuck->edge + first, (size_t)(stuck->edges - first), sizeof *stuck->edge,
		      by_number);
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
	for (int task = tsr_taskset_after(&e->alive, -1); task >= 0;
	     task = tsr_taskset_after(&e->alive, task))
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
	if (g->exhausted || !g->reason || !g->last || !g->before || !g->line || !g->stuck->cycle ||
	    !g->stuck->edge)
		return false;
	collect_reasons(g);
	if (g->exhausted)
		return false;
	g->stuck->class = tsr_graph_classify(g);
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
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory to say who waits for whom; free some");
	}
	*stuck_out = g.stuck;
	return TSR_OK;
}
