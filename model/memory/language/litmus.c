#include "model/memory/language/litmus.h"

#include <string.h>

const char *litmus_info(const litmus_test_t *test, const char *key)
{
	for (int i = 0; i < test->keys; i++) {
		if (strcmp(test->info[i].key, key) == 0)
			return test->info[i].value;
	}
	return NULL;
}

bool litmus_holds(const litmus_test_t *test, int term, const int64_t *values)
{
	const litmus_term_t *t = &test->term[term];

	switch (t->connective) {
	case LITMUS_TRUE:
		return true;
	case LITMUS_NOT:
		return !litmus_holds(test, t->left, values);
	case LITMUS_BOTH:
		return litmus_holds(test, t->left, values) && litmus_holds(test, t->right, values);
	case LITMUS_EITHER:
		return litmus_holds(test, t->left, values) || litmus_holds(test, t->right, values);
	case LITMUS_IS:
		return values[t->left] == t->number;
	case LITMUS_SAME:
		return values[t->left] == values[t->right];
	}
	return false;
}

bool litmus_inclusive(const litmus_test_t *test, int thread_a, litmus_scope_t a, int thread_b,
		      litmus_scope_t b)
{
	litmus_scope_t narrower = a < b ? a : b;
	return thread_a == thread_b || test->thread[thread_a].instance[narrower] ==
					       test->thread[thread_b].instance[narrower];
}

int64_t litmus_apply(litmus_function_t function, int64_t a, int64_t b)
{
	switch (function) {
	case LITMUS_COPY:
		return a;
	case LITMUS_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case LITMUS_XOR:
		return a ^ b;
	case LITMUS_AND:
		return a & b;
	case LITMUS_OR:
		return a | b;
	case LITMUS_EQ:
		return a == b;
	case LITMUS_NEQ:
		return a != b;
	case LITMUS_MIN:
		return a < b ? a : b;
	case LITMUS_MAX:
		return a > b ? a : b;
	}
	return 0;
}

int litmus_location(const litmus_test_t *test, int64_t address)
{
	const int location = litmus_is_address(address) ? (int)(address - LITMUS_ADDRESS(0)) : -1;
	return location < test->locations ? location : -1;
}
