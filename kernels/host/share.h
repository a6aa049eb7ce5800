/* How an extent is divided among ranks. */
#ifndef KERNELS_HOST_SHARE_H
#define KERNELS_HOST_SHARE_H

#include <stdint.h>

/**
 * A rank's part of an extent: nothing where there are more ranks than elements
 * and others have them.
 */
typedef struct share {
	int64_t first, count;
} share_t;

/**
 * Rank `rank`'s share of `extent` among `ranks`: from rank * extent / ranks up
 * to (rank + 1) * extent / ranks.
 */
static inline share_t share_of(int64_t extent, int rank, int ranks)
{
	/* In parts, so that it cannot overflow. */
	const int64_t each = extent / ranks, rest = extent % ranks;
	const int64_t begin = rank * each + rank * rest / ranks;
	const int64_t end = (rank + 1) * each + (rank + 1) * rest / ranks;
	return (share_t){begin, end - begin};
}

/** The largest that any rank has: what every rank allocates. */
static inline int64_t share_largest(int64_t extent, int ranks)
{
	return extent / ranks + (extent % ranks != 0);
}

#endif
