/*
 * The host API, whole. C11; may be included from C++. Device code includes
 * tessera/dev.h.
 *
 * Structs that a program declares and hands to the library, to be filled or to
 * say what is wanted, begin with `size`: sizeof the struct, as the program was
 * compiled. So later versions can add members behind the last. A library fills
 * as much as the program has room for, takes members that the program does not
 * know as 0, and refuses what a program asks for by members that the library
 * does not know. A size that is none (0, or memory never set) is
 * TSR_ERR_ARGUMENT. C++17 has no designators: there it is `tsr_heap_usage_t
 * usage = {}; usage.size = sizeof usage;`. Tensors and views (tsr_tensor_t,
 * tsr_view_t) are values and have no size: they do not grow.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/args.h"
#include "tessera/backends.h"
#include "tessera/dtype.h"
#include "tessera/heap.h"
#include "tessera/host_product.h"
#include "tessera/kernel.h"
#include "tessera/launcher.h"
#include "tessera/main.h"
#include "tessera/program.h"
#include "tessera/random.h"
#include "tessera/record.h"
#include "tessera/status.h"
#include "tessera/stream.h"
#include "tessera/team.h"
#include "tessera/tensor.h"
#include "tessera/types.h"
#include "tessera/version.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#include "tessera/site.h"

#endif
