/*
 * NVTX and rocTX, as far as ranges go. Each process says in a file of its own
 * how many were pushed and popped so far, how many pops had nothing to end, and
 * the names. FAKE_RANGES names the files, up to what tells them apart.
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 1 << 14 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pushes, pops, below;
static char names[NAMES];
static _Thread_local int depth;

int nvtxRangePushA(const char *name);
int nvtxRangePop(void);
int roctxRangePushA(const char *name);
int roctxRangePop(void);

/** A rank's process ends without destructors: what is known is told each time. */
static void tell(void)
{
	char path[PATH_MAX];
	const char *prefix = getenv("FAKE_RANGES");
	if (!prefix)
		return;
	(void)snprintf(path, sizeof path, "%s.%d.%jx", prefix, (int)getpid(),
		       (uintmax_t)(uintptr_t)names);
	FILE *file = fopen(path, "w");
	if (!file)
		return;
	(void)fprintf(file, "%d %d %d %s\n", pushes, pops, below, names);
	(void)fclose(file);
}

static int push(const char *name)
{
	(void)pthread_mutex_lock(&lock);
	if (!strstr(names, name) && strlen(names) + strlen(name) + 2 < NAMES)
		(void)strcat(strcat(names, name), ";");
	pushes++;
	tell();
	(void)pthread_mutex_unlock(&lock);
	return depth++;
}

static int pop(void)
{
	(void)pthread_mutex_lock(&lock);
	pops++;
	below += depth == 0;
	tell();
	(void)pthread_mutex_unlock(&lock);
	return --depth;
}

int nvtxRangePushA(const char *name)
{
	return push(name);
}

int nvtxRangePop(void)
{
	return pop();
}

int roctxRangePushA(const char *name)
{
	return push(name);
}

int roctxRangePop(void)
{
	return pop();
}
