/*
 * Preloaded: tells the supervisor that the loader and the libraries are done,
 * and the program begins. A prctl that does not exist.
 */
#include <sys/prctl.h>

__attribute__((constructor)) static void begin(void)
{
	(void)prctl(0x74737262, 0, 0, 0, 0);
}
