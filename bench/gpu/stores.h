/* The kernel that measures a link by plain stores. */
#ifndef TESSERA_BENCH_STORES_H
#define TESSERA_BENCH_STORES_H

/**
 * Its name in the module that each text makes. Its arguments: where to, where
 * from, how many pieces of 16 bytes.
 */
#define BENCH_STORES_KERNEL "plain_stores"
extern const char bench_stores_ptx[], bench_stores_hip[];

enum { BENCH_STORES_THREADS = 512, BENCH_STORES_BLOCKS_PER_SM = 2 };

#endif
