/*
 * Heat maps as SVG: a cell for each rank (row) with each rank (column), and a
 * cell for all ranks at once at each size.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf.h"

enum { LEFT = 90, TOP = 84, CELL = 58, ROW = 34, BETWEEN = 26, BELOW = 24, LEAST_WIDTH = 620 };

typedef struct drawing {
	FILE *file;
	bool failed;
} drawing_t;

__attribute__((format(printf, 2, 3))) static void draw(drawing_t *d, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (vfprintf(d->file, format, arguments) < 0)
		d->failed = true;
	va_end(arguments);
}

/** The text's middle is at `x`. */
static void draw_middle(drawing_t *d, int x, int y, const char *style, const char *format,
			double value)
{
	draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\"%s>", x, y, style);
	draw(d, format, value);
	draw(d, "</text>\n");
}

/**
 * A cell with its upper left corner at (x, y): white for nothing, blue for as
 * much as the reference reaches, or more.
 */
static void draw_cell(drawing_t *d, int x, int y, perf_figures_t figures, int at)
{
	const double share = figures.share[at];
	const int light = share > 1 ? 80 : (int)(255 - 175 * share);

	draw(d,
	     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,255)\" "
	     "stroke=\"white\"/>\n",
	     x, y, CELL, ROW, light, light);
	draw_middle(d, x + CELL / 2, y + ROW / 2 - 1, "", "%.3g", figures.value[at]);
	draw_middle(d, x + CELL / 2, y + ROW - 5, " font-size=\"9\"", "%.0f %%", 100 * share);
}

static void draw_row_name(drawing_t *d, int y, const char *name)
{
	draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
	     y + ROW / 2 + 4, name);
}

static int height_of(const perf_heat_t *heat)
{
	return TOP + heat->ranks * ROW + BETWEEN + ROW + BELOW;
}

/** All ranks at once: a cell for each size, from `top` on. */
static void draw_together(drawing_t *d, const perf_heat_t *heat, int top)
{
	draw_row_name(d, top, "all at once");
	for (int i = 0; i < heat->sizes; i++) {
		draw_cell(d, LEFT + i * CELL, top, heat->together, i);
		draw(d,
		     "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"9\">%zu "
		     "B</text>\n",
		     LEFT + i * CELL + CELL / 2, top - 4, heat->bytes[i]);
	}
}

/** From `top` on. */
static void draw_heat(drawing_t *d, const perf_heat_t *heat, int top)
{
	char name[24];

	draw(d,
	     "<text x=\"12\" y=\"%d\" font-size=\"15\">%s</text>\n"
	     "<text x=\"12\" y=\"%d\" fill=\"#555\">%s, and percent of the reference (%s); row: "
	     "who "
	     "acts, column: with whom</text>\n",
	     top + 22, heat->title, top + 42, heat->unit, heat->reference);
	top += TOP;
	for (int i = 0; i < heat->ranks; i++) {
		draw_middle(d, LEFT + i * CELL + CELL / 2, top - 8, "", "%.0f", i);
		snprintf(name, sizeof name, "rank %d", i);
		draw_row_name(d, top + i * ROW, name);
		for (int j = 0; j < heat->ranks; j++)
			draw_cell(d, LEFT + j * CELL, top + i * ROW, heat->pairs,
				  i * heat->ranks + j);
	}
	draw_together(d, heat, top + heat->ranks * ROW + BETWEEN);
}

static void draw_all(drawing_t *d, const perf_heat_t *heats, int count)
{
	const int cells = heats[0].ranks > heats[0].sizes ? heats[0].ranks : heats[0].sizes,
		  width = LEFT + cells * CELL + 20, height = height_of(&heats[0]);

	draw(d,
	     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	     "font-family=\"sans-serif\" font-size=\"12\">\n"
	     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
	     width < LEAST_WIDTH ? LEAST_WIDTH : width, count * height);
	for (int i = 0; i < count; i++)
		draw_heat(d, &heats[i], i * height);
	draw(d, "</svg>\n");
}

tsr_status_t perf_draw_heats(const char *path, const perf_heat_t *heats, int count)
{
	errno = 0;
	drawing_t d = {.file = fopen(path, "w")};
	if (d.file)
		draw_all(&d, heats, count);
	int cause = errno;
	bool failed = !d.file || d.failed;
	if (d.file && fclose(d.file) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	return failed ? tsr_error(TSR_ERR_SYSTEM, "--picture: '%s' cannot be written: %s", path,
				  strerror(cause))
		      : TSR_OK;
}
