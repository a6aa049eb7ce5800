/*
 * The device half of a source: what a GPU's compiler must read of it.
 *
 * A file may hold kernels and a host half, and is C. GPUs' compilers read it as
 * C++, where much that is good C does not compile: a `T *p = malloc(n)`,
 * designators out of order, a variable called `new`. So they are not shown the
 * host half. Kept are
 *
 *   - kernels, and functions marked TSR_FN (or by a macro that expands to one
 *     of these);
 *   - the types, constants, variables and prototypes that they name, and those
 *     that these name in turn;
 *   - calls of macros at file scope, such as TSR_TILE, but for TSR_MAIN and for
 *     macros that lay down host code;
 *   - every #include, #define and #if, but for headers that no C++ compiler
 *     reads as C's (stdatomic.h, complex.h).
 *
 * Of an unmarked function that a kernel names, the prototype is kept: the
 * compiler then says which mark is missing. What is left out leaves its lines
 * empty, and #line says where the text comes from, so that messages and call
 * sites are as in the source. The user's own headers are divided likewise: they
 * are laid down in place of their #include.
 */
#ifndef TESSERA_TOOLS_DEVICE_HALF_H
#define TESSERA_TOOLS_DEVICE_HALF_H

#include <stdbool.h>
#include <stdio.h>

/**
 * Writes the device half of the file `source` to `out`. Headers in quotes are
 * the user's where they lie beside the file that includes them or in one of
 * `folders`, and not where neither is so. False, and `*why_out` says in words
 * why, where the source cannot be read or does not come apart, such as one
 * whose braces do not match; `*why_out` is a constant.
 */
bool device_half_write(const char *source, const char *const *folders, int folder_count, FILE *out,
		       const char **why_out);

#endif
