/* The kernel that checks a mapping of a peer's heap: does what kernels do there, and tells the host what came of it. */
#include <stdint.h>

/**
 * Stores `pattern` to `word`, loads it back, and adds 1 to `count` twice. All at system scope: `word` and `count` are another
 * rank's, perhaps another GPU's; `seen` is host memory. One thread.
 */
extern "C" __global__ void tsr_cuda_check(uint64_t *word, uint64_t *count, uint64_t pattern, uint64_t *seen)
{
	__nv_atomic_store_n(word, pattern, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
	seen[0] = __nv_atomic_load_n(word, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);
	seen[1] = __nv_atomic_fetch_add(count, (uint64_t)1, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
	seen[2] = __nv_atomic_fetch_add(count, (uint64_t)1, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
	seen[3] = pattern;
}
