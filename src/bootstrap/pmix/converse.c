/* The conversation with PMIx's server. Each call may wait for it, or for other ranks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bootstrap/nodes/root.h"
#include "src/bootstrap/pmix/pmix.h"

/*
 * What rank 0 publishes for a world of the job, by the world's number: a key
 * that is put again keeps its old value for those who have got it (PMIx 5.0.11).
 */
#define KEY "tessera.root.%d"

typedef struct conversation {
	const tsr_pmix_calls_t *calls;
	tsr_pmix_talk_t *talk;
	tsr_pmix_proc_t me;
	tsr_pmix_info_t limit; /* of a call */
	char key[32];
} conversation_t;

static tsr_status_t refuse(const conversation_t *c, const char *call, int status)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d is told '%s' by %s, which it asks where the other ranks are: is "
			 "the launcher still there? TESSERA_ROOT or TESSERA_RANK, TESSERA_SIZE and "
			 "TESSERA_JOB make do without PMIx",
			 c->talk->rank, c->calls->error_string(status), call);
}

tsr_status_t tsr_pmix_expire(const tsr_pmix_talk_t *talk)
{
	char deadline[32];
	tsr_duration_text(talk->deadline_ns, deadline, sizeof deadline);
	/* relaxed: see meet */
	if (atomic_load_explicit(&talk->meets, memory_order_relaxed) != 0)
		return tsr_error(
			TSR_ERR_PEER_LOST,
			"rank %d has waited %s for the other ranks, but not all have come: "
			"all ranks of the job must start and call %s (TESSERA_DEADLINE "
			"sets how long they wait; PMIx does not say who is missing)",
			talk->rank, deadline, talk->call);
	return tsr_error(TSR_ERR_PEER_LOST,
			 "the launcher's PMIx server has not answered rank %d within %s: is it "
			 "stopped? (TESSERA_DEADLINE sets how long ranks wait)",
			 talk->rank, deadline);
}

static tsr_pmix_info_t info(const char *key, uint16_t type)
{
	tsr_pmix_info_t made;
	memset(&made, 0, sizeof made);
	snprintf(made.key, sizeof made.key, "%s", key);
	made.value.type = type;
	return made;
}

/** Servers count whole seconds. */
static void set_limit(conversation_t *c)
{
	c->limit = info(TSR_PMIX_TIMEOUT, TSR_PMIX_INT);
	c->limit.value.data.integer = (int)((c->talk->deadline_ns + 999999999u) / 1000000000u);
}

/** PMIx gives values that the caller frees. */
static void drop(tsr_pmix_value_t *value)
{
	if (value->type == TSR_PMIX_STRING)
		free(value->data.string);
	free(value);
}

static tsr_status_t get(const conversation_t *c, uint32_t rank, const char *key, uint16_t type,
			tsr_pmix_value_t **value_out)
{
	tsr_pmix_proc_t whose = c->me;
	tsr_pmix_value_t *value = NULL;
	char call[64];
	whose.rank = rank;
	const int status = c->calls->get(&whose, key, &c->limit, 1, &value);
	snprintf(call, sizeof call, "PMIx_Get of %s", key);
	if (status == TSR_PMIX_ERR_TIMEOUT)
		return tsr_pmix_expire(c->talk);
	if (status != TSR_PMIX_SUCCESS)
		return refuse(c, call, status);
	if (value->type != type || (type == TSR_PMIX_STRING && value->data.string == NULL)) {
		const int other = value->type;
		drop(value);
		return tsr_error(TSR_ERR_SYSTEM,
				 "PMIx has a value of type %d for %s, not of type %d: set "
				 "TESSERA_RANK, TESSERA_SIZE and TESSERA_JOB to do without PMIx",
				 other, key, type);
	}
	*value_out = value;
	return TSR_OK;
}

/** Variables that another job has left may lead to its server, or to none of this job's. */
static tsr_status_t check_me(const conversation_t *c)
{
	const tsr_pmix_talk_t *talk = c->talk;
	if ((int)c->me.rank == talk->rank && strcmp(c->me.nspace, talk->nspace) == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_CONFIG,
			 "the variables say rank %d of the job '%.60s', PMIx says rank %d of "
			 "'%.60s': unset those that are stale (PMIX_RANK and PMIX_NAMESPACE are "
			 "PMIx's)",
			 talk->rank, talk->nspace, (int)c->me.rank, c->me.nspace);
}

static tsr_status_t learn_size(conversation_t *c)
{
	tsr_pmix_value_t *value;
	tsr_pmix_talk_t *talk = c->talk;
	const tsr_status_t status =
		get(c, TSR_PMIX_WILDCARD, TSR_PMIX_JOB_SIZE, TSR_PMIX_UINT32, &value);
	if (status != TSR_OK)
		return status;
	const uint32_t size = value->data.uint32;
	drop(value);
	if (size < 1 || size > TSR_MAX_RANKS || (int)size <= talk->rank)
		return tsr_error(TSR_ERR_CONFIG,
				 "PMIx says that rank %d is one of %u; a world has 1 to %d ranks",
				 talk->rank, size, TSR_MAX_RANKS);
	if (talk->size != 0 && (int)size != talk->size)
		return tsr_error(TSR_ERR_CONFIG,
				 "the variables say rank %d of %d, PMIx says that there are %u "
				 "ranks: unset those that are stale",
				 talk->rank, talk->size, size);
	talk->size = (int)size;
	return TSR_OK;
}

static tsr_status_t learn_peers(conversation_t *c)
{
	tsr_pmix_value_t *value;
	tsr_pmix_talk_t *talk = c->talk;
	tsr_status_t status =
		get(c, TSR_PMIX_WILDCARD, TSR_PMIX_LOCAL_PEERS, TSR_PMIX_STRING, &value);
	if (status != TSR_OK)
		return status;
	if (!tsr_pmix_read_peers(value->data.string, talk->rank, &talk->node, &talk->local_rank,
				 &talk->local_size) ||
	    talk->local_size > talk->size)
		status =
			tsr_error(TSR_ERR_CONFIG,
				  "PMIx says that the ranks '%.100s' are on the node of rank %d: "
				  "set TESSERA_RANK, TESSERA_SIZE and TESSERA_JOB to do without it",
				  value->data.string, talk->rank);
	drop(value);
	return status;
}

/** Rank 0: what all ranks are to know, or why they never will. */
static void write_published(tsr_pmix_talk_t *talk, char *text, size_t size)
{
	uint64_t bits[2];
	char roots[sizeof talk->root] = "-";
	tsr_status_t status = TSR_OK;
	if (!tsr_random_bytes(bits, sizeof bits))
		status = tsr_error(TSR_ERR_SYSTEM,
				   "rank 0 gets no random numbers for the job's secret: %s",
				   strerror(errno));
	if (status == TSR_OK && talk->local_size < talk->size && !talk->knows_root)
		status = tsr_root_open(talk->interface, roots, sizeof roots, &talk->root_fd);
	if (status != TSR_OK)
		snprintf(text, size, "! %s", tsr_last_error());
	else
		snprintf(text, size, "%016llx%016llx %s", (unsigned long long)bits[0],
			 (unsigned long long)bits[1], roots);
}

static tsr_status_t publish(const conversation_t *c)
{
	char text[TSR_ERROR_BYTES + 8];
	tsr_pmix_value_t value = {.type = TSR_PMIX_STRING, .data.string = text};
	write_published(c->talk, text, sizeof text);
	int status = c->calls->put(TSR_PMIX_GLOBAL, c->key, &value);
	if (status != TSR_PMIX_SUCCESS)
		return refuse(c, "PMIx_Put", status);
	status = c->calls->commit();
	return status == TSR_PMIX_SUCCESS ? TSR_OK : refuse(c, "PMIx_Commit", status);
}

/** Waits for all ranks: what rank 0 has put before is there afterwards. */
static tsr_status_t meet(const conversation_t *c)
{
	tsr_pmix_talk_t *talk = c->talk;
	tsr_pmix_info_t infos[2] = {info(TSR_PMIX_COLLECT_DATA, TSR_PMIX_BOOL), c->limit};
	infos[0].value.data.flag = true;
	/* relaxed: a word of a sentence, which nothing depends on */
	atomic_store_explicit(&talk->meets, 1, memory_order_relaxed);
	const int status = c->calls->fence(NULL, 0, infos, 2);
	if (status == TSR_PMIX_ERR_PARTIAL_SUCCESS)
		return tsr_error(TSR_ERR_PEER_LOST,
				 "another of the %d ranks ended before all had joined the world "
				 "(noticed by PMIx in %s of rank %d)",
				 talk->size, talk->call, talk->rank);
	if (status == TSR_PMIX_ERR_TIMEOUT)
		return tsr_pmix_expire(talk);
	return status == TSR_PMIX_SUCCESS ? TSR_OK : refuse(c, "PMIx_Fence", status);
}

static tsr_status_t learn_published(conversation_t *c)
{
	tsr_pmix_value_t *value;
	char sentence[TSR_ERROR_BYTES];
	tsr_status_t status = get(c, 0, c->key, TSR_PMIX_STRING, &value);
	if (status != TSR_OK)
		return status;
	if (!tsr_pmix_read_published(value->data.string, c->talk->secret, c->talk->root, sentence,
				     sizeof sentence))
		status =
			tsr_error(TSR_ERR_CONFIG, "%s",
				  sentence[0] != '\0'
					  ? sentence
					  : "rank 0 has published through PMIx what is no address: "
					    "build all ranks alike");
	drop(value);
	return status;
}

tsr_status_t tsr_pmix_converse(const tsr_pmix_calls_t *calls, tsr_pmix_talk_t *talk)
{
	conversation_t c = {.calls = calls, .talk = talk};
	int world;
	set_limit(&c);
	const int failed = tsr_pmix_enter(calls, talk->deadline_ns, &c.me, &world);
	snprintf(c.key, sizeof c.key, KEY, world);
	if (failed != TSR_PMIX_SUCCESS)
		return refuse(&c, "PMIx_Init", failed);
	tsr_status_t status = check_me(&c);
	if (status == TSR_OK)
		status = learn_size(&c);
	if (status == TSR_OK)
		status = learn_peers(&c);
	if (status == TSR_OK && talk->rank == 0)
		status = publish(&c);
	if (status == TSR_OK)
		status = meet(&c);
	if (status == TSR_OK)
		status = learn_published(&c);
	/* the process stays a client: see client.c */
	(void)calls->finalize(NULL, 0);
	return status;
}
