#include "looking.h"

#include <math.h>
#include <string.h>

/* What the queries of a step are compared with, and the room for it. */
typedef struct {
    const sl_recurrent *net;
    sl_workspace *space;
    const sl_step *step;
    const float *asked; /* queries as they are compared, heads side by side */
    long stride;
    const float *centres; /* shares of the source, where windows are predicted */
    float *weights, *pairs, *inner; /* of one head; of one query with all positions */
} looking;

/* w . relu(W relu(query + key) + b), for all positions of one query; keys lie position by position. */
static int compare_network(const looking *all, const sl_head *head, const float *query, float *scores) {
    const long stride = sl_aligned(head->size);
    for (int s = 0; s < head->count; s++)
        for (int e = 0; e < head->size; e++) {
            const float sum = query[e] + head->keys[(long)s * head->size + e];
            all->pairs[s * stride + e] = sum > 0.0f ? sum : 0.0f;
        }
    const sl_outputs out = {all->inner, stride, SL_RELU, 0};
    if (sl_apply(all->space, &all->net->second, all->pairs, stride, head->count, &out)) return 1;
    for (int s = 0; s < head->count; s++) {
        float sum = 0.0f;
        for (int e = 0; e < head->size; e++) sum += all->net->weigh[e] * all->inner[s * stride + e];
        scores[s] = sum;
    }
    return 0;
}

static int compare_rows(const looking *all, const sl_head *head, const float *queries, int rows) {
    const sl_recurrent *net = all->net;
    if (net->score == SL_DOT)
        sl_kernels_chosen()->compare(head, queries, all->stride, rows, all->weights);
    for (int r = 0; r < rows && net->score != SL_DOT; r++) {
        const float *query = queries + r * all->stride;
        float *scores = all->weights + (long)r * head->room;
        if (net->score == SL_ADDITIVE)
            sl_kernels_chosen()->compare_sums(head, query, net->weigh, scores);
        else if (compare_network(all, head, query, scores))
            return 1;
    }
    return 0;
}

/* Weights from scores: all positions, those that have been read, or a window of them. */
static void weigh_positions(const looking *all, int row, const sl_head *head, float *scores) {
    const sl_recurrent *net = all->net;
    const int32_t at = all->step->positions[row];
    const int seen = net->causal && at + 1 < head->count ? at + 1 : head->count;
    if (!net->window) {
        sl_kernels_chosen()->softmax(scores, seen, head->room);
        return;
    }
    const float last = (float)(seen - 1), reach = (float)net->window;
    const float centre = net->predicted ? last * all->centres[row] : fminf((float)at, last);
    for (int s = 0; s < seen; s++) {
        const float distance = (float)s - centre;
        if (fabsf(distance) > reach)
            scores[s] = -INFINITY;
        else if (net->gaussian)
            scores[s] -= 2.0f * distance * distance / (reach * reach);
    }
    sl_kernels_chosen()->softmax(scores, seen, head->room);
    for (int s = 0; s < seen; s++)
        if (fabsf((float)s - centre) > reach) scores[s] = 0.0f;
}

static void add_attention(const looking *all, int row, const sl_head *head, const float *weights) {
    float *to = all->step->attention + row * all->step->attention_stride;
    for (int s = 0; s < head->count; s++) to[s] += weights[s] / (float)all->net->heads;
}

/* The rows of one sentence, from `row` on. */
static int look_at_source(const looking *all, int row, int rows, float *contexts, long stride) {
    const sl_recurrent *net = all->net;
    const sl_source *source = all->step->sources[row];
    for (int h = 0; h < net->heads; h++) {
        const sl_head keys = {.keys = source->keys + (long)h * net->key * source->room,
                              .size = net->key, .count = source->count, .room = source->room};
        const sl_head values = {.values = source->values, .value_stride = sl_whole(net->source),
                                .size = sl_whole(net->source), .count = source->count,
                                .room = source->room};
        if (compare_rows(all, &keys, all->asked + row * all->stride + h * net->key, rows)) return 1;
        for (int r = 0; r < rows; r++) {
            float *weights = all->weights + (long)r * source->room;
            weigh_positions(all, row + r, &keys, weights);
            if (all->step->attention) add_attention(all, row + r, &keys, weights);
        }
        /* What a head fills up, the next one overwrites. */
        sl_kernels_chosen()->mix(&values, all->weights, rows, contexts + row * stride + h * net->source,
                                 stride);
    }
    return 0;
}

/* The share of the source at which each row's window lies: sigmoid(v . tanh(W query)). */
static const float *predict_centres(const looking *all, const float *queries, long stride) {
    const sl_matrix *map = &all->net->focus;
    const long wide = sl_aligned(map->outputs);
    const int rows = all->step->rows;
    float *inner = sl_space_take(all->space, (size_t)(rows * wide) * sizeof *inner);
    float *centres = sl_space_take(all->space, (size_t)rows * sizeof *centres);
    const sl_outputs out = {inner, wide, SL_TANH, 0};
    if (!inner || !centres || sl_apply(all->space, map, queries, stride, rows, &out)) return NULL;
    for (int row = 0; row < rows; row++) {
        float sum = 0.0f;
        for (int e = 0; e < map->outputs; e++) sum += all->net->focus_weigh[e] * inner[row * wide + e];
        centres[row] = 1.0f / (1.0f + expf(-sum));
    }
    return centres;
}

static int begin_looking(looking *all, const float *queries, long stride) {
    const sl_recurrent *net = all->net;
    const sl_step *step = all->step;
    long widest = 16;
    for (int row = 0; row < step->rows; row++)
        if (step->sources[row]->room > widest) widest = step->sources[row]->room;
    all->weights = sl_space_take(all->space, (size_t)(step->rows * widest) * sizeof(float));
    if (!all->weights) return 1;
    if (net->score == SL_PERCEPTRON) {
        const size_t bytes = (size_t)(widest * sl_aligned(net->key)) * sizeof(float);
        all->pairs = sl_space_take(all->space, bytes);
        all->inner = sl_space_take(all->space, bytes);
        if (!all->pairs || !all->inner) return 1;
    }
    if (net->predicted && !(all->centres = predict_centres(all, queries, stride))) return 1;
    all->asked = queries;
    all->stride = stride;
    if (!net->ask.weights) return 0;
    all->stride = sl_aligned(net->ask.outputs);
    float *asked = sl_space_take(all->space, (size_t)(step->rows * all->stride) * sizeof *asked);
    all->asked = asked;
    const sl_outputs out = {asked, all->stride, SL_IDENTITY, 0};
    return !asked || sl_apply(all->space, &net->ask, queries, stride, step->rows, &out);
}

int sl_look(const sl_recurrent *net, sl_workspace *space, const sl_step *step, const float *queries,
            long stride, float *contexts, long context_stride) {
    looking all = {.net = net, .space = space, .step = step};
    if (begin_looking(&all, queries, stride)) return 1;
    for (int row = 0, rows; row < step->rows; row += rows) {
        for (rows = 1; row + rows < step->rows && step->sources[row + rows] == step->sources[row];)
            rows++;
        if (look_at_source(&all, row, rows, contexts, context_stride)) return 1;
    }
    return 0;
}
