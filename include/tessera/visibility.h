/* Marks of the public API, and macros for the differences between C and C++. */
#ifndef TESSERA_VISIBILITY_H
#define TESSERA_VISIBILITY_H

#if defined(__APPLE__) || defined(_WIN32)
#error "Tessera runs on Linux: ranks share memory by memfd and futex; use a Linux container"
#endif

/**
 * Marks a function that programs may call. The shared library exports these
 * functions and nothing else; all their names begin with `tsr_`.
 */
#define TSR_API __attribute__((visibility("default")))

/** Begins a declaration with C linkage, in C and in C++. */
#if defined(__cplusplus)
#define TSR_EXTERN extern "C"
#else
#define TSR_EXTERN extern
#endif

/**
 * `TSR_LITERAL(type){members}` is a value of that type: a compound literal in
 * C, a braced initialiser in C++.
 */
#if defined(__cplusplus)
#define TSR_LITERAL(type_) type_
#else
#define TSR_LITERAL(type_) (type_)
#endif

#endif
