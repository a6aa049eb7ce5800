/* The comparisons of waits on a host, and their names. */
#ifndef TESSERA_BASE_COMPARE_H
#define TESSERA_BASE_COMPARE_H

#include <stdbool.h>

#include "tessera/types.h"

static inline bool tsr_cmp_holds(tsr_cmp_t cmp, uint64_t seen, uint64_t value)
{
	switch (cmp) {
	case TSR_CMP_EQ:
		return seen == value;
	case TSR_CMP_NE:
		return seen != value;
	case TSR_CMP_LT:
		return seen < value;
	case TSR_CMP_LE:
		return seen <= value;
	case TSR_CMP_GT:
		return seen > value;
	case TSR_CMP_ANY:
		return (seen & value) != 0;
	default:
		return seen >= value;
	}
}

/** The operator between the word and its value in a sentence. */
static inline const char *tsr_cmp_name(int cmp)
{
	static const char *const names[] = {">=", "==", "!=", "<", "<=", ">", "has any bit of"};
	return cmp >= 0 && cmp <= TSR_CMP_ANY ? names[cmp] : "?";
}

#endif
