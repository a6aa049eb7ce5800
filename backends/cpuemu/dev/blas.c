/* OpenBLAS, called from the many threads of the emulator. */
#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "cpuemu/dev/blas.h"
#include "tessera/types.h"

/*
 * Global, because OpenBLAS is: it has a fixed number of work buffers a process and ends the process when more threads than that
 * are inside. More callers than processors gain nothing, so that many are let in; none of them waits for anything inside.
 */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t callers;

static void prepare(void)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	openblas_set_num_threads(1); /* the emulator's blocks are the threads */
	(void)sem_init(&callers, 0, (unsigned)(cpus < 32 ? cpus : 32));
}

void tsr_blas_prepare(void)
{
	(void)pthread_once(&once, prepare);
}

static void enter(void)
{
	tsr_blas_prepare();
	while (sem_wait(&callers) != 0) /* interrupted by a signal handler of the program */
		;
}

static void leave(void)
{
	(void)sem_post(&callers);
}

/** Sums wrap around, so they are unsigned. */
static void add_product_i32(int rows, int cols, int depth, const uint32_t *a, int lda, const uint32_t *b, int ldb, uint32_t *c,
			    int ldc)
{
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < depth; k++) {
			uint32_t x = a[i * lda + k];
			for (int j = 0; j < cols; j++)
				c[i * ldc + j] += x * b[k * ldb + j];
		}
}

void tsr_blas_add_product(int32_t held, int rows, int cols, int depth, const void *a, int lda, const void *b, int ldb, void *c,
			  int ldc)
{
	if (held == TSR_I32) {
		add_product_i32(rows, cols, depth, a, lda, b, ldb, c, ldc);
		return;
	}
	enter();
	if (held == TSR_F64)
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, 1, a, lda, b, ldb, 1, c, ldc);
	else
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, 1, a, lda, b, ldb, 1, c, ldc);
	leave();
}
