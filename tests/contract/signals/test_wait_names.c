/*
 * What an expired wait calls the memory that it waited for: as tsr_heap_find
 * does, the variable that the allocation was put in, or the name that it got
 * later.
 */
#include "tests/contract/ended_world.h"

typedef struct named_args {
	TSR_HEAP uint64_t *word;
	int32_t locks, reserved;
} named_args_t;

TSR_KERNEL(wait_for_named, named_args_t, a)
{
	if (tsr_rank(block) != 0)
		return;
	if (a->locks)
		tsr_lock(block, a->word, 0);
	else
		tsr_wait(block, a->word, 7, TSR_ANY_RANK);
}

/** The memory that has this name. */
static TSR_HEAP void *allocate(tsr_world_t *world, const char *name)
{
	const int64_t shape[1] = {8};
	TSR_HEAP void *by_variable;
	tsr_tensor_t as_tensor, other;
	if (tsr_heap_alloc(world, 64, 0, NULL, &by_variable) != TSR_OK ||
	    tsr_tensor_zeros(world, TSR_I64, 1, shape, &as_tensor) != TSR_OK ||
	    tsr_tensor_zeros(world, TSR_I64, 1, shape, &other) != TSR_OK ||
	    tsr_tensor_name(world, &other, "renamed") != TSR_OK)
		return NULL;
	return strcmp(name, "as_tensor") == 0 ? as_tensor.data
	       : strcmp(name, "renamed") == 0 ? other.data
					      : by_variable;
}

/** `name` is what the wait shall say; behind a '*' it is a lock. */
static int named_body(tsr_world_t *world, int argc, char **argv)
{
	const bool locks = argc > 1 && argv[1][0] == '*';
	const char *name = argc > 1 ? argv[1] + locks : "", *found;
	const uint64_t word = 2; /* a lock that rank 1 holds */
	char quoted[48];
	tsr_wait_record_t record = {.size = sizeof record};
	named_args_t a = {(TSR_HEAP uint64_t *)allocate(world, name), locks, 0};
	CHECK(a.word);
	CHECK(tsr_heap_find(world, a.word, &found, NULL) == TSR_OK && strcmp(found, name) == 0,
	      "%s", found);
	CHECK(tsr_memcpy_to_heap(world, a.word, &word, sizeof word) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0)
		CHECK(run_kernel(world, &wait_for_named, 1, &a) == TSR_ERR_TIMEOUT);
	else
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	snprintf(quoted, sizeof quoted, "'%s'+0", name);
	CHECK(strstr(tsr_last_error(), quoted), "%s", tsr_last_error());
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(strcmp(record.allocation, name) == 0, "%s for %s", record.allocation, name);
	return witness();
}

Test(wait_names, of_what_is_waited_for)
{
	short_deadline();
	ended_both(2, named_body, "by_variable", "a flag without a name");
	ended_both(2, named_body, "as_tensor", "a tensor");
	ended_both(2, named_body, "renamed", "a tensor with a name");
}

Test(wait_names, of_a_lock)
{
	short_deadline();
	ended_both(2, named_body, "*by_variable", "a lock without a name");
	ended_both(2, named_body, "*renamed", "a lock that is a tensor with a name");
}
