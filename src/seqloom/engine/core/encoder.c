/* A Transformer encoder: the positions of all sentences go through products together, without any
 * padding; only attention goes sentence by sentence. */
#include <string.h>

#include "blocks.h"
#include "recurrent.h"

static int attend_sentence(const sl_pass *pass, long first, int count, float *keys, float *weights) {
    const sl_stack *stack = pass->stack;
    const int size = stack->head, room = (count + 15) / 16 * 16;
    const long attention = (long)stack->heads * size;
    const float *wide = pass->wide + first * pass->wide_stride;
    for (int h = 0; h < stack->heads; h++) {
        sl_kernels_chosen()->transpose(wide + attention + h * size, pass->wide_stride, count, size,
                                       keys, room);
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

/* The last state of each sentence. */
static void last_codes(const sl_text *text, const float *states, long stride, float *codes) {
    for (int32_t i = 0; i < text->sentences; i++, codes += stride) {
        states += text->lengths[i] * stride;
        memcpy(codes, states - stride, (size_t)stride * sizeof *codes);
    }
}

static int encode_blocks(const sl_stack *encoder, sl_workspace *space, const sl_text *text,
                         float *states, float *codes) {
    long rows = 0, longest = 0;
    for (int i = 0; i < text->sentences; i++) {
        rows += text->lengths[i];
        if (text->lengths[i] > longest) longest = text->lengths[i];
    }
    const size_t room = (size_t)(longest + 15) / 16 * 16;
    sl_pass pass;
    if (sl_pass_begin(&pass, encoder, space, (int)rows, states)) return 1;
    int32_t *positions = sl_space_take(space, (size_t)rows * sizeof *positions);
    float *keys = sl_space_take(space, (size_t)encoder->head * room * sizeof *keys);
    float *weights = sl_space_take(space, (size_t)longest * room * sizeof *weights);
    if (!positions || !keys || !weights) return 1;
    for (long i = 0, at = 0; i < text->sentences; i++)
        for (int32_t p = 0; p < text->lengths[i]; p++) positions[at++] = p;
    if (sl_embed(&pass, text->tokens, text->inputs, positions)) return 1;
    for (int i = 0; i < encoder->layers; i++)
        if (encode_block(&pass, &encoder->blocks[i], positions, text->lengths, text->sentences, keys,
                         weights))
            return 1;
    if (encoder->norm.gain)
        sl_kernels_chosen()->normalise(&encoder->norm, states, pass.stride, (int)rows, states,
                                       pass.stride);
    if (codes) last_codes(text, states, pass.stride, codes);
    return 0;
}

/* What is read, from the end of each sentence but for its last few items. */
static int read_backwards(const sl_stack *encoder, sl_workspace *space, const sl_text *text,
                          sl_text *turned) {
    const long stride = sl_aligned(encoder->input);
    long rows = 0, at = 0;
    for (int i = 0; i < text->sentences; i++) rows += text->lengths[i];
    int32_t *tokens = sl_space_take(space, (size_t)rows * sizeof *tokens);
    float *inputs = text->inputs ? sl_space_take(space, (size_t)(rows * stride) * sizeof *inputs) : NULL;
    if (!tokens || (text->inputs && !inputs)) return 1;
    for (int i = 0; i < text->sentences; at += text->lengths[i++]) {
        const int32_t items = text->lengths[i] - encoder->closing;
        for (int32_t p = 0; p < text->lengths[i]; p++) {
            const long from = at + (p < items ? items - 1 - p : p);
            if (inputs)
                memcpy(inputs + (at + p) * stride, text->inputs + from * stride,
                       (size_t)stride * sizeof *inputs);
            else
                tokens[at + p] = text->tokens[from];
        }
    }
    *turned = *text;
    turned->tokens = tokens;
    turned->inputs = inputs;
    return 0;
}

/* States in the order of the source, as attention shows them. */
static void turn_states(const sl_stack *encoder, const sl_text *text, float *states) {
    const long stride = sl_aligned(encoder->width);
    for (int i = 0; i < text->sentences; states += text->lengths[i++] * stride)
        for (int32_t p = 0, q = text->lengths[i] - encoder->closing - 1; p < q; p++, q--)
            for (long e = 0; e < stride; e++) {
                const float value = states[p * stride + e];
                states[p * stride + e] = states[q * stride + e];
                states[q * stride + e] = value;
            }
}

sl_codes sl_code_shape(const sl_stack *encoder) {
    const sl_recurrent *net = encoder->recurrent;
    if (net && net->layers)
        return (sl_codes){.parts = net->parts, .layers = net->layers, .width = net->output};
    return (sl_codes){.parts = 1, .layers = 1, .width = encoder->real};
}

int64_t sl_code_size(const sl_codes *codes) {
    return sl_aligned((long)codes->parts * codes->layers * codes->width);
}

int sl_encode(const sl_stack *encoder, sl_workspace *space, const sl_text *text, float *states,
              float *codes) {
    sl_text read = *text;
    sl_space_reset(space);
    if (encoder->backwards && read_backwards(encoder, space, text, &read)) return 1;
    if (encoder->recurrent ? sl_encode_recurrent(encoder, space, &read, states, codes)
                           : encode_blocks(encoder, space, &read, states, codes))
        return 1;
    if (encoder->backwards && !encoder->turned_states) turn_states(encoder, text, states);
    return 0;
}
