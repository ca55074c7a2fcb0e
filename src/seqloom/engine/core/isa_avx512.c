/* The kernels in AVX-512 with VNNI. */
#include "kernels.h"
#include "simd_avx512.h"
#include "isa.h"

const sl_kernels sl_kernels_avx512 = SL_KERNELS("avx512");
