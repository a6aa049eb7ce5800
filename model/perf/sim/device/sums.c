/* Sums of memory: what is read and written takes the time, not the additions. */
#include "common/dev/words.h"
#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

static double bytes_of(tsr_view_t view)
{
	return view.rows > 0 && view.cols > 0
		       ? (double)(view.rows * view.cols) * (double)tsr_cpu_bytes(view.dtype)
		       : 0;
}

static void count(tsr_coop_t *coop, int rank, tsr_mem_access_t access, double bytes)
{
	const tsr_mem_t mem = {.rank = rank};
	if (bytes > 0)
		tsr_mem_count(coop, &mem, access, (uint64_t)bytes);
}

static void write_sum(tsr_coop_t *coop, tsr_view_t dst, int to)
{
	const int ranks = to == TSR_ANY_RANK ? tsr_size(coop) : 1;
	for (int i = 0; i < ranks; i++) {
		const int peer = to == TSR_ANY_RANK ? tsr_peer(coop, i) : to,
			  rank = coop->block->team->ranks[peer];
		count(coop, rank, TSR_MEM_WRITE, bytes_of(dst));
		sim_move(tsr_cpu_exploration(coop), -1, rank, bytes_of(dst));
	}
	tsr_cpu_event_sent(coop);
}

void tsr_sum_rows(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, const int32_t *rows,
		  const float *weights, int number, int to)
{
	const int me = coop->block->env->rank;
	const int64_t cols = dst.cols < src.cols ? dst.cols : src.cols;
	int chosen = 0;
	(void)weights;
	for (int i = 0; i < number; i++)
		chosen += rows[i] >= 0;
	dst.cols = cols;
	if (dst.rows < 1 || cols < 1)
		return;
	const double bytes = (double)(chosen * cols) * (double)tsr_cpu_bytes(src.dtype);
	count(coop, me, TSR_MEM_READ, bytes);
	sim_move(tsr_cpu_exploration(coop), me, -1, bytes);
	write_sum(coop, dst, to);
}

void tsr_port_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to)
{
	(void)op;
	for (int i = 0; i < tsr_size(coop); i++) {
		const int rank = coop->block->team->ranks[i];
		count(coop, rank, TSR_MEM_READ, bytes_of(src));
		sim_move(tsr_cpu_exploration(coop), rank, -1, bytes_of(src));
	}
	write_sum(coop, dst, to);
}

void tsr_port_combine_as(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to)
{
	tsr_port_combine(coop, dst, src, op, to);
}

/** All messages are taken, and combined as they are read. */
tsr_wait_result_t tsr_port_combine_words(tsr_coop_t *coop, tsr_view_t dst,
					 tsr_one_shot_words_t words, uint32_t epoch,
					 tsr_reduce_t op)
{
	(void)op;
	for (int from = 0; from < tsr_size(coop); from++) {
		tsr_view_t place = dst;
		place.data = (TSR_HEAP unsigned char *)words.room + from * 4 * words.apart;
		(void)tsr_port_take_words(coop, place, words.first + from * words.apart,
					  words.row_words, epoch, from);
	}
	return TSR_WAIT_OK;
}
