/* Heads: encoded sentences become the scores of labels, of tags or a number, on several threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"
#include "workspace.h"

enum { MOST_SENTENCES = 64, MOST_ROWS = 2048 }; /* that are encoded together, if they are short */

typedef struct {
    const sl_stack *encoder;
    const sl_scorer *scorer;
    const sl_text *text;
    const int64_t *starts; /* the first row of each sentence */
    float *scores;
    int32_t most; /* sentences that a thread takes at once */
    atomic_int next, status;
} job;

/* The mean of each value over some states, or its maximum. */
static void pool_states(const sl_scorer *scorer, const float *states, long stride, int32_t count, float *out) {
    memcpy(out, states, (size_t)stride * sizeof *out);
    for (int32_t t = 1; t < count; t++) {
        const float *state = states + t * stride;
        if (scorer->pool == SL_MAXIMUM)
            for (int e = 0; e < scorer->width; e++) out[e] = out[e] > state[e] ? out[e] : state[e];
        else
            for (int e = 0; e < scorer->width; e++) out[e] += state[e];
    }
    if (scorer->pool == SL_MEAN)
        for (int e = 0; e < scorer->width; e++) out[e] /= (float)count;
}

/* What the read-out sees: the states as they are, or one row for each sentence. */
static const float *read_states(const job *job, const sl_text *some, const float *states,
                                const float *codes, float *pooled) {
    const sl_scorer *scorer = job->scorer;
    const long stride = sl_aligned(job->encoder->width), wide = sl_aligned(scorer->width);
    if (scorer->pool == SL_EVERY) return states;
    if (scorer->pool == SL_CODE) {
        const sl_codes shape = sl_code_shape(job->encoder);
        memset(pooled, 0, (size_t)(some->sentences * wide) * sizeof *pooled);
        for (int32_t i = 0; i < some->sentences; i++)
            memcpy(pooled + i * wide, codes + i * sl_code_size(&shape) + (long)(shape.layers - 1) * shape.width,
                   (size_t)shape.width * sizeof *pooled);
        return pooled;
    }
    for (int32_t i = 0; i < some->sentences; states += some->lengths[i++] * stride)
        pool_states(scorer, states, stride, some->lengths[i], pooled + i * wide);
    return pooled;
}

static int score(const job *job, sl_workspace *space, const sl_text *some, long rows, float *scores) {
    const sl_scorer *scorer = job->scorer;
    const long stride = sl_aligned(job->encoder->width), wide = sl_aligned(scorer->width);
    const long seen = scorer->pool == SL_EVERY ? rows : some->sentences;
    const sl_codes shape = sl_code_shape(job->encoder);
    const size_t code_floats = (size_t)(some->sentences * sl_code_size(&shape));
    const size_t floats = (size_t)(rows * stride) + code_floats + 2 * (size_t)(seen * wide);
    float *states = aligned_alloc(64, floats * sizeof *states);
    if (!states) return 1;
    float *codes = states + rows * stride, *pooled = codes + code_floats, *read = pooled + seen * wide;
    int failed = sl_encode(job->encoder, space, some, states, codes);
    const float *values = failed ? NULL : read_states(job, some, states, codes, pooled);
    if (!failed && scorer->readout.weights) {
        const sl_outputs out = {read, wide, SL_TANH, 0};
        failed = sl_apply(space, &scorer->readout, values, wide, (int)seen, &out);
        values = read;
    }
    const sl_outputs out = {scores, sl_aligned(scorer->output.outputs), SL_IDENTITY, 0};
    failed = failed || sl_apply(space, &scorer->output, values, wide, (int)seen, &out);
    free(states);
    return failed;
}

/* Sentences from `first` on that are encoded together. */
static int32_t together(const job *job, int32_t first, int32_t most) {
    int32_t count = 1;
    while (count < most && first + count < job->text->sentences &&
           job->starts[first + count + 1] - job->starts[first] <= MOST_ROWS)
        count++;
    return count;
}

static int run(job *job, sl_workspace *space) {
    const sl_text *text = job->text;
    const long stride = sl_aligned(job->encoder->input), outputs = sl_aligned(job->scorer->output.outputs);
    while (!atomic_load(&job->status)) {
        const int32_t begin = atomic_fetch_add(&job->next, job->most);
        if (begin >= text->sentences) return 0;
        const int32_t end = begin + job->most < text->sentences ? begin + job->most : text->sentences;
        for (int32_t first = begin, count; first < end; first += count) {
            count = together(job, first, end - first);
            const int64_t at = job->starts[first];
            const sl_text some = {.sentences = count, .lengths = text->lengths + first,
                                  .tokens = text->tokens ? text->tokens + at : NULL,
                                  .inputs = text->inputs ? text->inputs + at * stride : NULL};
            const int64_t row = job->scorer->pool == SL_EVERY ? at : first;
            if (score(job, space, &some, job->starts[first + count] - at, job->scores + row * outputs))
                return 1;
        }
    }
    return 0;
}

static void work(void *data) {
    job *mine = data;
    sl_workspace *space = sl_workspace_new();
    if (!space || run(mine, space)) atomic_store(&mine->status, 1);
    sl_workspace_free(space);
}

int sl_score_all(const sl_stack *encoder, const sl_scorer *scorer, const sl_text *text, float *scores,
                 int32_t threads) {
    int64_t *starts = malloc((size_t)(text->sentences + 1) * sizeof *starts);
    if (!starts) return 1;
    starts[0] = 0;
    for (int32_t i = 0; i < text->sentences; i++) starts[i + 1] = starts[i] + text->lengths[i];
    const int32_t share = (text->sentences + threads - 1) / threads;
    job all = {.encoder = encoder, .scorer = scorer, .text = text, .starts = starts, .scores = scores,
               .most = share < 1 ? 1 : share < MOST_SENTENCES ? share : MOST_SENTENCES};
    sl_kernels_chosen();
    sl_run_threads((text->sentences + all.most - 1) / all.most < threads
                       ? (text->sentences + all.most - 1) / all.most : threads, work, &all);
    free(starts);
    return atomic_load(&all.status);
}
