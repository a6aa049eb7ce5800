/* What is public. */
#ifndef TESSERA_VISIBILITY_H
#define TESSERA_VISIBILITY_H

/**
 * Marks what programs may call: all else of the library is hidden, and the shared library does not export it. What it exports
 * begins with `tsr_`.
 */
#define TSR_API __attribute__((visibility("default")))

#endif
