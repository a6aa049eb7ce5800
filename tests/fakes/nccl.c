/*
 * NCCL's calls, and so RCCL's, between ranks of one machine, through a file
 * that all map and whose path is the unique id.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu/nccl.h"

#define DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;
BENCH_NCCL_ENTRIES(DECLARE)

enum { SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, DATA_BYTES = 16 << 20, PATIENCE_S = 30 };

enum { MOST_RANKS = 16, MAIL_BYTES = 1 << 18 };

/** What a rank sends to another in a group. */
typedef struct sent {
	_Atomic size_t bytes; /* 0: nothing, or it was received */
	size_t offset;        /* in the sender's mail */
} sent_t;

/** What the file holds; all zero where it begins. */
typedef struct area {
	sent_t sent[MOST_RANKS][MOST_RANKS]; /* from whom, to whom */
	atomic_int came;                     /* how many ranks have come to the meetings so far */
	atomic_bool lost;                    /* a rank has waited in vain: nobody waits any more */
	_Alignas(16) char mail[MOST_RANKS][MAIL_BYTES];
	_Alignas(16) char data[DATA_BYTES];
} area_t;

typedef struct comm {
	area_t *area;
	int ranks, rank;
	int met; /* meetings that this rank has been to */
} comm_t;

/** A send or a receive of the group that this thread has begun. */
typedef struct message {
	comm_t *comm;
	void *receive; /* null: a send */
	const void *send;
	size_t bytes;
	int peer;
} message_t;

enum { MOST_MESSAGES = 2 * MOST_RANKS };
static _Thread_local message_t messages[MOST_MESSAGES];
static _Thread_local int message_count;
static _Thread_local bool in_group;

/** Whether a rank has given up, or this one has waited too long since `begin`. */
static bool is_lost(area_t *area, time_t begin)
{
	if (time(NULL) - begin > PATIENCE_S)
		atomic_store_explicit(&area->lost, true, memory_order_relaxed);
	(void)sched_yield();
	return atomic_load_explicit(&area->lost, memory_order_relaxed);
}

/**
 * All ranks meet. False where one did not come in time: a test that fails on
 * one rank ends on the others. What a rank did before it came is seen by those
 * that have met it.
 */
static bool meet(comm_t *comm)
{
	area_t *area = comm->area;
	const time_t begin = time(NULL);
	const int wanted = ++comm->met * comm->ranks;
	/* Partner: the load below, on the other ranks. */
	(void)atomic_fetch_add_explicit(&area->came, 1, memory_order_release);
	/* Partner: the addition above, on every other rank. */
	while (atomic_load_explicit(&area->came, memory_order_acquire) < wanted)
		if (is_lost(area, begin))
			return false;
	return true;
}

/** A rank that gives up does not let the others wait for it. */
static int refuse(comm_t *comm)
{
	atomic_store_explicit(&comm->area->lost, true, memory_order_relaxed);
	return INVALID_ARGUMENT;
}

int ncclGetVersion(int *out)
{
	*out = 22809;
	return 0;
}

int ncclGetUniqueId(bench_nccl_id_t *out)
{
	(void)snprintf(out->bytes, sizeof out->bytes, "/tmp/fake-nccl-XXXXXX");
	int fd = mkstemp(out->bytes);
	int failed = fd < 0 || ftruncate(fd, sizeof(area_t)) != 0;
	if (fd >= 0)
		(void)close(fd);
	return failed ? SYSTEM_ERROR : 0;
}

int ncclCommInitRank(void **out, int ranks, bench_nccl_id_t id, int rank)
{
	int fd = open(id.bytes, O_RDWR | O_CLOEXEC);
	comm_t *comm = calloc(1, sizeof *comm);
	void *area = fd < 0 ? MAP_FAILED
			    : mmap(NULL, sizeof(area_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	if (!comm || area == MAP_FAILED) {
		free(comm);
		return SYSTEM_ERROR;
	}
	*comm = (comm_t){.area = area, .ranks = ranks, .rank = rank};
	*out = comm;
	const bool met = meet(comm);
	if (rank == 0)
		(void)unlink(id.bytes);
	return met ? 0 : SYSTEM_ERROR;
}

int ncclCommDestroy(void *comm)
{
	(void)munmap(((comm_t *)comm)->area, sizeof(area_t));
	free(comm);
	return 0;
}

int ncclCommAbort(void *comm)
{
	return ncclCommDestroy(comm);
}

const char *ncclGetErrorString(int code)
{
	return code == INVALID_ARGUMENT ? "invalid argument" : "unhandled system error";
}

int ncclGroupStart(void)
{
	const bool nested = in_group;
	in_group = true;
	message_count = 0;
	return nested ? INVALID_ARGUMENT : 0;
}

/** This rank's sends, each in its mail. */
static bool send_all(comm_t *comm)
{
	size_t used = 0;
	for (int i = 0; i < message_count; i++) {
		const message_t *m = &messages[i];
		sent_t *sent = &comm->area->sent[comm->rank][m->peer];
		if (m->receive)
			continue;
		if (used + m->bytes > MAIL_BYTES ||
		    atomic_load_explicit(&sent->bytes, memory_order_relaxed) > 0)
			return false;
		sent->offset = used;
		memcpy(comm->area->mail[comm->rank] + used, m->send, m->bytes);
		/* Partner: the receiver's load in receive_all. */
		atomic_store_explicit(&sent->bytes, m->bytes, memory_order_release);
		used += m->bytes;
	}
	return true;
}

/** What others send to this rank: each receive has a send of as many bytes. */
static bool receive_all(comm_t *comm)
{
	const time_t begin = time(NULL);
	for (int i = 0; i < message_count; i++) {
		const message_t *m = &messages[i];
		sent_t *sent = &comm->area->sent[m->peer][comm->rank];
		size_t bytes = 0;
		if (!m->receive)
			continue;
		/* Partner: the sender's store in send_all. */
		while ((bytes = atomic_load_explicit(&sent->bytes, memory_order_acquire)) == 0)
			if (is_lost(comm->area, begin))
				return false;
		if (bytes != m->bytes)
			return false;
		memcpy(m->receive, comm->area->mail[m->peer] + sent->offset, bytes);
		/* Partner: the sender's load in all_are_received. */
		atomic_store_explicit(&sent->bytes, 0, memory_order_release);
	}
	return true;
}

/** Waits until the others have taken this rank's mail, which it may then reuse. */
static bool all_are_received(comm_t *comm)
{
	const time_t begin = time(NULL);
	for (int r = 0; r < comm->ranks; r++)
		/* Partner: the receiver's last store in receive_all. */
		while (atomic_load_explicit(&comm->area->sent[comm->rank][r].bytes,
					    memory_order_acquire) > 0)
			if (is_lost(comm->area, begin))
				return false;
	return true;
}

/** Sends and receives of a group happen here, all at one time. */
int ncclGroupEnd(void)
{
	comm_t *comm = message_count > 0 ? messages[0].comm : NULL;
	in_group = false;
	if (!comm || (send_all(comm) && receive_all(comm) && all_are_received(comm)))
		return 0;
	return refuse(comm);
}

static size_t size_of(int type)
{
	return type == BENCH_NCCL_F32                              ? 4
	       : type == BENCH_NCCL_F16 || type == BENCH_NCCL_BF16 ? 2
								   : 0;
}

/** In place, or from memory outside. */
int ncclAllGather(const void *send, void *receive, size_t count, int type, void *opaque,
		  void *stream)
{
	comm_t *comm = opaque;
	size_t bytes = count * size_of(type);
	const char *first = receive, *from = send;
	const bool outside = from + bytes <= first || from >= first + bytes * (size_t)comm->ranks;
	if (bytes == 0 || bytes * (size_t)comm->ranks > DATA_BYTES || !stream ||
	    (!outside && from != first + (size_t)comm->rank * bytes))
		return refuse(comm);
	memcpy(comm->area->data + (size_t)comm->rank * bytes, send, bytes);
	if (!meet(comm))
		return SYSTEM_ERROR;
	memcpy(receive, comm->area->data, (size_t)comm->ranks * bytes);
	return meet(comm) ? 0 : SYSTEM_ERROR;
}

/* ---------------------------------------------------------------- sums */

__extension__ typedef _Float16 f16_t;

static float value_at(const void *data, size_t index, int type)
{
	uint32_t bits;
	float value;
	uint16_t half;
	if (type == BENCH_NCCL_F32)
		return ((const float *)data)[index];
	memcpy(&half, (const char *)data + 2 * index, sizeof half);
	if (type == BENCH_NCCL_F16) {
		f16_t f16;
		memcpy(&f16, &half, sizeof f16);
		return (float)f16;
	}
	bits = (uint32_t)half << 16;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/**
 * Rounded to the nearest, ties to even, as the library does; sums here are no
 * NaNs.
 */
static void set_value(void *data, size_t index, int type, float value)
{
	uint32_t bits;
	uint16_t half;
	const f16_t f16 = (f16_t)value;
	if (type == BENCH_NCCL_F32) {
		((float *)data)[index] = value;
		return;
	}
	memcpy(&bits, &value, sizeof bits);
	half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	if (type == BENCH_NCCL_F16)
		memcpy(&half, &f16, sizeof half);
	memcpy((char *)data + 2 * index, &half, sizeof half);
}

/**
 * Every rank's `count` elements are laid down; who asks adds up `wanted` of
 * them from `first` on, in rank order.
 */
static int add_up(comm_t *comm, const void *send, size_t count, int type, size_t first,
		  size_t wanted, void *receive)
{
	const size_t bytes = count * size_of(type);
	if (bytes == 0 || bytes * (size_t)comm->ranks > DATA_BYTES)
		return refuse(comm);
	memcpy(comm->area->data + (size_t)comm->rank * bytes, send, bytes);
	if (!meet(comm))
		return SYSTEM_ERROR;
	for (size_t i = 0; i < wanted; i++) {
		float sum = 0;
		for (int r = 0; r < comm->ranks; r++)
			sum += value_at(comm->area->data + (size_t)r * bytes, first + i, type);
		set_value(receive, i, type, sum);
	}
	return meet(comm) ? 0 : SYSTEM_ERROR;
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int op, void *opaque,
		      void *stream)
{
	comm_t *comm = opaque;
	if (!stream || op != BENCH_NCCL_SUM)
		return refuse(comm);
	return add_up(comm, send, count * (size_t)comm->ranks, type, (size_t)comm->rank * count,
		      count, receive);
}

int ncclReduce(const void *send, void *receive, size_t count, int type, int op, int root,
	       void *opaque, void *stream)
{
	comm_t *comm = opaque;
	if (!stream || op != BENCH_NCCL_SUM || root < 0 || root >= comm->ranks)
		return refuse(comm);
	return add_up(comm, send, count, type, 0, comm->rank == root ? count : 0, receive);
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *opaque,
		  void *stream)
{
	comm_t *comm = opaque;
	if (!stream || op != BENCH_NCCL_SUM)
		return refuse(comm);
	return add_up(comm, send, count, type, 0, count, receive);
}

int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, void *opaque,
		  void *stream)
{
	comm_t *comm = opaque;
	size_t bytes = count * size_of(type);
	if (bytes == 0 || bytes > DATA_BYTES || !stream || root < 0 || root >= comm->ranks)
		return refuse(comm);
	if (comm->rank == root)
		memcpy(comm->area->data, send, bytes);
	if (!meet(comm))
		return SYSTEM_ERROR;
	memcpy(receive, comm->area->data, bytes);
	return meet(comm) ? 0 : SYSTEM_ERROR;
}

/* ---------------------------------------------------------------- messages */

/** In a group only: alone, ranks that send to each other would wait for ever. */
static int add_message(message_t message, bool good)
{
	comm_t *comm = message.comm;
	if (!good || !in_group || message.bytes == 0 || message.peer < 0 ||
	    message.peer >= comm->ranks || message_count == MOST_MESSAGES)
		return refuse(comm);
	messages[message_count++] = message;
	return 0;
}

int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
	return add_message((message_t){.comm = comm,
				       .send = send,
				       .bytes = count * size_of(type),
				       .peer = peer},
			   stream && send);
}

int ncclRecv(void *receive, size_t count, int type, int peer, void *comm, void *stream)
{
	return add_message((message_t){.comm = comm,
				       .receive = receive,
				       .bytes = count * size_of(type),
				       .peer = peer},
			   stream && receive);
}
