/*
 * What a program that is being checked says to `tessera check`: lines of JSON,
 * one object each, on the descriptor of options.h. One process writes at a
 * time: the program itself up to the first kernel, then, for each schedule,
 * "begin" by the program and all up to "schedule" by the child that runs it.
 *
 *   {"type":"prefix","version":1,"tasks":T,"steps":S}
 *       first, once: the program speaks this, and reached the first kernel
 *   {"type":"begin","seed":7}
 *       a schedule begins
 *   {"type":"finding","class":"data-race","severity":"error","access":[...],
 *    "message":"...","nodes":[...],"edges":[...]}
 *   {"type":"hang","rank":1,"call":"tsr_barrier","goes_on":false}
 *       the program does not come back from its own code
 *   {"type":"event",...}
 *       where options.trace says so
 *   {"type":"schedule","seed":7,"digest":"<32 hex>","choices":C,"steps":S,
 *    "tasks":T,"shadow_bytes":N,"heap_bytes":N,
 *    "script":[[choice,alternative],...],"exit":0,"pruned":false}
 *   {"type":"end","complete":true,"why":"..."}
 *       last: nothing more comes; why an exhaustive search broke off,
 *       where it did
 *
 * A program that is asked to run once by the parallel executor says one thing
 * only, for each of its ranks:
 *
 *   {"type":"launch","at_ns":T}
 *       the rank is about to launch its first kernel
 *
 * T is the time at which the rank says so, on the monotonic clock of the
 * machine: the line may be read at any time after that.
 *
 * Empty lines mean nothing. Numbers of 64 bits without a sign are negative from
 * 2^63 on: the bits are the same. What is not known is left out.
 *
 * Findings between "begin" and "schedule" belong to that schedule. Findings
 * before the first "begin" belong to the part of the program up to the first
 * kernel, which all schedules share. A child that dies leaves no "schedule"
 * line: the program writes it in its place, with "exit" as shells have it (128
 * + signal).
 *
 * Writing allocates nothing and takes no lock, so that it works after fork and
 * in a signal handler's way out.
 */
#ifndef TESSERA_EXPLORE_WIRE_PROTOCOL_H
#define TESSERA_EXPLORE_WIRE_PROTOCOL_H

#include "src/explore/wire/finding.h"

enum { TSR_REPORT_BYTES = 8192 };

/**
 * The writing end. A plain value: the child of a fork goes on with its copy.
 * Nothing is kept back between two calls.
 */
typedef struct tsr_report {
	int fd;
	bool broken; /* nobody reads any more: what is written is dropped */
	bool first;  /* what comes next needs no comma */
	size_t used;
	char text[TSR_REPORT_BYTES];
} tsr_report_t;

/** What the program did before the first kernel. */
typedef struct tsr_report_prefix {
	uint64_t tasks, steps;
} tsr_report_prefix_t;

/** How a schedule went. */
typedef struct tsr_report_schedule {
	uint64_t seed;
	/* of the interleaving: schedules that differ only in the order of independent steps are
	 * equal */
	uint64_t digest[2];
	uint64_t choices, steps, tasks;
	uint64_t shadow_bytes, heap_bytes; /* the most that it touched */
	/* the script is sent: needed only where there were findings */
	bool scripted;
	const tsr_check_deviation_t *script;
	size_t script_count;
	int exit;    /* of the program: the first rank's that is not 0 */
	bool pruned; /* an equal one was seen: it was left before its end */
} tsr_report_schedule_t;

/**
 * Something that took place in a schedule, for a timeline: `name` from step
 * `begin` to step `end` by `who`. Steps are the executor's: they only grow. A
 * wait that is satisfied names as flow_in the flow_out of the signal that it
 * read. 0: none.
 */
typedef struct tsr_report_event {
	tsr_finding_who_t who;
	const char *name; /* "tsr_put" */
	tsr_finding_kind_t kind;
	uint64_t begin, end;
	const char *file;
	int line;
	const char *detail; /* "'C'+4096 (64 bytes) of rank 2, release at system"; null: none */
	uint64_t flow_out, flow_in;
} tsr_report_event_t;

void tsr_report_open(tsr_report_t *report, int fd);

void tsr_report_prefix(tsr_report_t *report, const tsr_report_prefix_t *prefix);
void tsr_report_begin(tsr_report_t *report, uint64_t seed);
void tsr_report_finding(tsr_report_t *report, const tsr_finding_t *finding);
void tsr_report_event(tsr_report_t *report, const tsr_report_event_t *event);
void tsr_report_schedule(tsr_report_t *report, const tsr_report_schedule_t *schedule);

/**
 * Code of the program that does not come back, by the process that is in it.
 * From a signal's handler.
 */
typedef struct tsr_report_hang {
	tsr_finding_who_t who; /* that runs */
	/* the last call at which another could have gone on; null: none yet */
	const char *call;
	const char *file;
	int line;
	bool goes_on; /* it makes such calls all the time */
} tsr_report_hang_t;

void tsr_report_hang(tsr_report_t *report, const tsr_report_hang_t *hang);

/** @param at_ns  now, on the monotonic clock */
void tsr_report_launch(tsr_report_t *report, uint64_t at_ns);

/**
 * @param complete  the exhaustive strategy has seen all schedules within its
 *                  bounds; elsewhere: all seeds were run
 * @param why       a sentence: what kept the search from going on; null:
 *                  nothing did
 */
void tsr_report_end(tsr_report_t *report, bool complete, const char *why);

#endif
