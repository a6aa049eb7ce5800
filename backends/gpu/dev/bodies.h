/* The bodies of the device API on a GPU, written once over what gpu/dev/port.h asks of a port. */
#ifndef TESSERA_GPU_DEV_BODIES_H
#define TESSERA_GPU_DEV_BODIES_H

#include "common/dev/pure.h"

#include "gpu/dev/coop.h"
#include "gpu/dev/note.h"
#include "gpu/dev/record.h"
#include "gpu/dev/scan.h"

#include "gpu/dev/far.h"
#include "gpu/dev/memory.h"
#include "gpu/dev/place.h"
#include "gpu/dev/pointer.h"

#include "gpu/dev/atomic.h"
#include "gpu/dev/marked.h"
#include "gpu/dev/signal.h"
#include "gpu/dev/word.h"

#include "gpu/dev/combine.h"
#include "gpu/dev/fragments/add.h"
#include "gpu/dev/fragments/attend.h"
#include "gpu/dev/fragments/gemm.h"
#include "gpu/dev/fragments/rows.h"
#include "gpu/dev/fragments/sent.h"
#include "gpu/dev/fragments/state.h"
#include "gpu/dev/fragments/tile.h"
#include "gpu/dev/fragments/value.h"
#include "gpu/dev/reduce.h"
#include "gpu/dev/sum.h"
#include "gpu/dev/words.h"

#include "common/dev/compose.h"

#endif
