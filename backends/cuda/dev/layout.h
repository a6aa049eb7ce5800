/* How fragments are dealt to threads: none as a matrix unit leaves them. */
#ifndef TESSERA_CUDA_LAYOUT_H
#define TESSERA_CUDA_LAYOUT_H

template <typename F> struct tsr_port_layout {
	TSR_DEV int together(int)
	{
		return 0;
	}
	TSR_DEV int row(const tsr_coop_t *, int)
	{
		return 0;
	}
	TSR_DEV int col(const tsr_coop_t *, int)
	{
		return 0;
	}
};

#endif
