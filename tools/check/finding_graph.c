/*
 * The wait-for graph as text: a cycle drawn as one, then everybody else, each
 * with whom it waits for.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check/finding_text.h"

static const char *name_of(const tsr_finding_node_t *node, char *text, size_t size)
{
	if (node->name != NULL)
		snprintf(text, size, "%s", node->name);
	else
		tsr_finding_who_text(&node->who, text, size);
	return text;
}

static const tsr_finding_edge_t *edge_between(const tsr_finding_t *f, int from, int to)
{
	for (int i = 0; i < f->edge_count; i++)
		if (f->edges[i].from == from && f->edges[i].to == to)
			return &f->edges[i];
	return NULL;
}

/**
 * The shortest cycle through `start`, by a search in breadth. Writes its nodes
 * from `start` on; returns how many, 0: there is none.
 * @param before, queue  room for a number a node
 */
static int cycle_through(const tsr_finding_t *f, int start, int *before, int *queue, int *cycle)
{
	int head = 0, tail = 0, last = -1;
	for (int i = 0; i < f->node_count; i++)
		before[i] = -1;
	queue[tail++] = start;
	while (head < tail && last < 0) {
		const int node = queue[head++];
		for (int i = 0; i < f->edge_count && last < 0; i++) {
			const int to = f->edges[i].to;
			if (f->edges[i].from != node)
				continue;
			if (to == start) {
				last = node;
			} else if (before[to] < 0) {
				before[to] = node;
				queue[tail++] = to;
			}
		}
	}
	if (last < 0)
		return 0;
	int count = 1;
	for (int node = last; node != start; node = before[node])
		count++;
	for (int node = last, i = count - 1; i > 0; node = before[node])
		cycle[i--] = node;
	cycle[0] = start;
	return count;
}

/** The shortest cycle of all; of several, that of the lowest node. */
static int find_cycle(const tsr_finding_t *f, int *room, int *cycle)
{
	int best = 0;
	int *found = room + 2 * f->node_count;
	for (int start = 0; start < f->node_count; start++) {
		const int count = cycle_through(f, start, room, room + f->node_count, found);
		if (count > 0 && (best == 0 || count < best)) {
			best = count;
			memcpy(cycle, found, (size_t)count * sizeof *cycle);
		}
	}
	return best;
}

/** "rank 0, kernel k, block 1: waits for ... (tsr_wait at k.c:12)". */
static void print_node(const tsr_finding_node_t *node, FILE *out)
{
	char name[320];
	fprintf(out, "%s", name_of(node, name, sizeof name));
	if (node->state != NULL)
		fprintf(out, ": %s", node->state);
	if (node->call != NULL && node->file != NULL)
		fprintf(out, " (%s at %s:%d)", node->call, node->file, node->line);
	else if (node->call != NULL)
		fprintf(out, " (%s)", node->call);
	fputc('\n', out);
}

static void print_why(const tsr_finding_edge_t *edge, FILE *out)
{
	if (edge != NULL && edge->why != NULL)
		fprintf(out, " (%s)", edge->why);
	fputc('\n', out);
}

static void print_cycle(const tsr_finding_t *f, const int *cycle, int count, FILE *out)
{
	fprintf(out, "  the circle\n");
	for (int i = 0; i < count; i++) {
		fprintf(out, "    %s [%d] ", i == 0 ? "+->" : "|  ", cycle[i]);
		print_node(&f->nodes[cycle[i]], out);
		fprintf(out, "    %s  | waits for [%d]", i + 1 < count ? "|  " : "+--",
			cycle[(i + 1) % count]);
		print_why(edge_between(f, cycle[i], cycle[(i + 1) % count]), out);
	}
}

/**
 * One that is not in the cycle, with all whom it waits for in one line where
 * they have nothing to say.
 */
static void print_other(const tsr_finding_t *f, int node, FILE *out)
{
	int listed = 0;
	fprintf(out, "    [%d] ", node);
	print_node(&f->nodes[node], out);
	for (int i = 0; i < f->edge_count; i++) {
		if (f->edges[i].from != node || f->edges[i].why != NULL)
			continue;
		fprintf(out, listed++ == 0 ? "        waits for [%d]" : ", [%d]", f->edges[i].to);
	}
	if (listed > 0)
		fputc('\n', out);
	for (int i = 0; i < f->edge_count; i++) {
		if (f->edges[i].from != node || f->edges[i].why == NULL)
			continue;
		fprintf(out, "        waits for [%d]", f->edges[i].to);
		print_why(&f->edges[i], out);
	}
}

void tsr_finding_print_graph(const tsr_finding_t *f, FILE *out)
{
	int *room = calloc((size_t)f->node_count * 4 + 1, sizeof *room);
	if (room == NULL) /* nothing can be drawn, but the finding is printed */
		return;
	int *cycle = room + 3 * f->node_count;
	const int count = find_cycle(f, room, cycle);
	if (count > 0)
		print_cycle(f, cycle, count, out);
	bool titled = false;
	for (int node = 0; node < f->node_count; node++) {
		bool drawn = false;
		for (int i = 0; i < count; i++)
			drawn |= cycle[i] == node;
		if (drawn)
			continue;
		if (!titled)
			fprintf(out, "  %s\n", count > 0 ? "the others" : "who waits");
		titled = true;
		print_other(f, node, out);
	}
	free(room);
}
