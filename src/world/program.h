/* Running a program's entry: shared by tsr_main and the launcher. */
#ifndef TESSERA_WORLD_PROGRAM_H
#define TESSERA_WORLD_PROGRAM_H

#include "src/base/settings/options.h"
#include "tessera/main.h"

/**
 * Calls `entry` for the one rank of this process, or for all `TESSERA_SIZE`
 * ranks as threads. Returns the exit code.
 */
int tsr_program_run(int argc, char **argv, tsr_main_fn entry);

/** The same with `size` ranks as threads, whatever the environment says. */
int tsr_program_run_threads(const tsr_options_t *options, int size, int argc, char **argv,
			    tsr_main_fn entry);

/**
 * The same with `size` ranks as fibres, explored as TESSERA_CHECK says, or as
 * threads: src/base/executor.h.
 */
int tsr_program_explore(const tsr_options_t *options, int size, int argc, char **argv,
			tsr_main_fn entry);

/** What the process of ranks that are threads tells its launcher on TESSERA_RANKS_FD. */
enum { TSR_RANKS_BEGIN = 'b', TSR_RANKS_FINISHED = 'f' };

/**
 * Converts a code to one that a process can return: 1 .. 255 if it is not 0.
 */
int tsr_exit_code(int code);

#endif
