/*
 * The kernels that work for ranks of other nodes: one applies what they do to
 * words of this rank's heap, one puts rows to theirs.
 */
#ifndef TESSERA_GPU_FAR_SERVED_H
#define TESSERA_GPU_FAR_SERVED_H

#include "gpu/far/kernels.h"

/** A read-modify-write, or a compare-and-swap of integers. */
template <typename T> TSR_DEV T tsr_gpu_serve_change(T *p, int op, T v, T expected)
{
	switch (op) {
	case TSR_GPU_OP_ADD:
		return tsr_gpu_add::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
	case TSR_GPU_OP_MIN:
		return tsr_gpu_min::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
	case TSR_GPU_OP_MAX:
		return tsr_gpu_max::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
	default:
		break;
	}
	if constexpr (tsr_gpu_is_integer<T>) {
		typedef tsr_gpu_word_t<T> word_t;
		switch (op) {
		case TSR_GPU_OP_AND:
			return tsr_gpu_and::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
		case TSR_GPU_OP_OR:
			return tsr_gpu_or::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
		case TSR_GPU_OP_XOR:
			return tsr_gpu_xor::apply<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(p, v);
		default:
			return (T)tsr_port_cas<TSR_ACQ_REL, TSR_ACQUIRE, TSR_SCOPE_SYSTEM>(
				(word_t *)p, (word_t)expected, (word_t)v);
		}
	}
	(void)expected;
	return T();
}

/**
 * One access. Whatever order the far rank asked for, it has the strongest.
 * Partner: those of this rank's kernels. Litmus: MP.rel.acq.diffGPU-ss.
 */
template <typename T>
TSR_DEV uint64_t tsr_gpu_serve_word(char *at, int op, uint64_t bits, uint64_t expected_bits)
{
	typedef tsr_gpu_word_t<T> word_t;
	T v, expected;
	__builtin_memcpy(&v, &bits, sizeof v);
	__builtin_memcpy(&expected, &expected_bits, sizeof expected);
	word_t *word = (word_t *)at;
	if (op == TSR_GPU_OP_LOAD)
		return tsr_port_load<TSR_ACQUIRE, TSR_SCOPE_SYSTEM>(word);
	if (op == TSR_GPU_OP_STORE) {
		tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(word, tsr_gpu_cast<word_t>(v));
		return 0;
	}
	if (op == TSR_GPU_OP_XCHG)
		return tsr_port_xchg<TSR_ACQ_REL, TSR_SCOPE_SYSTEM>(word, tsr_gpu_cast<word_t>(v));
	return tsr_gpu_far_bits(tsr_gpu_serve_change<T>((T *)at, op, v, expected));
}

/** Words of two bytes are added to, and nothing else. */
template <typename D> TSR_DEV uint64_t tsr_gpu_serve_half(char *at, uint64_t bits)
{
	tsr_port_add_one<D>((uint16_t *)at, (uint16_t)bits);
	return 0;
}

TSR_DEV uint64_t tsr_gpu_serve_one(char *at, const tsr_gpu_service_t &s, uint64_t bits)
{
	switch (s.kind) {
	case TSR_GPU_WORD_U32:
		return tsr_gpu_serve_word<uint32_t>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_I32:
		return tsr_gpu_serve_word<int32_t>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_U64:
		return tsr_gpu_serve_word<uint64_t>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_I64:
		return tsr_gpu_serve_word<int64_t>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_F32:
		return tsr_gpu_serve_word<float>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_F64:
		return tsr_gpu_serve_word<double>(at, (int)s.op, bits, s.expected);
	case TSR_GPU_WORD_F16:
		return tsr_gpu_serve_half<tsr_gpu_f16>(at, bits);
	default:
		return tsr_gpu_serve_half<tsr_gpu_bf16>(at, bits);
	}
}

TSR_DEV int tsr_gpu_service_bytes(uint32_t kind)
{
	return kind == TSR_GPU_WORD_F16 || kind == TSR_GPU_WORD_BF16 ? 2
	       : kind == TSR_GPU_WORD_U32 || kind == TSR_GPU_WORD_I32 || kind == TSR_GPU_WORD_F32
		       ? 4
		       : 8;
}

/** One word by one thread, or many words by all. */
TSR_DEV void tsr_gpu_serve_all(const tsr_gpu_service_t &s)
{
	const int bytes = tsr_gpu_service_bytes(s.kind);
	if (!s.operands) {
		if (tsr_port_thread() != 0)
			return;
		const uint64_t old = tsr_gpu_serve_one(s.word, s, s.bits);
		if (s.old)
			*s.old = old;
		return;
	}
	TSR_GPU_NO_UNROLL
	for (uint64_t i = (uint64_t)tsr_port_thread(); i < s.count; i += TSR_GPU_SERVE_THREADS) {
		uint64_t bits = 0;
		for (int b = 0; b < bytes; b++)
			bits |= (uint64_t)(uint8_t)s.operands[i * (uint64_t)bytes + (uint64_t)b]
				<< 8 * b;
		(void)tsr_gpu_serve_one(s.word + i * (uint64_t)bytes, s, bits);
	}
}

#endif
