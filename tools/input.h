/* Files that commands read: none of them is waited for without end. */
#ifndef TESSERA_TOOLS_INPUT_H
#define TESSERA_TOOLS_INPUT_H

#include <stdio.h>

/**
 * Opens a file to read, as open and fopen do. Of a named pipe it takes all that
 * is written to it, and gives up where nothing comes for five seconds: opening
 * it would last until somebody writes. -1 or null: errno says why; ENODATA:
 * nobody writes.
 */
int tool_open_input(const char *path);
FILE *tool_fopen_input(const char *path);

#endif
