#include "tessera/random.h"

#include "src/tensor/random_core.h"

uint64_t tsr_random_bits(uint64_t seed, uint64_t index)
{
	return tsr_core_bits(seed, index, TSR_RANDOM_BITS);
}

float tsr_random_f32(uint64_t seed, uint64_t index)
{
	return tsr_core_f32(tsr_core_bits(seed, index, TSR_RANDOM_F32));
}

double tsr_random_f64(uint64_t seed, uint64_t index)
{
	return tsr_core_f64(tsr_core_bits(seed, index, TSR_RANDOM_F64));
}

int64_t tsr_random_int(uint64_t seed, uint64_t index, int64_t low, int64_t high)
{
	return tsr_core_int(tsr_core_bits(seed, index, TSR_RANDOM_INT), low, high);
}

double tsr_random_normal(uint64_t seed, uint64_t index)
{
	return tsr_core_normal(tsr_core_bits(seed, index, TSR_RANDOM_NORMAL));
}
