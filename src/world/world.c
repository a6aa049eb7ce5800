/* Joining a world and leaving it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bootstrap/board.h"
#include "src/heap/allocator.h"
#include "src/heap/rooms.h"
#include "src/heap/window.h"
#include "src/registry/registry.h"
#include "src/world/host.h"
#include "src/world/nodes.h"
#include "src/world/state_uses.h"
#include "src/world/team.h"

/**
 * Meets all ranks, before anything that may fail on one of them: whoever fails
 * later can tell the others why. All must be set alike: the arguments are what
 * they compare, and what a mismatch shows.
 */
static tsr_status_t meet(tsr_world_t *world)
{
	char arguments[192], deadline[32];
	snprintf(arguments, sizeof arguments, "backend %.32s, heap of %s, deadline %s%s",
		 world->options.backend != NULL ? world->options.backend : "not set",
		 TSR_SIZE(world->options.heap_bytes),
		 tsr_duration_text(world->options.deadline_ns, deadline, sizeof deadline),
		 world->options.check_collectives ? ", collectives compared" : "");
	return tsr_world_exchange(world, tsr_boot_call(world->boot), arguments, NULL, NULL, 0);
}

static tsr_status_t choose_backend(tsr_world_t *world)
{
	const char *why = NULL;
	const tsr_status_t status =
		tsr_backend_choose(world->options.backend, &world->backend, &why);
	if (status != TSR_OK)
		return status;
	if (tsr_boot_in_threads(world->boot) && !world->backend->thread_ranks)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "the backend %s cannot have ranks as threads: use "
				 "TESSERA_PLACEMENT=process",
				 world->backend->name);
	if (world->rank == 0)
		tsr_log(TSR_LOG_INFO, "backend %s, because %s; %d rank%s as %s, heap of %s each",
			world->backend->name, why, world->size, world->size == 1 ? "" : "s",
			tsr_boot_in_threads(world->boot) ? "threads" : "processes",
			TSR_SIZE(world->options.heap_bytes));
	return TSR_OK;
}

/**
 * Whether collectives on streams are compared with what other ranks pass: on the
 * emulator always, on GPUs in debug builds or where it is asked for.
 */
static bool compares(const tsr_world_t *world)
{
#ifdef NDEBUG
	const bool is_debug = false;
#else
	const bool is_debug = true;
#endif
	return is_debug || world->options.check_collectives ||
	       world->backend == &tsr_backend_cpuemu;
}

/**
 * Between nodes a rank waits for what others tell. On GPUs some may be of
 * release builds, which tell nothing: then no rank waits.
 */
static tsr_status_t agree_to_compare(tsr_world_t *world)
{
	bool all[TSR_MAX_RANKS];
	bool everybody = true;
	if (world->node_count == 1 || world->backend->gates)
		return TSR_OK;
	const tsr_status_t status = tsr_world_exchange(world, tsr_boot_call(world->boot), "",
						       &world->compares, all, sizeof *all);
	for (int r = 0; r < world->size && status == TSR_OK; r++)
		everybody = everybody && all[r];
	if (!everybody)
		tsr_board_lose_posts(world->boot);
	return status;
}

/**
 * Every rank learns where every heap is, and maps it. The descriptors have
 * served when all are mapped.
 */
static tsr_status_t map_heaps(tsr_world_t *world, const tsr_heap_export_t *mine)
{
	tsr_heap_export_t exports[TSR_MAX_RANKS];
	int fds[TSR_MAX_RANKS];
	char arguments[64];
	snprintf(arguments, sizeof arguments, "heap of backend %s", world->backend->name);
	tsr_status_t status = tsr_world_exchange(world, tsr_boot_call(world->boot), arguments, mine,
						 exports, sizeof *mine);
	for (int r = 0; r < world->size; r++)
		fds[r] = -1; /* threads have each other's heaps at their own addresses */
	if (status == TSR_OK && !tsr_boot_in_threads(world->boot))
		status = tsr_boot_exchange_fds(world->boot, mine->fd, fds);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < world->size; r++)
		exports[r].fd = fds[r];
	status = world->backend->heap->map(world->device, exports, world->size, world->heap_bases);
	for (int r = 0; r < world->size; r++)
		if (fds[r] >= 0)
			close(fds[r]);
	return status;
}

static tsr_status_t make_heap(tsr_world_t *world)
{
	const bool explored = tsr_boot_exploration(world->boot) != NULL;
	/* room to keep things apart */
	world->heap_bytes = explored ? 2 * world->options.heap_bytes : world->options.heap_bytes;
	world->allocator = tsr_allocator_create(world->heap_bytes);
	if (world->allocator == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to keep the books of a heap; free some");
	if (explored)
		tsr_allocator_keep_apart(world->allocator, world->options.heap_bytes);
	tsr_heap_export_t mine = {.fd = -1};
	tsr_status_t status = world->backend->heap->create(world->device, world->heap_bytes, &mine);
	if (status != TSR_OK)
		return status;
	world->heap_made = true;
	status = map_heaps(world, &mine);
	if (mine.fd >= 0)
		close(mine.fd);
	return status == TSR_OK ? tsr_rooms_make(world) : status;
}

static tsr_status_t begin_log(tsr_world_t *world)
{
	const tsr_status_t status =
		tsr_log_open(&world->options.log, world->rank, world->size, &world->log);
	tsr_log(TSR_LOG_DEBUG, "has joined as process %d", (int)getpid());
	return status;
}

static tsr_status_t build(tsr_world_t *world)
{
	tsr_status_t status = meet(world);
	tsr_world_find_nodes(world);
	if (status == TSR_OK)
		status = begin_log(world);
	if (status == TSR_OK)
		status = choose_backend(world);
	if (status == TSR_OK)
		world->compares = compares(world);
	if (status == TSR_OK)
		status = world->backend->device->open(&world->host, &world->device);
	if (status == TSR_OK)
		status = make_heap(world);
	if (status == TSR_OK)
		status = agree_to_compare(world);
	if (status == TSR_OK)
		status = tsr_world_connect_nodes(world);
	if (status == TSR_OK)
		status = tsr_world_make_team(world);
	if (status == TSR_OK)
		status = tsr_world_exchange(world, tsr_boot_call(world->boot), "ready", NULL, NULL,
					    0);
	return status;
}

/**
 * Releases what this rank holds, but not its membership. `agreed`: every rank
 * knows that no kernel runs any more.
 */
static void release(tsr_world_t *world, bool agreed)
{
	if (!agreed)
		tsr_boot_quiesce(world->boot); /* ranks as threads share their heaps' memory */
	tsr_world_drop_teams(world);
	tsr_world_disconnect_nodes(world);
	tsr_windows_drop(world);
	tsr_window_memory_drop(world);
	if (world->heap_made)
		world->backend->heap->unmap(world->device);
	if (world->device != NULL)
		world->backend->device->close(world->device);
	if (world->allocator != NULL)
		tsr_allocator_destroy(world->allocator);
	tsr_allocator_destroy(world->window_allocator);
	pthread_mutex_destroy(&world->allocator_lock);
	pthread_mutex_destroy(&world->streams_lock);
	tsr_uses_end(world);
	pthread_mutex_destroy(&world->order_lock);
	tsr_log_close(world->log);
	free(world);
}

tsr_status_t tsr_world_open(tsr_boot_t *boot, const tsr_options_t *options, tsr_world_t **world_out)
{
	tsr_world_t *world = calloc(1, sizeof *world);
	if (world == NULL) {
		tsr_boot_abort(boot, TSR_ERR_NO_MEMORY, "a rank's host has no memory for a world");
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a world; free some");
	}
	world->boot = boot;
	world->options = *options;
	world->rank = tsr_boot_rank(boot);
	world->size = tsr_boot_size(boot);
	pthread_mutex_init(&world->allocator_lock, NULL);
	pthread_mutex_init(&world->streams_lock, NULL);
	pthread_mutex_init(&world->order_lock, NULL);
	tsr_world_make_host(world);
	const tsr_status_t status = build(world);
	if (status != TSR_OK) {
		char sentence[1024];
		snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
		tsr_log(TSR_LOG_ERROR, "cannot join the world: %s", sentence);
		/* the others wait for this rank in one of the steps */
		tsr_boot_abort(boot, status, sentence);
		release(world, false);
		return tsr_error(status, "%s", sentence);
	}
	tsr_error_here()->world = world; /* tsr_fail finds it there */
	*world_out = world;
	return TSR_OK;
}

tsr_status_t tsr_world_join(const tsr_job_t *job, const tsr_options_t *options,
			    tsr_world_t **world_out)
{
	tsr_boot_t *boot;
	tsr_status_t status = tsr_boot_join(job, options->deadline_ns, &boot);
	if (status != TSR_OK)
		return status;
	status = tsr_world_open(boot, options, world_out);
	if (status != TSR_OK)
		tsr_boot_leave(boot);
	return status;
}

tsr_status_t tsr_init(tsr_world_t **world_out)
{
	if (world_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_init: world_out must not be null");
	tsr_options_t options;
	tsr_job_t job;
	tsr_status_t status = tsr_options_read(&options);
	if (status == TSR_OK)
		status = tsr_job_detect(&job);
	if (status == TSR_OK && options.threads && job.size > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "tsr_init makes one rank, but TESSERA_PLACEMENT=thread asks for "
				 "%d in this process: programs "
				 "with TSR_MAIN have them, others need TESSERA_PLACEMENT=process",
				 job.size);
	return status == TSR_OK ? tsr_world_join(&job, &options, world_out) : status;
}

/** Streams that the program has not destroyed; their work has ended. */
static void destroy_streams(tsr_world_t *world)
{
	while (world->streams != NULL)
		(void)tsr_stream_destroy(world->streams);
}

tsr_status_t tsr_world_close(tsr_world_t *world, tsr_status_t status)
{
	char sentence[1024];
	snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	destroy_streams(world);
	if (status != TSR_OK)
		tsr_log(TSR_LOG_ERROR, "leaves a world that has failed: %s", sentence);
	else if (world->rank == 0)
		tsr_log(TSR_LOG_INFO, "the world has ended well");
	if (tsr_error_here()->world == world)
		tsr_error_here()->world = NULL;
	release(world, status == TSR_OK);
	return status == TSR_OK ? TSR_OK : tsr_error(status, "%s", sentence);
}

tsr_status_t tsr_world_settle(tsr_world_t *world)
{
	const tsr_status_t status = tsr_world_sync_streams(world, NULL);
	if (status == TSR_OK)
		return tsr_world_exchange(world, "tsr_finalize", "", NULL, NULL, 0);
	tsr_boot_abort(world->boot, status, tsr_last_error());
	return status;
}

tsr_status_t tsr_finalize(tsr_world_t *world)
{
	if (world == NULL)
		return TSR_OK;
	if (world->is_of_main)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_finalize of the world of TSR_MAIN: return from its body, "
				 "which ends the world");
	tsr_boot_t *boot = world->boot;
	tsr_status_t status = tsr_boot_check_process(boot, "tsr_finalize");
	if (status != TSR_OK)
		return status;
	status = tsr_world_close(world, tsr_world_settle(world));
	tsr_boot_leave(boot);
	return status;
}
