/* What is the same in every instruction set: where a ranking begins, and what its sums come to. */
#include <math.h>

#include "kernels.h"

void sl_rank_begin(const sl_ranking *ranking, int rows) {
    for (int row = 0; row < rows; row++) {
        ranking->references[row] = -INFINITY;
        for (int i = 0; i < 16; i++) ranking->sums[16L * row + i] = 0.0f;
        for (int i = 0; i < ranking->count; i++) {
            ranking->best[(long)row * ranking->count + i] = -INFINITY;
            ranking->where[(long)row * ranking->count + i] = 0;
        }
    }
}

float sl_rank_norm(const sl_ranking *ranking, int row) {
    float sum = 0.0f;
    for (int i = 0; i < 16; i++) sum += ranking->sums[16L * row + i];
    return ranking->references[row] + logf(sum);
}
