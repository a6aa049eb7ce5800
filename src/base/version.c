/* The version that this library was built as. */
#include "tessera/version.h"

#define TEXT_OF(number_) #number_
#define TEXT(major_, minor_, patch_) TEXT_OF(major_) "." TEXT_OF(minor_) "." TEXT_OF(patch_)

int tsr_version(void)
{
	return TSR_VERSION;
}

const char *tsr_version_text(void)
{
	return TEXT(TSR_VERSION_MAJOR, TSR_VERSION_MINOR, TSR_VERSION_PATCH);
}
