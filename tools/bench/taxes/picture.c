/*
 * --taxes-picture: a bar for each pattern as SVG, stacked from the parts that
 * were measured, with a line where the whole run ends.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { LAUNCHES, IDLE, BETWEEN, COMPUTE, BOTH, SEND, PARTS };
static const char *const names[PARTS] = {"launches", "idle in meetings", "intermediates",
					 "compute",  "both at once",     "communicate"};
static const char *const colours[PARTS] = {"#b5453c", "#9a9a9a", "#8a63a8",
					   "#24507f", "#5b8fc9", "#d9822b"};

/* In pixels; bars are at most WIDTH long. */
enum { LEFT = 220, WIDTH = 640, RIGHT = 150, TOP = 84, BAR = 22, STEP = 34, KEY = 140 };

typedef struct drawing {
	FILE *file;
	bool failed;
	double most; /* what WIDTH stands for */
} drawing_t;

__attribute__((format(printf, 2, 3))) static void draw(drawing_t *d, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (vfprintf(d->file, format, arguments) < 0)
		d->failed = true;
	va_end(arguments);
}

/** What is not known has no length. */
static void parts_of(const bench_taxes_t *t, double parts[PARTS])
{
	const double both = t->overlap_ns > 0 ? t->overlap_ns : 0;
	parts[LAUNCHES] = t->launch_ns;
	parts[IDLE] = t->idle_ns;
	parts[BETWEEN] = t->between_ns;
	parts[COMPUTE] = t->compute_ns - both;
	parts[BOTH] = both;
	parts[SEND] = t->send_ns - both;
	for (int i = 0; i < PARTS; i++)
		parts[i] = parts[i] > 0 ? parts[i] : 0;
}

/** Of a bar: 1, or the time of the run. */
static double unit_of(const bench_taxes_t *t, bool times)
{
	return times || t->whole_ns <= 0 ? 1 : t->whole_ns;
}

static double longest(const bench_result_t *results, int count, bool times)
{
	double most = 0;
	for (int i = 0; i < count; i++) {
		const bench_taxes_t *t = &results[i].taxes;
		double parts[PARTS], sum = 0;
		parts_of(t, parts);
		for (int p = 0; p < PARTS; p++)
			sum += parts[p];
		sum = (sum > t->whole_ns ? sum : t->whole_ns) / unit_of(t, times);
		most = sum > most ? sum : most;
	}
	return most > 0 ? most : 1;
}

static void draw_bar(drawing_t *d, const char *name, const bench_taxes_t *t, bool times, int y)
{
	const double scale = WIDTH / d->most / unit_of(t, times);
	double parts[PARTS], x = LEFT;
	parts_of(t, parts);
	draw(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + BAR - 6,
	     name);
	for (int p = 0; p < PARTS; p++) {
		const double width = parts[p] * scale;
		draw(d,
		     "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>"
		     "%s: %.1f %%</title></rect>\n",
		     x, y, width, BAR, colours[p], names[p],
		     t->whole_ns > 0 ? 100 * parts[p] / t->whole_ns : 0);
		x += width;
	}
	const double end = LEFT + t->whole_ns * scale;
	draw(d,
	     "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"black\" "
	     "stroke-width=\"2\"/>\n",
	     end, y - 3, end, y + BAR + 3);
	draw(d, "<text x=\"%.2f\" y=\"%d\">", (x > end ? x : end) + 8, y + BAR - 6);
	if (times)
		draw(d, "%.4f ms", t->whole_ns * 1e-6);
	if (bench_taxes_sum(t) < 0)
		draw(d, " (not all known)");
	draw(d, "</text>\n");
}

static void draw_key(drawing_t *d)
{
	for (int p = 0; p < PARTS; p++)
		draw(d,
		     "<rect x=\"%d\" y=\"50\" width=\"12\" height=\"12\" fill=\"%s\"/>"
		     "<text x=\"%d\" y=\"61\">%s</text>\n",
		     12 + p * KEY, colours[p], 28 + p * KEY, names[p]);
}

static void draw_all(drawing_t *d, const bench_session_t *session, const bench_result_t *results,
		     int count)
{
	const bool times = bench_taxes_have_times(session->world);
	char problem[BENCH_PROBLEM_TEXT];
	d->most = longest(results, count, times);
	draw(d,
	     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	     "font-family=\"sans-serif\" font-size=\"12\">\n"
	     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
	     "<text x=\"12\" y=\"22\" font-size=\"15\">%s, %s, %d ranks on %s: taxes of a run"
	     "</text>\n"
	     "<text x=\"12\" y=\"40\" fill=\"#555\">each part measured by itself, %s; a black line "
	     "ends the whole run</text>\n",
	     LEFT + WIDTH + RIGHT, TOP + count * STEP + 12, session->workload->title,
	     bench_problem_text(session->workload, &session->options->config, problem),
	     tsr_world_size(session->world), tsr_world_backend(session->world),
	     times ? "bars to one scale of time" : "as shares of the run");
	draw_key(d);
	for (int i = 0; i < count; i++)
		draw_bar(d, session->workload->pattern(results[i].config.pattern),
			 &results[i].taxes, times, TOP + i * STEP);
	draw(d, "</svg>\n");
}

tsr_status_t bench_draw_taxes(const bench_session_t *session, const bench_result_t *results,
			      int count)
{
	const char *path = session->options->taxes_picture;
	errno = 0;
	drawing_t d = {.file = fopen(path, "w")};
	if (d.file)
		draw_all(&d, session, results, count);
	int cause = errno;
	bool failed = !d.file || d.failed;
	if (d.file && fclose(d.file) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	return failed ? tsr_error(TSR_ERR_SYSTEM, "--taxes-picture: '%s' cannot be written: %s",
				  path, strerror(cause))
		      : TSR_OK;
}
