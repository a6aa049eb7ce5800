/*
 * Body of tsr_coop_place (dev/coop.h). Groups of threads that meet without a
 * barrier, here called warps, take runs of keys. Each finds out which of its
 * keys are equal, and then takes its turn at the totals: the first keys come
 * first. So no scratch memory is needed, and the work between two turns is
 * small.
 */
#ifndef TESSERA_GPU_DEV_PLACE_H
#define TESSERA_GPU_DEV_PLACE_H

#include "gpu/dev/memory.h"

enum {
	TSR_GPU_WARP = TSR_PORT_PART_THREADS,
	/* keys that a thread places in one turn of its warp */
	TSR_GPU_PLACED = 4
};

/** A thread's keys in one turn of its warp: those of lane `lane`, a warp apart. */
typedef struct tsr_gpu_placing {
	int32_t key[TSR_GPU_PLACED];    /* then the place; negative: none */
	uint64_t equal[TSR_GPU_PLACED]; /* the lanes of the warp that have the same key */
} tsr_gpu_placing_t;

/** Bits of the keys 0 .. bins - 1. */
TSR_DEV int tsr_gpu_key_bits(int bins)
{
	return bins > 1 ? 32 - __builtin_clz((unsigned)bins - 1) : 0;
}

/** The lanes whose keys are equal to mine, which is not negative. All of the warp call it. */
TSR_DEV uint64_t tsr_gpu_equal_lanes(int32_t key, int bits)
{
	uint64_t equal = tsr_port_ballot(key >= 0);
	TSR_GPU_NO_UNROLL
	for (int bit = 0; bit < bits; bit++) {
		const bool one = key >> bit & 1;
		const uint64_t ones = tsr_port_ballot(one);
		equal &= one ? ones : ~ones;
	}
	return equal;
}

/** The warp's keys from `first` on, as far as there are any. */
TSR_DEV void tsr_gpu_placing_begin(const tsr_coop_t *coop, tsr_gpu_placing_t *p,
				   const int32_t *keys, int first, int count, int bins)
{
	const int lane = coop->thread % TSR_GPU_WARP, bits = tsr_gpu_key_bits(bins);
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_PLACED; i++) {
		const int at = first + i * TSR_GPU_WARP + lane;
		p->key[i] = at < count ? keys[at] : -1;
		if (p->key[i] >= 0 && !tsr_gpu_accepts_index(coop, p->key[i], bins))
			p->key[i] = -1;
	}
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_PLACED; i++)
		p->equal[i] = tsr_gpu_equal_lanes(p->key[i], bits);
}

/**
 * The warp's turn. All lanes with one key read its total; when all have, the
 * last of them stores what it is then. The meetings order that, and the warp's
 * next keys behind it.
 */
TSR_DEV void tsr_gpu_placing_turn(const tsr_coop_t *coop, tsr_gpu_placing_t *p, int32_t *totals)
{
	const int lane = coop->thread % TSR_GPU_WARP;
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_PLACED; i++) {
		const int32_t key = p->key[i];
		const uint64_t before = p->equal[i] & (((uint64_t)1 << lane) - 1);
		const uint32_t place =
			key < 0 ? 0
				: (uint32_t)totals[key] + (uint32_t)__builtin_popcountll(before);
		tsr_port_meet_worker(coop->worker, TSR_GPU_WARP);
		if (key >= 0 && p->equal[i] >> lane == 1)
			totals[key] = (int32_t)(place + 1);
		tsr_port_meet_worker(coop->worker, TSR_GPU_WARP);
		p->key[i] = key < 0 ? -1 : (int32_t)place;
	}
}

/** Stores the places where the keys were: no other thread reads or writes there. */
TSR_DEV void tsr_gpu_placing_end(const tsr_coop_t *coop, const tsr_gpu_placing_t *p,
				 int32_t *places, int first, int count)
{
	const int lane = coop->thread % TSR_GPU_WARP;
	TSR_GPU_UNROLL
	for (int i = 0; i < TSR_GPU_PLACED; i++) {
		const int at = first + i * TSR_GPU_WARP + lane;
		if (at < count)
			places[at] = p->key[i];
	}
}

TSR_DEV void tsr_coop_place(tsr_coop_t *coop, int32_t *places, const int32_t *keys, int count,
			    int32_t *totals, int bins)
{
	enum { RUN = TSR_GPU_PLACED * TSR_GPU_WARP };
	const int warps = coop->threads / TSR_GPU_WARP, mine = coop->thread / TSR_GPU_WARP;
	tsr_port_settle(coop);
	tsr_gpu_meet(coop);
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < count; first += warps * RUN) {
		tsr_gpu_placing_t p;
		tsr_gpu_placing_begin(coop, &p, keys, first + mine * RUN, count, bins);
		TSR_GPU_NO_UNROLL
		for (int turn = 0; turn < warps && first + turn * RUN < count; turn++) {
			if (turn == mine)
				tsr_gpu_placing_turn(coop, &p, totals);
			if (warps > 1)
				tsr_gpu_meet_shared(coop);
		}
		if (places)
			tsr_gpu_placing_end(coop, &p, places, first + mine * RUN, count);
	}
	tsr_gpu_meet(coop);
}

#endif
