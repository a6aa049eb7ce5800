/*
 * How a thread waits without taking the processor from the threads that it waits
 * for, and the wait record that it leaves when its deadline expires.
 */
#ifndef TESSERA_CPUEMU_WAIT_H
#define TESSERA_CPUEMU_WAIT_H

#include <stdio.h>

#include "cpuemu/dev/memory/bell.h"

/** A wait for anything: spins, then yields, then sleeps ever longer. */
typedef struct tsr_patience {
	bool (*over)(void *ctx); /* looks; true ends the wait, with acquire */
	void (*sleep)(void *ctx, uint64_t ns);
	void *ctx;
	bool far; /* a rank of another node may end it, and `over` reads no far memory */
	uint64_t deadline_ns; /* relative */
	uint64_t waited_ns;   /* left behind */
} tsr_patience_t;

/** Returns TSR_WAIT_OK, _EXPIRED, or _ABORTED. */
tsr_wait_result_t tsr_wait_patiently(tsr_coop_t *coop, tsr_patience_t *patience);

/** Fills who and where into `record` and keeps it; `flag` is mine, or null. */
void tsr_wait_keep(tsr_coop_t *coop, tsr_wait_record_t *record, const void *flag);

/**
 * Ends the world with TSR_ERR_TIMEOUT: "rank R, block B of kernel K waited T s
 * at SITE for ...".
 */
void tsr_wait_fail(tsr_coop_t *coop, const tsr_wait_record_t *record, const char *what, ...)
	__attribute__((format(printf, 3, 4)));

#endif
