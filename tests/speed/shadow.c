/*
 * What the shadow costs for 64 bytes, with moving the bytes: not a test. Usage:
 * shadow [READERS]
 *
 * Pieces of memory are read by every reader and then written by one thread,
 * over and over: each piece by a call of its own, and as rows of a tile, 32 a
 * call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/explore/shadow/shadow.h"

enum { MEMORY = 1 << 20, LINE = 64, MOST = 64 };

static unsigned char memory[MEMORY], buffer[1 << 16];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void must(tsr_status_t status)
{
	if (status != TSR_OK) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
}

/**
 * One pass over the memory in pieces: every thread but the first reads, then a
 * meeting, the first writes, a meeting.
 */
static double pass(tsr_shadow_t *shadow, tsr_views_t *views, int region, size_t piece, size_t rows,
		   int readers, double *moving)
{
	tsr_shadow_found_t found;
	uint32_t operation;
	double spent = 0;

	for (int t = 0; t <= readers; t++) {
		const bool write = t == readers;
		for (int u = 0; u < readers && write; u++)
			must(tsr_views_hand_over(views, u + 1, 0));
		const double begin = now();
		for (size_t at = 0; at < MEMORY; at += piece * rows) {
			const tsr_shadow_range_t range = {region, at, piece, rows, piece};
			must(tsr_shadow_operation(shadow, write ? 0 : t + 1, &operation));
			must(write ? tsr_shadow_write(shadow, operation, &range, buffer, piece,
						      &found)
				   : tsr_shadow_read(shadow, operation, &range, buffer, piece,
						     &found));
			if (found.races)
				exit(2);
		}
		spent += now() - begin;
		const double middle = now();
		for (size_t at = 0; at < MEMORY; at += piece)
			write ? memcpy(memory + at, buffer, piece)
			      : memcpy(buffer, memory + at, piece);
		*moving += now() - middle;
	}
	for (int u = 0; u < readers; u++)
		must(tsr_views_hand_over(views, 0, u + 1));
	return spent;
}

static void measure(size_t piece, size_t rows, int readers)
{
	const int rounds = 20;
	tsr_views_place_t places[MOST + 1] = {{{0}}};
	tsr_views_t *views = NULL;
	tsr_shadow_t *shadow = NULL;
	double spent = 0, moving = 0;
	int region;

	for (int t = 0; t <= readers; t++)
		places[t].instance[TSR_VIEWS_WAVE] = places[t].instance[TSR_VIEWS_BLOCK] = t;
	must(tsr_views_create(places, readers + 1, 0, 0, &views));
	must(tsr_shadow_create(views, true, &shadow));
	must(tsr_shadow_add_region(shadow, memory, MEMORY, &region));
	must(tsr_shadow_given(shadow, region, 0, MEMORY));
	pass(shadow, views, region, piece, rows, readers, &moving);
	moving = 0;
	for (int i = 0; i < rounds; i++)
		spent += pass(shadow, views, region, piece, rows, readers, &moving);
	const double lines = (double)rounds * (readers + 1) * (MEMORY / LINE);
	must(tsr_shadow_settle(shadow));
	printf("%2zu x %4zu bytes a call, %2d readers: %6.2f ns a line, memcpy alone %5.2f; "
	       "settled, %zu KiB for %d KiB\n",
	       rows, piece, readers, spent / lines, moving / lines,
	       tsr_shadow_size_bytes(shadow) >> 10, MEMORY >> 10);
	tsr_shadow_destroy(shadow);
	tsr_views_destroy(views);
}

int main(int argc, char **argv)
{
	const int readers = argc > 1 ? atoi(argv[1]) : 16;

	if (readers < 1 || readers > MOST)
		return 2;
	for (size_t piece = LINE; piece <= 4096; piece *= 4)
		measure(piece, 1, readers);
	for (size_t piece = LINE; piece <= 256; piece *= 2)
		measure(piece, 32, readers);
	return 0;
}
