/*
 * The engine of GPUs: a workload's steps by a vendor's library of products and
 * by NCCL's calls. What both vendors share is in this folder. What only one
 * vendor has is in its bench_vendor_t: nvidia/cublas_nccl.c has NVIDIA's,
 * amd/hipblaslt_rccl.c AMD's.
 */
#ifndef TESSERA_BENCH_GPU_H
#define TESSERA_BENCH_GPU_H

#include "bench/gpu/nccl.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/runtime.h"

enum { BENCH_BUS_ID = 32 };

/**
 * A step's product as the libraries take it, in column-major order: the m x n
 * matrix C is the m x k matrix A times the k x n matrix B. None of the extents
 * is 0, and each matrix is dense.
 */
typedef struct bench_product {
	int type; /* of elements: BENCH_R_32F and its like */
	int64_t m, n, k;
	const void *a, *b;
	void *c;
} bench_product_t;

/** Rows that are copied within device memory. */
typedef struct bench_rows {
	char *to;
	const char *from;
	size_t to_pitch, from_pitch, row_bytes, rows;
} bench_rows_t;

/** Kernels of the baseline's own, in the languages of both vendors. */
typedef struct bench_kernels {
	const char *what; /* "the kernel of plain stores" */
	const char *ptx, *hip;
} bench_kernels_t;

typedef struct bench_vendor bench_vendor_t;

/** The baseline on one rank. */
typedef struct bench_gpu {
	const bench_vendor_t *vendor;
	void *own; /* the vendor's tables and handles: own_bytes, zeroed */
	bench_runtime_t run;
	bench_comm_t comm;
	bool opened, has_products;                    /* open and open_products have succeeded */
	char bus[BENCH_BUS_ID];                       /* where the GPU is */
	void *stream, *begin, *end, *module, *stores; /* null: not made */
	int blocks;                                   /* of the kernel of plain stores */
	void *from;                                   /* what it stores */
	void *rows_module, *rows[BENCH_ROWS_UNITS];   /* the kernels that copy rows */
	/* What steps make, and dense copies of inputs; null: the matrix has none. */
	void *memory[WORKLOAD_MATRICES];
	/* The rank's part: there, in the heap, or among the gathered parts. */
	char *matrix[WORKLOAD_MATRICES];
} bench_gpu_t;

/**
 * What only one vendor has. Functions run on one thread a rank. Those that
 * return a bool leave one sentence where they fail; those that return an int
 * return the runtime's code.
 */
struct bench_vendor {
	const char *product;                /* the library of products */
	const char *runtime;                /* what refuses a call: "the driver" */
	const char *cure;                   /* what the user can do then */
	const bench_library_t *collectives; /* has NCCL's calls */
	size_t own_bytes;
	int major; /* what the major number of `version` is multiplied by */
	/* The heap is of another kind of memory than a user's matrices are: the
	 * libraries get copies of all inputs, not of padded ones alone. */
	bool copies_inputs;

	/** Finds the runtime: fills in gpu->run and the vendor's own table. */
	bool (*find)(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE]);
	/** Takes the GPU; writes gpu->bus. */
	bool (*open)(bench_gpu_t *gpu, int ordinal, char sentence[BENCH_SENTENCE]);
	void (*close)(bench_gpu_t *gpu);
	/** Makes the GPU current on this thread, until leave. What follows is
	 * called between the two. */
	int (*enter)(bench_gpu_t *gpu);
	void (*leave)(bench_gpu_t *gpu);
	const char *(*text)(const bench_gpu_t *gpu, int code);
	int (*copy_rows)(const bench_gpu_t *gpu, const bench_rows_t *rows);
	/** Compiles kernels for the GPU and loads them. */
	bool (*load)(const bench_gpu_t *gpu, const bench_kernels_t *kernels, void **module_out,
		     char sentence[BENCH_SENTENCE]);

	/** Finds the library of products and opens it. */
	bool (*open_products)(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE]);
	/** Before the step's product is timed: chooses how. Null: there is no choice. */
	bool (*prepare)(bench_gpu_t *gpu, int step, const bench_product_t *product,
			char sentence[BENCH_SENTENCE]);
	/** Puts the step's product on the stream. */
	bool (*multiply)(const bench_gpu_t *gpu, int step, const bench_product_t *product,
			 char sentence[BENCH_SENTENCE]);
	/** The version of that library as one number: see bench_version_of. */
	bool (*version)(const bench_gpu_t *gpu, int *number_out);
	/** Also where opening has failed half way, or was not tried. */
	void (*close_products)(bench_gpu_t *gpu);
};

/** What all engines of GPUs have in common; bench_engine_t names the vendor. */
extern const bench_baseline_ops_t bench_gpu_ops;

/** A version that a library gives as one number. */
typedef struct bench_version {
	int major, minor, patch;
} bench_version_t;

/** The number is major x `major` + minor x 100 + patch. */
static inline bench_version_t bench_version_of(int number, int major)
{
	return (bench_version_t){number / major, number % major / 100, number % 100};
}

/**
 * Whether the runtime has done what was asked; where not, one sentence: the
 * runtime cannot `what`.
 */
bool bench_gpu_ok(const bench_gpu_t *gpu, int code, const char *what,
		  char sentence[BENCH_SENTENCE]);

/**
 * Makes the GPU current on this thread, until vendor->leave. A GPU is current
 * on a thread only while one of the functions of bench_gpu_ops runs there, as
 * in the backend.
 */
bool bench_gpu_enter(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE]);

/* time.c: of bench_gpu_ops. */
tsr_status_t bench_gpu_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out);
tsr_status_t bench_gpu_read(bench_baseline_t *b, int matrix, void *dense_out);

/* matrices.c: with the GPU current. */

/** Finds or makes this rank's parts: fills in gpu->memory and gpu->matrix. */
bool bench_gpu_open_matrices(const bench_baseline_t *b, bench_gpu_t *gpu,
			     char sentence[BENCH_SENTENCE]);

/* steps.c: with the GPU current. */

/**
 * The number by which both vendors call a dtype of elements; -1: they do not
 * take it.
 */
int bench_gpu_type(tsr_dtype_t dtype);

/** A step's product; false where it is empty, and nothing needs multiplying. */
bool bench_gpu_product(const bench_baseline_t *b, const bench_gpu_t *gpu,
		       const workload_step_t *step, bench_product_t *product_out);

/** Puts copies of those inputs whose rows are padded on the stream. */
bool bench_gpu_put_operands(const bench_baseline_t *b, const bench_gpu_t *gpu,
			    char sentence[BENCH_SENTENCE]);

/** Puts what is timed on the stream. */
bool bench_gpu_put(const bench_baseline_t *b, const bench_gpu_t *gpu, const bench_timed_t *timed,
		   char sentence[BENCH_SENTENCE]);

#endif
