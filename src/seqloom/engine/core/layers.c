#include "layers.h"

#include <string.h>

/* Sentences under way through a layer; those that are longest come first, so that the ones which still
 * have a next step are always the first few. */
typedef struct {
    const sl_text *text;
    long *starts; /* the first row of each sentence */
    int32_t *order;
    int32_t longest;
    const float **sums;
    float *states;
    long state_stride;
} scan;

int sl_gates(const sl_unit *unit) {
    switch (unit->kind) {
    case SL_LSTM: return 4;
    case SL_GRU: return 3;
    case SL_SSRU: return 2;
    default: return 1;
    }
}

int sl_layer_outputs(const sl_layer *layer) {
    int total = 0;
    for (int i = 0; i < layer->directions; i++) total += layer->units[i].real;
    return total;
}

int sl_unit_begin(sl_unit_pass *pass, const sl_recurrent *net, sl_workspace *space, long rows,
                  int together) {
    long sums = 0;
    for (int i = 0; i < net->layers; i++) {
        const sl_unit *unit = &net->stack[i].units[0];
        const long wide = (long)sl_gates(unit) * unit->width;
        if (wide > sums) sums = wide;
    }
    *pass = (sl_unit_pass){.space = space, .left_stride = sl_aligned(net->width)};
    pass->sums_stride = sl_aligned(sums) + SL_BLOCK; /* a candidate begins anywhere in a block */
    const size_t stride = (size_t)pass->sums_stride * sizeof(float);
    pass->sums = sl_space_take(space, (size_t)rows * stride);
    pass->made = sl_space_take(space, (size_t)together * stride);
    pass->left = sl_space_take(space, (size_t)together * (size_t)pass->left_stride * sizeof(float));
    return !pass->sums || !pass->made || !pass->left;
}

int sl_unit_recur(const sl_unit_pass *pass, const sl_unit *unit, const float *states, long stride,
                  int rows, const float *const *sums) {
    if (unit->kind == SL_SSRU) return 0;
    const sl_outputs gates = {pass->made, pass->sums_stride, SL_IDENTITY, 0};
    if (sl_apply(pass->space, &unit->recur, states, stride, rows, &gates)) return 1;
    if (unit->kind != SL_GRU || unit->reset_after) return 0;
    for (int row = 0; row < rows; row++)
        sl_kernels_chosen()->reset(unit, sums[row], pass->made + row * pass->sums_stride,
                                   states + row * stride, pass->left + row * pass->left_stride);
    const sl_outputs candidate = {pass->made + 2 * unit->width, pass->sums_stride, SL_IDENTITY, 0};
    return sl_apply(pass->space, &unit->candidate, pass->left, pass->left_stride, rows, &candidate);
}

void sl_unit_output(const sl_unit *unit, const float *state, float *output) {
    memcpy(output, state, (size_t)unit->real * sizeof *output);
    if (unit->kind != SL_SSRU) return;
    for (int i = 0; i < unit->real; i++) output[i] = output[i] > 0.0f ? output[i] : 0.0f;
}

static int begin_scan(scan *all, const sl_recurrent *net, sl_workspace *space, const sl_text *text) {
    const size_t count = (size_t)text->sentences;
    *all = (scan){.text = text, .state_stride = sl_aligned((long)net->parts * net->width)};
    all->starts = sl_space_take(space, count * sizeof *all->starts);
    all->order = sl_space_take(space, count * sizeof *all->order);
    all->sums = sl_space_take(space, count * sizeof *all->sums);
    all->states = sl_space_take(space, count * (size_t)all->state_stride * sizeof(float));
    if (!all->starts || !all->order || !all->sums || !all->states) return 1;
    long start = 0;
    for (int32_t i = 0; i < text->sentences; start += text->lengths[i++]) {
        all->starts[i] = start;
        int32_t at = i;
        for (; at > 0 && text->lengths[all->order[at - 1]] < text->lengths[i]; at--)
            all->order[at] = all->order[at - 1];
        all->order[at] = i;
    }
    all->longest = text->lengths[all->order[0]];
    return 0;
}

/* The first states of a unit whose outputs begin at `offset`. */
static void first_states(const scan *all, const sl_recurrent *net, int layer, int number, int offset) {
    const sl_unit *unit = &net->stack[layer].units[number];
    memset(all->states, 0, (size_t)(all->text->sentences * all->state_stride) * sizeof(float));
    if (!net->first) return;
    for (int32_t i = 0; i < all->text->sentences; i++)
        for (int part = 0; part < net->parts; part++)
            memcpy(all->states + i * all->state_stride + part * unit->width,
                   net->first + (part * net->layers + layer) * net->output + offset,
                   (size_t)unit->real * sizeof(float));
}

static void last_states(const scan *all, const sl_recurrent *net, int layer, int number, int offset,
                        float *codes) {
    const sl_unit *unit = &net->stack[layer].units[number];
    const long stride = sl_aligned((long)net->parts * net->layers * net->output);
    for (int32_t i = 0; i < all->text->sentences; i++)
        for (int part = 0; part < net->parts; part++)
            memcpy(codes + all->order[i] * stride + (part * net->layers + layer) * net->output + offset,
                   all->states + i * all->state_stride + part * unit->width,
                   (size_t)unit->real * sizeof(float));
}

/* One direction of a layer. */
static int scan_unit(const scan *all, const sl_unit_pass *pass, const sl_unit *unit, int backward,
                     float *outputs, long stride) {
    const int32_t *lengths = all->text->lengths;
    int32_t active = all->text->sentences;
    for (int32_t step = 0; step < all->longest; step++) {
        while (lengths[all->order[active - 1]] <= step) active--;
        for (int32_t i = 0; i < active; i++) {
            const int32_t sentence = all->order[i];
            const long row = all->starts[sentence] + (backward ? lengths[sentence] - 1 - step : step);
            all->sums[i] = pass->sums + row * pass->sums_stride;
        }
        if (sl_unit_recur(pass, unit, all->states, all->state_stride, active, all->sums)) return 1;
        for (int32_t i = 0; i < active; i++) {
            float *state = all->states + i * all->state_stride;
            sl_kernels_chosen()->advance(unit, all->sums[i], pass->made + i * pass->sums_stride, state,
                                         state);
            const long row = (all->sums[i] - pass->sums) / pass->sums_stride;
            sl_unit_output(unit, state, outputs + row * stride);
        }
    }
    return 0;
}

int sl_run_layers(const sl_recurrent *net, sl_workspace *space, const sl_text *text, float *inputs,
                  float *outputs, float *codes) {
    sl_unit_pass pass;
    scan all;
    long rows = 0, stride = sl_aligned(net->output), in_stride = sl_aligned(net->vectors);
    for (int32_t i = 0; i < text->sentences; i++) rows += text->lengths[i];
    if (begin_scan(&all, net, space, text)) return 1;
    if (sl_unit_begin(&pass, net, space, rows, text->sentences)) return 1;
    float *other = sl_space_take(space, (size_t)(rows * stride) * sizeof *other);
    if (!other) return 1;
    for (int i = 0; i < net->layers; i++) {
        const sl_layer *layer = &net->stack[i];
        float *out = (net->layers - i) % 2 ? outputs : other; /* the last are where they belong */
        memset(out, 0, (size_t)(rows * stride) * sizeof *out);
        for (int number = 0, offset = 0; number < layer->directions; number++) {
            const sl_unit *unit = &layer->units[number];
            const sl_outputs sums = {pass.sums, pass.sums_stride, SL_IDENTITY, 0};
            if (sl_apply(space, &unit->project, inputs, in_stride, (int)rows, &sums)) return 1;
            first_states(&all, net, i, number, offset);
            if (scan_unit(&all, &pass, unit, layer->backward || number == 1, out + offset, stride))
                return 1;
            if (codes) last_states(&all, net, i, number, offset, codes);
            offset += unit->real;
        }
        if (layer->norm.gain)
            sl_kernels_chosen()->normalise(&layer->norm, out, stride, (int)rows, out, stride);
        for (long row = 0; layer->residual && row < rows; row++)
            for (int e = 0; e < layer->inputs; e++) out[row * stride + e] += inputs[row * in_stride + e];
        inputs = out;
        in_stride = stride;
    }
    return 0;
}
