/*
 * The log of a rank: lines of a level, on standard error or in a file
 * (TESSERA_LOG). Code logs by tsr_log, which finds the log of the rank whose
 * thread it is called on; elsewhere, and below the level, it does nothing.
 */
#ifndef TESSERA_BASE_LOG_H
#define TESSERA_BASE_LOG_H

#include <stdatomic.h>

#include "tessera/status.h"

/** A level holds the lines of those before it. */
typedef enum tsr_log_level {
	TSR_LOG_QUIET,
	TSR_LOG_ERROR, /* why a rank ends its world, on each rank */
	TSR_LOG_INFO,  /* once a world: what it runs on, and how it ended */
	TSR_LOG_DEBUG  /* each rank: memory, launches, every error of a call */
} tsr_log_level_t;

/** What TESSERA_LOG asks for. The text lives as long as the environment. */
typedef struct tsr_log_wish {
	tsr_log_level_t level;
	const char *file; /* null: standard error; %r stands for the rank, %p for the process */
} tsr_log_wish_t;

/**
 * Reads LEVEL or LEVEL:FILE. `name` is the variable's, for the sentence of
 * TSR_ERR_CONFIG.
 */
tsr_status_t tsr_log_read(const char *name, const char *text, tsr_log_wish_t *wish_out);

typedef struct tsr_log {
	tsr_log_level_t level;
	int fd; /* standard error, or a descriptor of its own */
	int rank, size;
	const char *file;      /* as in the wish */
	atomic_bool told_loss; /* standard error was told that lines are lost */
} tsr_log_t;

/**
 * Opens the log of a rank, to append, and makes it that of this thread;
 * `*log_out` is null where the wish is quiet. Errors: TSR_ERR_CONFIG (the file
 * cannot be written; a pipe that nobody reads cannot), TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_log_open(const tsr_log_wish_t *wish, int rank, int size, tsr_log_t **log_out);

/**
 * Closes it; null: nothing. On another thread than the one that opened it, the
 * few bytes stay, as that thread may still ask them whether there is a log.
 */
void tsr_log_close(tsr_log_t *log);

/**
 * Logs a sentence on one line, by one write, so that lines of ranks do not mix:
 * "tessera: rank 3 of 8: info: ...", in a file behind the time (UTC). A line
 * that cannot be written is lost, which standard error is told once of a file.
 * Keeps errno. Any thread.
 */
void tsr_log(tsr_log_level_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The same for who knows whose log it is; null: none. */
void tsr_log_to(tsr_log_t *log, tsr_log_level_t level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
