/* The kernels in plain C. */
#include "kernels.h"
#include "simd_plain.h"
#include "isa.h"

const sl_kernels sl_kernels_plain = SL_KERNELS("plain");
