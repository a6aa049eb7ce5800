/*
 * --picture: a run as an SVG file. Each rank has three rows, and each row shows
 * over time which share of the rank's workers did one kind of thing.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { PRODUCT, SEND, WAIT, ROWS };
static const char *const row_names[ROWS] = {"product", "send", "wait"};
static const char *const row_colours[ROWS] = {"#3b6fb6", "#d9822b", "#9a9a9a"};

/* In pixels; a column of the drawing is one wide. */
enum { LEFT = 134, COLUMNS = 900, TOP = 64, ROW = 22, GAP = 14, TICKS = 8 };

/** The drawing: its time, and how much of each column's a rank's workers spent on each row. */
typedef struct picture {
	FILE *file;
	bool failed;
	uint64_t origin_ns, end_ns;
	double share[ROWS][COLUMNS];
	int workers[ROWS]; /* of the rank that is drawn: those that do it at all */
} picture_t;

__attribute__((format(printf, 2, 3))) static void draw(picture_t *p, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (vfprintf(p->file, format, arguments) < 0)
		p->failed = true;
	va_end(arguments);
}

/* ------------------------------------------------------------------ shares */

static double column_of(const picture_t *p, uint64_t ns)
{
	return (double)(ns - p->origin_ns) * COLUMNS / (double)(p->end_ns - p->origin_ns);
}

/** Adds `sign` times an interval to a row. */
static void add(picture_t *p, int row, uint64_t begin_ns, uint64_t end_ns, double sign)
{
	const double begin = column_of(p, begin_ns), end = column_of(p, end_ns);
	for (int column = (int)begin; column < COLUMNS && column < end; column++) {
		const double from = begin > column ? begin : column,
			     to = end < column + 1 ? end : column + 1;
		p->share[row][column] += sign * (to - from) / p->workers[row];
	}
}

/**
 * Waits of a gate are part of the main loop that follows in the list: there the
 * worker does not multiply.
 */
static void add_product(picture_t *p, const tsr_record_event_t *events, int at)
{
	const tsr_record_event_t *product = &events[at];
	add(p, PRODUCT, product->begin_ns, product->end_ns, 1);
	for (int i = at - 1;
	     i >= 0 && events[i].begin_ns >= product->begin_ns &&
	     events[i].launch == product->launch && events[i].block == product->block &&
	     events[i].worker == product->worker;
	     i--)
		if (events[i].kind == TSR_RECORD_WAIT)
			add(p, PRODUCT, events[i].begin_ns, events[i].end_ns, -1);
}

static void add_rank(picture_t *p, const tsr_record_event_t *events, int count)
{
	memset(p->share, 0, sizeof p->share);
	for (int i = 0; i < count; i++) {
		if (events[i].kind == TSR_RECORD_PRODUCT)
			add_product(p, events, i);
		else if (events[i].kind == TSR_RECORD_SEND)
			add(p, SEND, events[i].begin_ns, events[i].end_ns, 1);
		else if (events[i].kind == TSR_RECORD_WAIT)
			add(p, WAIT, events[i].begin_ns, events[i].end_ns, 1);
	}
}

static bool does(const tsr_record_entry_t *entry, int row)
{
	return row == PRODUCT ? entry->products > 0
	       : row == SEND  ? entry->remote_written_bytes > 0
			      : entry->wait_ns > 0;
}

/**
 * The most workers of a rank that do what a row shows, in one launch or in
 * launches beside each other.
 */
static int most_workers(const tsr_record_entry_t *entries, int count, int row)
{
	int most = 1;
	for (int i = 0; i < count; i++) {
		int beside = 0;
		for (int j = 0; does(&entries[i], row) && j < count; j++)
			beside += does(&entries[j], row) &&
				  entries[j].begin_ns <= entries[i].begin_ns &&
				  entries[i].begin_ns <= entries[j].end_ns;
		most = beside > most ? beside : most;
	}
	return most;
}

/* ------------------------------------------------------------------ drawing */

static void draw_row(picture_t *p, int row, int y)
{
	draw(p,
	     "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n"
	     "<path fill=\"%s\" d=\"M%d %d",
	     LEFT - 8, y + ROW - 5, row_names[row], row_colours[row], LEFT, y + ROW);
	double drawn = -1;
	for (int column = 0; column < COLUMNS; column++) {
		double share = p->share[row][column];
		share = share < 0 ? 0 : share > 1 ? 1 : share;
		const double top = y + ROW - round(share * (ROW - 2) * 10) / 10;
		if (top != drawn) /* else the line goes on */
			draw(p, "H%dV%g", LEFT + column, top);
		drawn = top;
	}
	draw(p, "H%dV%dZ\"/>\n<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ccc\"/>\n",
	     LEFT + COLUMNS, y + ROW, LEFT, LEFT + COLUMNS, y + ROW, y + ROW);
}

/** Times below the last rank: about TICKS of them, at 1, 2 or 5 times a power of ten. */
static void draw_axis(picture_t *p, int y)
{
	const double all_us = (double)(p->end_ns - p->origin_ns) * 1e-3;
	const double power = pow(10, floor(log10(all_us / TICKS)));
	const double steps = all_us / TICKS / power;
	const double step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
	for (int i = 0; i * step <= all_us; i++) {
		const double x = LEFT + i * step / all_us * COLUMNS;
		draw(p,
		     "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#eee\"/>\n"
		     "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g us</text>\n",
		     x, x, TOP - 6, y, x, y + 16, i * step);
	}
}

static void draw_head(picture_t *p, const bench_caption_t *caption, const bench_left_out_t *left,
		      int height)
{
	draw(p,
	     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	     "font-family=\"sans-serif\" font-size=\"12\">\n"
	     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
	     "<text x=\"%d\" y=\"22\" font-size=\"15\">%s, %s, %s on %s</text>\n"
	     "<text x=\"%d\" y=\"42\" fill=\"#555\">height: share of the rank's workers that ever "
	     "do this",
	     LEFT + COLUMNS + 30, height, 12, caption->workload, caption->pattern, caption->problem,
	     caption->backend, 12);
	if (left->clock_error_ns > 0)
		draw(p, "; times are within %.1f us", (double)left->clock_error_ns * 1e-3);
	if (left->events > 0)
		draw(p, "; %llu events had no room", (unsigned long long)left->events);
	draw(p, "</text>\n");
}

static void draw_run(picture_t *p, const bench_caption_t *caption,
		     const bench_recording_t *recording)
{
	const int each = ROWS * ROW + GAP, bottom = TOP + recording->ranks * each;
	const tsr_record_entry_t *entries = recording->entries;
	const tsr_record_event_t *events = recording->events;
	const bench_left_out_t left = bench_record_left_out(recording);
	draw_head(p, caption, &left, bottom + 28);
	draw_axis(p, bottom);
	for (int rank = 0, y = TOP; rank < recording->ranks; rank++, y += each) {
		for (int row = 0; row < ROWS; row++)
			p->workers[row] = most_workers(entries, recording->entry_counts[rank], row);
		add_rank(p, events, recording->event_counts[rank]);
		draw(p, "<text x=\"12\" y=\"%d\" font-weight=\"bold\">rank %d</text>\n",
		     y + ROW - 5, rank);
		for (int row = 0; row < ROWS; row++)
			draw_row(p, row, y + row * ROW);
		entries += recording->entry_counts[rank];
		events += recording->event_counts[rank];
	}
	draw(p, "</svg>\n");
}

tsr_status_t bench_draw_picture(const char *path, const bench_caption_t *caption,
				const bench_recording_t *recording)
{
	picture_t *p = calloc(1, sizeof *p);
	int entries = 0;
	if (!p)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the picture of a run; free some");
	p->origin_ns = UINT64_MAX;
	for (int r = 0; r < recording->ranks; r++)
		entries += recording->entry_counts[r];
	for (int i = 0; i < entries; i++) {
		const tsr_record_entry_t *e = &recording->entries[i];
		p->origin_ns = e->begin_ns < p->origin_ns ? e->begin_ns : p->origin_ns;
		p->end_ns = e->end_ns > p->end_ns ? e->end_ns : p->end_ns;
	}
	if (p->end_ns <= p->origin_ns) /* nothing ran */
		p->end_ns = (p->origin_ns = 0) + 1;
	errno = 0;
	p->file = fopen(path, "w");
	if (p->file)
		draw_run(p, caption, recording);
	int cause = errno;
	bool failed = !p->file || p->failed;
	if (p->file && fclose(p->file) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	free(p);
	return failed ? tsr_error(TSR_ERR_SYSTEM, "--picture: '%s' cannot be written: %s", path,
				  strerror(cause))
		      : TSR_OK;
}
