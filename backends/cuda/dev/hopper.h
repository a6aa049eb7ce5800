/*
 * Hopper's asynchronous instructions: barriers in shared memory, the copy
 * engine, the register split. PTX ISA 8.0, section 9.7.
 */
#ifndef TESSERA_CUDA_HOPPER_H
#define TESSERA_CUDA_HOPPER_H

/** A shared-memory address, as instructions take it. */
TSR_DEV uint32_t tsr_cuda_shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

/** The number of the multiprocessor that the block runs on. */
TSR_DEV uint32_t tsr_cuda_multiprocessor(void)
{
	uint32_t number;
	__asm__("mov.u32 %0, %%smid;" : "=r"(number));
	return number;
}

/** The size of the block's dynamic shared memory. */
TSR_DEV uint32_t tsr_cuda_dynamic_bytes(void)
{
	uint32_t bytes;
	__asm__("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
	return bytes;
}

/**
 * Stores a word of shared memory that threads of the block read now and then.
 * Relaxed: it orders nothing.
 */
TSR_DEV void tsr_cuda_shared_tell(uint32_t address, uint32_t word)
{
	__asm__ volatile("st.relaxed.cta.shared::cta.b32 [%0], %1;" ::"r"(address), "r"(word)
			 : "memory");
}

TSR_DEV void tsr_cuda_shared_write(uint32_t address, uint32_t word)
{
	__asm__ volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

/* Sixteen bytes of shared memory by one access; compilers would use several. */

TSR_DEV void tsr_cuda_shared_store_all(uint32_t address, const uint32_t word[4])
{
	__asm__ volatile("st.shared::cta.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address),
			 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
			 : "memory");
}

TSR_DEV void tsr_cuda_shared_load_all(uint32_t word[4], uint32_t address)
{
	__asm__ volatile("ld.shared::cta.v4.b32 {%0, %1, %2, %3}, [%4];"
			 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
			 : "r"(address)
			 : "memory");
}

/*
 * ---- mbarriers: a phase ends when all arrivals and all announced bytes have
 * come. An arrival releases at block scope, a wait that ends acquires. Litmus:
 * MP.rel.acq.sameWG-ww.
 */

/**
 * Opens a barrier for phases of ARRIVALS. That is a constant, because ptxas 13.0
 * makes wrong code of a number that differs among lanes: it computes the
 * barrier's first word lane by lane in a loop, and where the number has been
 * spilled, each turn of the loop overwrites the words of the turns before with it.
 */
template <uint32_t ARRIVALS> TSR_DEV void tsr_cuda_mbarrier_init(uint32_t barrier)
{
	__asm__ volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "n"(ARRIVALS)
			 : "memory");
}

TSR_DEV void tsr_cuda_mbarrier_end(uint32_t barrier)
{
	__asm__ volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/** Makes initialised barriers visible to the copy engine. */
TSR_DEV void tsr_cuda_mbarrier_publish(void)
{
	__asm__ volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

TSR_DEV void tsr_cuda_mbarrier_arrive(uint32_t barrier)
{
	__asm__ volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/**
 * Arrives if `does`. One predicated instruction, because ptxas would end products
 * in flight at a branch.
 */
TSR_DEV void tsr_cuda_mbarrier_arrive_if(uint32_t barrier, bool does)
{
	__asm__ volatile("{\n\t.reg .pred does;\n\t"
			 "setp.ne.u32 does, %1, 0;\n\t"
			 "@does mbarrier.arrive.shared::cta.b64 _, [%0];\n\t}" ::"r"(barrier),
			 "r"((uint32_t)does)
			 : "memory");
}

/** Arrives, and announces the bytes that the copy engine will bring. */
TSR_DEV void tsr_cuda_mbarrier_expect(uint32_t barrier, uint32_t bytes)
{
	__asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
			 "r"(bytes)
			 : "memory");
}

/**
 * Waits until the phase of this parity has ended. No deadline, because the
 * phase depends only on this block's own threads and on the copy engine.
 */
TSR_DEV void tsr_cuda_mbarrier_wait(uint32_t barrier, uint32_t parity)
{
	uint32_t ended;
	do
		__asm__ volatile("{\n\t.reg .pred ended;\n\t"
				 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n\t"
				 "selp.u32 %0, 1, 0, ended;\n\t}"
				 : "=r"(ended)
				 : "r"(barrier), "r"(parity)
				 : "memory");
	while (!ended);
}

/**
 * Chooses one thread of a converged warp, always the same one. ptxas then knows
 * that this thread is alone, and starts the copy engine without a loop over the
 * warp's threads around each instruction.
 */
TSR_DEV bool tsr_cuda_elected(void)
{
	uint32_t elected;
	__asm__ volatile("{\n\t.reg .pred elected;\n\t"
			 "elect.sync _|elected, 0xffffffff;\n\t"
			 "selp.u32 %0, 1, 0, elected;\n\t}"
			 : "=r"(elected));
	return elected != 0;
}

/* ---- the copy engine */

/**
 * Loads a box of a two-dimensional tensor map to shared memory; x runs along
 * the map's rows. Its bytes arrive at the mbarrier.
 */
TSR_DEV void tsr_cuda_load_box(uint32_t to, const void *map, int32_t x, int32_t y, uint32_t barrier)
{
	__asm__ volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::"
			 "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
			 "l"(map), "r"(x), "r"(y), "r"(barrier)
			 : "memory");
}

/** The same for a three-dimensional map; the box is in one plane z. */
TSR_DEV void tsr_cuda_load_box_of(uint32_t to, const void *map, int32_t x, int32_t y, int32_t z,
				  uint32_t barrier)
{
	__asm__ volatile("cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::"
			 "bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
			 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
			 : "memory");
}

/**
 * Orders what the thread has written, and what it knows to be written, before
 * the copy engine's accesses after a meeting.
 */
TSR_DEV void tsr_cuda_before_engine(void)
{
	__asm__ volatile("fence.proxy.async;" ::: "memory");
}

/**
 * Makes what the thread has acquired visible to the copy engine's loads that it
 * starts from here on.
 */
TSR_DEV void tsr_cuda_acquired_to_engine(void)
{
	__asm__ volatile("fence.proxy.async.global;" ::: "memory");
}

/*
 * ---- tensor maps, which describe a matrix of 16-bit elements to the copy engine:
 * copies of one of the host's, whose fields are changed. PTX ISA 8.3, sections
 * 9.7.9.27 (tensormap.replace) and 9.7.13 (its proxy).
 */

/*
 * Writes one field of the map at `at`, in the state space `space_`:
 * "shared::cta" or "global". `which_` is the dimension, as "0, ", where the
 * field has one for each.
 */
#define TSR_CUDA_MAP_SET(space_, field_, which_, bits_, constraint_, at_, value_)    \
	__asm__ volatile("tensormap.replace.tile." field_ "." space_ ".b1024." bits_ \
			 " [%0], " which_ "%1;" ::"l"(at_),                          \
			 constraint_(value_)                                         \
			 : "memory")
#define TSR_CUDA_MAP_SET_32(space_, field_, which_, at_, value_) \
	TSR_CUDA_MAP_SET(space_, field_, which_, "b32", "r", at_, (uint32_t)(value_))
#define TSR_CUDA_MAP_SET_64(space_, field_, which_, at_, value_) \
	TSR_CUDA_MAP_SET(space_, field_, which_, "b64", "l", at_, value_)

/** One thread: changes the map at shared address `map` to describe a matrix. */
TSR_DEV void tsr_cuda_map_change(uint32_t map, uint64_t data, uint64_t rows, uint64_t cols,
				 uint64_t ld)
{
	uint64_t at = map;
	TSR_CUDA_MAP_SET_64("shared::cta", "global_address", "", at, data);
	TSR_CUDA_MAP_SET_32("shared::cta", "global_dim", "0, ", at, cols);
	TSR_CUDA_MAP_SET_32("shared::cta", "global_dim", "1, ", at, rows);
	TSR_CUDA_MAP_SET_64("shared::cta", "global_stride", "0, ", at, ld * 2);
}

/** The warp: stores the map at shared address `from` to global memory, and releases it. */
TSR_DEV void tsr_cuda_map_copy(void *to, uint32_t from)
{
	__asm__ volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
			 "release.gpu.sync.aligned "
			 "[%0], [%1], 128;" ::"l"(__cvta_generic_to_global(to)),
			 "r"(from)
			 : "memory");
}

/**
 * One thread: changes the map at `map` in global memory to describe matrices of
 * one shape, one of which begins at each row of the first; and releases it.
 */
TSR_DEV void tsr_cuda_map_change_stack(void *map, uint64_t data, uint64_t rows, uint64_t cols,
				       uint64_t ld)
{
	uint64_t at = (uint64_t)__cvta_generic_to_global(map), distance = ld * 2;
	TSR_CUDA_MAP_SET_64("global", "global_address", "", at, data);
	TSR_CUDA_MAP_SET_32("global", "global_dim", "0, ", at, cols);
	TSR_CUDA_MAP_SET_32("global", "global_dim", "1, ", at, rows);
	TSR_CUDA_MAP_SET_32("global", "global_dim", "2, ", at, INT32_MAX);
	TSR_CUDA_MAP_SET_64("global", "global_stride", "0, ", at, distance);
	TSR_CUDA_MAP_SET_64("global", "global_stride", "1, ", at, distance);
	__asm__ volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

/** After a change of a map: the copy engine may still hold the old one. */
TSR_DEV void tsr_cuda_map_acquire(const void *map)
{
	__asm__ volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map)
			 : "memory");
}

/*
 * ---- registers: each warpgroup takes or gives its own. The sums over a block
 * do not exceed what it was launched with. In code for worlds over nodes each keeps
 * what it was launched with: there functions are called, and ptxas finds no registers
 * for one that may be called with few of them (C7600).
 */

template <int REGISTERS> TSR_DEV void tsr_cuda_registers_up(void)
{
#if !TSR_PORT_NODES
	__asm__ volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

template <int REGISTERS> TSR_DEV void tsr_cuda_registers_down(void)
{
#if !TSR_PORT_NODES
	__asm__ volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

#endif
