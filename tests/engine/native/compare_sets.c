/* Every instruction set of the processor beside plain C: bytes to the bit, floats to their last digits.
 *
 * For processors without a Python at hand, such as one that qemu plays; scripts/cross runs it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { ROWS = 13, INPUTS = 48, OUTPUTS = 200, ROOM = 256, BEST = 7 };

static float weights[OUTPUTS * INPUTS], packed[ROOM * INPUTS], bias[ROOM], values[ROWS * INPUTS];
static int8_t bytes[OUTPUTS * INPUTS], packed_bytes[ROOM * INPUTS];
static float scales[ROOM];
static int32_t offsets[ROOM];

typedef struct {
    uint8_t bytes[ROWS * INPUTS];
    float scales[ROWS];
    int32_t sums[ROWS * ROOM], where[2][ROWS * BEST];
    float products[2][ROWS * ROOM], best[2][ROWS * BEST], norms[2][ROWS];
    float normed[ROWS * 64], softmax[48], found[64], cell[48];
} results;

static float draw(void) { return (float)rand() / (float)RAND_MAX * 4.0f - 2.0f; }

static void prepare(void) {
    for (int i = 0; i < OUTPUTS * INPUTS; i++) weights[i] = draw();
    for (int i = 0; i < ROWS * INPUTS; i++) values[i] = draw();
    for (int i = 0; i < ROOM; i++) bias[i] = i < OUTPUTS ? draw() : -INFINITY;
    sl_pack_float32(weights, OUTPUTS, INPUTS, packed);
    sl_quantise_columns(weights, OUTPUTS, INPUTS, bytes, scales, offsets);
    sl_pack_bytes(bytes, NULL, OUTPUTS, INPUTS, packed_bytes);
}

static void run(const sl_kernels *kernels, results *out) {
    float sums[16 * ROWS], references[ROWS];
    memset(out, 0, sizeof *out);
    const sl_matrix maps[2] = {
        {.kind = SL_FLOAT32, .inputs = INPUTS, .outputs = OUTPUTS, .weights = packed, .bias = bias},
        {.kind = SL_INT8, .inputs = INPUTS, .outputs = OUTPUTS, .weights = packed_bytes,
         .scales = scales, .offsets = offsets, .bias = bias}};
    kernels->quantise(values, INPUTS, ROWS, INPUTS, out->bytes, INPUTS, out->scales);
    const sl_inputs inputs = {ROWS, values, INPUTS, out->bytes, INPUTS, out->scales};
    kernels->products(&maps[1], &inputs, out->sums);
    for (int kind = 0; kind < 2; kind++) {
        const sl_outputs outputs = {out->products[kind], ROOM, SL_GELU, 0};
        const sl_ranking ranking = {.count = BEST, .best = out->best[kind], .where = out->where[kind],
                                    .sums = sums, .references = references};
        kernels->multiply(&maps[kind], &inputs, &outputs);
        sl_rank_begin(&ranking, ROWS);
        kernels->rank(&maps[kind], &inputs, &ranking);
        for (int row = 0; row < ROWS; row++) out->norms[kind][row] = sl_rank_norm(&ranking, row);
    }
    const sl_norm norm = {weights, weights + 64, 1e-5f, INPUTS};
    kernels->normalise(&norm, values, INPUTS, ROWS, out->normed, 64);
    memcpy(out->softmax, values, sizeof out->softmax);
    kernels->softmax(out->softmax, 37, 48);
    const float *cells[5] = {weights, weights + 100, weights + 7, weights + 300, weights + 512};
    float shares[16];
    kernels->attend_path(values, cells, 3, 5, 2, 32, shares, out->found);
    float hidden[48] = {0};
    kernels->recur(weights, values, 48, out->cell, hidden);
}

static int far_apart(const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 2e-5f * (1.0f + fabsf(b[i]))) && !(a[i] == b[i])) return 1;
    return 0;
}

static int differs(const results *a, const results *b) {
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) || memcmp(a->scales, b->scales, sizeof a->scales) ||
           memcmp(a->sums, b->sums, sizeof a->sums) || memcmp(a->where, b->where, sizeof a->where) ||
           far_apart(a->best[0], b->best[0], 2 * ROWS * BEST) ||
           far_apart(a->norms[0], b->norms[0], 2 * ROWS) || far_apart(a->normed, b->normed, ROWS * 64) ||
           far_apart(a->softmax, b->softmax, 48) || far_apart(a->found, b->found, 64) ||
           far_apart(a->cell, b->cell, 48) ||
           far_apart(a->products[0], b->products[0], 200) || far_apart(a->products[1], b->products[1], 200);
}

int main(void) {
    static results plain, other;
    char names[128];
    int failed = 0;
    prepare();
    run(&sl_kernels_plain, &plain);
    strcpy(names, sl_supported());
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        sl_choose(name);
        run(sl_kernels_chosen(), &other);
        const int wrong = differs(&other, &plain);
        printf("%s: %s\n", name, wrong ? "DIFFERS from plain C" : "as plain C");
        failed |= wrong;
    }
    return failed;
}
