/*
 * Texts of litmus tests without their names, by which tests are compared.
 */
#ifndef MODEL_MEMORY_LANGUAGE_CANONICAL_H
#define MODEL_MEMORY_LANGUAGE_CANONICAL_H

#include "model/memory/language/litmus.h"

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
