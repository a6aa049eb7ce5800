#include <stddef.h>

#include "src/base/spans/tools.h"

span_tool_t tsr_spans_roctx(void)
{
	static const char *const libraries[] = {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4",
						"libroctx64.so", NULL};
	return tsr_spans_find(libraries, "roctxRangePushA", "roctxRangePop");
}
