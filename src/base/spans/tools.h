/* Profilers' libraries, each found when the program runs: a file of each. */
#ifndef TESSERA_BASE_SPANS_TOOLS_H
#define TESSERA_BASE_SPANS_TOOLS_H

/** Begins and ends a range of the calling thread. Null, both: the library is not there. */
typedef struct span_tool {
	int (*push)(const char *name);
	int (*pop)(void);
} span_tool_t;

/** NVTX, which Nsight Systems reads. */
span_tool_t tsr_spans_nvtx(void);

/** rocTX, which rocprof reads. */
span_tool_t tsr_spans_roctx(void);

/**
 * The first of `libraries` (ends with null) that is there and has both entries.
 * It stays loaded.
 */
span_tool_t tsr_spans_find(const char *const *libraries, const char *push, const char *pop);

#endif
