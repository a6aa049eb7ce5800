/*
 * The simulating executor: all ranks in one process and one thread, every
 * rank's program and every worker of every block a fibre, as in an exploration
 * (src/explore/README.md). It fills the same tables and functions
 * (src/base/executor.h, src/explore/exploration.h). Where that one decides what
 * may happen, this one says when it happens: each fibre has a clock.
 *
 * Matrices have no values here. Words and small messages have, so that kernels
 * wait for what they wait for on a device.
 *
 * All times are nanoseconds of the simulated machine.
 */
#ifndef MODEL_PERF_SIM_SIM_H
#define MODEL_PERF_SIM_SIM_H

#include <math.h>

#include "model/perf/sim/agenda.h"
#include "model/perf/sim/flows.h"
#include "model/perf/sim/machine.h"
#include "src/explore/exploration.h"
#include "src/explore/process/fibre.h"

typedef struct sim_task sim_task_t;

/**
 * The loader of a main loop, while it runs a gate: it is ahead of the block,
 * which may still be in an earlier epilogue.
 */
typedef struct sim_gate {
	double passed_ns; /* when all that the gate has waited for was there */
	bool has_ready;   /* it has passed what is not multiplied yet: */
	void (*multiply)(void *ctx);
	void *ctx;
} sim_gate_t;

/** A tile that a block sends to others while it goes on: one at a time. */
typedef struct sim_sending {
	sim_owner_t owner; /* first: of its flow */
	struct sim_task *task;
	bool goes, awaited; /* awaited: the task sleeps until it ends */
} sim_sending_t;

/** Copies of one call to several ranks, which go at one time. */
typedef struct sim_copies {
	int count;
	int ranks[TSR_MAX_RANKS];
	double bytes; /* of each */
} sim_copies_t;

/** A worker of a block, or the host of a rank. */
struct sim_task {
	sim_owner_t owner; /* first: of its flow */
	sim_sending_t sending;
	sim_copies_t *copies; /* null: none */
	tsr_exploration_t *sim;
	tsr_fibre_t *fibre;
	double now_ns;
	double limit_ns;   /* a worker that runs longer may never end */
	double drained_ns; /* when all that it has stored is where it was stored to */
	double last_ns;    /* when the last word that it has sent arrives */
	tsr_worker_who_t who;
	bool is_host, is_engine;
	/* what it has of a latency: less where it stands for several workers of a block */
	double latency_part;
	bool copies_table; /* what it copies has values, however large */
	bool adds;         /* what it stores is added to what stands there */
	bool in_epilogue;  /* of a main loop: storing its tile here is a part of that */
	void (*body)(void *ctx);
	void *ctx;
	sim_gate_t *gate;              /* null: it is not in one */
	const tsr_host_wait_t *awaits; /* of a host; null: it does not wait */
	const tsr_flag_wait_t *flags;  /* of a worker that sleeps until a word comes */
	bool *woken;                   /* whether it has been woken from that */
	bool expired;                  /* by its deadline */
	int deadlines;                 /* waits that have had one */
	tsr_op_site_t site;            /* of that wait */
	sim_task_t *older, *younger;   /* among all */
};

/** A rank's heap; base as programs see it. */
typedef struct sim_heap {
	unsigned char *base;
	size_t bytes;
} sim_heap_t;

typedef struct sim_words sim_words_t;   /* words.c */
typedef struct sim_panels sim_panels_t; /* panels.c */

struct tsr_exploration {
	sim_machine_t machine;
	int size;
	tsr_fibres_t *fibres;
	sim_agenda_t agenda;
	sim_flows_t *flows;
	sim_task_t *running, *all;
	sim_task_t *host[TSR_MAX_RANKS]; /* null: it has ended */
	int hosts;                       /* that have not ended */
	int code;
	sim_heap_t heap[TSR_MAX_RANKS];
	sim_words_t *words;
	sim_panels_t *panels;
	tsr_exploration_rank_fn rank;
	void *rank_ctx;
};

/* ------------------------------------------------------------ tasks.c */

/** Begins a task at a time. Null: no memory. */
sim_task_t *sim_task_begin(tsr_exploration_t *sim, const sim_task_t *as, double at_ns,
			   size_t stack_bytes);

/** Runs until no host is left, or nothing can go on. */
void sim_run(tsr_exploration_t *sim);

/** Lets everybody act who is earlier than the running task. */
void sim_sync(tsr_exploration_t *sim);

/** The running task sleeps until sim_wake, whose time is its clock then. */
void sim_sleep(tsr_exploration_t *sim);
void sim_wake(sim_task_t *task, double at_ns);

/** A wait that expires at a time, unless it has ended: `task` is null then. */
typedef struct sim_deadline {
	sim_task_t *task;
} sim_deadline_t;

/** The deadline of the running task's wait, from now on; null: it has none. */
sim_deadline_t *sim_deadline_begin(tsr_exploration_t *sim, const tsr_flag_wait_t *wait);

/** Ends it: behind the wait. May be null. */
void sim_deadline_end(sim_deadline_t *deadline);

/**
 * What the loop does before its block waits, and at the end of a task: it multiplies
 * what the gate has passed.
 */
void sim_catch_up(tsr_exploration_t *sim, sim_gate_t *gate);

/** Calls `act` at a time. */
void sim_at(tsr_exploration_t *sim, double at_ns, sim_event_fn act, void *ctx);

/** The running task makes a flow, and waits for its end. */
void sim_flow(tsr_exploration_t *sim, const sim_ask_t *ask, double amount);

/** The same, without waiting for more than the end of the one before. */
void sim_flow_beside(tsr_exploration_t *sim, const sim_ask_t *ask, double amount);

/** Waits for the end of that. */
void sim_await_sending(tsr_exploration_t *sim);

/** Ends the process with a sentence: nothing can be simulated any more. */
_Noreturn void sim_stop(tsr_exploration_t *sim, int code, const char *sentence);

/** The same, where there is no memory. */
_Noreturn void sim_no_memory(tsr_exploration_t *sim);

/** The simulation whose task runs. */
tsr_exploration_t *sim_running(void);

/** The running task's clock; 0 outside. */
uint64_t sim_now_ns(void);

/* ------------------------------------------------------------ costs.c */

/** Whose heap an address is in; -1: nobody's, as of shared memory. */
int sim_rank_at(const tsr_exploration_t *sim, const void *address);

/** The running task moves bytes from one rank's memory to another's; -1: registers. */
void sim_move(tsr_exploration_t *sim, int from, int to, double bytes);

/** The copies of a call that have been noted. */
void sim_copy_to_all(tsr_exploration_t *sim, const sim_copies_t *copies);

/** Stores bytes to each of some ranks while the block goes on. */
void sim_send_beside(tsr_exploration_t *sim, const int *ranks, int count, double bytes);

/**
 * Main loop of a block: `ns` of multiplying, while it reads bytes of its own
 * memory and of a peer's (-1: of none).
 */
typedef struct sim_work {
	double ns, memory_bytes, link_bytes;
	int peer;
	bool by_worker, beside_sending; /* by one worker of a block; while the block also sends */
} sim_work_t;

void sim_multiply(tsr_exploration_t *sim, const sim_work_t *work);

/** The K of tiles of 16-bit elements that the machine is fast at; 0: of any. */
int sim_tile_depth(const sim_machine_t *machine);

/** Nanoseconds of some cycles of a multiprocessor. */
double sim_cycles(const tsr_exploration_t *sim, double cycles);

/** Nanoseconds of a block's tensor cores for so many products of elements, in tiles so deep. */
double sim_product_ns(const tsr_exploration_t *sim, double products, int element_bytes, int depth);

/** What a tile of m x n costs for each unit of K, in products of elements of a large tile. */
double sim_tile_products(const tsr_exploration_t *sim, int m, int n);

/** Nanoseconds of one of `workers` workers for storing a tile of m x n. */
double sim_epilogue_ns(const tsr_exploration_t *sim, int m, int n, int workers);

sim_flows_t *sim_links_create(const sim_machine_t *machine, int size);

/* ------------------------------------------------------------ words.c */

bool sim_words_create(tsr_exploration_t *sim);
void sim_words_destroy(tsr_exploration_t *sim);

/** A word has a new value from `at_ns` on, the present: wakes those that waited for it. */
void sim_word_changed(tsr_exploration_t *sim, const void *word, uint64_t before, double at_ns);

/** Rows of words; `pitch` words from one row to the next. */
typedef struct sim_rows {
	size_t words, rows, pitch;
} sim_rows_t;

/**
 * Sends a message of words, dense at `from`, to a rank's memory, where all of it
 * arrives at one time. Its first word is the one that is waited for.
 */
void sim_send_words(tsr_exploration_t *sim, uint64_t *to, const uint64_t *from,
		    const sim_rows_t *rows, int rank);

/* ------------------------------------------------------------ panels.c */

/** Bytes of an operand's panel that a block must read from memory: 0 where the cache has it. */
double sim_panel_miss(tsr_exploration_t *sim, int rank, const void *panel, double bytes,
		      double until_ns);
bool sim_panels_create(tsr_exploration_t *sim);
void sim_panels_destroy(tsr_exploration_t *sim);

/* ------------------------------------------------------------ executor.c */

/** The machine of the run that is to come. */
extern sim_machine_t sim_machine;

#endif
