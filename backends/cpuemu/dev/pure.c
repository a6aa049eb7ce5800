/* The bodies that all ports share, as functions of the library. */
#include "cpuemu/dev/internal.h"

#include "common/dev/pure.h"
