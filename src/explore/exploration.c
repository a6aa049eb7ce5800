/* An exploration's life: its ranks and workers as fibres, and the order that the host gives. */
#include "src/explore/exploration_state.h"
#include "src/explore/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/clock.h"

/*
 * What a rank's program may use of stack: as much as a thread's first one,
 * mapped where it is touched. A worker has what its thread has where nothing is
 * explored (backends/cpuemu/pool.c): 1 MiB of locals, and what calls need.
 */
enum { HOST_STACK_BYTES = 8 << 20, WORKER_STACK_BYTES = 3 << 19 };

/*
 * Workers whose stacks schedules' processes have in common. None begins before
 * the first of these is forked.
 */
enum { COMMON_STACKS = 1024 };

/*
 * Turns after which a loop that sees nothing new is put aside: each is a
 * schedule more for a search that leaves nothing out.
 */
enum { SPIN_BOUND = 2 };

/* Steps after which a schedule is taken for one that never ends. */
enum { STEP_BOUND = 4 * 1000 * 1000 };

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no host memory to explore with; check fewer ranks, blocks or bytes");
}

/* ------------------------------------------------------------------ making and destroying */

/** A worker as the explorer has it. */
static tsr_task_who_t worker_of(const tsr_worker_who_t *who)
{
	return (tsr_task_who_t){.rank = who->rank,
				.kind = TSR_TASK_WORKER,
				.launch = who->launch,
				.kernel = who->kernel,
				.block = who->block,
				.worker = who->worker,
				.team = who->team,
				.team_rank = who->team_rank};
}

/** The explorer's question for blocks that wait for room, handed to the devices. */
typedef struct unbegun_question {
	const tsr_exploration_t *x;
	int rank;
	tsr_unbegun_fn tell;
	void *argument;
} unbegun_question_t;

/** They wait for the end of any worker of their rank that lives. */
static void tell_unbegun(void *argument, const tsr_worker_who_t *block)
{
	const unbegun_question_t *question = argument;
	const int tasks = tsr_explorer_tasks(question->x->explorer);
	int *living = calloc((size_t)tasks + 1, sizeof *living), count = 0;
	for (int task = 0; living && task < tasks; task++) {
		const tsr_task_who_t *who = tsr_explorer_who(question->x->explorer, task);
		if (who->rank == block->rank && who->kind == TSR_TASK_WORKER &&
		    !tsr_explorer_ended(question->x->explorer, task))
			living[count++] = task;
	}
	const tsr_unbegun_t unbegun = {
		.who = worker_of(block), .waits_for = living, .count = count};
	question->tell(question->argument, &unbegun);
	free(living);
}

static void unbegun(void *context, tsr_unbegun_fn tell, void *argument)
{
	const tsr_exploration_t *x = context;
	for (int r = 0; r < x->size; r++) {
		unbegun_question_t question = {x, r, tell, argument};
		if (x->unbegun[r])
			x->unbegun[r](x->unbegun_ctx[r], tell_unbegun, &question);
	}
}

static bool known(void *context, uint64_t key)
{
	return tsr_exploration_knows(context, key);
}

static tsr_status_t make(tsr_exploration_t *x)
{
	const tsr_explorer_config_t config = {
		.step_bound = x->options.steps ? x->options.steps : STEP_BOUND,
		.spin_bound = x->options.strategy == TSR_CHECK_EXHAUSTIVE ? SPIN_BOUND : 0,
		.unbegun = unbegun,
		.switched = tsr_places_switch,
		.late = x->memory->late,
		.known = known,
		.context = x};
	tsr_status_t status = tsr_views_create(NULL, 0, 0, 0, &x->views);
	if (status == TSR_OK)
		status = tsr_shadow_create(x->views, true, &x->shadow);
	if (status == TSR_OK)
		status = tsr_explorer_create(&config, &x->explorer);
	if (status == TSR_OK)
		tsr_explorer_share(x->explorer, WORKER_STACK_BYTES, COMMON_STACKS);
	if (status == TSR_OK)
		status = x->memory->open(x);
	x->codes = calloc((size_t)x->size, sizeof *x->codes);
	x->places = calloc((size_t)x->size, sizeof *x->places);
	x->areas = calloc((size_t)x->size, sizeof *x->areas);
	x->signals = calloc(TSR_SIGNALS, sizeof *x->signals);
	x->collectives = calloc(TSR_COLLECTIVES, sizeof *x->collectives);
	if (status == TSR_OK &&
	    (!x->codes || !x->places || !x->areas || !x->signals || !x->collectives))
		status = no_memory();
	x->area_count = x->area_room = x->areas ? x->size : 0;
	for (int r = 0; r < x->area_count; r++)
		x->areas[r] = (tsr_area_t){.region = -1, .rank = r, .name = (uint64_t)r + 1};
	return status;
}

tsr_status_t tsr_exploration_ranks(const char *text, int *ranks_out)
{
	tsr_check_options_t options;
	const tsr_status_t status = tsr_check_options_parse(text, &options);
	if (status == TSR_OK)
		*ranks_out = options.ranks;
	return status;
}

bool tsr_exploration_compared(const char *text)
{
	tsr_check_options_t options;
	return tsr_check_options_parse(text, &options) == TSR_OK && options.parallel;
}

void tsr_exploration_launched(const char *text)
{
	tsr_check_options_t options;
	tsr_report_t report;
	if (tsr_check_options_parse(text, &options) != TSR_OK)
		return;
	tsr_report_open(&report, options.report_fd);
	tsr_report_launch(&report, tsr_now_ns());
}

tsr_status_t tsr_exploration_create(const char *text, int size, tsr_exploration_t **exploration_out)
{
	tsr_check_options_t options;
	tsr_status_t status = tsr_check_options_parse(text, &options);
	if (status != TSR_OK)
		return status;
	if (options.ranks != size)
		return tsr_error(TSR_ERR_CONFIG,
				 "the program starts %d ranks, but tessera check was told of %d: "
				 "give both the same number",
				 size, options.ranks);
	tsr_exploration_t *x = calloc(1, sizeof *x);
	if (!x)
		return no_memory();
	x->options = options;
	x->size = size;
	x->memory = options.weak == TSR_CHECK_WEAK_CACHE ? &tsr_memory_cache : &tsr_memory_views;
	x->said_fd = -1;
	tsr_exploration_keep_memory();
	tsr_report_open(&x->report, options.report_fd);
	status = make(x);
	if (status != TSR_OK) {
		tsr_exploration_destroy(x);
		return status;
	}
	*exploration_out = x;
	return TSR_OK;
}

void tsr_exploration_destroy(tsr_exploration_t *x)
{
	if (!x)
		return;
	tsr_explorer_destroy(x->explorer);
	for (int i = 0; i < x->area_count; i++)
		if (x->areas[i].region >= 0)
			x->memory->end_area(x, &x->areas[i]);
	x->memory->close(x);
	tsr_strategy_destroy(x->strategy);
	tsr_shadow_destroy(x->shadow);
	tsr_views_destroy(x->views);
	for (int i = 0; i < x->area_count; i++)
		free(x->areas[i].pieces);
	free(x->areas);
	free(x->codes);
	free(x->places);
	for (int task = 0; task < x->actor_room; task++) {
		free(x->actors[task].said);
		free(x->actors[task].unmet);
	}
	free(x->actors);
	free(x->operations);
	free(x->slabs);
	free(x->signals);
	free(x->collectives);
	tsr_buffering_free(&x->buffering);
	tsr_links_free(&x->links);
	free(x->sent);
	for (int i = 0; i < x->name_count; i++)
		free(x->names[i]);
	free(x->names);
	free(x);
}

/* ------------------------------------------------------------------ fibres */

tsr_actor_t *tsr_actor(tsr_exploration_t *x)
{
	return &x->actors[tsr_explorer_self(x->explorer)];
}

static bool make_room(tsr_exploration_t *x, int task)
{
	if (task < x->actor_room)
		return true;
	const int room = x->actor_room ? 2 * x->actor_room : 64;
	tsr_actor_t *actors = realloc(x->actors, (size_t)room * sizeof *actors);
	if (!actors)
		return false;
	memset(actors + x->actor_room, 0, (size_t)(room - x->actor_room) * sizeof *actors);
	x->actors = actors;
	x->actor_room = room;
	return true;
}

static void fibre_main(void *context)
{
	tsr_exploration_t *x = context;
	tsr_actor_t actor = *tsr_actor(x);
	tsr_guard_run(x, actor.body, actor.ctx);
}

/**
 * Where a fibre is. Hosts are on no device: instances of their own, after those
 * that devices have. A block's is that of its first worker; its workers are
 * waves of their own.
 */
static tsr_views_place_t place_of(const tsr_exploration_t *x, const tsr_task_who_t *who, int task,
				  int first_of_block)
{
	tsr_views_place_t place = {.instance = {0}};
	const bool host = who->kind == TSR_TASK_HOST;
	place.instance[TSR_VIEWS_WAVE] = task;
	place.instance[TSR_VIEWS_BLOCK] = first_of_block;
	place.instance[TSR_VIEWS_DEVICE] = host ? x->size + who->rank : who->rank;
	return place;
}

/** The next task is `actor`, with a thread of the views. */
static tsr_status_t enter(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t actor,
			  const tsr_edge_t *after)
{
	const int task = tsr_explorer_tasks(x->explorer);
	if (!make_room(x, task))
		return no_memory();
	const tsr_views_place_t place = place_of(x, who, task, actor.first_worker);
	tsr_status_t status = tsr_views_add_thread(x->views, &place, after, &actor.thread);
	if (status == TSR_OK)
		status = x->memory->begin(x, who, &actor);
	x->actors[task] = actor;
	tsr_links_edge(x, TSR_STEP_TAKE, task, after, NULL);
	return status;
}

/** Spawns a fibre. */
static tsr_status_t spawn(tsr_exploration_t *x, const tsr_task_who_t *who, void (*body)(void *),
			  void *ctx, const tsr_edge_t *after)
{
	int task = tsr_explorer_tasks(x->explorer);
	const int first = who->kind == TSR_TASK_HOST ? task : task - who->worker;
	const tsr_actor_t actor = {
		.body = body, .ctx = ctx, .first_worker = first, .other_worker = first + 1};
	tsr_status_t status = enter(x, who, actor, after);
	if (status == TSR_OK)
		status = tsr_explorer_spawn(x->explorer, who, fibre_main, x,
					    who->kind == TSR_TASK_HOST ? HOST_STACK_BYTES
								       : WORKER_STACK_BYTES,
					    &task);
	return status;
}

tsr_status_t tsr_exploration_begin(tsr_exploration_t *x, const tsr_worker_who_t *who,
				   void (*body)(void *ctx), void *ctx, const tsr_edge_t *after)
{
	const tsr_task_who_t worker = worker_of(who);
	if (x->phase == TSR_PHASE_PREFIX)
		tsr_exploration_serve(x);
	const tsr_status_t status = spawn(x, &worker, body, ctx, after);
	x->workers += status == TSR_OK;
	return status;
}

/** The second worker, as enter has it; it begins where the caller is. */
static tsr_status_t enter_fork(tsr_exploration_t *x, const tsr_task_who_t *who)
{
	const int self = tsr_explorer_self(x->explorer), fork = tsr_explorer_tasks(x->explorer);
	const tsr_actor_t *actor = tsr_actor(x);
	const tsr_actor_t other = {.body = actor->body,
				   .ctx = actor->ctx,
				   .begin = actor->begin,
				   .first_worker = self,
				   .other_worker = fork};
	tsr_edge_t *edge = NULL;
	tsr_status_t status = tsr_exploration_edge(x, &edge);
	if (status != TSR_OK)
		return status;
	tsr_exploration_give(x, edge);
	status = enter(x, who, other, edge);
	tsr_exploration_edge_drop(x, edge);
	tsr_actor(x)->other_worker = fork;
	return status;
}

/** Whether blocks that split do so in this schedule: all or none, as on one kind of device. */
static bool splits(tsr_exploration_t *x)
{
	if (!x->split_asked)
		x->splits = tsr_explorer_choose(x->explorer, TSR_CHOICE_SPLIT, 2) > 0;
	x->split_asked = true;
	return x->splits && tsr_explorer_forks();
}

int tsr_exploration_split(tsr_exploration_t *x, const tsr_worker_who_t *who)
{
	const tsr_task_who_t worker = worker_of(who);
	int task;
	bool forked = false;
	if (!splits(x))
		return -1;
	tsr_status_t status = enter_fork(x, &worker);
	if (status == TSR_OK)
		status = tsr_explorer_fork(x->explorer, &worker, &task, &forked);
	if (status != TSR_OK)
		tsr_exploration_abort(x, status, 0, tsr_last_error());
	if (forked)
		return 1;
	x->workers++;
	return 0;
}

static void see_crowd(void *argument, const tsr_worker_who_t *block)
{
	tsr_exploration_t *x = argument;
	(void)block;
	x->crowded = true;
}

void tsr_exploration_end(tsr_exploration_t *x, tsr_edge_t *end)
{
	tsr_actor_t *actor = tsr_actor(x);
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	if (tsr_pieces_end(x) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_shadow_end_coop(x->shadow, actor->thread);
	tsr_unmet_forget(actor, true);
	tsr_links_edge(x, TSR_STEP_GIVE, tsr_explorer_self(x->explorer), end, NULL);
	if (tsr_views_end_thread(x->views, actor->thread, end) != TSR_OK ||
	    x->memory->end(x, who, actor) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	x->workers--;
	if (x->unbegun[who->rank])
		x->unbegun[who->rank](x->unbegun_ctx[who->rank], see_crowd, x);
}

bool tsr_exploration_forgets(const tsr_exploration_t *x)
{
	return x->phase == TSR_PHASE_SCHEDULE;
}

int tsr_exploration_room(const tsr_exploration_t *x, int usual)
{
	return x->options.resident_blocks > 0 ? x->options.resident_blocks : usual;
}

void tsr_exploration_residency(tsr_exploration_t *x, int rank, tsr_exploration_unbegun_fn fn,
			       void *ctx)
{
	x->unbegun[rank] = fn;
	x->unbegun_ctx[rank] = ctx;
}

/* ------------------------------------------------------------------ order that no access makes */

tsr_status_t tsr_exploration_edge(tsr_exploration_t *x, tsr_edge_t **edge_out)
{
	return tsr_views_token_create(x->views, edge_out);
}

void tsr_exploration_edge_drop(tsr_exploration_t *x, tsr_edge_t *edge)
{
	tsr_links_edge(x, TSR_STEP_DROP, -1, edge, NULL);
	tsr_views_token_destroy(x->views, edge);
}

void tsr_exploration_give(tsr_exploration_t *x, tsr_edge_t *edge)
{
	tsr_actor_t *actor = tsr_actor(x);
	if (tsr_views_give(x->views, actor->thread, edge) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_links_edge(x, TSR_STEP_GIVE, tsr_explorer_self(x->explorer), edge, NULL);
	tsr_actor_epoch(actor);
}

void tsr_exploration_take(tsr_exploration_t *x, const tsr_edge_t *edge)
{
	if (tsr_views_take(x->views, tsr_actor(x)->thread, edge) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_links_edge(x, TSR_STEP_TAKE, tsr_explorer_self(x->explorer), edge, NULL);
}

void tsr_exploration_join(tsr_exploration_t *x, tsr_edge_t *into, const tsr_edge_t *from)
{
	if (tsr_views_token_join(x->views, into, from) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_links_edge(x, TSR_STEP_JOIN, -1, into, from);
}

/* ------------------------------------------------------------------ waits of the host */

static const tsr_await_kind_t await_kinds[] = {
	[TSR_HOST_WAIT_ROUND] = TSR_AWAIT_COLLECTIVE,
	[TSR_HOST_WAIT_STREAM] = TSR_AWAIT_STREAM,
	[TSR_HOST_WAIT_EVENT] = TSR_AWAIT_EVENT,
};

typedef struct host_await {
	const tsr_exploration_t *x;
	const tsr_host_wait_t *wait;
	int rank;
} host_await_t;

static bool host_ready(const void *context)
{
	const host_await_t *h = context;
	return h->wait->over(h->wait->ctx);
}

static void host_describe(const void *context, char *sentence, size_t bytes)
{
	static const char *const texts[] = {
		[TSR_HOST_WAIT_ROUND] = "waits for all ranks to make this call",
		[TSR_HOST_WAIT_STREAM] = "waits for the kernels of a stream",
		[TSR_HOST_WAIT_EVENT] = "waits for the kernels before an event",
	};
	const host_await_t *h = context;
	snprintf(sentence, bytes, "%s", texts[h->wait->what]);
}

static void host_blockers(const void *context, tsr_blocker_fn tell, void *argument)
{
	const host_await_t *h = context;
	if (!h->wait->lacks)
		tell(argument, (tsr_blocker_t){TSR_BLOCKER_WORKERS, h->rank});
	for (int r = 0; h->wait->lacks && r < h->x->size; r++)
		if (h->wait->lacks(h->wait->ctx, r))
			tell(argument, (tsr_blocker_t){TSR_BLOCKER_RANK, r});
}

void tsr_exploration_wait(tsr_exploration_t *x, const tsr_host_wait_t *wait)
{
	const host_await_t h = {
		x, wait, tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank};
	const tsr_await_t await = {
		.kind = await_kinds[wait->what],
		/* no access of a kernel touches what hosts wait for */
		.pending = {.kind = TSR_PENDING_LOCAL,
			    .object = tsr_device_object(wait->what == TSR_HOST_WAIT_ROUND ? -1
											  : h.rank),
			    .site = tsr_place_of_host(x, h.rank, wait->call)},
		.ready = host_ready,
		.describe = host_describe,
		.blockers = host_blockers,
		.context = &h,
	};
	(void)tsr_explorer_await(x->explorer, &await);
}

void tsr_exploration_changed(tsr_exploration_t *x, int rank)
{
	tsr_explorer_wake(x->explorer, tsr_device_object(rank < 0 ? -1 : rank));
}

void tsr_exploration_settle(tsr_exploration_t *x)
{
	if (x->workers > 0 || !x->touched)
		return;
	x->touched = false;
	if (tsr_shadow_settle(x->shadow) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_buffering_settle(x);
	tsr_links_settle(x);
	/* states may be others from now on */
	memset(x->collectives, 0, TSR_COLLECTIVES * sizeof *x->collectives);
	for (int task = 0; task < tsr_explorer_tasks(x->explorer); task++)
		tsr_actor_epoch(&x->actors[task]);
}

/* ------------------------------------------------------------------ running */

static void host_main(void *ctx)
{
	tsr_exploration_t *x = ctx;
	const int rank = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank;
	x->codes[rank] = x->rank(x->rank_ctx, rank);
}

/** Runs the hosts, and what they launch, for as long as accesses are watched. */
static tsr_status_t run_guarded(tsr_exploration_t *x, tsr_explorer_end_t *end_out)
{
	tsr_status_t status = tsr_guard_begin(x);
	for (int r = 0; status == TSR_OK && r < x->size; r++)
		status = spawn(x,
			       &(tsr_task_who_t){.rank = r,
						 .kind = TSR_TASK_HOST,
						 .launch = -1,
						 .block = -1,
						 .worker = -1},
			       host_main, x, NULL);
	tsr_hang_watch(x);
	if (status == TSR_OK)
		*end_out = tsr_explorer_run(x->explorer);
	tsr_hang_unwatch(x);
	/* no fibre runs any more, neither here nor in the process of a schedule */
	tsr_guard_end(x);
	return status;
}

int tsr_exploration_run(tsr_exploration_t *x, tsr_exploration_rank_fn rank, void *ctx)
{
	tsr_explorer_end_t end = TSR_EXPLORER_FAILED;
	x->rank = rank;
	x->rank_ctx = ctx;
	if (run_guarded(x, &end) != TSR_OK) {
		tsr_exploration_refused(x);
		return EXIT_FAILURE;
	}
	if (x->phase == TSR_PHASE_SERVED)
		return EXIT_SUCCESS;
	tsr_exploration_finish(x, end);
	if (x->phase == TSR_PHASE_SCHEDULE)
		tsr_exploration_leave(x); /* nothing of the program's end is this process's to do */
	for (int r = 0; r < x->size; r++)
		if (x->codes[r] != 0)
			return x->codes[r];
	return end == TSR_EXPLORER_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}
