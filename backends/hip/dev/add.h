/*
 * Adds to memory that give nothing back, relaxed, at system scope. gfx942 has
 * instructions for words of one float or two halves, which serve the memory of
 * devices on one fabric, where the heaps are. Laid down by hand, so that every
 * clang makes the same: of an atomic add of floats at system scope clang 19 makes
 * the instruction, and clang 20 a loop of compare-and-swaps, for memory that may
 * be a host's. Clang 21 and 22 make the loop too where the add says that its
 * memory may be remote (TSR_HIP_ANY_MEMORY in order.h), and the instruction where
 * it does not. gfx90a gets the loop from all of them: on memory that other devices
 * see its own adds of floats do nothing. (The golden lines of probe_add_f32 are
 * what the atomic becomes, those of probe_store_add_f32 what is here.)
 */
#ifndef TESSERA_HIP_ADD_H
#define TESSERA_HIP_ADD_H

#include "gpu/dev/fragments/value.h"

/** Two halves of type D, added apart. */
template <typename D> TSR_DEV uint32_t tsr_hip_sum_of_pairs(uint32_t x, uint32_t y)
{
	uint32_t sum = 0;
	TSR_GPU_UNROLL
	for (int shift = 0; shift < 32; shift += 16)
		sum |= (uint32_t)tsr_gpu_encode<D>(tsr_gpu_decode<float, D>((uint16_t)(x >>
										       shift)) +
						   tsr_gpu_decode<float, D>((uint16_t)(y >> shift)))
		       << shift;
	return sum;
}

/** What a word becomes by an add to it. */
template <typename D> TSR_DEV uint32_t tsr_hip_word_sum(uint32_t old, uint32_t x)
{
	if constexpr ((int)D::code == TSR_F32)
		return tsr_gpu_bits(tsr_gpu_float(old) + tsr_gpu_float(x));
	else
		return tsr_hip_sum_of_pairs<D>(old, x);
}

/** Repeated until nobody else has changed the word in between. */
template <typename D> TSR_DEV void tsr_hip_add_by_swaps(uint32_t *at, uint32_t x)
{
	uint32_t seen = tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(at), expected;
	do {
		expected = seen;
		seen = tsr_port_cas<TSR_RELAXED, TSR_RELAXED, TSR_SCOPE_SYSTEM>(
			at, expected, tsr_hip_word_sum<D>(expected, x));
	} while (seen != expected);
}

/** Adds a word: a float, or a pair of halves. */
template <typename D> TSR_DEV void tsr_hip_add_word(uint32_t *at, uint32_t x)
{
#if defined(__gfx942__)
	if constexpr ((int)D::code == TSR_F32)
		__asm__ volatile("global_atomic_add_f32 %0, %1, off sc1" ::"v"(at), "v"(x)
				 : "memory");
	else if constexpr ((int)D::code == TSR_F16)
		__asm__ volatile("global_atomic_pk_add_f16 %0, %1, off sc1" ::"v"(at), "v"(x)
				 : "memory");
	else
		__asm__ volatile("global_atomic_pk_add_bf16 %0, %1, off sc1" ::"v"(at), "v"(x)
				 : "memory");
#else
	tsr_hip_add_by_swaps<D>(at, x);
#endif
}

template <typename D>
TSR_DEV void tsr_port_add_pack(typename D::stored_t *at,
			       const tsr_gpu_pack<typename D::stored_t> &pack)
{
	uint32_t word[4];
	__builtin_memcpy(word, &pack, sizeof word);
	TSR_GPU_UNROLL
	for (int i = 0; i < 4; i++)
		tsr_hip_add_word<D>((uint32_t *)at + i, word[i]);
}

template <typename D> TSR_DEV void tsr_port_add_pair(uint32_t *at, uint32_t pair)
{
	tsr_hip_add_word<D>(at, pair);
}

/** Of 16 bits: the other half of the word gets -0, which changes no number. */
template <typename D>
TSR_DEV void tsr_port_add_one(typename D::stored_t *at, typename D::stored_t x)
{
	if constexpr ((int)D::code == TSR_F32) {
		tsr_hip_add_word<D>((uint32_t *)at, tsr_gpu_bits(x));
	} else {
		const bool upper = (uintptr_t)at % 4 != 0;
		tsr_hip_add_word<D>((uint32_t *)(at - upper), upper ? (uint32_t)x << 16 | 0x8000u
								    : (uint32_t)x | 0x80000000u);
	}
}

#endif
