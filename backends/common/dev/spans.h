/*
 * Arithmetic on the spans of attention, equal in every port. No memory
 * accesses.
 */
#ifndef TESSERA_COMMON_DEV_SPANS_H
#define TESSERA_COMMON_DEV_SPANS_H

#include "common/dev/views.h"
#include "tessera/dev/attend.h"

TSR_FN int64_t tsr_lesser(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

/**
 * Row `row` of the tile sees keys below this, of those of the span. It grows
 * with the row.
 */
TSR_FN int64_t tsr_span_limit(const tsr_span_t *span, int64_t row)
{
	const int64_t group = span->group > 1 ? span->group : 1;
	return span->mask != TSR_MASK_CAUSAL
		       ? span->k1
		       : tsr_lesser(span->k1,
				    tsr_quotient(span->first + row, group) + span->diagonal + 1);
}

/** The span with k1 cut at `keys`, and at the last key that one of its rows sees. */
TSR_FN tsr_span_t tsr_span_cut(tsr_span_t span, int64_t rows, int64_t keys)
{
	const int64_t last = tsr_lesser(span.queries, rows) - 1;
	span.k1 = tsr_lesser(span.k1, keys);
	span.k1 = last < 0 ? span.k0 : tsr_span_limit(&span, last);
	if (span.k1 < span.k0)
		span.k1 = span.k0;
	return span;
}

#endif
