/* Baselines: which one a backend has, and what they share. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/internal.h"

tsr_status_t bench_agree(tsr_world_t *world, char sentence[BENCH_SENTENCE], bool *none_out)
{
	char(*all)[BENCH_SENTENCE] = calloc(TSR_MAX_RANKS, BENCH_SENTENCE);
	if (!all)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the ranks' sentences; free some");
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(world), sentence, all, BENCH_SENTENCE);
	*none_out = true;
	for (int r = 0; status == TSR_OK && *none_out && r < tsr_world_size(world); r++)
		if (all[r][0] != '\0') {
			memcpy(sentence, all[r], BENCH_SENTENCE);
			*none_out = false;
		}
	free(all);
	return status;
}

/**
 * Room for what every other rank stores to me, as much of it as half of what
 * the heap has: the library takes memory too.
 */
static tsr_status_t make_room(bench_baseline_t *b)
{
	enum { PIECE = 4096 };
	tsr_heap_usage_t heap = {.size = sizeof heap};
	tsr_status_t status = tsr_heap_usage(b->world, &heap);
	if (status != TSR_OK)
		return status;
	size_t room = heap.largest_bytes / 2 / (size_t)b->size / PIECE * PIECE;
	b->push_bytes = room < b->engine->ops->push_bytes ? room : b->engine->ops->push_bytes;
	const char *why = NULL;
	if (b->size == 1)
		why = "a world of one rank has no link";
	else if (b->push_bytes == 0)
		why = "the heap has no room left for stores to be measured; set TESSERA_HEAP_SIZE "
		      "higher";
	if (!why)
		return tsr_heap_alloc(b->world, (size_t)b->size * b->push_bytes, 0, "bench.pushed",
				      &b->pushed);
	(void)snprintf(b->missing_push, BENCH_SENTENCE, "%s", why);
	return TSR_OK;
}

tsr_status_t bench_baseline_open_by(const bench_engine_t *engine, tsr_world_t *world,
				    const bench_task_t *task, bench_baseline_t **baseline_out)
{
	workload_matrix_t matrix;
	bench_baseline_t *b = calloc(1, sizeof *b);
	if (!b)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a baseline; free some");
	b->engine = engine;
	b->world = world;
	b->rank = tsr_world_rank(world);
	b->size = tsr_world_size(world);
	b->task = *task;
	b->config = *task->config;
	b->step_count =
		task->workload->baseline ? task->workload->baseline(&b->config, b->steps) : 0;
	while (task->workload->matrix(&b->config, b->matrices, b->rank, b->size, &matrix))
		b->matrices++;
	tsr_status_t status = bench_steps_check(b);
	if (status == TSR_OK)
		status = make_room(b);
	if (status == TSR_OK)
		status = engine->ops->open(b);
	if (status != TSR_OK) {
		(void)bench_baseline_close(b, true);
		return status;
	}
	*baseline_out = b;
	return TSR_OK;
}

/*
 * On NVIDIA's platform HIP is a layer over CUDA, and the libraries are
 * NVIDIA's. The build says which platform the backend hip is for.
 */
#if defined(TSR_HIP_NVIDIA)
#define OF_HIP bench_cublas_nccl
#else
#define OF_HIP bench_hipblaslt_rccl
#endif

const bench_engine_t *bench_engine_of(const char *backend)
{
	static const struct {
		const char *backend;
		const bench_engine_t *engine;
	} known[] = {{"cuda", &bench_cublas_nccl}, {"hip", &OF_HIP}, {"cpuemu", &bench_openblas}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].backend, backend) == 0)
			return known[i].engine;
	return NULL;
}

bool bench_has_baseline(const char *backend)
{
	return bench_engine_of(backend) != NULL;
}

tsr_status_t bench_baseline_open(tsr_world_t *world, const bench_task_t *task,
				 bench_baseline_t **baseline_out)
{
	const bench_engine_t *engine = bench_engine_of(tsr_world_backend(world));
	if (!engine)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "there is no baseline for the backend %s: leave --baseline out",
				 tsr_world_backend(world));
	return bench_baseline_open_by(engine, world, task, baseline_out);
}

tsr_status_t bench_baseline_close(bench_baseline_t *baseline, bool failed)
{
	if (!baseline)
		return TSR_OK;
	baseline->engine->ops->close(baseline, failed);
	/* After a failure the heap goes with the world: to free it would wait for the others, and
	 * cover the first sentence. */
	tsr_status_t status = failed ? TSR_OK : tsr_heap_free(baseline->world, baseline->pushed);
	free(baseline);
	return status;
}

const char *bench_baseline_name(const bench_baseline_t *baseline)
{
	return baseline->name;
}

const workload_step_t *bench_baseline_steps(const bench_baseline_t *baseline, int *count_out)
{
	*count_out = baseline->step_count;
	return baseline->steps;
}

const char *bench_baseline_missing(const bench_baseline_t *baseline, const bench_timed_t *timed)
{
	if (timed->push != BENCH_NO_PUSH)
		return baseline->missing_push[0] ? baseline->missing_push : NULL;
	for (int i = timed->first; i < timed->first + timed->count; i++)
		if (baseline->missing[i][0])
			return baseline->missing[i];
	return NULL;
}

bool bench_extents_fit(const bench_baseline_t *b, const char *library,
		       char sentence[BENCH_SENTENCE])
{
	for (int i = 0; i < b->matrices; i++) {
		const workload_matrix_t matrix = bench_matrix_of(b, i, b->rank);
		if (matrix.rows > INT_MAX || matrix.cols > INT_MAX) {
			(void)snprintf(sentence, BENCH_SENTENCE,
				       "%s takes extents up to %d; use such", library, INT_MAX);
			return false;
		}
	}
	return true;
}

void bench_miss_steps(bench_baseline_t *b, const char *sentence)
{
	for (int i = 0; i < b->step_count; i++)
		if (b->missing[i][0] == '\0')
			(void)snprintf(b->missing[i], BENCH_SENTENCE, "%s", sentence);
}

tsr_status_t bench_baseline_time(bench_baseline_t *baseline, const bench_timed_t *timed,
				 uint64_t *ns_out)
{
	const char *missing = bench_baseline_missing(baseline, timed);
	if (missing)
		return tsr_error(TSR_ERR_UNSUPPORTED, "%s", missing);
	return baseline->engine->ops->time(baseline, timed, ns_out);
}

tsr_status_t bench_baseline_read(bench_baseline_t *baseline, int matrix, void *dense_out)
{
	const bench_timed_t all = {0, baseline->step_count, BENCH_NO_PUSH};
	const char *missing = bench_baseline_missing(baseline, &all);
	if (missing)
		return tsr_error(TSR_ERR_UNSUPPORTED, "%s", missing);
	return baseline->engine->ops->read(baseline, matrix, dense_out);
}

size_t bench_baseline_push_bytes(const bench_baseline_t *baseline)
{
	return baseline->push_bytes;
}
