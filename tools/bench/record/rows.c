/* --record: a row for each worker of each block. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/bench/bench.h"

/** Microseconds since `origin`, or "-" for a stamp that is none. */
static const char *since_text(uint64_t stamp_ns, uint64_t origin_ns,
			      char text_out[BENCH_SHORT_TEXT])
{
	if (stamp_ns == 0)
		return "-";
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.1f", (double)(stamp_ns - origin_ns) * 1e-3);
	return text_out;
}

static void print_row(int rank, const tsr_record_entry_t *e, uint64_t origin_ns)
{
	char operands[BENCH_SHORT_TEXT], written[BENCH_SHORT_TEXT], read[BENCH_SHORT_TEXT],
		sent[BENCH_SHORT_TEXT];
	char remote[BENCH_SHORT_TEXT], product[BENCH_SHORT_TEXT];
	(void)printf("  %4d %6d %6d %5d %6d  %-21s %-16s %8" PRIu64
		     " %8s %8s %8s %8s %10.1f %10.1f %10s %10s %10.1f\n",
		     rank, e->launch, e->stream, e->block, e->worker, e->kernel,
		     e->role[0] ? e->role : "-", e->products,
		     bench_bytes_text(e->operand_bytes, operands),
		     bench_bytes_text(e->local_written_bytes, written),
		     bench_bytes_text(e->local_read_bytes, read),
		     bench_bytes_text(e->remote_written_bytes, sent),
		     (double)(e->begin_ns - origin_ns) * 1e-3,
		     (double)(e->end_ns - origin_ns) * 1e-3,
		     since_text(e->first_remote_ns, origin_ns, remote),
		     since_text(e->last_product_ns, origin_ns, product), (double)e->wait_ns * 1e-3);
}

void bench_print_record(const bench_recording_t *recording)
{
	const tsr_record_entry_t *entries = recording->entries;
	(void)printf("  %4s %6s %6s %5s %6s  %-21s %-16s %8s %8s %8s %8s %8s %10s %10s %10s %10s "
		     "%10s\n",
		     "rank", "launch", "stream", "block", "worker", "kernel", "role", "products",
		     "operands", "written", "read", "to peers", "begin us", "end us", "1st remote",
		     "last prod.", "waits us");
	for (int r = 0; r < recording->ranks; entries += recording->entry_counts[r++]) {
		const int count = recording->entry_counts[r];
		uint64_t origin = UINT64_MAX;
		for (int i = 0; i < count; i++)
			origin = entries[i].begin_ns < origin ? entries[i].begin_ns : origin;
		for (int i = 0; i < count; i++)
			print_row(r, &entries[i], origin);
	}
	const bench_left_out_t left = bench_record_left_out(recording);
	if (left.events > 0)
		(void)printf("  %" PRIu64 " events had no room, and are left out of files\n",
			     left.events);
	if (left.clock_error_ns > 0)
		(void)printf("  times of a rank are within %.1f us of the host's clock\n",
			     (double)left.clock_error_ns * 1e-3);
	(void)fflush(stdout);
}
