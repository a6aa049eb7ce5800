/* The host API, whole. C11; may be included from C++. Device code includes tessera/dev.h. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

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
