/* How the library says what went wrong: tsr_error, which programs on top of it use as well. */
#ifndef TESSERA_BASE_ERROR_H
#define TESSERA_BASE_ERROR_H

#include "tessera/program.h"

#endif
