/* A recurrent encoder, and what a recurrent decoder knows of a source before its first step. */
#include "recurrent.h"

#include <string.h>

#include "blocks.h"
#include "looking.h"

static long count_rows(const int32_t *lengths, int32_t sentences) {
    long rows = 0;
    for (int32_t i = 0; i < sentences; i++) rows += lengths[i];
    return rows;
}

/* The mean of all states, where there are no layers. */
static void mean_codes(const sl_text *text, const float *states, long stride, int width, float *codes) {
    for (int32_t i = 0; i < text->sentences; i++, codes += stride) {
        memset(codes, 0, (size_t)stride * sizeof *codes);
        for (int32_t t = 0; t < text->lengths[i]; t++, states += stride)
            for (int e = 0; e < width; e++) codes[e] += states[e] / (float)text->lengths[i];
    }
}

int sl_encode_recurrent(const sl_stack *encoder, sl_workspace *space, const sl_text *text, float *states,
                        float *codes) {
    const sl_recurrent *net = encoder->recurrent;
    const long rows = count_rows(text->lengths, text->sentences), stride = sl_aligned(net->vectors);
    const size_t bytes = (size_t)stride * sizeof(float);
    float *inputs = net->layers ? sl_space_take(space, (size_t)rows * bytes) : states;
    if (!inputs) return 1;
    for (long row = 0; row < rows; row++) {
        const float *vector = text->inputs ? text->inputs + row * stride
                                           : encoder->vectors + text->tokens[row] * stride;
        memcpy(inputs + row * stride, vector, bytes);
    }
    if (net->layers) return sl_run_layers(net, space, text, inputs, states, codes);
    if (codes) mean_codes(text, states, stride, net->vectors, codes);
    return 0;
}

int32_t sl_recurrent_entry(const sl_recurrent *net) {
    return net->layers * net->parts * net->width + (net->feed || net->soft ? sl_whole(net->readout_width) : 0);
}

int64_t sl_recurrent_source(const sl_recurrent *net, int32_t count) {
    const int64_t seen = net->query ? (int64_t)net->heads * net->key * sl_whole(count) +
                                          (int64_t)count * sl_whole(net->source)
                                    : 0;
    return seen + sl_whole(net->code) + sl_whole(sl_recurrent_entry(net));
}

/* The keys of one sentence: heads of (key, room), or position by position for a network of pairs. */
static void place_keys(const sl_recurrent *net, const float *keys, long stride, sl_source *source) {
    for (int h = 0; h < net->heads; h++, keys += net->key) {
        float *to = source->keys + (long)h * net->key * source->room;
        if (net->score != SL_PERCEPTRON)
            sl_kernels_chosen()->transpose(keys, stride, source->count, net->key, to,
                                           source->room);
        for (int s = 0; s < source->count && net->score == SL_PERCEPTRON; s++)
            memcpy(to + (long)s * net->key, keys + s * stride, (size_t)net->key * sizeof *to);
    }
}

static int prepare_attention(const sl_recurrent *net, sl_workspace *space, const float *states, long rows,
                             sl_source *sources, int32_t sentences) {
    const long stride = sl_aligned(net->source);
    const float *keys = states;
    long key_stride = stride;
    if (net->keys.weights) {
        key_stride = sl_aligned(net->keys.outputs);
        float *mapped = sl_space_take(space, (size_t)(rows * key_stride) * sizeof *mapped);
        const sl_outputs out = {mapped, key_stride, SL_IDENTITY, 0};
        if (!mapped || sl_apply(space, &net->keys, states, stride, (int)rows, &out)) return 1;
        keys = mapped;
    } else if (net->key_factor != 1.0f) {
        float *scaled = sl_space_take(space, (size_t)(rows * stride) * sizeof *scaled);
        if (!scaled) return 1;
        for (long i = 0; i < rows * stride; i++) scaled[i] = net->key_factor * states[i];
        keys = scaled;
    }
    for (int32_t i = 0; i < sentences; i++) {
        const int32_t count = sources[i].count, wide = sl_whole(net->source);
        place_keys(net, keys, key_stride, &sources[i]);
        for (int32_t s = 0; s < count; s++)
            memcpy(sources[i].values + (long)s * wide, states + s * stride,
                   (size_t)wide * sizeof(float));
        keys += count * key_stride;
        states += count * stride;
    }
    return 0;
}

/* Codes (part, layer, value) as states (layer, part, value filled up). */
static void copy_first(const sl_recurrent *net, const float *codes, long stride, sl_source *sources,
                       int32_t sentences) {
    for (int32_t i = 0; i < sentences; i++)
        for (int layer = 0; layer < net->layers; layer++)
            for (int part = 0; part < net->parts; part++)
                memcpy(sources[i].first + (layer * net->parts + part) * net->width,
                       codes + i * stride + (part * net->layers + layer) * net->output,
                       (size_t)net->output * sizeof(float));
}

/* A learned map of each part of the code, or of its last where it has fewer. */
static int map_first(const sl_recurrent *net, sl_workspace *space, const sl_codes *codes,
                     sl_source *sources, int32_t sentences) {
    const int size = codes->layers * codes->width, wide = net->layers * net->width;
    const int64_t stride = sl_code_size(codes);
    const long in_stride = sl_aligned(size), out_stride = sl_aligned(wide);
    const size_t count = (size_t)sentences * sizeof(float);
    float *inputs = sl_space_take(space, count * (size_t)in_stride);
    float *mapped = sl_space_take(space, count * (size_t)out_stride);
    if (!inputs || !mapped) return 1;
    memset(inputs, 0, count * (size_t)in_stride);
    for (int part = 0; part < net->parts; part++) {
        const int from = part < codes->parts ? part : codes->parts - 1;
        for (int32_t i = 0; i < sentences; i++)
            memcpy(inputs + i * in_stride, codes->values + i * stride + from * size,
                   (size_t)size * sizeof(float));
        const sl_outputs out = {mapped, out_stride, part ? SL_IDENTITY : net->bridge_activation, 0};
        if (sl_apply(space, &net->bridges[part], inputs, in_stride, sentences, &out)) return 1;
        for (int32_t i = 0; i < sentences; i++)
            for (int layer = 0; layer < net->layers; layer++)
                memcpy(sources[i].first + (layer * net->parts + part) * net->width,
                       mapped + i * out_stride + layer * net->width,
                       (size_t)net->output * sizeof(float));
    }
    return 0;
}

/* The state after the layers themselves have read the source. */
static int read_first(const sl_recurrent *net, sl_workspace *space, const float *states,
                      const int32_t *lengths, sl_source *sources, int32_t sentences) {
    const sl_text text = {.sentences = sentences, .lengths = lengths};
    const long rows = count_rows(lengths, sentences), stride = sl_aligned(net->source);
    const long code = sl_aligned((long)net->parts * net->layers * net->output);
    float *inputs = sl_space_take(space, (size_t)(rows * stride) * sizeof *inputs);
    float *outputs =
        sl_space_take(space, (size_t)(rows * sl_aligned(net->output)) * sizeof *outputs);
    float *codes = sl_space_take(space, (size_t)(sentences * code) * sizeof *codes);
    if (!inputs || !outputs || !codes) return 1;
    memcpy(inputs, states, (size_t)(rows * stride) * sizeof *inputs);
    sl_recurrent reading = *net; /* a decoder's first state is an entry, and here it is a code */
    float *first = sl_space_take(space, (size_t)code * sizeof *first);
    if (!first) return 1;
    for (int layer = 0; layer < net->layers; layer++)
        for (int part = 0; part < net->parts; part++)
            memcpy(first + (part * net->layers + layer) * net->output,
                   net->first + (layer * net->parts + part) * net->width,
                   (size_t)net->output * sizeof *first);
    reading.first = first;
    if (sl_run_layers(&reading, space, &text, inputs, outputs, codes)) return 1;
    copy_first(net, codes, code, sources, sentences);
    return 0;
}

static void place_source(const sl_recurrent *net, int32_t count, sl_source *source) {
    source->count = count;
    source->room = sl_whole(count);
    const int64_t values = (int64_t)count * sl_whole(net->source);
    source->values = source->keys + (net->query ? (int64_t)net->heads * net->key * source->room : 0);
    source->code = source->values + (net->query ? values : 0);
    source->first = source->code + sl_whole(net->code);
}

int sl_prepare_recurrent(const sl_stack *decoder, sl_workspace *space, const float *states,
                         const sl_codes *codes, const int32_t *lengths, int32_t sentences,
                         sl_source *sources) {
    const sl_recurrent *net = decoder->recurrent;
    const size_t entry = (size_t)sl_recurrent_entry(net) * sizeof(float);
    for (int32_t i = 0; i < sentences; i++) {
        place_source(net, lengths[i], &sources[i]);
        memcpy(sources[i].first, net->first, entry);
        if (net->code) /* the top layer's, of the first part */
            memcpy(sources[i].code,
                   codes->values + i * sl_code_size(codes) + (codes->layers - 1) * codes->width,
                   (size_t)net->code * sizeof(float));
    }
    if (net->first_kind == SL_COPIED)
        copy_first(net, codes->values, sl_code_size(codes), sources, sentences);
    if (net->first_kind == SL_MAPPED && map_first(net, space, codes, sources, sentences))
        return 1;
    if (net->first_kind == SL_READ && read_first(net, space, states, lengths, sources, sentences))
        return 1;
    if (!net->query) return 0;
    return prepare_attention(net, space, states, count_rows(lengths, sentences), sources, sentences);
}
