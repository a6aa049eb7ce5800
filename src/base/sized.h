/*
 * Structs that the caller owns and that begin with their size: conversion
 * between the versions of program and library.
 */
#ifndef TSR_BASE_SIZED_H
#define TSR_BASE_SIZED_H

#include <stddef.h>

#include "tessera/status.h"

/**
 * Writes `ours` (a whole `type_`, whose first member is size_t size) to the
 * caller's `theirs`. Its `size` says how much room there is: members that do
 * not fit are cut off, members that this version does not know become 0, and
 * `size` is unchanged. `least_` is the last member of the struct's first
 * version. If the size is invalid: TSR_ERR_ARGUMENT, and nothing is written.
 */
#define TSR_SIZED_GIVE(type_, least_, theirs_, ours_) \
	tsr_sized_give((theirs_), (ours_), sizeof(type_), TSR_SIZED_LEAST(type_, least_), #type_)

/**
 * Copies the caller's `theirs` to `ours`. Members that the caller's version
 * does not have become 0. Errors: TSR_ERR_ARGUMENT (the size is invalid),
 * TSR_ERR_UNSUPPORTED (members that this version does not know are not 0).
 */
#define TSR_SIZED_TAKE(type_, least_, theirs_, ours_) \
	tsr_sized_take((theirs_), (ours_), sizeof(type_), TSR_SIZED_LEAST(type_, least_), #type_)

#define TSR_SIZED_LEAST(type_, least_) (offsetof(type_, least_) + sizeof((type_){0}.least_))

/** Larger sizes are invalid: most likely uninitialised memory. */
#define TSR_SIZED_MOST 65536

tsr_status_t tsr_sized_give(void *theirs, const void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type);
tsr_status_t tsr_sized_take(const void *theirs, void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type);

#endif
