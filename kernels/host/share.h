/* The division of an extent among ranks. */
#ifndef KERNELS_HOST_SHARE_H
#define KERNELS_HOST_SHARE_H

#include <stdint.h>

/**
 * A rank's part of an extent. It is empty on some ranks if there are more ranks
 * than elements.
 */
typedef struct share {
	int64_t first, count;
} share_t;

/**
 * Rank `rank`'s share of `extent`: from rank * extent / ranks up to (rank + 1)
 * * extent / ranks.
 */
static inline share_t share_of(int64_t extent, int rank, int ranks)
{
	/* The product rank * extent could overflow, so quotient and remainder are multiplied
	 * apart. */
	const int64_t each = extent / ranks, rest = extent % ranks;
	const int64_t begin = rank * each + rank * rest / ranks;
	const int64_t end = (rank + 1) * each + (rank + 1) * rest / ranks;
	return (share_t){begin, end - begin};
}

/** The largest share of any rank. Every rank allocates this much. */
static inline int64_t share_largest(int64_t extent, int ranks)
{
	return extent / ranks + (extent % ranks != 0);
}

#endif
