/* Running a program's entry: what tsr_main and the launcher share. */
#ifndef TESSERA_WORLD_PROGRAM_H
#define TESSERA_WORLD_PROGRAM_H

#include "src/base/options.h"
#include "tessera/main.h"

/**
 * Calls `entry` for the one rank of this process, or for all `TESSERA_SIZE` of
 * them as threads. Returns the exit code.
 */
int tsr_program_run(int argc, char **argv, tsr_main_fn entry);

/** The same with `size` ranks as threads, whatever the environment says. */
int tsr_program_run_threads(const tsr_options_t *options, int size, int argc, char **argv,
			    tsr_main_fn entry);

/**
 * The same with `size` ranks as fibres that are explored as TESSERA_CHECK says,
 * or as threads: src/base/executor.h.
 */
int tsr_program_explore(const tsr_options_t *options, int size, int argc, char **argv,
			tsr_main_fn entry);

/** A code as a process can return it: 1 .. 255 where it is not 0. */
int tsr_exit_code(int code);

#endif
