/* The commit and the build that this program is of. Apart, as each commit compiles it anew. */
#include "tools/document.h"

const char tsr_build_commit[] = TSR_BUILD_COMMIT;
const char tsr_build_name[] = TSR_BUILD_NAME;
