#include <stddef.h>

#include "src/base/spans/tools.h"

span_tool_t tsr_spans_nvtx(void)
{
	static const char *const libraries[] = {"libnvToolsExt.so.1", "libnvToolsExt.so", NULL};
	return tsr_spans_find(libraries, "nvtxRangePushA", "nvtxRangePop");
}
