/* A heat map as SVG: a cell for each rank (row) with each rank (column). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf.h"

enum { LEFT = 90, TOP = 84, CELL = 58, ROW = 34 };

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

/** The largest value, but for a rank with itself, unless it is alone. */
static double largest(const perf_heat_t *heat)
{
	double most = 0;
	for (int i = 0; i < heat->ranks * heat->ranks; i++)
		if (heat->ranks == 1 || i / heat->ranks != i % heat->ranks)
			most = heat->value[i] > most ? heat->value[i] : most;
	return most > 0 ? most : 1;
}

/** White for nothing, blue for the most; what is beyond it, a rank with itself, is grey. */
static void draw_cell(drawing_t *d, const perf_heat_t *heat, int row, int column, double most)
{
	const double value = heat->value[row * heat->ranks + column], share = value / most;
	const int x = LEFT + column * CELL, y = TOP + row * ROW;
	const int light = share > 1 ? 0 : (int)(255 - 175 * share);
	if (row == column && heat->ranks > 1)
		draw(d,
		     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#ddd\" "
		     "stroke=\"white\"/>\n",
		     x, y, CELL, ROW);
	else
		draw(d,
		     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,255)\" "
		     "stroke=\"white\"/>\n",
		     x, y, CELL, ROW, light, light);
	draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.3g</text>\n", x + CELL / 2,
	     y + ROW / 2 - 1, value);
	draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"9\">%.0f %%</text>\n",
	     x + CELL / 2, y + ROW - 5, 100 * share);
}

static void draw_all(drawing_t *d, const perf_heat_t *heat)
{
	const double most = largest(heat);
	const int width = LEFT + heat->ranks * CELL + 20, height = TOP + heat->ranks * ROW + 16;
	draw(d,
	     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	     "font-family=\"sans-serif\" font-size=\"12\">\n"
	     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
	     "<text x=\"12\" y=\"22\" font-size=\"15\">%s</text>\n"
	     "<text x=\"12\" y=\"42\" fill=\"#555\">%s, and percent of the best pair of two "
	     "ranks; row: who acts, column: with whom</text>\n",
	     width < 560 ? 560 : width, height, heat->title, heat->unit);
	for (int i = 0; i < heat->ranks; i++) {
		draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
		     LEFT + i * CELL + CELL / 2, TOP - 8, i);
		draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">rank %d</text>\n", LEFT - 8,
		     TOP + i * ROW + ROW / 2 + 4, i);
		for (int j = 0; j < heat->ranks; j++)
			draw_cell(d, heat, i, j, most);
	}
	draw(d, "</svg>\n");
}

tsr_status_t perf_draw_heat(const char *path, const perf_heat_t *heat)
{
	errno = 0;
	drawing_t d = {.file = fopen(path, "w")};
	if (d.file)
		draw_all(&d, heat);
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
