/*
 * Structs that the caller owns begin with their size: how much of one a program
 * of another version has, and means.
 */
#ifndef TSR_BASE_SIZED_H
#define TSR_BASE_SIZED_H

#include <stddef.h>

#include "tessera/status.h"

/**
 * Writes `ours` (a whole `type_`, whose first member is size_t size) to the
 * caller's `theirs`, whose `size` says how much room there is: what does not
 * fit is cut off, what this version does not know becomes 0, and `size` stays
 * as it is. `least_` is the last member of the struct's first version.
 * TSR_ERR_ARGUMENT, and nothing is written, where the size is none.
 */
#define TSR_SIZED_GIVE(type_, least_, theirs_, ours_) \
	tsr_sized_give((theirs_), (ours_), sizeof(type_), TSR_SIZED_LEAST(type_, least_), #type_)

/**
 * Copies the caller's `theirs` to `ours`; members that the caller's version has
 * not are 0. Errors: TSR_ERR_ARGUMENT where the size is none,
 * TSR_ERR_UNSUPPORTED where members that this version does not know are not 0.
 */
#define TSR_SIZED_TAKE(type_, least_, theirs_, ours_) \
	tsr_sized_take((theirs_), (ours_), sizeof(type_), TSR_SIZED_LEAST(type_, least_), #type_)

#define TSR_SIZED_LEAST(type_, least_) (offsetof(type_, least_) + sizeof((type_){0}.least_))

/** Sizes beyond are none: memory that was never set, most likely. */
#define TSR_SIZED_MOST 65536

tsr_status_t tsr_sized_give(void *theirs, const void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type);
tsr_status_t tsr_sized_take(const void *theirs, void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type);

#endif
