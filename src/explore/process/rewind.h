/*
 * One process for many schedules: where a schedule has ended, its process is
 * made again what it was when it began, in place of a new one that is forked.
 * Most of what a short schedule costs is otherwise the operating system's: a
 * page fault for each page that it writes, and the fork itself.
 *
 * What is rewound: all private memory that can be written, to the byte; the
 * registers; dispositions and mask of signals, the signal stack, the working
 * directory, the file mode mask and interval timers. Memory is found by what
 * the operating system says of it (/proc/self/pagemap): pages that this process
 * has to itself have been written since the fork.
 *
 * What cannot be rewound is looked for, and ends the process, so that the next
 * schedule has one that is forked: mappings, threads, children or descriptors
 * that were not there. What a forked process would not have of its own either
 * is left: shared memory, the contents of files, and how far descriptors have
 * been read.
 */
#ifndef TESSERA_EXPLORE_PROCESS_REWIND_H
#define TESSERA_EXPLORE_PROCESS_REWIND_H

#include <setjmp.h>
#include <stdbool.h>

typedef struct tsr_rewind tsr_rewind_t;

/**
 * Null where it is not possible: without what newer systems say of pages, under
 * valgrind, with sanitizers, with much memory.
 */
tsr_rewind_t *tsr_rewind_create(void);

/** Where to go on, for sigsetjmp (without the mask). To be set right before the next one. */
sigjmp_buf *tsr_rewind_place(tsr_rewind_t *rewind);

/**
 * Notes the process as it is. False: it cannot be. On a stack that is rewound,
 * by the only thread.
 */
bool tsr_rewind_note(tsr_rewind_t *rewind);

/** Makes it that again, and goes on at the place. Returns only where that cannot be. */
void tsr_rewind_back(tsr_rewind_t *rewind);

#endif
