/* The kernels in AVX-512 with VNNI and products of bfloat16. */
#include "kernels.h"
#include "simd_avx512.h"
#include "isa.h"

const sl_kernels sl_kernels_avx512_bf16 = SL_KERNELS("avx512-bf16");
