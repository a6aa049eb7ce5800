/*
 * Spans of the host: what a rank's thread does, for profilers. They go to NVTX
 * (Nsight Systems) and to rocTX (rocprof), each where its library is present
 * when the program runs: libnvToolsExt, and librocprofiler-sdk-roctx or
 * libroctx64. Without them a span costs some nanoseconds.
 *
 * The library has spans of its own, whose names begin with "tsr_": launches, and
 * waits for streams, events and barriers.
 */
#ifndef TESSERA_SPAN_H
#define TESSERA_SPAN_H

#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Begins a span of the calling thread, within the one that it began last. Its
 * name is `what`, and behind a blank `of`, at most 127 characters of both.
 * `of` may be null. A null `what` begins nothing, and must not be ended.
 *
 * Called by:  any thread.
 * Source:     nvtxRangePushA and roctxRangePushA.
 */
TSR_API void tsr_span_begin(const char *what, const char *of);

/**
 * Ends the span that the calling thread began last.
 *
 * Called by:  any thread.
 */
TSR_API void tsr_span_end(void);

#ifdef __cplusplus
}
#endif
#endif
