#include "blocks.h"

static long largest(long a, long b) { return a > b ? a : b; }

int sl_pass_begin(sl_pass *pass, const sl_stack *stack, sl_workspace *space, int rows, float *hidden) {
    const long attention = (long)stack->heads * stack->head;
    const long asked = (long)stack->source_heads * stack->source_head;
    long wide = largest(3 * attention, asked);
    for (int i = 0; i < stack->layers; i++) wide = largest(wide, stack->blocks[i].widen.outputs);
    *pass = (sl_pass){.stack = stack, .space = space, .rows = rows, .hidden = hidden};
    pass->stride = sl_aligned(stack->width);
    pass->wide_stride = sl_aligned(wide);
    pass->found_stride = sl_aligned(largest(attention, asked));
    const size_t count = (size_t)rows * sizeof(float);
    pass->normed = sl_space_take(space, count * (size_t)pass->stride);
    pass->wide = sl_space_take(space, count * (size_t)pass->wide_stride);
    pass->found = sl_space_take(space, count * (size_t)pass->found_stride);
    return !pass->normed || !pass->wide || !pass->found;
}

int sl_embed(const sl_pass *pass, const int32_t *tokens, const float *inputs,
             const int32_t *positions) {
    for (int row = 0; row < pass->rows; row++) {
        const float *vector = inputs ? inputs + row * pass->stride
                                     : pass->stack->vectors + tokens[row] * pass->stride;
        const float *place = pass->stack->places + positions[row] * pass->stride;
        float *hidden = pass->hidden + row * pass->stride;
        for (long i = 0; i < pass->stride; i++) hidden[i] = vector[i] + place[i];
    }
    if (!pass->stack->joint) return 0;
    const long count = pass->rows * pass->stride;
    for (long i = 0; i < count; i++) pass->normed[i] = pass->hidden[i] > 0.0f ? pass->hidden[i] : 0.0f;
    const sl_outputs out = {pass->hidden, pass->stride, SL_IDENTITY, 0};
    return sl_apply(pass->space, &pass->stack->mix, pass->normed, pass->stride, pass->rows, &out);
}

static void normalise(const sl_pass *pass, const sl_norm *norm, float *out) {
    sl_kernels_chosen()->normalise(norm, pass->hidden, pass->stride, pass->rows, out, pass->stride);
}

const float *sl_before(const sl_pass *pass, const sl_norm *norm) {
    if (!pass->stack->norm_first) return pass->hidden;
    normalise(pass, norm, pass->normed);
    return pass->normed;
}

void sl_after(const sl_pass *pass, const sl_norm *norm) {
    if (!pass->stack->norm_first) normalise(pass, norm, pass->hidden);
}

int sl_widen(const sl_pass *pass, const sl_matrix *matrix, const float *values, int activation) {
    const sl_outputs out = {pass->wide, pass->wide_stride, activation, 0};
    return sl_apply(pass->space, matrix, values, pass->stride, pass->rows, &out);
}

int sl_add(const sl_pass *pass, const sl_matrix *matrix, const float *values, long stride) {
    const sl_outputs out = {pass->hidden, pass->stride, SL_IDENTITY, 1};
    return sl_apply(pass->space, matrix, values, stride, pass->rows, &out);
}

int sl_think(const sl_pass *pass, const sl_block *block) {
    const int gated = pass->stack->activation == SL_GATED;
    const float *inputs = sl_before(pass, &block->norms[2]);
    const int activation = gated ? SL_IDENTITY : pass->stack->activation;
    if (sl_widen(pass, &block->widen, inputs, activation)) return 1;
    if (gated)
        sl_kernels_chosen()->gate(pass->wide, pass->wide_stride, pass->rows, block->narrow.inputs);
    if (sl_add(pass, &block->narrow, pass->wide, pass->wide_stride)) return 1;
    sl_after(pass, &block->norms[2]);
    return 0;
}

void sl_turn(const sl_pass *pass, const int32_t *positions, int parts) {
    const int size = pass->stack->head, heads = parts * pass->stack->heads;
    for (int row = 0; row < pass->rows; row++) {
        const float *angles = pass->stack->angles + (long)positions[row] * size;
        float *values = pass->wide + row * pass->wide_stride;
        for (int head = 0; head < heads; head++, values += size)
            for (int i = 0; i < size; i += 2) {
                const float left = values[i], right = values[i + 1];
                values[i] = left * angles[i + 1] - right * angles[i];
                values[i + 1] = left * angles[i] + right * angles[i + 1];
            }
    }
}
