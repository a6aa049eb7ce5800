/*
 * Rewinding: one process for many schedules. When a schedule has ended, its
 * process is reset to the state in which it began, instead of forking a new
 * one. Otherwise most of the cost of a short schedule is the operating
 * system's: the fork, and a page fault for each page that it writes.
 *
 * Rewound are: all writable private memory, byte for byte; the registers;
 * dispositions and mask of signals, the signal stack, the working directory,
 * the file mode mask and interval timers. The operating system says which
 * memory that is (/proc/self/pagemap): pages that only this process has were
 * written since the fork.
 *
 * What cannot be rewound is detected, and ends the process, so that the next
 * schedule gets a forked one: new mappings, threads, children or descriptors.
 * What a forked process would share anyway is left as it is: shared memory, the
 * contents of files, and the positions of descriptors.
 */
#ifndef TESSERA_EXPLORE_PROCESS_REWIND_H
#define TESSERA_EXPLORE_PROCESS_REWIND_H

#include <setjmp.h>
#include <stdbool.h>

typedef struct tsr_rewind tsr_rewind_t;

/**
 * Returns null if rewinding is not possible: if the system does not report the
 * state of pages, under valgrind, with sanitizers, or with much memory.
 */
tsr_rewind_t *tsr_rewind_create(void);

/**
 * Where to continue, for sigsetjmp (without the mask). Set it just before the
 * next call.
 */
sigjmp_buf *tsr_rewind_place(tsr_rewind_t *rewind);

/**
 * Saves the state of the process. Called by the only thread, on a stack that is
 * rewound. Returns false if that is not possible.
 */
bool tsr_rewind_note(tsr_rewind_t *rewind);

/**
 * Restores that state, and continues at the place. Returns only if that is not
 * possible.
 */
void tsr_rewind_back(tsr_rewind_t *rewind);

#endif
