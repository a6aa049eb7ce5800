/*
 * Criterion's names for a runner that only forks. Criterion starts each test by
 * fork and exec within an arena of its own, which ThreadSanitizer does not
 * survive and valgrind does not follow; the same sources, compiled against this
 * header, serve there. Every macro is variadic as a whole: C11 wants at least
 * one argument for `...`.
 */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H

#include <math.h>
#include <stdbool.h> /* Criterion's header brings it too */
#include <stddef.h>
#include <string.h>

/** What Test(suite, name, .field = value, ...) may set. */
typedef struct plain_options {
	int signal, exit_code; /* how the test is expected to end */
	double timeout;        /* seconds */
	int disabled;
	void (*init)(void);
	void (*fini)(void);
	const char *description;
	int end;
} plain_options_t;

typedef struct plain_test {
	const char *suite, *name;
	void (*body)(void);
	plain_options_t options;
	struct plain_test *next;
} plain_test_t;

void plain_register(plain_test_t *test);

/**
 * Where the program has them: called before the first test and after the last.
 * The second returns what it found wrong, or null.
 */
__attribute__((weak)) void plain_before_all(void);
__attribute__((weak)) const char *plain_after_all(void);

/** Notes a failure; a fatal one ends the test. `format` is null where the test gives no message. */
void plain_failed(int fatal, const char *file, int line, const char *what, const char *format, ...);

/** Ends the test as skipped. */
_Noreturn void plain_skip(const char *format, ...);

#define PLAIN_NO_MESSAGE ((const char *)0)

#define Test(...) PLAIN_TEST(__VA_ARGS__, .end = 0)
#define PLAIN_TEST(suite_, name_, ...)                                                     \
	static void suite_##_##name_##_plain_body(void);                                   \
	static plain_test_t suite_##_##name_##_plain_test = {                              \
		#suite_, #name_, suite_##_##name_##_plain_body, {__VA_ARGS__}, (void *)0}; \
	__attribute__((constructor)) static void suite_##_##name_##_plain_register(void)   \
	{                                                                                  \
		plain_register(&suite_##_##name_##_plain_test);                            \
	}                                                                                  \
	static void suite_##_##name_##_plain_body(void)

#define PLAIN_CHECK(fatal_, true_, what_, ...)                                            \
	do {                                                                              \
		if (!(true_))                                                             \
			plain_failed((fatal_), __FILE__, __LINE__, (what_), __VA_ARGS__); \
	} while (0)

#define PLAIN_TRUE(fatal_, cond_, ...) PLAIN_CHECK(fatal_, cond_, #cond_, __VA_ARGS__)
#define PLAIN_EQ(fatal_, a_, b_, ...) PLAIN_CHECK(fatal_, (a_) == (b_), #a_ " == " #b_, __VA_ARGS__)
#define PLAIN_STR_EQ(fatal_, a_, b_, ...) \
	PLAIN_CHECK(fatal_, strcmp((a_), (b_)) == 0, #a_ " is " #b_, __VA_ARGS__)
#define PLAIN_FLOAT_EQ(fatal_, a_, b_, by_, ...)                                \
	PLAIN_CHECK(fatal_, fabs((double)(a_) - (double)(b_)) <= (double)(by_), \
		    #a_ " is near " #b_, __VA_ARGS__)

#define cr_assert(...) PLAIN_TRUE(1, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_assert_eq(...) PLAIN_EQ(1, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_assert_str_eq(...) PLAIN_STR_EQ(1, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_assert_float_eq(...) PLAIN_FLOAT_EQ(1, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_expect(...) PLAIN_TRUE(0, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_expect_eq(...) PLAIN_EQ(0, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_expect_str_eq(...) PLAIN_STR_EQ(0, __VA_ARGS__, PLAIN_NO_MESSAGE)
#define cr_skip_test(...) PLAIN_SKIP(__VA_ARGS__, PLAIN_NO_MESSAGE)
#define PLAIN_SKIP(...) plain_skip(__VA_ARGS__)

#endif
