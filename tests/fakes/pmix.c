/*
 * A libpmix.so.2 without a server: its processes are those with the same
 * FAKE_PMIX_FOLDER, where each leaves files. FAKE_PMIX_SIZE ranks are in blocks
 * on FAKE_PMIX_NODES nodes. FAKE_PMIX says what goes wrong.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/bootstrap/pmix/abi.h"

#define SHOWN __attribute__((visibility("default")))

enum { FAILED = -1, LATE = -24, UNREACHABLE = -25, PARTIAL = -52, NOT_FOUND = -46 };

static int references; /* of this process */
static bool was_left;  /* once left, PMIx 4.2.2 names the ranks of another node */

static bool goes_wrong(const char *how)
{
	const char *wrong = getenv("FAKE_PMIX"), *rank = getenv("FAKE_PMIX_AT");
	return wrong != NULL && strcmp(wrong, how) == 0 &&
	       (rank == NULL || strcmp(rank, getenv("PMIX_RANK")) == 0);
}

static int number(const char *name)
{
	const char *text = getenv(name);
	return text != NULL ? atoi(text) : 1;
}

/** A process may join several worlds, one after the other: which one is this? */
static int round_of(const char *what)
{
	char path[512];
	int round = 0;
	do
		snprintf(path, sizeof path, "%s/%s.%s.%d", getenv("FAKE_PMIX_FOLDER"), what,
			 getenv("PMIX_RANK"), round++);
	while (access(path, F_OK) == 0);
	return round - 1;
}

static void path_of(const char *what, int rank, int round, char path[512])
{
	snprintf(path, 512, "%s/%s.%d.%d", getenv("FAKE_PMIX_FOLDER"), what, rank, round);
}

static void leave_file(const char *path, const char *text)
{
	char other[600];
	snprintf(other, sizeof other, "%s.new", path);
	FILE *file = fopen(other, "w");
	if (file == NULL)
		abort();
	fputs(text, file);
	fclose(file);
	if (rename(other, path) != 0)
		abort();
}

static void pause_ms(int ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	nanosleep(&pause, NULL);
}

static void hang(void)
{
	for (;;)
		pause_ms(1000);
}

SHOWN int PMIx_Init(tsr_pmix_proc_t *me, tsr_pmix_info_t *info, size_t count)
{
	(void)info, (void)count;
	if (goes_wrong("init_hangs"))
		hang();
	if (goes_wrong("init_fails"))
		return FAILED;
	references++;
	if (goes_wrong("no_server"))
		return UNREACHABLE;
	memset(me, 0, sizeof *me);
	snprintf(me->nspace, sizeof me->nspace, "%s",
		 goes_wrong("other_job") ? "singleton" : getenv("PMIX_NAMESPACE"));
	me->rank = (uint32_t)number("PMIX_RANK") + (goes_wrong("other_rank") ? 1 : 0);
	return 0;
}

SHOWN int PMIx_Finalize(const tsr_pmix_info_t *info, size_t count)
{
	char path[512];
	(void)info, (void)count;
	if (--references > 0)
		return 0;
	if (goes_wrong("finalize_hangs"))
		hang();
	was_left = true;
	path_of("finalized", number("PMIX_RANK"), round_of("finalized"), path);
	leave_file(path, "");
	return goes_wrong("finalize_fails") ? FAILED : 0;
}

/** "3,4" of 5 ranks on 2 nodes. */
static void write_peers(char *text, size_t size)
{
	const int ranks = number("FAKE_PMIX_SIZE"), nodes = number("FAKE_PMIX_NODES");
	const int node = was_left ? nodes - 1 : number("PMIX_RANK") * nodes / ranks;
	size_t used = 0;
	text[0] = '\0';
	for (int r = 0; r < ranks; r++)
		if (r * nodes / ranks == node)
			used += (size_t)snprintf(text + used, size - used, "%s%d",
						 used > 0 ? "," : "", r);
	if (goes_wrong("no_peers"))
		snprintf(text, size, "%s", "here and there");
}

/** As servers do: what was there at the last fence, and of two values of one key the first. */
static int read_published(const char *key, char *text, size_t size)
{
	char path[512];
	FILE *file = NULL;
	const int rounds = round_of("met");
	for (int round = 0; round < rounds && file == NULL; round++) {
		path_of(key, 0, round, path);
		file = fopen(path, "r");
	}
	if (file == NULL)
		return NOT_FOUND;
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
	if (goes_wrong("other_secret"))
		text[0] = text[0] == '0' ? '1' : '0';
	if (goes_wrong("rubbish"))
		snprintf(text, size, "%s", "rubbish");
	return 0;
}

SHOWN int PMIx_Get(const tsr_pmix_proc_t *whose, const char *key, const tsr_pmix_info_t *info,
		   size_t count, tsr_pmix_value_t **value_out)
{
	char text[4096];
	if (count != 1 || strcmp(info->key, TSR_PMIX_TIMEOUT) != 0 ||
	    info->value.type != TSR_PMIX_INT || info->value.data.integer < 1)
		return FAILED; /* everything has a timeout */
	tsr_pmix_value_t *value = calloc(1, sizeof *value);
	if (value == NULL)
		abort();
	*value_out = value;
	if (strcmp(key, TSR_PMIX_JOB_SIZE) == 0 && whose->rank == TSR_PMIX_WILDCARD) {
		value->type = goes_wrong("size_is_text") ? TSR_PMIX_INT : TSR_PMIX_UINT32;
		value->data.uint32 = goes_wrong("too_many") ? 257 : number("FAKE_PMIX_SIZE");
		return 0;
	}
	value->type = TSR_PMIX_STRING;
	int status = FAILED;
	if (strcmp(key, TSR_PMIX_LOCAL_PEERS) == 0 && whose->rank == TSR_PMIX_WILDCARD) {
		write_peers(text, sizeof text);
		status = 0;
	} else if (strncmp(key, "tessera.root", 12) == 0 && whose->rank == 0)
		status = goes_wrong("get_late") ? LATE : read_published(key, text, sizeof text);
	if (status == 0)
		value->data.string = strdup(text);
	else
		free(value);
	return status;
}

SHOWN int PMIx_Put(uint8_t scope, const char *key, tsr_pmix_value_t *value)
{
	char path[512];
	if (scope != TSR_PMIX_GLOBAL || strncmp(key, "tessera.root", 12) != 0 ||
	    value->type != TSR_PMIX_STRING || goes_wrong("put_fails"))
		return FAILED;
	path_of(key, number("PMIX_RANK"), round_of("met"), path);
	leave_file(path, value->data.string);
	return 0;
}

SHOWN int PMIx_Commit(void)
{
	return goes_wrong("commit_fails") ? FAILED : 0;
}

SHOWN int PMIx_Fence(const tsr_pmix_proc_t *members, size_t members_count,
		     const tsr_pmix_info_t *info, size_t count)
{
	char path[512];
	const int round = round_of("met");
	(void)members;
	if (members_count != 0 || count != 2 || strcmp(info[0].key, TSR_PMIX_COLLECT_DATA) != 0 ||
	    !info[0].value.data.flag || strcmp(info[1].key, TSR_PMIX_TIMEOUT) != 0)
		return FAILED;
	if (goes_wrong("fence_fails"))
		return FAILED;
	if (goes_wrong("fence_late"))
		return LATE;
	if (goes_wrong("fence_partial"))
		return PARTIAL;
	path_of("met", number("PMIX_RANK"), round, path);
	leave_file(path, "");
	for (int r = 0; r < number("FAKE_PMIX_SIZE"); r++) {
		path_of("met", r, round, path);
		while (access(path, F_OK) != 0)
			pause_ms(1); /* as servers of several nodes do: for ever */
	}
	return 0;
}

SHOWN const char *PMIx_Error_string(int status)
{
	return status == NOT_FOUND     ? "NOT-FOUND"
	       : status == UNREACHABLE ? "UNREACHABLE"
				       : "FAKE-FAILURE";
}
