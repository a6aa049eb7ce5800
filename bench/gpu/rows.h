/*
 * The kernels of WORKLOAD_COPY_ROWS: row i of `to` = row index[i] of `from`, as
 * the kernel behind torch.index_select does. A batch of copies would need the
 * indices on the host, and so a wait for the GPU; a kernel reads them where
 * they are.
 */
#ifndef TESSERA_BENCH_ROWS_H
#define TESSERA_BENCH_ROWS_H

#include <stddef.h>

/**
 * A kernel for each unit in which a thread moves data, widest first. Arguments:
 * to, from, index, rows of to, rows of from, units in a row. Rows whose index
 * `from` has no row for are left as they are.
 */
typedef struct bench_rows_unit {
	size_t bytes;
	const char *kernel; /* its name in the module that each text makes */
} bench_rows_unit_t;

enum { BENCH_ROWS_UNITS = 3 };
static inline bench_rows_unit_t bench_rows_unit(int number)
{
	static const bench_rows_unit_t units[BENCH_ROWS_UNITS] = {
		{16, "copy_rows_16"}, {4, "copy_rows_4"}, {2, "copy_rows_2"}};
	return units[number];
}

extern const char bench_rows_ptx[], bench_rows_hip[];

/* A block copies a row at a time. With more rows than blocks it copies several. */
enum { BENCH_ROWS_THREADS = 256, BENCH_ROWS_BLOCKS = 65535 };

#endif
