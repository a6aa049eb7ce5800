/* Settings: what is read, and the sentence about what cannot be. */
#include <criterion/criterion.h>

#include "clean_environment.h"
#include "src/base/settings/options.h"
#include "tessera/program.h"

typedef struct bad {
	const char *name, *value;
	const char *says; /* must be in the sentence, beside name and value */
} bad_t;

static const bad_t bad_values[] = {
	{"TESSERA_PLACEMENT", "fibre", "'process' or 'thread'"},
	{"TESSERA_CUDA_HEAP", "fd", "'vmm' or 'ipc'"},
	{"TESSERA_HIP_HEAP", "coarse", "'fine' or 'uncached'"},
	{"TESSERA_CHECK_COLLECTIVES", "yes", "'0' or '1'"},
	{"TESSERA_LOG", "loud", "quiet, error, info or debug, and :FILE"},
	{"TESSERA_LOG", "info:", "the name of a file"},
	{"TESSERA_LOG", "debug:log-%x", "no other % is"},
	{"TESSERA_LOG", "debug:log-%", "no other % is"},
	{"TESSERA_LOG", ":file", "quiet, error, info or debug"},
	{"TESSERA_LOG", "inf", "quiet, error, info or debug"},
	{"TESSERA_RANK", "-1", "0 to 255"},
	{"TESSERA_RANK", "one", "0 to 255"},
	{"TESSERA_RANK", "256", "0 to 255"},
	{"TESSERA_RANK", "1 ", "0 to 255"},
	{"TESSERA_RANK", "99999999999999999999", "0 to 255"},
	{"TESSERA_SIZE", "0", "1 to 256"},
	{"TESSERA_SIZE", "257", "1 to 256"},
	{"TESSERA_SIZE", "2x", "1 to 256"},
	{"TESSERA_SIZE", "+2", "1 to 256"},
	{"TESSERA_JOB", "a b", "letters, digits"},
	{"TESSERA_JOB", "12345678901234567890123456789012345678901234567890123456789012345",
	 "1 to 64"},
	{"TESSERA_NET_DELAY", "2s", "at most 1s"},
	{"TESSERA_NET_DELAY", "1ms,2ms", "a jitter of at most the time"},
	{"TESSERA_NET_DELAY", "1", "such as 1ms,300us"},
	{"TESSERA_NET_DELAY", "1ms,", "such as 1ms,300us"},
	{"TESSERA_NET_DELAY", ",1ms", "such as 1ms,300us"},
	{"TESSERA_NET_DELAY", "1ms,1ms,1ms", "such as 1ms,300us"},
	{"TESSERA_NET_RATE", "1023", "from 1 KiB to"},
	{"TESSERA_NET_RATE", "fast", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "much", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "1.5", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "1.M", "such as 256M"},
	{"TESSERA_HEAP_SIZE", ".5M", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "-1M", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "1MM", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "1 M", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "16777216T", "does not fit 64 bits"},
	{"TESSERA_HEAP_SIZE", "18446744073709551616", "such as 256M"},
	{"TESSERA_HEAP_SIZE", "0", "from 4 KiB to"},
	{"TESSERA_HEAP_SIZE", "4095", "from 4 KiB to"},
	{"TESSERA_DEADLINE", "30", "such as 30s"},
	{"TESSERA_DEADLINE", "s", "such as 30s"},
	{"TESSERA_DEADLINE", "30 s", "such as 30s"},
	{"TESSERA_DEADLINE", "0s", "1ms to 168h"},
	{"TESSERA_DEADLINE", "999us", "1ms to 168h"},
	{"TESSERA_DEADLINE", "169h", "1ms to 168h"},
	{"TESSERA_CPUEMU_RESIDENT_BLOCKS", "0", "1 to 65536"},
	{"TESSERA_CPUEMU_WORKERS", "65", "1 to 64"},
	{"TESSERA_SPREAD_PASSES", "0", "1 to 1024"},
	{"TESSERA_SPREAD_PASSES", "1025", "1 to 1024"},
	{"TESSERA_CPUEMU_SHARED_SIZE", "2G", "from 0"},
};

/* What this test knows is empty, a setting is not. */
static tsr_options_t poisoned(void)
{
	tsr_options_t options;
	memset(&options, 0x5a, sizeof options);
	return options;
}

Test(options, what_cannot_be_read_is_quoted)
{
	for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
		const bad_t *bad = &bad_values[i];
		tsr_options_t options = poisoned();
		const tsr_options_t before = options;
		clean_environment();
		setenv(bad->name, bad->value, 1);
		cr_expect_eq(tsr_options_read(&options), TSR_ERR_CONFIG, "%s=%s", bad->name,
			     bad->value);
		const char *sentence = tsr_last_error();
		cr_expect(strstr(sentence, bad->name) && strstr(sentence, bad->value) &&
				  strstr(sentence, bad->says),
			  "%s=%s: %s", bad->name, bad->value, sentence);
		cr_expect(memcmp(&before, &options, sizeof options) == 0,
			  "%s=%s: written in spite of the error", bad->name, bad->value);
	}
}

Test(options, an_empty_value_is_an_error)
{
	static const char *const names[] = {"TESSERA_BACKEND", "TESSERA_RANK", "TESSERA_DEADLINE"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		tsr_options_t options;
		clean_environment();
		setenv(names[i], "", 1);
		cr_expect_eq(tsr_options_read(&options), TSR_ERR_CONFIG, "%s", names[i]);
		cr_expect(strstr(tsr_last_error(), names[i]) != NULL, "%s", tsr_last_error());
	}
}

Test(options, an_unknown_name_is_an_error_that_names_the_nearest)
{
	tsr_options_t options;
	clean_environment();
	setenv("TESSERA_HEAPSIZE", "1G", 1);
	cr_assert_eq(tsr_options_read(&options), TSR_ERR_CONFIG);
	cr_assert(strstr(tsr_last_error(), "TESSERA_HEAPSIZE: did you mean TESSERA_HEAP_SIZE?") !=
			  NULL,
		  "%s", tsr_last_error());
	clean_environment();
	setenv("TESSERA_SOMETHING_ELSE_ALTOGETHER", "1", 1);
	cr_assert_eq(tsr_options_read(&options), TSR_ERR_CONFIG);
	cr_assert(strstr(tsr_last_error(), "TESSERA_SOMETHING_ELSE_ALTOGETHER") != NULL, "%s",
		  tsr_last_error());
	cr_assert(strstr(tsr_last_error(), "did you mean") == NULL, "%s", tsr_last_error());
}

Test(options, defaults)
{
	tsr_options_t options = poisoned();
	clean_environment();
	cr_assert_eq(tsr_options_read(&options), TSR_OK);
	cr_expect(options.backend == NULL && options.job == NULL);
	cr_expect(!options.threads && options.log.level == TSR_LOG_QUIET);
	cr_expect(options.rank == -1 && options.size == -1);
	cr_expect_eq(options.heap_bytes, (size_t)1 << 30);
	cr_expect_eq(options.deadline_ns, 30000000000u);
	cr_expect(options.net_delay_ns == 0 && options.net_jitter_ns == 0 && options.net_rate == 0);
	cr_expect_eq(options.resident_blocks, 64);
	cr_expect_eq(options.max_workers, 8);
	cr_expect_eq(options.shared_bytes, (size_t)228 * 1024);
	cr_expect_eq(options.spread_passes, 1);
}

Test(options, a_network_may_be_late_and_slow)
{
	tsr_options_t options = poisoned();
	clean_environment();
	set_environment("TESSERA_NET_DELAY=1.5ms,300us TESSERA_NET_RATE=2K");
	cr_assert_eq(tsr_options_read(&options), TSR_OK, "%s", tsr_last_error());
	cr_expect_eq(options.net_delay_ns, 1500000u);
	cr_expect_eq(options.net_jitter_ns, 300000u);
	cr_expect_eq(options.net_rate, 2048u);
	setenv("TESSERA_NET_DELAY", "1s", 1);
	cr_assert_eq(tsr_options_read(&options), TSR_OK, "%s", tsr_last_error());
	cr_expect(options.net_delay_ns == 1000000000u && options.net_jitter_ns == 0);
}

Test(options, every_setting_is_read)
{
	tsr_options_t options = poisoned();
	clean_environment();
	set_environment(
		"TESSERA_BACKEND=cpuemu TESSERA_PLACEMENT=thread TESSERA_RANK=3 "
		"TESSERA_SIZE=5 TESSERA_JOB=a.b-c "
		"TESSERA_HEAP_SIZE=1.5M TESSERA_DEADLINE=500ms "
		"TESSERA_CPUEMU_RESIDENT_BLOCKS=7 TESSERA_CPUEMU_WORKERS=4 "
		"TESSERA_CPUEMU_SHARED_SIZE=64k TESSERA_SPREAD_PASSES=32 TESSERA_LOG=info:log-%r");
	cr_assert_eq(tsr_options_read(&options), TSR_OK, "%s", tsr_last_error());
	cr_assert_str_eq(options.backend, "cpuemu");
	cr_assert_str_eq(options.job, "a.b-c");
	cr_expect(options.threads && options.log.level == TSR_LOG_INFO);
	cr_expect_str_eq(options.log.file, "log-%r");
	cr_expect(options.rank == 3 && options.size == 5);
	cr_expect_eq(options.heap_bytes, (size_t)1536 * 1024);
	cr_expect_eq(options.deadline_ns, 500000000u);
	cr_expect_eq(options.resident_blocks, 7);
	cr_expect_eq(options.max_workers, 4);
	cr_expect_eq(options.shared_bytes, (size_t)65536);
	cr_expect_eq(options.spread_passes, 32);
}

Test(options, print_names_every_variable_and_its_value)
{
	char *text = NULL;
	size_t length = 0;
	clean_environment();
	setenv("TESSERA_DEADLINE", "42s", 1);
	FILE *out = open_memstream(&text, &length);
	tsr_options_print(out);
	fclose(out);
	static const char *const names[] = {"BACKEND",
					    "PLACEMENT",
					    "RANK",
					    "SIZE",
					    "JOB",
					    "HEAP_SIZE",
					    "DEADLINE",
					    "LOG",
					    "CPUEMU_RESIDENT_BLOCKS",
					    "CPUEMU_WORKERS",
					    "CPUEMU_SHARED_SIZE"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_expect(strstr(text, names[i]) != NULL, "%s", names[i]);
	cr_expect(strstr(text, "42s") != NULL && strstr(text, "30s") != NULL, "%s", text);
	free(text);
}

/* As people say them; what is not even keeps its bytes, so that two sizes never look alike. */
Test(parse, sizes_as_text)
{
	const size_t mib = (size_t)1 << 20;
	char again[TSR_SIZE_ROOM];

	cr_expect_str_eq(TSR_SIZE(0), "0 bytes");
	cr_expect_str_eq(TSR_SIZE(1), "1 byte");
	cr_expect_str_eq(TSR_SIZE(1023), "1023 bytes");
	cr_expect_str_eq(TSR_SIZE(1024), "1 KiB");
	cr_expect_str_eq(TSR_SIZE(1536), "1.5 KiB");
	cr_expect_str_eq(TSR_SIZE(5000), "5000 bytes");
	cr_expect_str_eq(TSR_SIZE(500000), "488.3 KiB (500000 bytes)");
	cr_expect_str_eq(TSR_SIZE(64 * mib), "64 MiB");
	cr_expect_str_eq(TSR_SIZE(64 * mib - 1), "64.0 MiB (67108863 bytes)");
	cr_expect_str_eq(TSR_SIZE(1023 * mib), "1023 MiB");
	cr_expect_str_eq(TSR_SIZE(1024 * mib), "1 GiB");
	cr_expect_str_eq(TSR_SIZE(5 * mib * mib), "5 TiB");
	cr_expect_str_eq(TSR_SIZE(2048 * mib * mib), "2048 TiB");
	cr_expect_str_eq(TSR_SIZE(SIZE_MAX), "16777216.0 TiB (18446744073709551615 bytes)");
	cr_expect(tsr_size_text(1, again, sizeof again) == again);
}

Test(parse, sizes_and_durations)
{
	size_t size = 0;
	uint64_t ns = 0;
	cr_expect(tsr_parse_size("x", "64", &size) == TSR_OK && size == 64);
	cr_expect(tsr_parse_size("x", "32K", &size) == TSR_OK && size == 32768);
	cr_expect(tsr_parse_size("x", "2g", &size) == TSR_OK && size == (size_t)2 << 30);
	cr_expect(tsr_parse_size("x", "0.1M", &size) == TSR_OK && size == 104857);
	cr_expect(tsr_parse_size("x", "18446744073709551615", &size) == TSR_OK && size == SIZE_MAX);
	cr_expect(tsr_parse_duration("x", "2m", &ns) == TSR_OK && ns == 120000000000u);
	cr_expect(tsr_parse_duration("x", "1.5s", &ns) == TSR_OK && ns == 1500000000u);
	cr_expect(tsr_parse_duration("x", "7ns", &ns) == TSR_OK && ns == 7);
	cr_expect(tsr_parse_size("x", "99999999T", &size) == TSR_ERR_CONFIG);
	cr_expect_str_eq(tsr_last_error(),
			 "x is '99999999T', which does not fit 64 bits: write less");
	cr_expect(tsr_parse_duration("x", "9999999h", &ns) == TSR_ERR_CONFIG);
	cr_expect_str_eq(tsr_last_error(),
			 "x is '9999999h', which does not fit 64 bits: write less");
	cr_expect(tsr_parse_size("x", "2X", &size) == TSR_ERR_CONFIG);
	cr_expect(strstr(tsr_last_error(), "is not a size") != NULL);
}

Test(parse, nearest_name)
{
	static const char *const names[] = {"cuda", "hip", "cpuemu", NULL};
	cr_assert_str_eq(tsr_nearest_name("cpuemo", names), "cpuemu");
	cr_assert_str_eq(tsr_nearest_name("CUDA", names), "cuda");
	cr_assert_str_eq(tsr_nearest_name("cudda", names), "cuda");
	cr_assert(tsr_nearest_name("opencl", names) == NULL);
	cr_assert(tsr_nearest_name("hut", names) == NULL);
	cr_assert(tsr_nearest_name("", names) == NULL);
}
