/*
 * Criterion's names for the compilers of device code, which look for the
 * kernels of a test and need the rest only to be C that C++ takes: nothing is
 * checked, and no test is registered.
 */
#ifndef DEVICE_CRITERION_H
#define DEVICE_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

template <typename... What> static inline void device_unchecked(What...)
{
}

#define Test(suite_, name_, ...) \
	__attribute__((unused)) static void suite_##_##name_##_device_body(void)

#define cr_assert(...) device_unchecked(__VA_ARGS__)
#define cr_assert_eq(...) device_unchecked(__VA_ARGS__)
#define cr_assert_str_eq(...) device_unchecked(__VA_ARGS__)
#define cr_assert_float_eq(...) device_unchecked(__VA_ARGS__)
#define cr_expect(...) device_unchecked(__VA_ARGS__)
#define cr_expect_eq(...) device_unchecked(__VA_ARGS__)
#define cr_expect_str_eq(...) device_unchecked(__VA_ARGS__)
#define cr_skip_test(...) device_unchecked(__VA_ARGS__)

#endif
