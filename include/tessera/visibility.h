/* What is public, and what C and C++ say differently. */
#ifndef TESSERA_VISIBILITY_H
#define TESSERA_VISIBILITY_H

/**
 * Marks what programs may call: all else of the library is hidden, and the
 * shared library does not export it. What it exports begins with `tsr_`.
 */
#define TSR_API __attribute__((visibility("default")))

/** Begins the declaration of what has its name in C, wherever a C++ program declares it. */
#if defined(__cplusplus)
#define TSR_EXTERN extern "C"
#else
#define TSR_EXTERN extern
#endif

/** `TSR_LITERAL(type){members}` is a value of that type. */
#if defined(__cplusplus)
#define TSR_LITERAL(type_) type_
#else
#define TSR_LITERAL(type_) (type_)
#endif

#endif
