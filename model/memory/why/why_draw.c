/* An explanation as a graph: for dot, and drawn here, with a column for each thread. */
#include <math.h>
#include <string.h>

#include "model/memory/why/why.h"

enum {
	MAX_EDGES = 512,
	COLUMN = 400,
	ROW = 84,
	BOX_WIDTH = 330,
	BOX_HEIGHT = 34,
	MARGIN = 30,
	TITLE = 40
};

/** Whether an edge is a step of the cycle. */
static bool is_step(const why_t *why, const why_step_t *edge)
{
	for (int i = 0; i < why->steps; i++) {
		if (why->step[i].from == edge->from && why->step[i].to == edge->to &&
		    strcmp(why->step[i].name, edge->name) == 0)
			return true;
	}
	return false;
}

/** The edges of the execution, and those steps of the cycle that are not among them. */
static int all_edges(const why_t *why, why_step_t *edges)
{
	int count = why_edges(why, edges, MAX_EDGES);

	for (int i = 0; i < why->steps && count < MAX_EDGES; i++) {
		bool drawn = false;
		for (int e = 0; e < count; e++)
			drawn |= edges[e].from == why->step[i].from &&
				 edges[e].to == why->step[i].to &&
				 strcmp(edges[e].name, why->step[i].name) == 0;
		if (!drawn)
			edges[count++] = why->step[i];
	}
	return count;
}

static const char *colour(const why_t *why, const why_step_t *edge)
{
	static const char *const colours[][2] = {{"po", "#888888"},
						 {"rf", "#2a7f3f"},
						 {"co", "#3b5bdb"},
						 {"fr", "#b8860b"},
						 {"sw", "#7b3fa0"}};

	if (is_step(why, edge))
		return "#d62828";
	for (int i = 0; i < 5; i++) {
		if (strcmp(edge->name, colours[i][0]) == 0)
			return colours[i][1];
	}
	return "#888888";
}

/** What a node says: its letter, and the event without its thread, whose column says that. */
static void label_of(const execution_t *x, int event, char *text, size_t size)
{
	char letter[WHY_LETTER], full[512];

	why_print_letter(event, letter, sizeof letter);
	why_print_event(x, event, full, sizeof full);
	const char *after = x->event[event].thread < 0 ? full : strchr(full, ' ') + 1;
	snprintf(text, size, "%s: %s", letter, after);
}

/** The verdict, for a title. */
static void title_of(const why_t *why, char *text, size_t size)
{
	snprintf(text, size, "%s: %s%s", why->x.test->name,
		 why->axiom == AXIOM_NONE ? "allowed" : "forbidden by ",
		 why->axiom == AXIOM_NONE ? (why->racy ? ", but racy" : "")
					  : axiom_name(why->axiom));
}

void why_draw_dot(const why_t *why, FILE *file)
{
	const execution_t *x = &why->x;
	why_step_t edges[MAX_EDGES];
	char text[640];

	title_of(why, text, sizeof text);
	fprintf(file,
		"digraph litmus {\n  label=\"%s\"; labelloc=t; node [shape=box, "
		"fontname=monospace]; edge [fontname=monospace];\n",
		text);
	for (int t = -1; t < x->test->threads; t++) {
		if (t >= 0)
			fprintf(file, "  subgraph cluster_P%d {\n    label=\"P%d\";\n", t, t);
		for (int i = 0; i < x->n; i++) {
			if (x->event[i].thread != t)
				continue;
			label_of(x, i, text, sizeof text);
			fprintf(file, "    e%d [label=\"%s\"];\n", i, text);
		}
		if (t >= 0)
			fprintf(file, "  }\n");
	}
	int count = why->found ? all_edges(why, edges) : 0;
	for (int i = 0; i < count; i++)
		fprintf(file,
			"  e%d -> e%d [label=\"%s\", color=\"%s\", fontcolor=\"%s\", "
			"penwidth=%d];\n",
			edges[i].from, edges[i].to, edges[i].name, colour(why, &edges[i]),
			colour(why, &edges[i]), is_step(why, &edges[i]) ? 2 : 1);
	fprintf(file, "}\n");
}

/* ------------------------------------------------------------------ SVG */

typedef struct point {
	double x, y;
} point_t;

/**
 * Where the middle of an event's box stands: initial values in a row on top,
 * threads below as columns.
 */
static point_t place_of(const execution_t *x, int event)
{
	int thread = x->event[event].thread, row = 0;

	for (int i = 0; i < event; i++)
		row += x->event[i].thread == thread;
	if (thread < 0)
		return (point_t){MARGIN + COLUMN * row + COLUMN / 2.0, TITLE + ROW / 2.0};
	return (point_t){MARGIN + COLUMN * thread + COLUMN / 2.0, TITLE + ROW * (row + 1.5) + 20};
}

static void print_escaped(const char *text, FILE *file)
{
	for (; *text; text++) {
		const char *entity = *text == '<'   ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '&' ? "&amp;"
				     : *text == '"' ? "&quot;"
						    : NULL;
		if (entity)
			fputs(entity, file);
		else
			fputc(*text, file);
	}
}

/** The point where the straight way from the middle of a box to `to` leaves the box. */
static point_t border(point_t from, point_t to)
{
	double dx = to.x - from.x, dy = to.y - from.y;
	double over_x = dx != 0 ? BOX_WIDTH / 2.0 / fabs(dx) : HUGE_VAL,
	       over_y = dy != 0 ? BOX_HEIGHT / 2.0 / fabs(dy) : HUGE_VAL;
	double part = fmin(fmin(over_x, over_y), 1);

	return (point_t){from.x + part * dx, from.y + part * dy};
}

/** A point of the curve from `a` to `b` that `over` bends: part 0 is a, part 1 is b. */
static point_t along(point_t a, point_t over, point_t b, double part)
{
	double rest = 1 - part;

	return (point_t){rest * rest * a.x + 2 * rest * part * over.x + part * part * b.x,
			 rest * rest * a.y + 2 * rest * part * over.y + part * part * b.y};
}

/**
 * An arrow; edges between the same two events bend the more the later they
 * come, and those along a row go below its boxes.
 */
static void draw_edge(const why_t *why, const why_step_t *edge, int bend, FILE *file)
{
	point_t a = place_of(&why->x, edge->from), b = place_of(&why->x, edge->to);
	point_t from = border(a, b), to = border(b, a);
	bool passes_boxes = a.y == b.y && fabs(b.x - a.x) > COLUMN;
	double length = fmax(hypot(b.x - a.x, b.y - a.y), 1);
	double sideways =
		26 * (bend + (strcmp(edge->name, "po") != 0)) + (passes_boxes ? 2 * BOX_HEIGHT : 0);
	point_t over = {(a.x + b.x) / 2 - (b.y - a.y) / length * sideways,
			(a.y + b.y) / 2 + (b.x - a.x) / length * sideways};
	point_t name = along(from, over, to, 0.35); /* not halfway, where arrows cross */
	const char *c = colour(why, edge);

	fprintf(file,
		"<path d=\"M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f\" fill=\"none\" stroke=\"%s\" "
		"stroke-width=\"%d\" "
		"marker-end=\"url(#%s)\"/>\n",
		from.x, from.y, over.x, over.y, to.x, to.y, c, is_step(why, edge) ? 2 : 1, c + 1);
	fprintf(file,
		"<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" stroke=\"white\" stroke-width=\"4\" "
		"paint-order=\"stroke\">%s</text>\n",
		name.x, name.y, c, edge->name);
}

static void draw_head(const why_t *why, FILE *file)
{
	static const char *const heads[] = {"888888", "2a7f3f", "3b5bdb",
					    "b8860b", "7b3fa0", "d62828"};
	const execution_t *x = &why->x;
	int columns = x->test->threads > x->test->locations ? x->test->threads : x->test->locations,
	    rows = 0;
	char title[640];

	for (int i = 0; i < x->n; i++) {
		int row = 1;
		for (int j = 0; j < i; j++)
			row += x->event[j].thread == x->event[i].thread;
		rows = x->event[i].thread >= 0 && row > rows ? row : rows;
	}
	int width = 2 * MARGIN + COLUMN * columns, height = TITLE + ROW * (rows + 1) + 20 + MARGIN;
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"monospace\" "
		"font-size=\"12\">\n<defs>\n",
		width, height);
	for (int i = 0; i < 6; i++)
		fprintf(file,
			"<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
			"markerWidth=\"9\" markerHeight=\"9\" "
			"markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 "
			"z\" fill=\"#%s\"/></marker>\n",
			heads[i], heads[i]);
	title_of(why, title, sizeof title);
	fprintf(file,
		"</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n<text x=\"%d\" "
		"y=\"24\" font-size=\"15\">",
		width, height, MARGIN);
	print_escaped(title, file);
	fprintf(file, "</text>\n");
	for (int t = 0; t < x->test->threads; t++)
		fprintf(file, "<text x=\"%g\" y=\"%d\">P%d</text>\n",
			MARGIN + COLUMN * (t + 0.5) - BOX_WIDTH / 2.0, TITLE + ROW + 20, t);
}

static void draw_boxes(const execution_t *x, FILE *file)
{
	for (int i = 0; i < x->n; i++) {
		point_t middle = place_of(x, i);
		fprintf(file,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"4\" "
			"fill=\"#f4f4f4\" stroke=\"#444444\"/>\n",
			middle.x - BOX_WIDTH / 2.0, middle.y - BOX_HEIGHT / 2.0, BOX_WIDTH,
			BOX_HEIGHT);
	}
}

static void draw_labels(const execution_t *x, FILE *file)
{
	char text[640];

	for (int i = 0; i < x->n; i++) {
		point_t middle = place_of(x, i);
		label_of(x, i, text, sizeof text);
		fprintf(file,
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"10\" "
			"stroke=\"#f4f4f4\" stroke-width=\"3\" "
			"paint-order=\"stroke\">",
			middle.x, middle.y + 4);
		print_escaped(text, file);
		fprintf(file, "</text>\n");
	}
}

void why_draw_svg(const why_t *why, FILE *file)
{
	why_step_t edges[MAX_EDGES];
	int count = why->found ? all_edges(why, edges) : 0;

	draw_head(why, file);
	draw_boxes(&why->x, file);
	for (int i = 0; i < count; i++) {
		int bend = 0;
		for (int j = 0; j < i; j++)
			bend += (edges[j].from == edges[i].from && edges[j].to == edges[i].to) ||
				(edges[j].from == edges[i].to && edges[j].to == edges[i].from);
		draw_edge(why, &edges[i], bend, file);
	}
	draw_labels(&why->x, file);
	fprintf(file, "</svg>\n");
}
