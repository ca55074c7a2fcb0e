/* The kernels in ARM NEON with the dot product. */
#include "kernels.h"
#include "simd_neon.h"
#include "isa.h"

const sl_kernels sl_kernels_neon = SL_KERNELS("neon");
