/* One step of a recurrent decoder, for all rows together. */
#include <string.h>

#include "looking.h"
#include "pool.h"
#include "recurrent.h"

/* Rows on their way through a step. */
typedef struct {
    const sl_stack *stack;
    const sl_recurrent *net;
    sl_workspace *space;
    const sl_step *step;
    const float **before; /* each row's entry of the step before, or the first state */
    float **own;
    const float *fed; /* vectors that are read in place of tokens, if any */
    float *inputs, *outputs, *contexts, *shown, *states;
    long input_stride, output_stride, context_stride, shown_stride;
} advance;

static void *room(const advance *all, long stride) {
    return sl_space_take(all->space, (size_t)(all->step->rows * stride) * sizeof(float));
}

static long larger(long a, long b) { return a > b ? a : b; }

/* The entries of a row: its own, and the one that it goes on from. */
static void find_entries(const advance *all) {
    const sl_step *step = all->step;
    for (int row = 0; row < step->rows; row++) {
        const int32_t *own = step->paths[row] + step->counts[row] - 1;
        all->own[row] = sl_pool_cell(step->pool, *own);
        all->before[row] = step->counts[row] > 1 ? sl_pool_cell(step->pool, own[-1])
                           : step->sources       ? step->sources[row]->first
                                                 : all->net->first;
    }
}

static int begin(advance *all) {
    const sl_recurrent *net = all->net;
    const size_t rows = (size_t)all->step->rows;
    const int context = net->query ? sl_context(net) : 0;
    const int joined = net->vectors + net->code + context + net->readout_width;
    all->input_stride = sl_aligned(larger(joined, 16));
    all->output_stride = sl_aligned(net->width);
    all->context_stride = sl_aligned(context + 16);
    all->shown_stride = sl_aligned(net->output + context + net->code);
    all->before = sl_space_take(all->space, rows * sizeof *all->before);
    all->own = sl_space_take(all->space, rows * sizeof *all->own);
    all->inputs = room(all, all->input_stride);
    all->outputs = room(all, all->output_stride);
    all->states = room(all, all->output_stride);
    all->contexts = room(all, all->context_stride);
    all->shown = room(all, all->shown_stride);
    return !all->before || !all->own || !all->inputs || !all->outputs || !all->states ||
           !all->contexts || !all->shown;
}

/* Where a part of what the units read comes from, row by row. */
typedef struct {
    int width;
    const float *(*of)(const advance *all, int row);
} part;

static const float *vector_of(const advance *all, int row) {
    if (all->fed) return all->fed + row * sl_aligned(all->net->vectors);
    return all->stack->vectors + all->step->tokens[row] * sl_aligned(all->net->vectors);
}

static const float *code_of(const advance *all, int row) {
    if (all->net->code_first && all->step->positions[row]) return NULL; /* nothing, after the first */
    return all->step->sources[row]->code;
}

static const float *context_of(const advance *all, int row) {
    return all->contexts + row * all->context_stride;
}

static const float *features_before(const advance *all, int row) {
    return all->before[row] + all->net->layers * all->net->parts * all->net->width;
}

static int list_parts(const sl_recurrent *net, part *parts) {
    int count = 0;
    if (net->feedback) parts[count++] = (part){net->vectors, vector_of};
    if (net->code_input || net->code_first) parts[count++] = (part){net->code, code_of};
    if (net->query > SL_CURRENT) parts[count++] = (part){sl_context(net), context_of};
    if (net->feed) parts[count++] = (part){net->readout_width, features_before};
    return count;
}

/* A part in rows of its own, to be multiplied. */
static const float *gather(const advance *all, const part *which, long stride) {
    float *rows = room(all, stride);
    if (!rows) return NULL;
    memset(rows, 0, (size_t)(all->step->rows * stride) * sizeof *rows);
    for (int row = 0; row < all->step->rows; row++) {
        const float *from = which->of(all, row);
        if (from) memcpy(rows + row * stride, from, (size_t)which->width * sizeof *rows);
    }
    return rows;
}

/* What the units read: all parts side by side, or the first plus a map of each other. */
static int join_inputs(const advance *all) {
    part parts[4];
    const int count = list_parts(all->net, parts), some = all->net->summed && count ? 1 : count;
    memset(all->inputs, 0, (size_t)(all->step->rows * all->input_stride) * sizeof(float));
    for (int row = 0; row < all->step->rows; row++) {
        float *to = all->inputs + row * all->input_stride;
        for (int i = 0; i < some; to += parts[i++].width) {
            const float *from = parts[i].of(all, row);
            if (from) memcpy(to, from, (size_t)parts[i].width * sizeof *to);
        }
    }
    for (int i = some; i < count; i++) {
        const long stride = sl_aligned(parts[i].width);
        const float *rows = gather(all, &parts[i], stride);
        const sl_outputs out = {all->inputs, all->input_stride, SL_IDENTITY, 1};
        if (!rows || sl_apply(all->space, &all->net->joins[i - 1], rows, stride, all->step->rows, &out))
            return 1;
    }
    return 0;
}

/* Soft feedback: the mean vector under the distribution of the step before, but for the first step. */
static int feed_means(advance *all) {
    const sl_matrix *output = &all->stack->output, *mean = &all->net->mean;
    const int rows = all->step->rows;
    const long stride = sl_aligned(all->stack->width), wide = sl_aligned(output->outputs);
    const long vectors = sl_aligned(all->net->vectors);
    const part features = {all->net->readout_width, features_before};
    const float *before = gather(all, &features, stride);
    float *shares = room(all, wide), *fed = room(all, vectors);
    const sl_outputs written = {shares, wide, SL_IDENTITY, 0}, means = {fed, vectors, SL_IDENTITY, 0};
    if (!before || !shares || !fed) return 1;
    if (sl_apply(all->space, output, before, stride, rows, &written)) return 1;
    for (int row = 0; row < rows; row++)
        sl_kernels_chosen()->softmax(shares + row * wide, output->outputs, (int)wide);
    if (sl_apply(all->space, mean, shares, wide, rows, &means)) return 1;
    for (int row = 0; row < rows; row++)
        if (!all->step->positions[row])
            memcpy(fed + row * vectors, vector_of(all, row), (size_t)vectors * sizeof *fed);
    all->fed = fed;
    return 0;
}

static int run_layer(const advance *all, const sl_unit_pass *pass, int number, const float *inputs,
                     long stride, const float **sums) {
    const sl_recurrent *net = all->net;
    const sl_layer *layer = &net->stack[number];
    const sl_unit *unit = &layer->units[0];
    const int rows = all->step->rows, offset = number * net->parts * net->width;
    const sl_outputs projected = {pass->sums, pass->sums_stride, SL_IDENTITY, 0};
    if (sl_apply(all->space, &unit->project, inputs, stride, rows, &projected)) return 1;
    for (int row = 0; row < rows; row++) {
        sums[row] = pass->sums + row * pass->sums_stride;
        memcpy(all->states + row * all->output_stride, all->before[row] + offset,
               (size_t)unit->width * sizeof(float));
    }
    if (sl_unit_recur(pass, unit, all->states, all->output_stride, rows, sums)) return 1;
    for (int row = 0; row < rows; row++) {
        float *after = all->own[row] + offset;
        sl_kernels_chosen()->advance(unit, sums[row], pass->made + row * pass->sums_stride,
                                     all->before[row] + offset, after);
        sl_unit_output(unit, after, all->states + row * all->output_stride);
    }
    if (layer->norm.gain)
        sl_kernels_chosen()->normalise(&layer->norm, all->states, all->output_stride, rows, all->states,
                                       all->output_stride);
    for (int row = 0; row < rows; row++) {
        float *to = all->outputs + row * all->output_stride;
        const float *own = all->states + row * all->output_stride, *below = inputs + row * stride;
        for (int e = 0; e < net->width; e++)
            to[e] = own[e] + (layer->residual && e < layer->inputs ? below[e] : 0.0f);
    }
    return 0;
}

static int run_layers(const advance *all) {
    sl_unit_pass pass;
    const float **sums =
        sl_space_take(all->space, (size_t)all->step->rows * sizeof *sums);
    if (!sums || sl_unit_begin(&pass, all->net, all->space, all->step->rows, all->step->rows)) return 1;
    const float *inputs = all->inputs;
    long stride = all->input_stride;
    for (int i = 0; i < all->net->layers; i++) {
        if (run_layer(all, &pass, i, inputs, stride, sums)) return 1;
        inputs = all->outputs;
        stride = all->output_stride;
    }
    return 0;
}

static const float *top_before(const advance *all, int row) {
    return all->before[row] + (all->net->layers - 1) * all->net->parts * all->net->width;
}

/* Attention before the units: the state of the step before asks, or what is fed back. */
static int look_early(const advance *all) {
    const sl_recurrent *net = all->net;
    const int fed = net->query == SL_FED;
    const part asking = {fed ? net->vectors : net->output, fed ? vector_of : top_before};
    const long stride = sl_aligned(asking.width);
    const float *queries = gather(all, &asking, stride);
    return !queries || sl_look(net, all->space, all->step, queries, stride, all->contexts,
                               all->context_stride);
}

/* What the output layer sees, from the top layer's outputs, the context and the code. */
static int read_out(const advance *all, float *hidden) {
    const sl_recurrent *net = all->net;
    const long stride = sl_aligned(all->stack->width);
    const int rows = all->step->rows, context = net->query ? sl_context(net) : 0;
    memset(all->shown, 0, (size_t)(rows * all->shown_stride) * sizeof(float));
    for (int row = 0; row < rows; row++) {
        float *to = all->shown + row * all->shown_stride;
        memcpy(to, all->outputs + row * all->output_stride, (size_t)net->output * sizeof *to);
        memcpy(to + net->output, context_of(all, row), (size_t)context * sizeof *to);
        if (net->code_output)
            memcpy(to + net->output + context, all->step->sources[row]->code,
                   (size_t)net->code * sizeof *to);
    }
    const sl_outputs out = {hidden, stride, SL_TANH, 0};
    if (!net->readout.weights)
        for (int row = 0; row < rows; row++)
            memcpy(hidden + row * stride, all->shown + row * all->shown_stride,
                   (size_t)stride * sizeof *hidden);
    else if (sl_apply(all->space, &net->readout, all->shown, all->shown_stride, rows, &out))
        return 1;
    if (!net->feed && !net->soft) return 0;
    for (int row = 0; row < rows; row++)
        memcpy(all->own[row] + net->layers * net->parts * net->width, hidden + row * stride,
               (size_t)sl_whole(net->readout_width) * sizeof *hidden);
    return 0;
}

int sl_read_recurrent(const sl_stack *decoder, sl_workspace *space, const sl_step *step, float *hidden) {
    advance all = {.stack = decoder, .net = decoder->recurrent, .space = space, .step = step};
    if (begin(&all)) return 1;
    find_entries(&all);
    if (all.net->soft && feed_means(&all)) return 1;
    if (all.net->query > SL_CURRENT && look_early(&all)) return 1;
    if (join_inputs(&all) || run_layers(&all)) return 1;
    if (all.net->query == SL_CURRENT && sl_look(all.net, space, step, all.outputs, all.output_stride,
                                                all.contexts, all.context_stride))
        return 1;
    return read_out(&all, hidden);
}
