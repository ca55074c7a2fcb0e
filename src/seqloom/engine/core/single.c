/* Single kernels by themselves, on rows that lie one after the other. */
#include <stdlib.h>

#include "workspace.h"

void sl_quantise(const float *values, int32_t rows, int32_t width, uint8_t *bytes, float *scales) {
    sl_kernels_chosen()->quantise(values, width, rows, width, bytes, width, scales);
}

void sl_halve(const float *values, int32_t rows, int32_t width, uint16_t *halves) {
    sl_kernels_chosen()->halve(values, width, rows, width, halves, width);
}

void sl_products(const sl_matrix *matrix, const uint8_t *bytes, int32_t rows, int32_t *sums) {
    const sl_inputs inputs = {.rows = rows, .bytes = bytes, .byte_stride = matrix->inputs};
    sl_kernels_chosen()->products(matrix, &inputs, sums);
}

void sl_normalise(const sl_norm *norm, const float *values, int32_t rows, float *out) {
    const long stride = sl_aligned(norm->width);
    sl_kernels_chosen()->normalise(norm, values, stride, rows, out, stride);
}

void sl_softmax(float *values, int32_t rows, int32_t count, int32_t room) {
    for (int row = 0; row < rows; row++)
        sl_kernels_chosen()->softmax(values + (long)row * room, count, room);
}

void sl_multiply(const sl_matrix *matrix, const float *values, int32_t rows, float *out,
                 int32_t activation, int32_t add) {
    sl_workspace *space = sl_workspace_new();
    const sl_outputs outputs = {out, sl_aligned(matrix->outputs), activation, add};
    if (space) sl_apply(space, matrix, values, matrix->inputs, rows, &outputs);
    sl_workspace_free(space);
}

void sl_best(const sl_matrix *matrix, const float *values, int32_t rows, int32_t count, float *best,
             int32_t *where, float *norms) {
    sl_workspace *space = sl_workspace_new();
    float *sums = calloc((size_t)rows * 17, sizeof(float));
    sl_inputs inputs;
    const sl_ranking ranking = {.count = count, .best = best, .where = where,
                                .sums = sums, .references = sums ? sums + 16L * rows : NULL};
    if (space && sums && !sl_space_inputs(space, matrix, values, matrix->inputs, rows, &inputs)) {
        sl_rank_begin(&ranking, rows);
        sl_kernels_chosen()->rank(matrix, &inputs, &ranking);
        for (int32_t row = 0; row < rows; row++) norms[row] = sl_rank_norm(&ranking, row);
    }
    free(sums);
    sl_workspace_free(space);
}
