/* Structs that begin with their size, between programs and libraries of different versions. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/base/sized.h"
#include "tessera/tessera.h"

/** A struct in three versions: the library's is the second. */
typedef struct first {
	size_t size;
	int64_t a, b;
} first_t;

typedef struct second {
	size_t size;
	int64_t a, b;
	int64_t c[2];
} second_t;

typedef struct third {
	size_t size;
	int64_t a, b;
	int64_t c[2];
	int64_t d;
} third_t;

static const second_t ours = {.size = 1, .a = 11, .b = 12, .c = {13, 14}};

static tsr_status_t give(void *theirs)
{
	return TSR_SIZED_GIVE(second_t, b, theirs, &ours);
}

static tsr_status_t take(const void *theirs, second_t *taken)
{
	memset(taken, 0x55, sizeof *taken);
	return TSR_SIZED_TAKE(second_t, b, theirs, taken);
}

Test(sized, as_much_is_given_as_there_is_room_for)
{
	struct {
		first_t old;
		int64_t behind;
	} program = {{.size = sizeof(first_t)}, 77};
	cr_assert_eq(give(&program), TSR_OK);
	cr_expect(program.old.size == sizeof(first_t) && program.old.a == 11 &&
		  program.old.b == 12);
	cr_expect_eq(program.behind, 77);

	second_t same = {.size = sizeof same};
	cr_assert_eq(give(&same), TSR_OK);
	cr_expect(same.size == sizeof same && same.b == 12 && same.c[1] == 14);
}

Test(sized, what_the_library_does_not_know_is_given_as_nothing)
{
	struct {
		third_t later;
		int64_t behind;
	} program = {{.size = sizeof(third_t), .d = 5}, 77};
	cr_assert_eq(give(&program), TSR_OK);
	cr_expect(program.later.size == sizeof(third_t) && program.later.c[1] == 14 &&
		  program.later.d == 0);
	cr_expect_eq(program.behind, 77);
}

Test(sized, what_the_program_does_not_know_is_taken_as_nothing)
{
	second_t taken;
	const struct {
		first_t old;
		int64_t behind;
	} program = {{.size = sizeof(first_t), .a = 3, .b = 4}, 77};
	cr_assert_eq(take(&program, &taken), TSR_OK);
	cr_expect(taken.size == sizeof taken && taken.a == 3 && taken.b == 4 && taken.c[0] == 0 &&
		  taken.c[1] == 0);
}

Test(sized, what_the_library_does_not_know_must_not_be_asked_for)
{
	second_t taken;
	third_t later = {.size = sizeof later, .a = 3, .c = {0, 6}};
	cr_assert_eq(take(&later, &taken), TSR_OK);
	cr_expect(taken.size == sizeof taken && taken.a == 3 && taken.c[1] == 6);
	later.d = INT64_MIN; /* its last byte alone is not 0 */
	cr_assert_eq(take(&later, &taken), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(
		tsr_last_error(),
		"a second_t of 48 bytes has a member set behind the 40 bytes that version 0."));
}

Test(sized, a_size_that_is_none_is_refused)
{
	static const size_t none[] = {0, sizeof(size_t), sizeof(first_t) - 1, TSR_SIZED_MOST + 1,
				      SIZE_MAX};
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		second_t theirs = {.size = none[i], .a = -1}, taken;
		cr_expect_eq(give(&theirs), TSR_ERR_ARGUMENT);
		cr_expect(theirs.size == none[i] && theirs.a == -1, "nothing is written");
		cr_expect_eq(take(&theirs, &taken), TSR_ERR_ARGUMENT);
		cr_expect(strstr(tsr_last_error(),
				 "make it by `second_t x = {.size = sizeof x};`"));
	}
}
