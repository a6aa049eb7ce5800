/*
 * The folder of objects of one `tessera cc`, and its keeper: whatever ends the
 * command, SIGKILL too, nothing is left.
 */
#ifndef TESSERA_TOOLS_CC_TEMP_H
#define TESSERA_TOOLS_CC_TEMP_H

#include <sys/types.h>

/**
 * The keeper is a process that removes the folder when the command's end of a
 * pipe closes, as it does however the command ends. The compilers run in its
 * process group: those that still run end before.
 */
typedef struct cc_temp {
	char path[64];
	pid_t keeper; /* also the compilers' group */
	int lifeline; /* the command's end */
} cc_temp_t;

/** Makes the folder in $TMPDIR, or /tmp. TOOL_OK, or TOOL_FAILED after a sentence on stderr. */
int cc_temp_make(cc_temp_t *temp);

/** Returns when the folder is gone. */
void cc_temp_remove(const cc_temp_t *temp);

#endif
