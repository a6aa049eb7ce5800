/*
 * The reports of a program that is being checked to `tessera check`: lines of
 * JSON, one object each, on the descriptor of options.h. One process writes at
 * a time: first the program itself, up to the first kernel. Then, for each
 * schedule, the program writes "begin", and the child that runs it writes
 * everything up to "schedule".
 *
 *   {"type":"prefix","version":1,"tasks":T,"steps":S}
 *       first, once: the program speaks this, and reached the first kernel
 *   {"type":"begin","seed":7}
 *       a schedule begins
 *   {"type":"finding","class":"data-race","severity":"error","access":[...],
 *    "message":"...","nodes":[...],"edges":[...]}
 *   {"type":"hang","rank":1,"call":"tsr_barrier","goes_on":false}
 *       the program does not return from its own code
 *   {"type":"event",...}
 *       if options.trace is set
 *   {"type":"schedule","seed":7,"digest":"<32 hex>","choices":C,"steps":S,
 *    "tasks":T,"shadow_bytes":N,"heap_bytes":N,
 *    "script":[[choice,alternative],...],"exit":0,"pruned":false}
 *   {"type":"end","complete":true,"why":"..."}
 *       last; `why` says why an exhaustive search stopped, if it did
 *
 * A program that runs once by the parallel executor writes only this line, for
 * each of its ranks:
 *
 *   {"type":"launch","at_ns":T}
 *       the rank is about to launch its first kernel
 *
 * T is the time of that report, on the monotonic clock of the machine: the line
 * may be read any time later.
 *
 * Empty lines mean nothing. Unsigned 64-bit numbers from 2^63 on are written as
 * negative numbers with the same bits. Unknown values are left out.
 *
 * Findings between "begin" and "schedule" belong to that schedule. Findings
 * before the first "begin" belong to the part of the program up to the first
 * kernel, which all schedules share. A child that dies leaves no "schedule"
 * line; the program writes it instead, with the "exit" that a shell would give
 * (128 + signal).
 *
 * Writing allocates nothing and takes no lock, so that it works after fork and
 * in a signal handler.
 */
#ifndef TESSERA_EXPLORE_WIRE_PROTOCOL_H
#define TESSERA_EXPLORE_WIRE_PROTOCOL_H

#include "src/explore/wire/finding.h"

enum { TSR_REPORT_BYTES = 8192 };

/**
 * The writing end. A plain value: after a fork the child continues with its
 * copy. Nothing stays buffered between two calls.
 */
typedef struct tsr_report {
	int fd;
	bool broken; /* the reader is gone; everything written is dropped */
	bool first;  /* the next member needs no comma */
	size_t used;
	char text[TSR_REPORT_BYTES];
} tsr_report_t;

/** What the program did before the first kernel. */
typedef struct tsr_report_prefix {
	uint64_t tasks, steps;
} tsr_report_prefix_t;

/** The result of a schedule. */
typedef struct tsr_report_schedule {
	uint64_t seed;
	/* of the interleaving: equal for schedules that differ only in the order of independent
	 * steps */
	uint64_t digest[2];
	uint64_t choices, steps, tasks;
	uint64_t shadow_bytes, heap_bytes; /* the maximum during the schedule */
	/* whether the script is sent; needed only if there were findings */
	bool scripted;
	const tsr_check_deviation_t *script;
	size_t script_count;
	int exit;    /* of the program: the first non-zero code of a rank */
	bool pruned; /* an equal one was seen, so it was stopped before its end */
} tsr_report_schedule_t;

/**
 * An event in a schedule, for a timeline: `who` does `name` from step `begin`
 * to step `end`. Steps are counted by the executor and only grow. A wait that
 * ends has as flow_in the flow_out of the signal that it read; 0: none.
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
 * Code of the program that does not return, reported by its process from a
 * signal handler.
 */
typedef struct tsr_report_hang {
	tsr_finding_who_t who; /* the running task */
	/* the last call at which another task could have continued; null: none yet */
	const char *call;
	const char *file;
	int line;
	bool goes_on; /* it keeps making such calls */
} tsr_report_hang_t;

void tsr_report_hang(tsr_report_t *report, const tsr_report_hang_t *hang);

/** @param at_ns now, on the monotonic clock */
void tsr_report_launch(tsr_report_t *report, uint64_t at_ns);

/**
 * @param complete  the exhaustive strategy has seen all schedules within its
 *                  limits; other strategies: all seeds were run
 * @param why  a sentence: why the search stopped; null: it did not
 */
void tsr_report_end(tsr_report_t *report, bool complete, const char *why);

#endif
