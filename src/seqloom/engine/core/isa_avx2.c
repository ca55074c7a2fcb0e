/* The kernels in AVX2 and FMA. */
#include "kernels.h"
#include "simd_avx2.h"
#include "isa.h"

const sl_kernels sl_kernels_avx2 = SL_KERNELS("avx2");
