/*
 * A stand-in for backends/cuda/dev/hopper.h. Shared memory lies below 4 GiB, as
 * the program is linked for fixed addresses; so a shared address is its pointer.
 * An mbarrier counts as the hardware's does, and one that is used wrongly ends
 * the program. The copy engine swizzles, and brings boxes in any order.
 */
#ifndef TESSERA_LOCKSTEP_HOPPER_H
#define TESSERA_LOCKSTEP_HOPPER_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TSR_DEV uint32_t tsr_cuda_shared_address(const void *p)
{
	return (uint32_t)(uintptr_t)p;
}

TSR_DEV unsigned char *lockstep_at(uint32_t address)
{
	return (unsigned char *)(uintptr_t)address;
}

/** Ends the program: thread, and what it has done wrong. */
[[noreturn]] static inline void lockstep_wrong(const char *what, uint32_t address)
{
	printf("thread %d: %s at shared address %#x\n", lockstep_thread, what, address);
	fflush(stdout);
	abort();
}

TSR_DEV uint32_t tsr_cuda_multiprocessor(void)
{
	return 0;
}

TSR_DEV uint32_t tsr_cuda_dynamic_bytes(void)
{
	return LOCKSTEP_DYNAMIC_BYTES;
}

TSR_DEV void tsr_cuda_shared_tell(uint32_t address, uint32_t word)
{
	__atomic_store_n((uint32_t *)lockstep_at(address), word, __ATOMIC_RELAXED);
}

TSR_DEV void tsr_cuda_shared_write(uint32_t address, uint32_t word)
{
	memcpy(lockstep_at(address), &word, sizeof word);
}

TSR_DEV void tsr_cuda_shared_store_all(uint32_t address, const uint32_t word[4])
{
	memcpy(lockstep_at(address), word, 16);
}

TSR_DEV void tsr_cuda_shared_load_all(uint32_t word[4], uint32_t address)
{
	memcpy(word, lockstep_at(address), 16);
}

/*
 * ---- mbarriers. An arrival and the engine's bytes release (lockstep_count), a
 * wait acquires (lockstep_barrier_seen): each is the other's partner.
 */

struct lockstep_mbarrier {
	uint64_t pending : 12, arrivals : 12, phase : 1, live : 1; /* its words hold nothing else */
	int64_t bytes : 32;
};
static_assert(sizeof(lockstep_mbarrier) == 8, "as the hardware's");

static inline uint64_t *lockstep_barrier_at(uint32_t address)
{
	return (uint64_t *)lockstep_at(address);
}

TSR_DEV lockstep_mbarrier lockstep_barrier_seen(uint32_t address)
{
	const uint64_t word = __atomic_load_n(lockstep_barrier_at(address), __ATOMIC_ACQUIRE);
	const lockstep_mbarrier seen = __builtin_bit_cast(lockstep_mbarrier, word);
	if (!seen.live)
		lockstep_wrong("an mbarrier is used that has not been initialised", address);
	return seen;
}

/** So many arrivals and bytes have come, or are expected: less than none. */
TSR_DEV void lockstep_count(uint32_t address, uint64_t arrivals, int64_t bytes)
{
	lockstep_mbarrier now, next;
	uint64_t word;
	do {
		now = next = lockstep_barrier_seen(address);
		word = __builtin_bit_cast(uint64_t, now);
		if (now.pending < arrivals)
			lockstep_wrong("there are more arrivals than a phase has", address);
		next.pending -= arrivals;
		next.bytes -= bytes;
		if (next.pending == 0 && next.bytes == 0) {
			next.pending = next.arrivals;
			next.phase ^= 1u;
		}
	} while (!__atomic_compare_exchange_n(lockstep_barrier_at(address), &word,
					      __builtin_bit_cast(uint64_t, next), false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

template <uint32_t ARRIVALS> TSR_DEV void tsr_cuda_mbarrier_init(uint32_t barrier)
{
	lockstep_mbarrier fresh = {};
	fresh.pending = fresh.arrivals = ARRIVALS;
	fresh.live = 1;
	__atomic_store_n(lockstep_barrier_at(barrier), __builtin_bit_cast(uint64_t, fresh),
			 __ATOMIC_RELEASE);
}

TSR_DEV void tsr_cuda_mbarrier_end(uint32_t barrier)
{
	__atomic_store_n(lockstep_barrier_at(barrier), 0, __ATOMIC_RELEASE);
}

TSR_DEV void tsr_cuda_mbarrier_publish(void)
{
}

TSR_DEV void tsr_cuda_mbarrier_arrive(uint32_t barrier)
{
	lockstep_count(barrier, 1, 0);
}

TSR_DEV void tsr_cuda_mbarrier_arrive_if(uint32_t barrier, bool does)
{
	if (does)
		lockstep_count(barrier, 1, 0);
}

TSR_DEV void tsr_cuda_mbarrier_expect(uint32_t barrier, uint32_t bytes)
{
	lockstep_count(barrier, 1, -(int64_t)bytes);
}

/** Ends the program where a phase does not end: the hardware would wait for ever. */
TSR_DEV void tsr_cuda_mbarrier_wait(uint32_t barrier, uint32_t parity)
{
	enum { LONGEST_S = 60 };
	const time_t begun = time(nullptr);
	while (lockstep_barrier_seen(barrier).phase == parity) {
		if (time(nullptr) - begun > LONGEST_S)
			lockstep_wrong("a wait for an mbarrier does not end", barrier);
		sched_yield();
	}
}

TSR_DEV bool tsr_cuda_elected(void)
{
	return lockstep_thread % LOCKSTEP_LANES == 0;
}

/* ---- the copy engine */

/** What the bytes of a map hold here. */
struct lockstep_map {
	uint64_t data, rows, cols, ld;
	bool stack;
};

TSR_DEV bool lockstep_in(int64_t x, uint64_t extent)
{
	return x >= 0 && x < (int64_t)extent;
}

/** A load of 64 by 64 elements, that the engine has been given. */
struct lockstep_box {
	lockstep_map map;
	const uint16_t *data; /* of its matrix */
	uint32_t to, barrier;
	int32_t x, y;
};
enum { LOCKSTEP_BOX_EDGE = 64, LOCKSTEP_BOX_ROW_BYTES = 128 };

static inline void *lockstep_bring(void *argument)
{
	const lockstep_box *box = (const lockstep_box *)argument;
	for (int row = box->y; row < box->y + LOCKSTEP_BOX_EDGE; row++)
		for (int col = box->x; col < box->x + LOCKSTEP_BOX_EDGE; col++) {
			const bool inside =
				lockstep_in(row, box->map.rows) && lockstep_in(col, box->map.cols);
			const uint16_t element =
				inside ? box->data[row * (int64_t)box->map.ld + col] : (uint16_t)0;
			const uint32_t place =
				box->to + (uint32_t)((row - box->y) * LOCKSTEP_BOX_ROW_BYTES +
						     (col - box->x) * (int)sizeof element);
			memcpy(lockstep_at(lockstep_swizzled(place)), &element, sizeof element);
		}
	lockstep_count(box->barrier, 0, LOCKSTEP_BOX_EDGE * LOCKSTEP_BOX_ROW_BYTES);
	free(argument);
	return nullptr;
}

/**
 * A thread of its own brings each box: what has been issued later may come
 * earlier, and only the box's own mbarrier says that it is there. z is -1 for a
 * map that is no stack.
 */
TSR_DEV void lockstep_load_box(uint32_t to, const void *at, int32_t x, int32_t y, int64_t z,
			       uint32_t barrier)
{
	lockstep_box *box = (lockstep_box *)malloc(sizeof *box);
	pthread_t engine;
	*box = {{}, nullptr, to, barrier, x, y};
	memcpy(&box->map, at, sizeof box->map);
	if (box->map.stack != (z >= 0) || to % 1024 != 0)
		lockstep_wrong("a box of another kind of map, or one that is not aligned", to);
	if (z >= 0 && (y <= -LOCKSTEP_BOX_EDGE || y >= (int64_t)box->map.rows))
		lockstep_wrong("a box has no row of its matrix, which an H100 refuses", to);
	box->data = (const uint16_t *)box->map.data + (z > 0 ? z : 0) * (int64_t)box->map.ld;
	if (pthread_create(&engine, nullptr, lockstep_bring, box))
		lockstep_wrong("there is no thread for a box", to);
	pthread_detach(engine);
}

TSR_DEV void tsr_cuda_load_box(uint32_t to, const void *map, int32_t x, int32_t y, uint32_t barrier)
{
	lockstep_load_box(to, map, x, y, -1, barrier);
}

TSR_DEV void tsr_cuda_load_box_of(uint32_t to, const void *map, int32_t x, int32_t y, int32_t z,
				  uint32_t barrier)
{
	if (z < 0)
		lockstep_wrong("a box is in no matrix of its stack", to);
	lockstep_load_box(to, map, x, y, z, barrier);
}

TSR_DEV void tsr_cuda_before_engine(void)
{
}

TSR_DEV void tsr_cuda_acquired_to_engine(void)
{
}

TSR_DEV void tsr_cuda_map_change(uint32_t map, uint64_t data, uint64_t rows, uint64_t cols,
				 uint64_t ld)
{
	const lockstep_map made = {data, rows, cols, ld, false};
	memcpy(lockstep_at(map), &made, sizeof made);
}

TSR_DEV void tsr_cuda_map_copy(void *to, uint32_t from)
{
	if (tsr_cuda_elected())
		memcpy(to, lockstep_at(from), 128);
}

TSR_DEV void tsr_cuda_map_change_stack(void *map, uint64_t data, uint64_t rows, uint64_t cols,
				       uint64_t ld)
{
	const lockstep_map made = {data, rows, cols, ld, true};
	memcpy(map, &made, sizeof made);
}

TSR_DEV void tsr_cuda_map_acquire(const void *)
{
}

template <int REGISTERS> TSR_DEV void tsr_cuda_registers_up(void)
{
}

template <int REGISTERS> TSR_DEV void tsr_cuda_registers_down(void)
{
}

#endif
