/*
 * Where calls of the host API stand in the program: noted by the macros of
 * tessera/site.h, for the thread that makes the call.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/base/place.h"
#include "tessera/tessera.h"

/** As a call of the API: looks at where it stands. */
static tsr_status_t look(tsr_place_t *seen, const int *pair)
{
	*seen = *tsr_place_here();
	return pair[0] == pair[1] ? TSR_OK : TSR_ERR_ARGUMENT;
}
#define look(...) TSR_SITED(look, __VA_ARGS__)

static void expect_nowhere(void)
{
	cr_assert(tsr_place_here()->call == NULL);
	cr_assert(tsr_place_here()->file == NULL);
	cr_assert_eq(tsr_place_here()->line, 0);
}

Test(place, is_the_calls_while_it_lasts)
{
	tsr_place_t seen;
	expect_nowhere();
	const int line = __LINE__ + 1;
	cr_assert_eq(look(&seen, (int[]){1, 1}), TSR_OK);
	cr_assert_str_eq(seen.call, "look");
	cr_assert_str_eq(seen.file, __FILE__);
	cr_assert_eq(seen.line, line);
	expect_nowhere();
	cr_assert_eq(look(&seen, (int[]){1, 2}), TSR_ERR_ARGUMENT, "the status is handed on");
	expect_nowhere();
}

Test(place, is_none_for_a_call_by_pointer)
{
	tsr_status_t (*const by_pointer)(tsr_place_t *, const int *) = &look;
	tsr_place_t seen;
	cr_assert_eq(look(&seen, (int[]){1, 1}), TSR_OK);
	cr_assert_eq(by_pointer(&seen, (int[]){1, 1}), TSR_OK);
	cr_assert(seen.file == NULL, "the place of an earlier call is not this one's");
}

Test(place, is_told_of_every_call_that_fails)
{
	tsr_status_t (*const barrier)(tsr_world_t *) = tsr_barrier;
	tsr_world_t *world = NULL;
	cr_assert_eq(tsr_finalize(NULL), TSR_OK, "a null pointer constant may be an argument");
	cr_assert(tsr_launch_group((tsr_launch_desc_t[]){TSR_LAUNCH_DESC(NULL, NULL, 1, NULL),
							 TSR_LAUNCH_DESC(NULL, NULL, 1, NULL)},
				   2) != TSR_OK);
	cr_assert(tsr_heap_alloc(world, 0, 0, "none", (TSR_HEAP void *[]){NULL}) != TSR_OK);
	cr_assert(barrier != NULL);
	expect_nowhere();
}

/* ------------------------------------------------------------------ names */

/** As a call that makes something: how it is named. */
static tsr_status_t make(char *name, const void *made)
{
	(void)made;
	if (!tsr_place_name(name))
		*name = '\0';
	return TSR_OK;
}
#define make(...) TSR_SITED_MAKING(make, __VA_ARGS__)

Test(place, names_what_a_call_makes_by_its_variable)
{
	struct {
		int member[3];
	} box, *at = &box;
	char name[TSR_PLACE_NAME], line[TSR_PLACE_NAME];
	(void)make(name, &box);
	cr_assert_str_eq(name, "box");
	(void)make(name, at);
	cr_assert_str_eq(name, "at");
	(void)make(name, &at->member[1 + 1]);
	cr_assert_str_eq(name, "at->member[1 + 1]");
	(void)make(name, &box.member);
	cr_assert_str_eq(name, "box.member");
	snprintf(line, sizeof line, "test_place.c:%d", __LINE__ + 1);
	(void)make(name, ((int[]){1, 2}));
	cr_assert_str_eq(name, line, "no variable: file and line");
	tsr_status_t (*const by_pointer)(char *, const void *) = &make;
	(void)by_pointer(name, &box);
	cr_assert_str_eq(name, "", "no call site: no name");
}

/* ------------------------------------------------------------------ threads */

enum { ROUNDS = 20000 };

static tsr_status_t compare(int number, int *wrong)
{
	*wrong += tsr_place_here()->line != number;
	return TSR_OK;
}

static void *run_first(void *wrong)
{
	for (int i = 0; i < ROUNDS; i++) {
		tsr_site_begin("first", "first.c", 1);
		(void)tsr_site_end(compare(1, wrong));
	}
	return NULL;
}

static void *run_second(void *wrong)
{
	for (int i = 0; i < ROUNDS; i++) {
		tsr_site_begin("second", "second.c", 2);
		(void)tsr_site_end(compare(2, wrong));
	}
	return NULL;
}

Test(place, is_each_threads_own)
{
	pthread_t first, second;
	int wrong[2] = {0, 0};
	cr_assert_eq(pthread_create(&first, NULL, run_first, &wrong[0]), 0);
	cr_assert_eq(pthread_create(&second, NULL, run_second, &wrong[1]), 0);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	cr_assert_eq(wrong[0] + wrong[1], 0);
	expect_nowhere();
}
