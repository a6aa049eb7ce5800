/* Findings to test with: races of accesses in one source, made by hand. */
#ifndef TESTS_UNIT_SAMPLE_FINDINGS_H
#define TESTS_UNIT_SAMPLE_FINDINGS_H

#include "src/explore/wire/finding.h"

static inline tsr_finding_who_t worker_of(int rank, int block, int worker)
{
	return (tsr_finding_who_t){.rank = rank,
				   .kernel = "send",
				   .variant = "f32",
				   .launch = 2,
				   .block = block,
				   .worker = worker};
}

static inline tsr_finding_access_t access_at(const char *call, int line, tsr_finding_kind_t kind,
					     tsr_finding_who_t who)
{
	tsr_finding_access_t access = TSR_FINDING_NOWHERE;
	access.call = call;
	access.file = "kernel.c";
	access.line = line;
	access.kind = kind;
	access.who = who;
	access.target = 1;
	access.allocation = "inbox";
	access.offset = 4096;
	access.bytes = 64;
	return access;
}

static inline tsr_finding_access_t ordered(tsr_finding_access_t access, tsr_views_order_t order,
					   tsr_views_scope_t scope)
{
	access.order = order;
	access.scope = scope;
	return access;
}

/** A race of rank 1's get with rank 0's put. */
static inline tsr_finding_t race(void)
{
	return (tsr_finding_t){
		.class = TSR_FINDING_DATA_RACE,
		.access = {access_at("tsr_get", 40, TSR_FINDING_READ, worker_of(1, 0, 0)),
			   access_at("tsr_put", 28, TSR_FINDING_WRITE, worker_of(0, 3, 0))},
		.accesses = 2};
}

/** The same, where a value went across: from access 2, which signals, to access 3, which waits. */
static inline tsr_finding_t linked(tsr_views_order_t signal, tsr_views_scope_t signal_scope,
				   tsr_views_order_t wait, tsr_views_scope_t wait_scope)
{
	tsr_finding_t f = race();
	f.access[2] =
		ordered(access_at("tsr_atomic_store", 30, TSR_FINDING_WRITE, worker_of(0, 3, 0)),
			signal, signal_scope);
	f.access[3] =
		ordered(access_at("tsr_atomic_load", 38, TSR_FINDING_READ, worker_of(1, 0, 0)),
			wait, wait_scope);
	f.accesses = 4;
	return f;
}

#endif
