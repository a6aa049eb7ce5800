#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "src/base/spans/tools.h"
#include "tessera/span.h"

enum { TOOLS = 2, NAME_BYTES = 128 };

/* Global, because the libraries are. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static span_tool_t tools[TOOLS];
static int count;

span_tool_t tsr_spans_find(const char *const *libraries, const char *push, const char *pop)
{
	span_tool_t tool = {NULL, NULL};
	for (; *libraries; libraries++) {
		void *library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (!library)
			continue;
		*(void **)&tool.push = dlsym(library, push);
		*(void **)&tool.pop = dlsym(library, pop);
		if (tool.push && tool.pop)
			return tool;
	}
	return (span_tool_t){NULL, NULL};
}

static void load(void)
{
	const span_tool_t found[TOOLS] = {tsr_spans_nvtx(), tsr_spans_roctx()};
	for (int i = 0; i < TOOLS; i++)
		if (found[i].push)
			tools[count++] = found[i];
}

void tsr_span_begin(const char *what, const char *of)
{
	char name[NAME_BYTES];
	(void)pthread_once(&once, load);
	if (count == 0 || !what)
		return;
	(void)snprintf(name, sizeof name, "%s%s%s", what, of ? " " : "", of ? of : "");
	for (int i = 0; i < count; i++)
		(void)tools[i].push(name);
}

void tsr_span_end(void)
{
	(void)pthread_once(&once, load);
	for (int i = 0; i < count; i++)
		(void)tools[i].pop();
}
