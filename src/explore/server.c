/*
 * Schedules: from the first kernel on, the program goes on once for each, in a
 * process of its own.
 */
#include "src/explore/exploration_state.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"

enum { WHY_BYTES = 512, MOST_LIVELOCKS = 64 };

/** What a schedule's process hands back to the server: memory that both see. */
struct tsr_handback {
	/* which schedule, counted from 0: the one in flight, or after its end the one that
	 * follows */
	uint64_t next;
	uint64_t limit; /* of `next` */
	int stays;      /* processes in turn that could not be rewound after their first schedule */
	bool rewound;   /* this one has been */
	bool rewinding; /* it is being: whatever ends it then is none of the program's doing */
	uint64_t task_choices;
	enum { TSR_SEARCH_BROKEN, TSR_SEARCH_GOES_ON, TSR_SEARCH_DONE } search; /* exhaustive */
	/* broken: a sentence */
	char why[WHY_BYTES];
	/* keys of those that schedules ended in */
	uint64_t livelock[MOST_LIVELOCKS];
	int livelocks;
	bool told; /* why the process of the schedule ended has been reported */
	uint32_t count;
	uint32_t frontier[1 << 20]; /* of the next run */
};
typedef struct tsr_handback tsr_handback_t;

/** The server: it forks, and waits. */
typedef struct server {
	tsr_exploration_t *x;
	tsr_handback_t *handback;
	tsr_frontier_t frontier; /* exhaustive: of the next schedule */
	uint64_t steps;          /* pct: choices that the default schedule has */
} server_t;

/* ----------------------------------------------------------------- in the process of a schedule */

/**
 * What the program prints is not for the person who reads findings; its errors
 * are kept for them.
 */
static void silence(tsr_exploration_t *x)
{
	const int nothing = tsr_fd_keep(open("/dev/null", O_WRONLY | O_CLOEXEC));
	if (nothing >= 0)
		dup2(nothing, STDOUT_FILENO);
	x->said_fd = tsr_fd_keep(memfd_create("said", MFD_CLOEXEC));
	if (x->said_fd >= 0)
		dup2(x->said_fd, STDERR_FILENO);
}

static tsr_status_t load_script(const tsr_exploration_t *x, tsr_strategy_t **strategy_out)
{
	tsr_check_script_t text;
	tsr_status_t status = tsr_check_script_load(x->options.script_fd, &text);
	if (status != TSR_OK)
		return status;
	tsr_script_t script = {.deviation = calloc(text.count + 1, sizeof *script.deviation),
			       .count = text.count};
	for (size_t i = 0; script.deviation && i < text.count; i++)
		script.deviation[i] =
			(tsr_deviation_t){(uint32_t)text.at[i].choice, text.at[i].alternative};
	status =
		script.deviation ? tsr_strategy_scripted(&script, strategy_out) : TSR_ERR_NO_MEMORY;
	free(script.deviation);
	tsr_check_script_clear(&text);
	return status;
}

static tsr_status_t make_strategy(const server_t *server, uint64_t seed,
				  tsr_strategy_t **strategy_out)
{
	const tsr_check_options_t *options = &server->x->options;
	/* Caches are common to all: steps on different objects do not swap unnoticed. */
	const tsr_exhaustive_t bounds = {
		.reduction = options->weak == TSR_CHECK_WEAK_CACHE ? TSR_REDUCE_NOTHING
								   : TSR_REDUCE_REVERSALS,
		.preemptions = options->preemptions,
	};
	if (options->script_fd >= 0)
		return load_script(server->x, strategy_out);
	switch (options->strategy) {
	case TSR_CHECK_PCT:
		return tsr_strategy_pct(seed, options->depth, server->steps, strategy_out);
	case TSR_CHECK_EXHAUSTIVE:
		return tsr_strategy_exhaustive(&bounds, &server->frontier, strategy_out);
	default:
		return tsr_strategy_random(seed, strategy_out);
	}
}

/**
 * Memory that is given back is kept for the next who asks: a schedule is short,
 * and its blocks take and give back the same buffers, so that returning pages
 * to the system and having them zeroed again would cost more than what is done
 * in them. And a process whose mappings have changed cannot be rewound.
 */
void tsr_exploration_keep_memory(void)
{
#ifdef M_TRIM_THRESHOLD
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

void tsr_exploration_refused(tsr_exploration_t *x)
{
	tsr_report_finding(&x->report, &(tsr_finding_t){.class = TSR_FINDING_PROGRAM_FAILURE,
							.message = tsr_last_error()});
}

/** Room for what a schedule allocates, so that the system is not asked for it. */
static void make_room(void)
{
#ifdef M_TOP_PAD
	(void)mallopt(M_TOP_PAD, 16 << 20);
	void *volatile room = malloc(16 << 20);
	free(room);
#endif
}

/** A child that will go on as the fibre that it is. */
static void become_child(server_t *server)
{
	server->x->phase = TSR_PHASE_SCHEDULE;
	server->x->handback = server->handback;
	silence(server->x);
	make_room();
}

static void become_schedule(server_t *server, uint64_t seed)
{
	tsr_exploration_t *x = server->x;
	x->seed = seed;
	if (x->said_fd >= 0 && ftruncate(x->said_fd, 0) == 0)
		(void)lseek(x->said_fd, 0, SEEK_SET);
	tsr_hang_watch(x);
	if (make_strategy(server, seed, &x->strategy) != TSR_OK) {
		tsr_exploration_refused(x);
		x->handback->told = true;
		_exit(EXIT_FAILURE);
	}
	tsr_explorer_begin(x->explorer);
	tsr_explorer_use(x->explorer, x->strategy);
}

bool tsr_exploration_knows(const tsr_exploration_t *x, uint64_t key)
{
	const tsr_handback_t *handback = x->handback;
	for (int i = 0; handback && i < handback->livelocks; i++)
		if (handback->livelock[i] == key)
			return true;
	return false;
}

/** A search that leaves nothing out goes on to the bound each time. */
void tsr_exploration_learn(tsr_exploration_t *x, uint64_t key)
{
	tsr_handback_t *handback = x->handback;
	if (handback && x->options.strategy != TSR_CHECK_EXHAUSTIVE &&
	    handback->livelocks < MOST_LIVELOCKS && !tsr_exploration_knows(x, key))
		handback->livelock[handback->livelocks++] = key;
}

static void break_off(tsr_handback_t *handback, const char *why)
{
	handback->search = TSR_SEARCH_BROKEN;
	snprintf(handback->why, sizeof handback->why, "%s", why);
}

/** Leaves where the search stands for the server. */
static void hand_back(tsr_exploration_t *x, tsr_explorer_end_t end)
{
	const bool whole =
		end == TSR_EXPLORER_DONE || end == TSR_EXPLORER_PRUNED || end == TSR_EXPLORER_STUCK;
	tsr_handback_t *handback = x->handback;
	tsr_frontier_t next = {NULL, 0};
	bool more = false;
	handback->task_choices = tsr_strategy_choices(x->strategy);
	if (x->options.strategy != TSR_CHECK_EXHAUSTIVE || x->options.script_fd >= 0)
		return;
	if (tsr_exhaustive_next(x->strategy, whole && !x->crowded, &next, &more) != TSR_OK) {
		break_off(handback, tsr_last_error());
		return;
	}
	handback->count = (uint32_t)next.count;
	if (!more) {
		handback->search = TSR_SEARCH_DONE;
	} else if (next.count <= sizeof handback->frontier / sizeof *handback->frontier) {
		memcpy(handback->frontier, next.word, next.count * sizeof *next.word);
		handback->search = TSR_SEARCH_GOES_ON;
	} else {
		break_off(
			handback,
			"what is left of the search has outgrown its room: bound the preemptions");
	}
	free(next.word);
}

void tsr_exploration_account(tsr_exploration_t *x, tsr_explorer_end_t end)
{
	const tsr_explorer_counts_t counts = tsr_explorer_count(x->explorer);
	const tsr_script_t script = tsr_strategy_script(x->strategy);
	tsr_check_deviation_t *deviations = calloc(script.count + 1, sizeof *deviations);
	tsr_report_schedule_t schedule = {
		.seed = x->seed,
		.choices = counts.choices,
		.steps = counts.steps,
		.tasks = (uint64_t)counts.tasks,
		.shadow_bytes = tsr_shadow_size_bytes(x->shadow) + x->memory->size_bytes(x),
		.heap_bytes = x->heap_bytes,
		.pruned = end == TSR_EXPLORER_PRUNED,
	};
	for (size_t i = 0; deviations && i < script.count; i++)
		deviations[i] = (tsr_check_deviation_t){script.deviation[i].index,
							script.deviation[i].alternative};
	if (x->sent_count > 0) {
		schedule.scripted = deviations != NULL;
		schedule.script = deviations;
		schedule.script_count = deviations ? script.count : 0;
	}
	for (int r = x->size - 1; r >= 0; r--)
		if (x->codes[r] != 0)
			schedule.exit = x->codes[r];
	tsr_explorer_digest(x->explorer, schedule.digest);
	hand_back(x, end);
	tsr_report_schedule(&x->report, &schedule);
	free(deviations);
}

/* ------------------------------------------------------------- several schedules in one process */

/** Processes in turn that could not be rewound, after which it is not tried any more. */
enum { MOST_STAYS = 3 };

static uint64_t seed_of(const server_t *server, uint64_t number)
{
	return server->x->options.first + number * server->x->options.stride;
}

/** Whether it is worth while: to note what a process is costs as much as some schedules. */
static bool is_rewound(const server_t *server)
{
	const tsr_check_options_t *options = &server->x->options;
	const tsr_handback_t *handback = server->handback;
	return options->reuse && options->script_fd < 0 &&
	       options->strategy != TSR_CHECK_EXHAUSTIVE && handback->limit - handback->next >= 4 &&
	       handback->stays < MOST_STAYS;
}

/**
 * Begins the schedule that is next, and, each time the process has been
 * rewound, the one after it.
 */
static void become_schedules(server_t *server)
{
	tsr_exploration_t *x = server->x;
	become_child(server);
	x->rewind = is_rewound(server) ? tsr_rewind_create() : NULL;
	if (x->rewind && sigsetjmp(*tsr_rewind_place(x->rewind), 0) == 0) {
		server->handback->rewound = false;
		if (!tsr_rewind_note(x->rewind)) {
			x->rewind = NULL;
			server->handback->stays = MOST_STAYS;
		}
	} else if (x->rewind) {
		server->handback->rewound = true;
		server->handback->rewinding = false;
		tsr_report_begin(&x->report, seed_of(server, server->handback->next));
	}
	become_schedule(server, seed_of(server, server->handback->next));
}

void tsr_exploration_leave(tsr_exploration_t *x)
{
	tsr_handback_t *handback = x->handback;
	const bool more = ++handback->next < handback->limit;
	if (x->rewind && more) {
		handback->rewinding = true;
		tsr_rewind_back(x->rewind);
		handback->rewinding = false;
		handback->stays = handback->rewound ? 0 : handback->stays + 1;
	}
	_exit(0);
}

/* ------------------------------------------------------------------ the server */

/** Reports in the place of a schedule whose process has died. `told`: it has said why. */
static void report_death(tsr_exploration_t *x, uint64_t seed, int status, bool told)
{
	char message[128];
	tsr_finding_t finding = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = message};
	const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (number)
		snprintf(message, sizeof message, "the program was ended by signal %d (%s)", number,
			 strsignal(number));
	else
		snprintf(message, sizeof message,
			 "the program left by exit code %d before its ranks had ended",
			 WEXITSTATUS(status));
	if (number == SIGSEGV) /* kernels and hosts would have told (guard.c) */
		finding.change = "look at what threads do that the program has started itself: let "
				 "them use no pointer into the heap; the rank's own thread copies "
				 "with tsr_memcpy_to_heap and tsr_memcpy_from_heap";
	else if (!number)
		finding.change = "let no rank call exit, _Exit or the like: it returns from "
				 "TSR_MAIN";
	if (!told)
		tsr_report_finding(&x->report, &finding);
	tsr_report_schedule(&x->report,
			    &(tsr_report_schedule_t){.seed = seed,
						     .exit = number ? 128 + number
								    : WEXITSTATUS(status)});
}

/**
 * Runs the schedule that is next, and those after it that its process goes on
 * with. True: this is their process.
 */
static bool fork_schedules(server_t *server)
{
	tsr_exploration_t *x = server->x;
	const uint64_t number = server->handback->next;
	int status = 0;
	break_off(server->handback, "a schedule's process ended before it said which schedules "
				    "come after it: mend what ends it first");
	server->handback->told = false;
	tsr_report_begin(&x->report, seed_of(server, number));
	const pid_t pid = fork();
	if (pid == 0) {
		become_schedules(server);
		return true;
	}
	if (pid < 0) {
		(void)tsr_error(TSR_ERR_SYSTEM, "no process for a schedule: %s", strerror(errno));
		tsr_exploration_refused(x);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (server->handback->rewinding) { /* what it has run is accounted for */
		server->handback->rewinding = false;
		server->handback->stays = MOST_STAYS;
		return false;
	}
	/* else the one in flight has said how it went */
	if (pid < 0 || status != 0 || server->handback->next == number)
		report_death(x, seed_of(server, server->handback->next++),
			     pid < 0 ? EXIT_FAILURE << 8 : status,
			     pid < 0 || server->handback->told);
	return false;
}

/**
 * PCT: the default schedule says how many choices there are about. It is run
 * unheard, and the same for every seed, so that a seed means the same wherever
 * it is replayed. True: this is its process.
 */
static bool fork_default(server_t *server)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0) {
		const tsr_script_t none = {NULL, 0};
		server->x->report.broken = true;
		server->x->options.strategy = TSR_CHECK_RANDOM;
		become_child(server);
		become_schedule(server, 0);
		tsr_strategy_destroy(server->x->strategy);
		if (tsr_strategy_scripted(&none, &server->x->strategy) != TSR_OK)
			_exit(EXIT_FAILURE);
		tsr_explorer_use(server->x->explorer, server->x->strategy);
		return true;
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	server->steps = server->handback->task_choices > 0 ? server->handback->task_choices : 1;
	return false;
}

/** The next schedule of an exhaustive search; false where there is none, or none is known. */
static bool next_frontier(server_t *server)
{
	tsr_handback_t *handback = server->handback;
	if (handback->search != TSR_SEARCH_GOES_ON)
		return false;
	free(server->frontier.word);
	server->frontier = (tsr_frontier_t){
		calloc(handback->count + 1, sizeof *server->frontier.word), handback->count};
	if (!server->frontier.word) {
		break_off(handback,
			  "no memory for what is left of the search: bound the preemptions");
		return false;
	}
	memcpy(server->frontier.word, handback->frontier,
	       handback->count * sizeof *handback->frontier);
	return true;
}

/** True: this is the process of a schedule. */
static bool serve_all(server_t *server)
{
	const tsr_check_options_t *options = &server->x->options;
	const bool exhaustive = options->strategy == TSR_CHECK_EXHAUSTIVE;
	server->handback->limit = exhaustive && options->seeds == 0 ? UINT64_MAX : options->seeds;
	if (options->script_fd >= 0) {
		if (fork_schedules(server))
			return true;
		tsr_report_end(&server->x->report, true, NULL);
		return false;
	}
	if (options->strategy == TSR_CHECK_PCT && fork_default(server))
		return true;
	server->handback->next = 0; /* the default schedule does not count */
	for (bool more = true; more && server->handback->next < server->handback->limit;) {
		if (fork_schedules(server))
			return true;
		more = !exhaustive || next_frontier(server);
	}
	const tsr_handback_t *handback = server->handback;
	tsr_report_end(&server->x->report, !exhaustive || handback->search == TSR_SEARCH_DONE,
		       exhaustive && handback->search == TSR_SEARCH_BROKEN ? handback->why : NULL);
	return false;
}

/* ------------------------------------------------------------------ the door */

/*
 * Hosts meet there before schedules are forked, so that what each does before
 * its first kernel is done once.
 */
static const uint64_t door = UINT64_C(3) << 62;

static bool is_open(const void *context)
{
	const tsr_exploration_t *x = context;
	return x->phase != TSR_PHASE_PREFIX;
}

/**
 * Lets the hosts of other ranks go on until each comes here, ends, or waits for
 * what only a kernel can bring about.
 */
static void wait_at_door(tsr_exploration_t *x)
{
	const int rank = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank;
	const tsr_await_t await = {
		.kind = TSR_AWAIT_CUSTOM,
		.pending = {.kind = TSR_PENDING_LOCAL,
			    .object = door,
			    .site = tsr_place_of_host(x, rank, "a launch")},
		/* of the first host, where nobody else can go on: it forks */
		.deadline = TSR_DEADLINE_LAST,
		.ready = is_open,
		.context = x,
	};
	(void)tsr_explorer_await(x->explorer, &await);
}

/** Forks the schedules. Returns in the process of each. */
static void serve(tsr_exploration_t *x)
{
	const tsr_explorer_counts_t counts = tsr_explorer_count(x->explorer);
	server_t server = {.x = x, .steps = 1};
	tsr_hang_unwatch(x); /* each schedule has a time of its own */
	server.handback = mmap(NULL, sizeof *server.handback, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (server.handback == MAP_FAILED) {
		(void)tsr_error(TSR_ERR_SYSTEM,
				"mapping %zu bytes for what schedules hand back failed: %s",
				sizeof *server.handback, strerror(errno));
		tsr_exploration_refused(x);
		x->failed = true;
		tsr_explorer_stop(x->explorer);
	}
	fflush(stdout); /* or each schedule would write what is still in there */
	fflush(stderr);
	tsr_report_prefix(&x->report, &(tsr_report_prefix_t){.tasks = (uint64_t)counts.tasks,
							     .steps = counts.steps});
	if (serve_all(&server)) {
		tsr_explorer_wake(x->explorer, door);
		return;
	}
	free(server.frontier.word);
	munmap(server.handback, sizeof *server.handback);
	x->phase = TSR_PHASE_SERVED;
	tsr_explorer_stop(x->explorer);
}

void tsr_exploration_serve(tsr_exploration_t *x)
{
	wait_at_door(x);
	if (x->phase == TSR_PHASE_PREFIX)
		serve(x);
}
