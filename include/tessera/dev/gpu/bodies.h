/* The bodies of the device API on a GPU, written once over what tessera/dev/gpu/port.h asks of a port. */
#ifndef TESSERA_DEV_GPU_BODIES_H
#define TESSERA_DEV_GPU_BODIES_H

#include "tessera/dev/pure.h"

#include "tessera/dev/gpu/coop.h"
#include "tessera/dev/gpu/note.h"

#include "tessera/dev/gpu/memory.h"

#include "tessera/dev/gpu/atomic.h"
#include "tessera/dev/gpu/signal.h"

#include "tessera/dev/gpu/gemm.h"
#include "tessera/dev/gpu/tile.h"
#include "tessera/dev/gpu/value.h"

#include "tessera/dev/compose.h"

#endif
