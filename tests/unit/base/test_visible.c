/* Lists of visible devices: where a runtime that showed so many has stopped. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/base/settings/visible.h"

static void expect_refused(const char *list, int count, const char *wanted)
{
	char entry[TSR_VISIBLE_ENTRY_BYTES] = "";
	const bool refused = tsr_visible_refused(list, count, entry);
	cr_expect(refused == (wanted != NULL), "'%s' of %d", list ? list : "null", count);
	if (refused && wanted)
		cr_expect(strcmp(entry, wanted) == 0, "'%s' of %d: '%s'", list, count, entry);
}

Test(visible, a_list_that_was_taken_as_a_whole)
{
	expect_refused(NULL, 4, NULL);
	expect_refused("", 0, NULL);
	expect_refused("0", 1, NULL);
	expect_refused("3,1", 2, NULL);
	expect_refused(" 0 , 2 ", 2, NULL);
	expect_refused("0,1,", 2, NULL);
	expect_refused("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,1", 2, NULL);
	expect_refused("MIG-b0b4d8b6-9d2a-4c8b-a5b6-3f1f1d1f1d1f", 1, NULL);
}

Test(visible, the_entry_that_was_refused)
{
	expect_refused("0,99,1", 1, "99");
	expect_refused("99", 0, "99");
	expect_refused("0, no-such ,1", 1, "no-such");
	expect_refused("0,,1", 1, "");
	expect_refused("MIG-1,MIG-2", 1, "MIG-2");
	expect_refused("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,GPU-8932f937-d72c-4106-c12f-"
		       "20bd9faed9f6-and-what-does-not-fit-the-entry",
		       1, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6-and-what-does-not-fit-");
}

Test(visible, a_negative_number_ends_the_list)
{
	expect_refused("-1", 0, NULL);
	expect_refused("0,-1,1", 1, NULL);
	expect_refused("0,-x", 1, "-x");
}
