/*
 * Litmus tests compared: their neighbours that are weaker by one step, and what
 * is left of them without names or orders.
 */
#ifndef MODEL_MEMORY_LANGUAGE_WEAKEN_H
#define MODEL_MEMORY_LANGUAGE_WEAKEN_H

#include "model/memory/language/litmus.h"

/**
 * How many single steps there are by which the test can be weakened: of order,
 * of failure order, of scope.
 */
int litmus_weakenings(const litmus_test_t *test);

/**
 * The `step`-th of them. Orders fall from sc to acq and rel (acqrel, then
 * either, where an operation has both), to rlx, to na; a fence that would be
 * rlx goes. Scopes fall to the next narrower. `what`, of LITMUS_MAX_TEXT bytes,
 * names the access and the step.
 */
void litmus_weaken(const litmus_test_t *test, int step, litmus_test_t *weaker_out, char *what);

/**
 * Writes which location each thread reads and writes in turn, an update as
 * both: what two tests of one shape have in common.
 */
void litmus_print_shape(const litmus_test_t *test, char *text, size_t size);

/**
 * Writes the program and its places such that two tests have the same text if
 * and only if they are equal up to the names of threads, registers, labels and
 * locations. The question is left out.
 */
void litmus_print_canonical(const litmus_test_t *test, char *text, size_t size);

#endif
