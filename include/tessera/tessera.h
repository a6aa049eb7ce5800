/*
 * The whole host API. C11; may be included from C++. Device code includes
 * tessera/dev.h.
 *
 * Structs that a program declares and passes to the library begin with `size`:
 * sizeof the struct when the program was compiled. So later versions can add
 * members at the end. The library fills only the members that fit into `size`.
 * It reads members that the program does not know as 0. It refuses members that
 * it does not know itself and that are not 0. An invalid size (0, or
 * uninitialised memory) is TSR_ERR_ARGUMENT. C++17 has no designators; write
 * `tsr_heap_usage_t usage = {}; usage.size = sizeof usage;`. Tensors and views
 * (tsr_tensor_t, tsr_view_t) are values without a size: they do not grow.
 *
 * Paths in comments, such as docs/order-in-a-block.md, are those of the sources.
 * An installation has them below share/doc/tessera/ or lib/tessera/.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/args.h"
#include "tessera/backends.h"
#include "tessera/collective.h"
#include "tessera/dtype.h"
#include "tessera/heap.h"
#include "tessera/host_product.h"
#include "tessera/kernel.h"
#include "tessera/launcher.h"
#include "tessera/main.h"
#include "tessera/program.h"
#include "tessera/random.h"
#include "tessera/record.h"
#include "tessera/span.h"
#include "tessera/status.h"
#include "tessera/stream.h"
#include "tessera/team.h"
#include "tessera/tensor.h"
#include "tessera/types.h"
#include "tessera/unique_id.h"
#include "tessera/version.h"
#include "tessera/visibility.h"
#include "tessera/window.h"
#include "tessera/world.h"

#include "tessera/site.h"

#endif
