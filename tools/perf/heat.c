/* Heat maps as SVG: a cell for each rank (row) with each rank (column). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf.h"

enum { LEFT = 90, TOP = 84, CELL = 58, ROW = 34, BELOW = 36, LEAST_WIDTH = 620 };

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

/** White for nothing, blue for as much as the reference reaches, or more. */
static void draw_cell(drawing_t *d, const perf_heat_t *heat, int top, int row, int column)
{
	const int at = row * heat->ranks + column;
	const double share = heat->share[at];
	const int x = LEFT + column * CELL, y = top + row * ROW;
	const int light = share > 1 ? 80 : (int)(255 - 175 * share);

	draw(d,
	     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,255)\" "
	     "stroke=\"white\"/>\n",
	     x, y, CELL, ROW, light, light);
	draw_middle(d, x + CELL / 2, y + ROW / 2 - 1, "", "%.3g", heat->value[at]);
	draw_middle(d, x + CELL / 2, y + ROW - 5, " font-size=\"9\"", "%.0f %%", 100 * share);
}

static int height_of(const perf_heat_t *heat)
{
	return TOP + heat->ranks * ROW + BELOW;
}

/** From `top` on. */
static void draw_heat(drawing_t *d, const perf_heat_t *heat, int top)
{
	draw(d,
	     "<text x=\"12\" y=\"%d\" font-size=\"15\">%s</text>\n"
	     "<text x=\"12\" y=\"%d\" fill=\"#555\">%s, and percent of the reference (%s); row: "
	     "who "
	     "acts, column: with whom</text>\n",
	     top + 22, heat->title, top + 42, heat->unit, heat->reference);
	for (int i = 0; i < heat->ranks; i++) {
		draw_middle(d, LEFT + i * CELL + CELL / 2, top + TOP - 8, "", "%.0f", i);
		draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">rank %d</text>\n", LEFT - 8,
		     top + TOP + i * ROW + ROW / 2 + 4, i);
		for (int j = 0; j < heat->ranks; j++)
			draw_cell(d, heat, top + TOP, i, j);
	}
	draw(d, "<text x=\"12\" y=\"%d\">all at once, each: %.3g (%.0f %%)</text>\n",
	     top + TOP + heat->ranks * ROW + 18, heat->together, 100 * heat->together_share);
}

static void draw_all(drawing_t *d, const perf_heat_t *heats, int count)
{
	const int width = LEFT + heats[0].ranks * CELL + 20, height = height_of(&heats[0]);

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
