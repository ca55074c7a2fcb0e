/* The kernels in AVX2 with VNNI. */
#include "kernels.h"
#include "simd_avx2.h"
#include "isa.h"

const sl_kernels sl_kernels_avx2_vnni = SL_KERNELS("avx2-vnni");
