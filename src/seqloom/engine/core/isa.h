/* All kernels in one instruction set; included once by each isa_*.c after its vectors. */
#include "functions.h"
#include "pairs.h"
#include "gemm.h"
#include "rows.h"
#include "attention.h"
#include "units.h"
#include "ranking.h"
#ifdef SL_HAS_PAIRS
#include "training.h"
#define SL_TRAINING &training
#else
#define SL_TRAINING 0
#endif

#define SL_KERNELS(label)                                                                   \
    {                                                                                       \
        .name = label, .quantise = quantise, .products = products, .multiply = multiply,    \
        .rank = rank, .normalise = normalise, .gate = gate, .softmax = softmax,             \
        .attend = attend, .attend_path = attend_path, .recur = recur, .compare = compare,   \
        .compare_sums = compare_sums, .mix = mix, .reset = reset, .advance = advance,       \
        .halve = halve, .transpose = transpose, .training = SL_TRAINING,                    \
    }
