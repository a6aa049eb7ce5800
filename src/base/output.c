/* What was printed reaches its place, or the program says that it has not. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/os/descriptor.h"
#include "tessera/program.h"

/** A file of a network may say only when it is closed that there was no room. */
static bool close_a_copy(void)
{
	const int copy = tsr_fd_copy(STDOUT_FILENO);
	return copy < 0 || close(copy) == 0;
}

int tsr_flush_output(int code)
{
	const bool failed = ferror(stdout) != 0;
	errno = 0;
	if (fflush(stdout) == 0 && !failed && close_a_copy())
		return code;
	if (errno == 0) /* it failed earlier: a closed descriptor still says so */
		(void)fcntl(STDOUT_FILENO, F_GETFD);
	fprintf(stderr,
		"tessera: what was printed is lost, as standard output cannot be written%s%s; "
		"print to what is open and has room\n",
		errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
	__fpurge(stdout); /* it is said once, and no child writes it again */
	clearerr(stdout);
	return code != 0 ? code : EXIT_FAILURE;
}
