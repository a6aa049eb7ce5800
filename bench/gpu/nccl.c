/* Steps that communicate, by NCCL or RCCL. */
#include "bench/gpu/nccl.h"

#include <stdio.h>
#include <string.h>

/** How a dtype is called. -1: the collectives do not take it. */
static int type_of(tsr_dtype_t dtype)
{
	return dtype == TSR_BF16  ? BENCH_NCCL_BF16
	       : dtype == TSR_F16 ? BENCH_NCCL_F16
	       : dtype == TSR_F32 ? BENCH_NCCL_F32
				  : -1;
}

bool bench_comm_takes(tsr_dtype_t dtype)
{
	return type_of(dtype) >= 0;
}

#define TABLE bench_nccl_t
const bench_entry_t bench_nccl_entries[] = {BENCH_NCCL_ENTRIES(BENCH_TABLE_ENTRY) BENCH_LAST_ENTRY};
#undef TABLE

static bool ok(const bench_comm_t *comm, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); NCCL_DEBUG=WARN says more", what,
			       comm->nccl.error_string(code));
	return code == 0;
}

/* ------------------------------------------------------------ joining */

tsr_status_t bench_comm_open(bench_comm_t *comm, const bench_library_t *library, tsr_world_t *world,
			     char sentence[BENCH_SENTENCE])
{
	const bench_nccl_t *nccl = &comm->nccl;
	const int rank = tsr_world_rank(world), size = tsr_world_size(world);
	bench_nccl_id_t id;
	bool all = false;
	memset(&id, 0, sizeof id);
	if (bench_library_find(library, &comm->nccl, sentence) && rank == 0)
		(void)ok(comm, nccl->unique_id(&id), "ncclGetUniqueId", sentence);
	tsr_status_t status = bench_agree(world, sentence, &all);
	if (status != TSR_OK || !all)
		return status;
	status = tsr_team_broadcast(tsr_world_team(world), &id, sizeof id, 0);
	if (status == TSR_OK)
		(void)ok(comm, nccl->join(&comm->comm, size, id, rank), "ncclCommInitRank",
			 sentence);
	return status == TSR_OK ? bench_agree(world, sentence, &all) : status;
}

void bench_comm_close(bench_comm_t *comm, bool failed)
{
	if (comm->comm)
		(void)(failed ? comm->nccl.abort(comm->comm) : comm->nccl.destroy(comm->comm));
	comm->comm = NULL;
}

/* ------------------------------------------------------------ the steps */

/** A step, its dtype as NCCL calls it, and this rank's parts. */
typedef struct call {
	const bench_comm_t *comm;
	const bench_baseline_t *b;
	const workload_step_t *step;
	int type;
	const char *from;
	char *to;
	char *sentence; /* BENCH_SENTENCE */
} call_t;

static bool called(const call_t *c, int code, const char *what)
{
	return ok(c->comm, code, what, c->sentence);
}

/**
 * Parts that differ in size go as a group of broadcasts, each from its rank.
 */
static bool broadcast_parts(const call_t *c)
{
	const bench_nccl_t *nccl = &c->comm->nccl;
	bool good = called(c, nccl->group_start(), "ncclGroupStart");
	for (int r = 0; good && r < c->b->size; r++) {
		char *part = c->to + bench_parts_offset(c->b, c->step->from, r);
		const size_t elements = bench_part_elements(c->b, c->step->from, r);
		if (elements > 0)
			good = called(c,
				      nccl->broadcast(r == c->b->rank ? c->from : part, part,
						      elements, c->type, r, c->comm->comm,
						      c->comm->stream),
				      "ncclBroadcast");
	}
	return good && called(c, nccl->group_end(), "ncclGroupEnd");
}

static bool gather(const call_t *c)
{
	const size_t elements = bench_part_elements(c->b, c->step->from, c->b->rank);
	if (!bench_parts_are_equal(c->b, c->step->from))
		return broadcast_parts(c);
	return elements == 0 || called(c,
				       c->comm->nccl.all_gather(c->from, c->to, elements, c->type,
								c->comm->comm, c->comm->stream),
				       "ncclAllGather");
}

/** Parts that differ in size go as a group of reductions, each to its rank. */
static bool reduce_parts(const call_t *c)
{
	const bench_nccl_t *nccl = &c->comm->nccl;
	const size_t element = tsr_dtype_bytes(bench_matrix_of(c->b, c->step->from, 0).dtype);
	bool good = called(c, nccl->group_start(), "ncclGroupStart");
	for (int r = 0; good && r < c->b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(c->b, c->step->to, r);
		const size_t offset = (size_t)(part.first_row * part.cols) * element;
		const size_t elements = bench_part_elements(c->b, c->step->to, r);
		if (elements > 0)
			good = called(c,
				      nccl->reduce(c->from + offset, c->to, elements, c->type,
						   BENCH_NCCL_SUM, r, c->comm->comm,
						   c->comm->stream),
				      "ncclReduce");
	}
	return good && called(c, nccl->group_end(), "ncclGroupEnd");
}

static bool reduce_scatter(const call_t *c)
{
	const size_t elements = bench_part_elements(c->b, c->step->to, c->b->rank);
	if (!bench_parts_are_equal(c->b, c->step->to))
		return reduce_parts(c);
	return elements == 0 ||
	       called(c,
		      c->comm->nccl.reduce_scatter(c->from, c->to, elements, c->type,
						   BENCH_NCCL_SUM, c->comm->comm, c->comm->stream),
		      "ncclReduceScatter");
}

static bool all_reduce(const call_t *c)
{
	const size_t elements = bench_part_elements(c->b, c->step->to, c->b->rank);
	return elements == 0 ||
	       called(c,
		      c->comm->nccl.all_reduce(c->from, c->to, elements, c->type, BENCH_NCCL_SUM,
					       c->comm->comm, c->comm->stream),
		      "ncclAllReduce");
}

static bool broadcast(const call_t *c)
{
	const size_t elements = bench_part_elements(c->b, c->step->to, c->b->rank);
	return elements == 0 ||
	       called(c,
		      c->comm->nccl.broadcast(c->b->rank == 0 ? c->from : c->to, c->to, elements,
					      c->type, 0, c->comm->comm, c->comm->stream),
		      "ncclBroadcast");
}

/** What rank `peer` and this one have for each other; nothing is not sent. */
static bool exchange(const call_t *c, int peer)
{
	const bench_piece_t out = bench_piece_of(c->b, c->step, c->b->rank, peer);
	const bench_piece_t in = bench_piece_of(c->b, c->step, peer, c->b->rank);
	return (out.elements == 0 ||
		called(c,
		       c->comm->nccl.send(c->from + out.from_offset, out.elements, c->type, peer,
					  c->comm->comm, c->comm->stream),
		       "ncclSend")) &&
	       (in.elements == 0 ||
		called(c,
		       c->comm->nccl.receive(c->to + in.to_offset, in.elements, c->type, peer,
					     c->comm->comm, c->comm->stream),
		       "ncclRecv"));
}

/**
 * One group of sends and receives, as torch.distributed calls NCCL: they go at
 * the same time, those to the rank itself too.
 */
static bool all_to_all(const call_t *c)
{
	bool good = called(c, c->comm->nccl.group_start(), "ncclGroupStart");
	for (int r = 0; good && r < c->b->size; r++)
		good = exchange(c, r);
	return good && called(c, c->comm->nccl.group_end(), "ncclGroupEnd");
}

bool bench_comm_step(const bench_comm_t *comm, const bench_baseline_t *b,
		     const workload_step_t *step, const void *from, void *to,
		     char sentence[BENCH_SENTENCE])
{
	const int type = type_of(bench_matrix_of(b, step->from, b->rank).dtype);
	const call_t c = {comm, b, step, type, from, to, sentence};
	switch (step->op) {
	case WORKLOAD_ALL_GATHER:
		return gather(&c);
	case WORKLOAD_REDUCE_SCATTER:
		return reduce_scatter(&c);
	case WORKLOAD_ALL_REDUCE:
		return all_reduce(&c);
	case WORKLOAD_ALL_TO_ALL:
		return all_to_all(&c);
	default:
		return broadcast(&c);
	}
}
