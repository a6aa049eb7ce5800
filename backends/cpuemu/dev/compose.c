/* The bodies that are made of other calls, as functions of the library. */
#include "cpuemu/dev/internal.h"

#include "common/dev/compose.h"
