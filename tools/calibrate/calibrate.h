/*
 * What the files of tessera calibrate share: a machine that is being measured,
 * its measurements, and its file.
 */
#ifndef TESSERA_TOOLS_CALIBRATE_CALIBRATE_H
#define TESSERA_TOOLS_CALIBRATE_CALIBRATE_H

#include <jansson.h>
#include <stdbool.h>

#include "kernels/choices/machine.h"

/** The machine's figures, in the order of MACHINE_FIGURES. */
typedef enum calibrate_figure {
#define FIGURE(name_, unit_, meaning_) CALIBRATE_##name_,
	MACHINE_FIGURES(FIGURE)
#undef FIGURE
		CALIBRATE_FIGURES
} calibrate_figure_t;

enum { CALIBRATE_TEXT = 256 };

/** A figure that was found, and what was run. */
typedef struct calibrate_found {
	bool is_found;
	double value;
	char what[CALIBRATE_TEXT];
} calibrate_found_t;

typedef struct calibration {
	const char *command; /* what is run: this one, or --tessera */
	const char *backend; /* null: the best one that has a device */
	int ranks;
	bool verbose;
	char device[64];       /* its name */
	const machine_t *kind; /* the nearest one that is known: what is not measured is as there */
	json_t *base;          /* --base, or null: the same as a file */
	calibrate_found_t found[CALIBRATE_FIGURES];
} calibration_t;

/** Names and units. */
const char *calibrate_name(calibrate_figure_t figure);
const char *calibrate_unit(calibrate_figure_t figure);

/** What is known so far: as found, or as the nearest kind has it. */
double calibrate_value(const calibration_t *c, calibrate_figure_t figure);

/** Keeps a figure of four digits, and prints it. `format` says what was run. */
void calibrate_keep(calibration_t *c, calibrate_figure_t figure, double value, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

/** Measures all that can be; prints what cannot, and why. Returns how many were found. */
int calibrate_measure(calibration_t *c);

/**
 * Writes the machine's file: a line for each figure, with where it comes from.
 * False: errno says why not.
 */
bool calibrate_write(const calibration_t *c, const char *name, const char *path);

#endif
