/*
 * The parts of `tessera check`: options, runs of the program, the tally of what
 * it says, reports, shrinking, timelines.
 *
 * The program explores by itself (src/explore/wire/protocol.h); the command
 * starts it, listens, and ends it.
 */
#ifndef TESSERA_TOOLS_CHECK_CHECK_H
#define TESSERA_TOOLS_CHECK_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/explore/wire/finding.h"
#include "src/explore/wire/options.h"
#include "tessera/types.h"
#include "tools/usage.h"

/**
 * Nothing can be said about the program: it does not speak, fails before its
 * first kernel, dies, or says nothing for too long.
 */
enum { CHECK_UNKNOWN = 3 };

/* ---------------------------------------------------------------- options */

/** A program under given circumstances: what `tessera check` would be called with. */
typedef struct check_case {
	tsr_check_options_t options; /* descriptors and stride are the run's */
	bool scripted;
	tsr_check_script_t script; /* owned */
	uint64_t seed;             /* of a case that is not scripted and was seen to fail */
	/* null-terminated; owned, or borrowed from the command line: whoever made the case knows */
	char **program;
} check_case_t;

/** The worlds that are explored, in turn: one by -n, or several by --worlds. */
typedef struct check_worlds {
	int ranks[TSR_MAX_RANKS];
	int count;
} check_worlds_t;

typedef struct check_options {
	check_case_t subject; /* options.ranks is the world's that is explored */
	check_worlds_t worlds;
	bool replay; /* one schedule, whose program may print */
	bool shrink;
	const char *trace, *json, *csv; /* files; null: none */
	int jobs;
	uint64_t time_limit_ns;  /* of all; 0: none */
	uint64_t quiet_limit_ns; /* between two lines of the program */
	int max_findings;
	bool uncompared; /* --no-slowdown */
	bool all_seeds;  /* go on where schedules show nothing new */
	bool help;
	/* the subject's program where a workload is named; null: it stands on the line */
	char **words;
} check_options_t;

/**
 * Reads the command line. TOOL_OK, or TOOL_MISUSED after its sentence. Given
 * back by check_options_clear, in either case.
 */
int check_options_read(int argc, char **argv, check_options_t *options_out);
void check_options_clear(check_options_t *options);
void check_options_help(void);

/** Reads "2-4" or "2,3,8". Errors: TSR_ERR_CONFIG quotes the text. */
tsr_status_t check_worlds_parse(const char *text, check_worlds_t *worlds_out);

/**
 * What is left for the worlds that have not been explored: each gets an equal
 * share, and leaves what it does not need.
 */
typedef struct check_budget {
	uint64_t seeds;       /* 0: an exhaustive search without a limit */
	uint64_t deadline_ns; /* 0: none */
	int worlds;
} check_budget_t;

typedef struct check_share {
	uint64_t seeds, deadline_ns;
} check_share_t;

check_budget_t check_budget_begin(const check_options_t *options, uint64_t begin_ns);

/** The share of the next world. */
check_share_t check_budget_share(const check_budget_t *budget);

/** The next world is done, after so many schedules. */
void check_budget_spend(check_budget_t *budget, uint64_t schedules);

/* ---------------------------------------------------------------- runs */

/** Who hears the lines. Returns false when it has heard enough: the program is then ended. */
typedef struct check_listener {
	bool (*line)(void *context, int job, json_t *object);
	/* The program of `job` has ended by itself: no more lines of it. */
	void (*ended)(void *context, int job);
	void *context;
} check_listener_t;

typedef enum check_end {
	CHECK_ENDED,       /* every program ended by itself */
	CHECK_STOPPED,     /* the listener had heard enough */
	CHECK_TIME_IS_UP,  /* the time limit */
	CHECK_SILENT,      /* a program said nothing for too long, or that it hangs */
	CHECK_INTERRUPTED, /* a signal asked the command to end */
	CHECK_NOT_STARTED  /* see tsr_last_error */
} check_end_t;

enum { CHECK_WORDS_BYTES = 2048 };

typedef struct check_outcome {
	check_end_t end;
	/* of the first program whose code is not 0, as shells have it; the signal, where
	 * interrupted */
	int code;
	uint64_t damaged; /* lines that are not JSON */
	/* the end of what a program wrote to stderr, where that was not shown */
	char words[CHECK_WORDS_BYTES];
} check_outcome_t;

typedef struct check_run {
	const check_case_t *subject;
	int jobs;
	/* what the program prints is shown; else dropped, but for the last words */
	bool shown;
	uint64_t deadline_ns; /* on the monotonic clock; 0: none */
	uint64_t quiet_limit_ns;
	check_listener_t listener;
} check_run_t;

/**
 * Executes the program, as many times at once as there are jobs, which share
 * the seeds, and hears them to the end. Nothing is left behind: neither
 * processes of theirs nor descriptors.
 */
void check_run(const check_run_t *run, check_outcome_t *outcome_out);

/* ---------------------------------------------------------------- the tally */

/** Findings of one world that are one. */
typedef struct check_found {
	tsr_finding_t *finding; /* of those that know most of it, that of the lowest seed */
	char *key;
	int world; /* index into the tally's worlds */
	int ranks;
	uint64_t schedules; /* that had it */
	uint64_t
		first_seed; /* the lowest of theirs, where `finding` may know more of a later one */
	/* it is of what comes before the first kernel, so of all schedules */
	bool common;
	bool scripted;               /* a script is known */
	tsr_check_script_t shortest; /* the least script of all that had it */
	bool fresh;                  /* no world before had it */
	/* a schedule had it without a direct finding before it; else `after` is the key of the one
	 * that came before it first */
	bool alone;
	char *after;
	/* set by check_tally_rank: which findings are of one bug, how many, and the index of the
	 * one that explains the others */
	int group, group_size, cause;
	tsr_finding_severity_t group_severity;
} check_found_t;

enum { CHECK_MOST_JOBS = 64 };

/** What a job has said of the schedule in flight. */
typedef struct check_flight {
	bool begun, open; /* a first schedule has begun; one has, and has not ended */
	bool finished;    /* "end" was said */
	uint64_t seed;
	tsr_finding_t **pending; /* owned */
	int pending_count;
} check_flight_t;

/** What is known of a world. */
typedef struct check_world {
	int ranks;
	uint64_t schedules;
	size_t distinct; /* interleavings */
	/* how many schedules there were when one last showed something new: an interleaving, or a
	 * finding */
	uint64_t last_new;
	bool saturated; /* the exploration of it ended for want of anything new */
	int errors, warnings;
} check_world_t;

typedef struct check_tally {
	check_flight_t flight[CHECK_MOST_JOBS];
	check_world_t worlds[TSR_MAX_RANKS]; /* in the order in which they were explored */
	int world_count;
	check_found_t *found;
	int found_count;
	int errors, warnings; /* different ones: what several worlds have in common counts once */
	bool spoke, complete; /* of the last world */
	uint64_t schedules, pruned, failed, choices, steps;
	/* of those that failed: ended by a signal, perhaps in the middle of a line */
	uint64_t died;
	uint64_t tasks, shadow_bytes, heap_bytes; /* the most */
	/* lines that are JSON, but none of the protocol */
	uint64_t refused;
	uint64_t (*digests)[2]; /* a table with open addressing; {0, 0}: empty */
	size_t digest_count, digest_room;
	bool exhausted;    /* no memory: the tally is not whole */
	char hang[512];    /* who hangs, and where; empty: nobody said */
	bool goes_on;      /* it is no hang: the schedule is long */
	char refusal[256]; /* why the first line was refused */
	char broken[512];  /* why the exhaustive search broke off; empty: it did not */
} check_tally_t;

/**
 * What comes is of a world of so many ranks. To be called once, before the
 * first line, or before each world.
 */
void check_tally_world(check_tally_t *tally, int ranks);

/** The world that is being explored. */
static inline check_world_t *check_tally_here(check_tally_t *tally)
{
	return &tally->worlds[tally->world_count - 1];
}

/**
 * Whether its last schedules showed nothing new: at least CHECK_QUIET, and at
 * least as many as there were before them. Seeds are drawn independently of
 * each other. So with 95 % confidence fewer than 3 / n of all schedules have
 * something that the last n did not.
 */
enum { CHECK_QUIET = 200 };
bool check_tally_saturated(const check_tally_t *tally);

/** Interleavings of all worlds. */
size_t check_tally_distinct(const check_tally_t *tally);

/** Takes a line. Any object. */
void check_tally_line(check_tally_t *tally, int job, json_t *object);

/** The job says no more: what it had pending counts, with the script not known. */
void check_tally_ended(check_tally_t *tally, int job);

/** The entry of that key in the world that is being explored, or null. */
const check_found_t *check_tally_find(const check_tally_t *tally, const char *key);

/**
 * Of the errors, or without any the warnings, that of the first world and there
 * of the lowest seed; null: there is none.
 */
const check_found_t *check_tally_first(const check_tally_t *tally);

/**
 * Moves the entry of that key, of the last world, out of a tally that is not
 * used any more; false: there is none. Given back by check_found_clear.
 */
bool check_tally_take(check_tally_t *tally, const char *key, check_found_t *found_out);
void check_found_clear(check_found_t *found);

/** Whether a finding names what is wrong, and not what comes of it. */
bool check_is_direct(const tsr_finding_t *finding);

/**
 * Sorts the findings: those of one bug are together, the one that explains the
 * others first, and what explains most before the rest. Returns false without
 * memory.
 */
bool check_tally_rank(check_tally_t *tally);

void check_tally_clear(check_tally_t *tally);

/**
 * Runs until what has that key is found, which is moved out (check_found_clear).
 * False: it is not. The run's listener is set by this.
 */
bool check_search(const check_run_t *run, const char *key, check_found_t *found_out,
		  check_outcome_t *outcome_out);

/** The program fails without what the finding blames a loop for, too: it says no more of that. */
void check_acquit_loop(tsr_finding_t *finding);

/* ---------------------------------------------------------------- the slowdown */

/** How long a job's schedules took, as their lines came in. */
typedef struct check_lap {
	uint64_t begin_ns, last_ns, schedules;
} check_lap_t;

typedef struct check_pace {
	check_lap_t lap[CHECK_MOST_JOBS];
} check_pace_t;

/** Takes a line of the protocol. */
void check_pace_line(check_pace_t *pace, int job, const json_t *object);

/**
 * A schedule beside the program as the parallel executor runs it; from the
 * first launch to the end of the process.
 */
typedef struct check_slowdown {
	bool asked;
	const char *reason; /* why it was not measured; null: it was */
	double schedule_seconds, parallel_seconds;
	int cpus; /* that the parallel executor could use */
} check_slowdown_t;

/**
 * Runs the program by the parallel executor with ranks as threads, unseen:
 * three times, or fewer where that takes more than a second; for 10 s at most,
 * or up to the deadline.
 */
void check_compare(const check_case_t *subject, const check_pace_t *pace, uint64_t deadline_ns,
		   check_slowdown_t *slowdown_out);

/* ---------------------------------------------------------------- reports */

/** How much of the machine the mode models: three sentences. */
typedef struct check_fidelity {
	const char *exactly, *approximately, *not_at_all;
} check_fidelity_t;

check_fidelity_t check_fidelity(const tsr_check_options_t *options);

/**
 * The command that replays a seed or, where one is given, a script. From
 * malloc, or null. Quoted for a shell.
 */
char *check_replay_command(const check_case_t *subject, uint64_t seed,
			   const tsr_check_script_t *script);

/** The command that replays what was found. From malloc, or null. */
char *check_found_command(const check_case_t *subject, const check_found_t *found);

/** `cause`: the finding that explains it; null: itself. */
void check_print_found(const check_case_t *subject, const check_found_t *found,
		       const check_found_t *cause, FILE *out);

/** What a check came to. */
typedef struct check_result {
	const check_case_t *subject; /* of the last world */
	const check_tally_t *tally;
	uint64_t elapsed_ns;
	int code;            /* the command's exit code */
	const char *failure; /* a sentence; null where nothing went wrong */
	const char *verdict; /* the part of it that says what happened, without advice */
	bool cut;            /* the time limit came before the last schedule of a world */
	const char *smaller; /* the command that shrinking has come to; null: none */
	check_slowdown_t slowdown;
} check_result_t;

void check_print_summary(const check_result_t *result, FILE *out);

/** Errors: TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY. */
tsr_status_t check_write_json(const check_result_t *result, const char *path);

/** Writes the table of worlds as CSV. Errors: TSR_ERR_NO_MEMORY, TSR_ERR_SYSTEM. */
tsr_status_t check_write_csv(const check_result_t *result, const char *path);

/* ---------------------------------------------------------------- shrinking */

/**
 * Whether `candidate` still shows what is being shrunk. Where it does, it may
 * write the script that showed it into the candidate, in place of the old one.
 */
typedef bool (*check_fails_fn)(void *context, check_case_t *candidate);

/**
 * Makes a case smaller as long as it fails: fewer ranks, smaller shapes
 * (arguments such as 64x64x64 are halved), fewer resident blocks, then fewer
 * deviations. `smallest` is a case that fails, with its own copies of script
 * and program; it is replaced by smaller ones. Returns how many candidates were
 * tried. `resident_default`: how many blocks are resident where the case does
 * not say.
 */
int check_shrink(check_case_t *smallest, int resident_default, check_fails_fn fails, void *context);

/** A case with its own copies; false: no memory. */
bool check_case_copy(const check_case_t *from, check_case_t *copy_out);
void check_case_clear(check_case_t *subject);

/* ---------------------------------------------------------------- timelines */

typedef struct check_trace check_trace_t;

/**
 * Begins a file of trace events, as Perfetto and chrome://tracing read them.
 * Errors: TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t check_trace_open(const char *path, check_trace_t **trace_out);

/** Takes a line of the protocol; those that are no event are skipped. */
void check_trace_line(check_trace_t *trace, const json_t *object);

/** Ends the file. Null is none. Errors: TSR_ERR_SYSTEM. `events_out` may be null. */
tsr_status_t check_trace_close(check_trace_t *trace, uint64_t *events_out);

#endif
