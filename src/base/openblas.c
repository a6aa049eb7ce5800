/*
 * OpenBLAS, called from many threads. It is not linked: its threads start when
 * it is loaded, and cost every program address space and an end that waits for
 * them, also those that compute nothing.
 */
#include "src/base/openblas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>

#include "tessera/host_product.h"
#include "tessera/program.h"

/** Its entries, by the declarations of its header. */
typedef struct openblas {
	__typeof__(&cblas_sgemm) sgemm;
	__typeof__(&cblas_dgemm) dgemm;
	__typeof__(&openblas_set_num_threads) set_num_threads;
	char missing[256]; /* why there is none; empty: there is */
} openblas_t;

/*
 * Global, because OpenBLAS is: it has a fixed number of work buffers a process
 * and ends the process when more threads than that are inside. More callers
 * than processors gain nothing, so that many are let in; none of them waits for
 * anything inside.
 */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t callers;
static openblas_t openblas;

static void load(void)
{
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library)
		library = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library) {
		(void)snprintf(openblas.missing, sizeof openblas.missing, "%s", dlerror());
		return;
	}
	const struct {
		const char *name;
		void *place;
	} entries[] = {{"cblas_sgemm", &openblas.sgemm},
		       {"cblas_dgemm", &openblas.dgemm},
		       {"openblas_set_num_threads", &openblas.set_num_threads}};
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		*(void **)entries[i].place = dlsym(library, entries[i].name);
		if (!*(void **)entries[i].place)
			(void)snprintf(openblas.missing, sizeof openblas.missing, "it has no %s",
				       entries[i].name);
	}
}

static void prepare(void)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	load();
	if (openblas.missing[0] == '\0')
		openblas.set_num_threads(1); /* the emulator's blocks are the threads */
	(void)sem_init(&callers, 0, (unsigned)(cpus < 32 ? cpus : 32));
}

tsr_status_t tsr_openblas_prepare(void)
{
	(void)pthread_once(&once, prepare);
	if (openblas.missing[0] != '\0')
		return tsr_error(TSR_ERR_SYSTEM,
				 "a product on the host needs OpenBLAS, which cannot be loaded "
				 "(%s): install it (ci/install-deps says "
				 "which package), or say where it is by LD_LIBRARY_PATH",
				 openblas.missing);
	return TSR_OK;
}

static tsr_status_t enter(void)
{
	tsr_status_t status = tsr_openblas_prepare();
	/* interrupted by a signal handler of the program */
	while (status == TSR_OK && sem_wait(&callers) != 0)
		;
	return status;
}

static void leave(void)
{
	(void)sem_post(&callers);
}

tsr_status_t tsr_host_product_f32(int rows, int cols, int depth, const float *a, int lda,
				  const float *b, int ldb, float beta, float *c, int ldc)
{
	tsr_status_t status = enter();
	if (status != TSR_OK)
		return status;
	openblas.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, 1, a, lda, b,
		       ldb, beta, c, ldc);
	leave();
	return TSR_OK;
}

tsr_status_t tsr_host_product_f64(int rows, int cols, int depth, const double *a, int lda,
				  const double *b, int ldb, double beta, double *c, int ldc)
{
	tsr_status_t status = enter();
	if (status != TSR_OK)
		return status;
	openblas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, 1, a, lda, b,
		       ldb, beta, c, ldc);
	leave();
	return TSR_OK;
}
