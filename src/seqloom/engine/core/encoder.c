/* A Transformer encoder: the positions of all sentences go through products together, without any
 * padding; only attention goes sentence by sentence. */
#include "blocks.h"

static int attend_sentence(const sl_pass *pass, long first, int count, float *keys, float *weights) {
    const sl_stack *stack = pass->stack;
    const int size = stack->head, room = (count + 15) / 16 * 16;
    const long attention = (long)stack->heads * size;
    const float *wide = pass->wide + first * pass->wide_stride;
    for (int h = 0; h < stack->heads; h++) {
        sl_transpose(wide + attention + h * size, pass->wide_stride, count, size, keys, room);
        const sl_head head = {.keys = keys, .values = wide + 2 * attention + h * size,
                              .value_stride = pass->wide_stride, .size = size, .count = count,
                              .room = room};
        sl_kernels_chosen()->attend(&head, wide + h * size, pass->wide_stride, count, weights,
                                    pass->found + first * pass->found_stride + h * size,
                                    pass->found_stride);
    }
    return 0;
}

static int encode_block(const sl_pass *pass, const sl_block *block, const int32_t *positions,
                        const int32_t *lengths, int32_t sentences, float *keys, float *weights) {
    if (sl_widen(pass, &block->project, sl_before(pass, &block->norms[0]), SL_IDENTITY)) return 1;
    if (pass->stack->turned) sl_turn(pass, positions, 2);
    long first = 0;
    for (int i = 0; i < sentences; first += lengths[i++])
        attend_sentence(pass, first, lengths[i], keys, weights);
    if (sl_add(pass, &block->combine, pass->found, pass->found_stride)) return 1;
    sl_after(pass, &block->norms[0]);
    return sl_think(pass, block);
}

int sl_encode(const sl_stack *encoder, sl_workspace *space, const int32_t *tokens,
              const int32_t *lengths, int32_t sentences, float *states) {
    long rows = 0, longest = 0;
    for (int i = 0; i < sentences; i++) {
        rows += lengths[i];
        if (lengths[i] > longest) longest = lengths[i];
    }
    const size_t room = (size_t)(longest + 15) / 16 * 16;
    sl_pass pass;
    sl_space_reset(space);
    if (sl_pass_begin(&pass, encoder, space, (int)rows, states)) return 1;
    int32_t *positions = sl_space_take(space, (size_t)rows * sizeof *positions);
    float *keys = sl_space_take(space, (size_t)encoder->head * room * sizeof *keys);
    float *weights = sl_space_take(space, (size_t)longest * room * sizeof *weights);
    if (!positions || !keys || !weights) return 1;
    for (long i = 0, at = 0; i < sentences; i++)
        for (int32_t p = 0; p < lengths[i]; p++) positions[at++] = p;
    if (sl_embed(&pass, tokens, positions)) return 1;
    for (int i = 0; i < encoder->layers; i++)
        if (encode_block(&pass, &encoder->blocks[i], positions, lengths, sentences, keys, weights))
            return 1;
    if (encoder->norm.gain)
        sl_kernels_chosen()->normalise(&encoder->norm, states, pass.stride, (int)rows, states,
                                       pass.stride);
    return 0;
}
