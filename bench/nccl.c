/* Steps that communicate, by NCCL or RCCL. */
#include "bench/nccl.h"

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

bool bench_nccl_find(const bench_nccl_library_t *library, bench_nccl_t *nccl_out,
		     char sentence[BENCH_SENTENCE])
{
#define TABLE bench_nccl_t
	static const bench_entry_t entries[] = {BENCH_NCCL_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	const bench_library_t whole = {.what = library->what,
				       .cure = library->cure,
				       .names = library->names,
				       .places = library->places,
				       .entries = entries,
				       .count = BENCH_COUNT(entries)};
	return bench_library_find(&whole, nccl_out, sentence);
}

static bool ok(const bench_comm_t *comm, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); NCCL_DEBUG=WARN says more", what,
			       comm->nccl.error_string(code));
	return code == 0;
}

/* ------------------------------------------------------------ joining */

tsr_status_t bench_comm_open(bench_comm_t *comm, const bench_nccl_library_t *library,
			     tsr_world_t *world, char sentence[BENCH_SENTENCE])
{
	const bench_nccl_t *nccl = &comm->nccl;
	const int rank = tsr_world_rank(world), size = tsr_world_size(world);
	bench_nccl_id_t id;
	bool all = false;
	memset(&id, 0, sizeof id);
	if (bench_nccl_find(library, &comm->nccl, sentence) && rank == 0)
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

/**
 * Parts that differ in size go as a group of broadcasts, each from its rank.
 */
static bool broadcast_parts(const bench_comm_t *comm, const bench_baseline_t *b,
			    const workload_step_t *step, int type, void *to,
			    char sentence[BENCH_SENTENCE])
{
	const bench_nccl_t *nccl = &comm->nccl;
	bool good = ok(comm, nccl->group_start(), "ncclGroupStart", sentence);
	for (int r = 0; good && r < b->size; r++) {
		void *part = (char *)to + bench_parts_offset(b, step->from, r);
		const size_t elements = bench_part_elements(b, step->from, r);
		if (elements > 0)
			good = ok(comm,
				  nccl->broadcast(part, part, elements, type, r, comm->comm,
						  comm->stream),
				  "ncclBroadcast", sentence);
	}
	return good && ok(comm, nccl->group_end(), "ncclGroupEnd", sentence);
}

bool bench_comm_gather(const bench_comm_t *comm, const bench_baseline_t *b,
		       const workload_step_t *step, const void *from, void *to,
		       char sentence[BENCH_SENTENCE])
{
	const int type = type_of(bench_matrix_of(b, step->from, b->rank).dtype);
	if (!bench_parts_are_equal(b, step->from))
		return broadcast_parts(comm, b, step, type, to, sentence);
	return ok(comm,
		  comm->nccl.all_gather(from, to, bench_part_elements(b, step->from, b->rank), type,
					comm->comm, comm->stream),
		  "ncclAllGather", sentence);
}

/** Parts that differ in size go as a group of reductions, each to its rank. */
static bool reduce_parts(const bench_comm_t *comm, const bench_baseline_t *b,
			 const workload_step_t *step, int type, const void *from, void *to,
			 char sentence[BENCH_SENTENCE])
{
	const bench_nccl_t *nccl = &comm->nccl;
	const size_t element = tsr_dtype_bytes(bench_matrix_of(b, step->from, b->rank).dtype);
	bool good = ok(comm, nccl->group_start(), "ncclGroupStart", sentence);
	for (int r = 0; good && r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->to, r);
		const size_t offset = (size_t)(part.first_row * part.cols) * element;
		const size_t elements = bench_part_elements(b, step->to, r);
		if (elements > 0)
			good = ok(comm,
				  nccl->reduce((const char *)from + offset, to, elements, type,
					       BENCH_NCCL_SUM, r, comm->comm, comm->stream),
				  "ncclReduce", sentence);
	}
	return good && ok(comm, nccl->group_end(), "ncclGroupEnd", sentence);
}

bool bench_comm_reduce(const bench_comm_t *comm, const bench_baseline_t *b,
		       const workload_step_t *step, const void *from, void *to,
		       char sentence[BENCH_SENTENCE])
{
	const int type = type_of(bench_matrix_of(b, step->from, b->rank).dtype);
	if (!bench_parts_are_equal(b, step->to))
		return reduce_parts(comm, b, step, type, from, to, sentence);
	return ok(comm,
		  comm->nccl.reduce_scatter(from, to, bench_part_elements(b, step->to, b->rank),
					    type, BENCH_NCCL_SUM, comm->comm, comm->stream),
		  "ncclReduceScatter", sentence);
}
