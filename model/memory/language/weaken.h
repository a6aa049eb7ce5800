/*
 * The neighbours of a litmus test that are weaker than it by one step.
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

#endif
