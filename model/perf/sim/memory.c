/*
 * Plain accesses. Small ones are made, because kernels may act on what they
 * read; large ones are parts of matrices, which have no values here.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/perf/sim/sim.h"

enum { SMALL_BYTES = 4 << 10, SMALL_ARRAY_BYTES = 1 << 20 };

/** Of several rows less is small than of one: those are tiles, unless they are of integers. */
static bool is_small(const tsr_exploration_t *sim, const tsr_rows_of_bytes_t *rows)
{
	const size_t most = rows->count == 1 ? SMALL_ARRAY_BYTES : SMALL_BYTES;
	return sim->running->copies_table || rows->bytes * rows->count <= most;
}

static double bytes_of(const tsr_rows_of_bytes_t *rows)
{
	return (double)rows->bytes * (double)rows->count;
}

void tsr_exploration_read(tsr_exploration_t *sim, const tsr_op_site_t *site, void *private_to,
			  size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows)
{
	(void)site;
	for (size_t i = 0; is_small(sim, rows) && i < rows->count; i++)
		memcpy((unsigned char *)private_to + i * to_pitch, from + i * rows->pitch,
		       rows->bytes);
	sim_move(sim, sim_rank_at(sim, from), -1, bytes_of(rows));
}

void tsr_exploration_write(tsr_exploration_t *sim, const tsr_op_site_t *site, unsigned char *to,
			   const void *private_from, size_t from_pitch,
			   const tsr_rows_of_bytes_t *rows)
{
	(void)site;
	sim_move(sim, -1, sim_rank_at(sim, to), bytes_of(rows));
	for (size_t i = 0; is_small(sim, rows) && i < rows->count; i++)
		memcpy(to + i * rows->pitch, (const unsigned char *)private_from + i * from_pitch,
		       rows->bytes);
}

void tsr_exploration_copy(tsr_exploration_t *sim, const tsr_op_site_t *site, unsigned char *to,
			  size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows)
{
	(void)site;
	sim_move(sim, sim_rank_at(sim, from), sim_rank_at(sim, to), bytes_of(rows));
	for (size_t i = 0; is_small(sim, rows) && i < rows->count; i++)
		memmove(to + i * to_pitch, from + i * rows->pitch, rows->bytes);
}

/** Zeros, without touching pages that need not exist. */
static void clear(unsigned char *to, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE),
		     before = (page - (uintptr_t)to % page) % page,
		     pages = bytes > before ? (bytes - before) / page * page : 0;
	if (pages == 0 || madvise(to + before, pages, MADV_DONTNEED) != 0) {
		memset(to, 0, bytes);
		return;
	}
	memset(to, 0, before);
	memset(to + before + pages, 0, bytes - before - pages);
}

void tsr_exploration_fill(tsr_exploration_t *sim, const tsr_op_site_t *site, unsigned char *to,
			  int byte, size_t bytes)
{
	(void)site;
	sim_move(sim, -1, sim_rank_at(sim, to), (double)bytes);
	if (byte == 0 && bytes > SMALL_BYTES)
		clear(to, bytes);
	else if (bytes <= SMALL_BYTES)
		memset(to, byte, bytes);
}
