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

/**
 * Stores a word of shared memory that threads of the block read now and then.
 * Relaxed: it orders nothing.
 */
TSR_DEV void tsr_cuda_shared_tell(uint32_t address, uint32_t word)
{
	__asm__ volatile("st.relaxed.cta.shared::cta.b32 [%0], %1;" ::"r"(address), "r"(word)
			 : "memory");
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

TSR_DEV void tsr_cuda_mbarrier_init(uint32_t barrier, uint32_t arrivals)
{
	__asm__ volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
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
	__asm__ volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
			 "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
			 "l"(map), "r"(x), "r"(y), "r"(barrier)
			 : "memory");
}

/** The same for a three-dimensional map; the box is in one plane z. */
TSR_DEV void tsr_cuda_load_box_of(uint32_t to, const void *map, int32_t x, int32_t y, int32_t z,
				  uint32_t barrier)
{
	__asm__ volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
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
