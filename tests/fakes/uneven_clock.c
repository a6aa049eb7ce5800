/*
 * A machine that other work disturbs, by preloading: each time that it is
 * asked, the monotonic clock has gone on by 0 to 10 ms more than it should
 * have. So what takes less than that, and asks the clock a few times, seems to
 * take another time each time.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time);

/*
 * A step's size follows from the sum of those before it. One clock for all
 * threads, which orders nothing: relaxed.
 */
static _Atomic uint64_t gained_ns;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, time);

	if (failed || clock != CLOCK_MONOTONIC)
		return failed;
	uint64_t before = atomic_load_explicit(&gained_ns, memory_order_relaxed);
	uint64_t step_ns = ((before + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 10000000;
	uint64_t ns =
		atomic_fetch_add_explicit(&gained_ns, step_ns, memory_order_relaxed) + step_ns;
	ns += (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
	time->tv_sec = (time_t)(ns / 1000000000u);
	time->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}
