/* One version, as a number and as people write it. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tessera/tessera.h"

#if TSR_VERSION < TSR_VERSION_MAJOR * 1000000
#error "TSR_VERSION serves in #if"
#endif

Test(version, is_one_number_that_grows)
{
	cr_assert_eq(TSR_VERSION,
		     (TSR_VERSION_MAJOR * 1000 + TSR_VERSION_MINOR) * 1000 + TSR_VERSION_PATCH);
	cr_assert(TSR_VERSION_MINOR < 1000 && TSR_VERSION_PATCH < 1000);
	cr_assert_eq(tsr_version(), TSR_VERSION, "the library and its headers are of one build");
}

Test(version, is_written_as_people_do)
{
	char text[64];
	snprintf(text, sizeof text, "%d.%d.%d", tsr_version() / 1000000,
		 tsr_version() / 1000 % 1000, tsr_version() % 1000);
	cr_assert_str_eq(tsr_version_text(), text);
}
