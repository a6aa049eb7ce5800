/*
 * The warps of a main loop that send: what consumers have posted (outgoing.h)
 * goes to peers while the next tile is multiplied.
 */
#ifndef TESSERA_CUDA_SENDERS_H
#define TESSERA_CUDA_SENDERS_H

#include "cuda/dev/outgoing.h"

/**
 * The progress of a tile's stores to peers, and its limit: a share for each
 * chunk that the loader has requested since.
 */
typedef struct tsr_cuda_pace {
	uint32_t stamp; /* of the tile */
	uint32_t begin, share_bytes, sent_bytes;
} tsr_cuda_pace_t;

/* After so many pauses in a row, the loader is taken to wait for other ranks. */
enum { TSR_CUDA_PAUSES_MOST = 200 };

/**
 * Pauses before send `number` sends `bytes` more, unless consumers wait for it or
 * everything has been loaded. If the pauses do not end, the loader's gate may wait
 * for a rank that waits for this send: then the rest of the tile is sent at once.
 */
TSR_DEV void tsr_cuda_keep_pace(tsr_cuda_pace_t *pace, uint32_t number, uint32_t bytes)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	pace->sent_bytes += bytes;
	for (int pauses = 0;
	     tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->awaited) <= number; pauses++) {
		uint32_t loaded = tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->loaded);
		if (loaded == TSR_CUDA_LOADED_ALL ||
		    (uint64_t)(loaded - pace->begin + 1) * pace->share_bytes >= pace->sent_bytes)
			return;
		if (pauses == TSR_CUDA_PAUSES_MOST) {
			pace->share_bytes = 1u << 30;
			return;
		}
		__nanosleep(100);
	}
}

/**
 * Begins the pace of a tile's stores. `share_bytes`: of a tile of 16-bit elements
 * to one rank, for each chunk. Sums of 32 bits have twice as many rows.
 */
template <typename T>
TSR_DEV void tsr_cuda_pace_begin(const tsr_coop_t *coop, tsr_cuda_pace_t *pace,
				 const tsr_cuda_send_t &send, uint32_t share_bytes)
{
	pace->stamp = send.stamp;
	pace->begin = tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&tsr_cuda_pipeline()->loaded);
	pace->share_bytes = share_bytes * (send.away ? (uint32_t)send.rows / (uint32_t)T::M
						     : (uint32_t)(tsr_size(coop) - 1));
	pace->sent_bytes = 0;
}

/** Bytes from the tile's memory here to where it goes on the `i`-th rank after mine. */
TSR_DEV int64_t tsr_cuda_send_offset(const tsr_cuda_send_t &send, const tsr_gpu_every_rank_t &ranks,
				     int i)
{
	return send.away ? send.away : tsr_gpu_peer_offset(ranks, i);
}

/** Bytes of a row before its first whole 16-byte unit. */
TSR_DEV int tsr_cuda_row_head(const char *row)
{
	return (int)(-(uint32_t)(uintptr_t)row & 15u);
}

/**
 * Sends the bytes of each row before its first and behind its last whole
 * 16-byte unit, to the same place `peer_offset` away.
 */
TSR_DEV void tsr_cuda_send_row_ends(int thread, const tsr_cuda_send_t &send, int64_t peer_offset)
{
	for (int row = thread; row < send.rows; row += TSR_CUDA_SENDER_THREADS) {
		const char *from = send.from + (uint32_t)row * send.pitch_bytes;
		const int head = tsr_cuda_row_head(from),
			  tail = head + ((int)send.row_bytes - head) / 16 * 16;
		for (int byte = 0; byte < (int)send.row_bytes; byte += 2)
			if (byte < head || byte >= tail)
				*(uint16_t *)(from + peer_offset + byte) =
					*(const uint16_t *)(from + byte);
			else
				byte = tail - 2;
	}
}

/**
 * If rows begin anywhere: sends each row's 16-byte units, then the bytes beside
 * them.
 */
TSR_DEV void tsr_cuda_send_rows_anywhere(int thread, const tsr_cuda_send_t &send,
					 const tsr_gpu_every_rank_t &ranks, tsr_cuda_pace_t *pace,
					 uint32_t number)
{
	const int units = (int)send.row_bytes / 16,
		  step = units > 0 ? TSR_CUDA_SENDER_THREADS / units : 0;
	const int first = units > 0 ? thread / units : 0, unit = thread - first * units;
	TSR_GPU_NO_UNROLL
	for (int row = first; first < step && row < send.rows; row += step) {
		const char *from = send.from + (uint32_t)row * send.pitch_bytes;
		const int byte = tsr_cuda_row_head(from) + unit * 16;
		tsr_cuda_keep_pace(pace, number,
				   (uint32_t)(step * units * 16 * (send.end - send.first)));
		if (byte + 16 > (int)send.row_bytes)
			continue;
		const uint4 held = *(const uint4 *)(from + byte);
		TSR_GPU_NO_UNROLL
		for (int i = send.first; i < send.end; i++)
			*(uint4 *)((char *)from + byte + tsr_cuda_send_offset(send, ranks, i)) =
				held;
	}
	for (int i = send.first; i < send.end; i++)
		tsr_cuda_send_row_ends(thread, send, tsr_cuda_send_offset(send, ranks, i));
}

/**
 * Sends whole rows, each sender in its column of 16 bytes; then the rows' last
 * bytes. `thread` numbers the senders. T: the tile.
 */
template <typename T>
TSR_DEV void tsr_cuda_send_rows(int thread, const tsr_cuda_send_t &send,
				const tsr_gpu_every_rank_t &ranks, tsr_cuda_pace_t *pace,
				uint32_t number)
{
	enum { at_once = 3, usual_units = (int)T::N / 8 };
	const int units = (int)send.row_bytes / 16,
		  step = units > 0 ? TSR_CUDA_SENDER_THREADS / units : 0;
	const int first = units == usual_units ? thread / usual_units
			  : units > 0          ? thread / units
					       : 0;
	/* registers are scarce: TSR_CUDA_PITCH_MOST */
	const uint32_t step_bytes = (uint32_t)step * send.pitch_bytes;
	const char *from = send.from + ((uint32_t)first * send.pitch_bytes +
					(uint32_t)(thread - first * units) * 16u);
	TSR_GPU_NO_UNROLL
	for (int row = first; first < step && row < send.rows; row += at_once * step) {
		uint4 unit[at_once];
		tsr_cuda_keep_pace(pace, number,
				   (uint32_t)(at_once * step * units * 16 *
					      (send.end - send.first)));
		TSR_GPU_UNROLL
		for (int j = 0; j < at_once; j++)
			if (row + j * step < send.rows)
				unit[j] = *(const uint4 *)(from + (uint32_t)j * step_bytes);
		TSR_GPU_NO_UNROLL
		for (int i = send.first; i < send.end; i++) {
			char *to = (char *)from + tsr_cuda_send_offset(send, ranks, i);
			TSR_GPU_UNROLL
			for (int j = 0; j < at_once; j++)
				if (row + j * step < send.rows)
					*(uint4 *)(to + (uint32_t)j * step_bytes) = unit[j];
		}
		from += at_once * step_bytes;
	}
	for (int i = send.first; units * 16 < (int)send.row_bytes && i < send.end; i++)
		tsr_cuda_send_row_ends(thread, send, tsr_cuda_send_offset(send, ranks, i));
}

/**
 * Raises a flag behind the stores of all senders' warps, and behind what the
 * consumers had done when they posted it. Partner of the wait: the arrivals in
 * tsr_cuda_senders. Litmus: MP.rel.acq.sameWG-ww. Partner of the store:
 * tsr_gpu_poll on the rank that owns the flag. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_DEV void tsr_cuda_send_signal(int thread, const tsr_cuda_send_t &send, uint32_t number)
{
	const uint32_t before = number - 1;
	if (thread != 0 || !send.from)
		return;
	tsr_cuda_mbarrier_wait(
		tsr_cuda_shared_address(&tsr_cuda_pipeline()->ended[before % TSR_CUDA_SENDS_MOST]),
		before / TSR_CUDA_SENDS_MOST % 2);
	tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>((uint64_t *)send.from, (uint64_t)send.away);
}

/** Sends the rows of a tile, or partial sums. */
template <typename T>
TSR_DEV void tsr_cuda_send_tile(const tsr_coop_t *coop, int thread, const tsr_cuda_send_t &send,
				tsr_cuda_pace_t *pace, uint32_t number)
{
	const tsr_gpu_every_rank_t ranks = {coop->context, 0};
	const uint64_t begun = tsr_gpu_record_now();
	if (((uint32_t)(uintptr_t)send.from | send.pitch_bytes) % 16 == 0)
		tsr_cuda_send_rows<T>(thread, send, ranks, pace, number);
	else
		tsr_cuda_send_rows_anywhere(thread, send, ranks, pace, number);
	tsr_gpu_record_sent(coop, thread, begun, send.first, send.end,
			    (uint64_t)send.rows * send.row_bytes);
}

/**
 * The senders' loop, until the consumers have nothing more. `chunks`: chunks of
 * a tile.
 */
template <typename T> TSR_DEV void tsr_cuda_senders(const tsr_coop_t *coop, int thread, int chunks)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	tsr_cuda_pace_t pace = {0, 0, 0, 0};
	/* three quarters of a product: then a signal has left when consumers wait for it */
	const uint32_t share_bytes =
		(uint32_t)(T::M * T::N * 2) / (uint32_t)(chunks > 1 ? chunks - chunks / 4 : 1) + 1;
	TSR_GPU_NO_UNROLL
	for (uint32_t number = 0;; number++) {
		uint32_t place = number % TSR_CUDA_SENDS_MOST;
		/* Partner: the arrival in tsr_cuda_post. Litmus: MP.rel.acq.sameWG-ww. */
		tsr_cuda_mbarrier_wait(tsr_cuda_shared_address(&pipeline->posted[place]),
				       number / TSR_CUDA_SENDS_MOST % 2);
		/* read in shared memory, where it takes no register */
		const tsr_cuda_send_t &send = pipeline->sends[place];
		if (send.rows == 0)
			return;
		if (send.row_bytes == 0) {
			tsr_cuda_send_signal(thread, send, number);
		} else {
			if (send.stamp != pace.stamp || pace.share_bytes == 0 || send.away)
				tsr_cuda_pace_begin<T>(coop, &pace, send, share_bytes);
			tsr_cuda_send_tile<T>(coop, thread, send, &pace, number);
		}
		/* The warp's stores are ordered before its arrival. Partner: tsr_cuda_await_send.
		 * Litmus: MP.rel.acq.sameWG-ww. */
		__syncwarp();
		if (thread % 32 == 0)
			tsr_cuda_mbarrier_arrive(tsr_cuda_shared_address(&pipeline->ended[place]));
	}
}

#endif
