/* A Transformer decoder: one pass of all rows through all blocks.
 *
 * A path owns no keys. Every token that was read is an entry of a pool, and a path is a list of
 * entries, so following parents copies a few numbers. Rows of one sentence share the source's keys.
 */
#include <string.h>

#include "blocks.h"
#include "pool.h"
#include "recurrent.h"

static int room_for(int32_t count) { return (count + 15) / 16 * 16; }

int32_t sl_entry_size(const sl_stack *decoder) {
    if (decoder->recurrent) return sl_recurrent_entry(decoder->recurrent);
    return 2 * decoder->layers * decoder->heads * decoder->head;
}

int64_t sl_source_size(const sl_stack *decoder, int32_t count) {
    if (decoder->recurrent) return sl_recurrent_source(decoder->recurrent, count);
    return 2L * decoder->layers * decoder->source_heads * decoder->source_head * room_for(count);
}

/* One sentence's keys and values of all blocks, from rows of (layer, 2, head, size). */
static void place_source(const sl_stack *decoder, const float *rows, long stride, sl_source *source) {
    const int size = decoder->source_head, heads = decoder->source_heads, count = source->count;
    const long attention = (long)heads * size, one = (long)size * source->room;
    for (int layer = 0; layer < decoder->layers; layer++)
        for (int h = 0; h < heads; h++) {
            const float *keys = rows + 2 * layer * attention + h * size;
            const long at = (long)(layer * heads + h) * one;
            sl_kernels_chosen()->transpose(keys, stride, count, size, source->keys + at,
                                           source->room);
            for (int i = 0; i < count; i++)
                memcpy(source->values + at + (long)i * size, keys + attention + i * stride,
                       (size_t)size * sizeof(float));
        }
}

/* The caller has given each source its memory and count; states lie one sentence after the other. */
int sl_prepare(const sl_stack *decoder, sl_workspace *space, const float *states, const sl_codes *codes,
               const int32_t *lengths, int32_t sentences, sl_source *sources) {
    long rows = 0;
    for (int i = 0; i < sentences; i++) rows += lengths[i];
    const long stride = sl_aligned(decoder->sources.outputs);
    sl_space_reset(space);
    if (decoder->recurrent)
        return sl_prepare_recurrent(decoder, space, states, codes, lengths, sentences, sources);
    float *found = sl_space_take(space, (size_t)rows * (size_t)stride * sizeof *found);
    const sl_outputs out = {found, stride, SL_IDENTITY, 0};
    if (!found || sl_apply(space, &decoder->sources, states, sl_aligned(decoder->sources.inputs),
                           (int)rows, &out))
        return 1;
    for (int i = 0; i < sentences; i++) {
        sl_source *source = sources + i;
        source->count = lengths[i];
        source->room = room_for(lengths[i]);
        source->values = source->keys + sl_source_size(decoder, lengths[i]) / 2;
        place_source(decoder, found, stride, source);
        found += lengths[i] * stride;
    }
    return 0;
}

/* What a pass needs besides its rows: where the entries of each path lie. */
typedef struct {
    const float **cells; /* of all rows, path after path */
    float *weights;
} lookup;

static int resolve(const sl_pass *pass, const sl_step *step, lookup *paths) {
    size_t total = 0;
    long widest = 16;
    for (int row = 0; row < step->rows; row++) {
        if (!pass->stack->ssru) total += (size_t)step->counts[row];
        if (step->counts[row] > widest) widest = step->counts[row];
        if (step->sources && step->sources[row]->room > widest) widest = step->sources[row]->room;
    }
    paths->cells = sl_space_take(pass->space, total * sizeof *paths->cells);
    /* Room for the weights of all heads of a path, or of one head for all rows of a sentence. */
    const size_t rows = (size_t)(step->rows > pass->stack->heads ? step->rows : pass->stack->heads);
    paths->weights = sl_space_take(pass->space, rows * (size_t)(widest + 15) * sizeof(float));
    if (!paths->cells || !paths->weights) return 1;
    const float **cell = paths->cells;
    for (int row = 0; row < step->rows && total; row++)
        for (int t = 0; t < step->counts[row]; t++)
            *cell++ = sl_pool_cell(step->pool, step->paths[row][t]);
    return 0;
}

/* Self-attention: write what is read now, then look at all that was read. */
static int look_back(const sl_pass *pass, const sl_step *step, const lookup *paths, int layer) {
    const sl_stack *stack = pass->stack;
    const sl_block *block = &stack->blocks[layer];
    const long attention = (long)stack->heads * stack->head, offset = 2 * layer * attention;
    if (sl_widen(pass, &block->project, sl_before(pass, &block->norms[0]), SL_IDENTITY)) return 1;
    if (stack->turned) sl_turn(pass, step->positions, 2);
    for (int row = 0; row < pass->rows; row++) {
        float *own = sl_pool_cell(step->pool, step->paths[row][step->counts[row] - 1]);
        memcpy(own + offset, pass->wide + row * pass->wide_stride + attention,
               2 * (size_t)attention * sizeof(float));
    }
    const float *const *cells = paths->cells;
    for (int row = 0; row < pass->rows; cells += step->counts[row++])
        sl_kernels_chosen()->attend_path(pass->wide + row * pass->wide_stride, cells, offset,
                                         step->counts[row], stack->heads, stack->head,
                                         paths->weights, pass->found + row * pass->found_stride);
    if (sl_add(pass, &block->combine, pass->found, pass->found_stride)) return 1;
    sl_after(pass, &block->norms[0]);
    return 0;
}

/* A recurrent unit: what an entry keeps is the cell after its token. Rows of one path follow each other,
 * so the cell before is always there. */
static int go_on(const sl_pass *pass, const sl_step *step, int layer) {
    const sl_block *block = &pass->stack->blocks[layer];
    const int width = pass->stack->heads * pass->stack->head;
    const long offset = 2L * layer * width;
    if (sl_widen(pass, &block->project, sl_before(pass, &block->norms[0]), SL_IDENTITY)) return 1;
    for (int row = 0; row < pass->rows; row++) {
        const int32_t *own = step->paths[row] + step->counts[row] - 1;
        const float *before = step->counts[row] > 1 ? sl_pool_cell(step->pool, own[-1]) + offset : NULL;
        sl_kernels_chosen()->recur(pass->wide + row * pass->wide_stride, before, width,
                                   sl_pool_cell(step->pool, *own) + offset,
                                   pass->hidden + row * pass->stride);
    }
    sl_after(pass, &block->norms[0]);
    return 0;
}

static void add_attention(const sl_step *step, int row, int rows, const float *weights,
                          const sl_source *source, int heads) {
    for (int r = 0; r < rows; r++) {
        float *to = step->attention + (row + r) * step->attention_stride;
        for (int s = 0; s < source->count; s++)
            to[s] += weights[(long)r * source->room + s] / (float)heads;
    }
}

/* Attention of the rows of one sentence to its source. */
static void look_at_source(const sl_pass *pass, const sl_step *step, const lookup *paths, int layer,
                           int row, int rows) {
    const sl_stack *stack = pass->stack;
    const sl_source *source = step->sources[row];
    const int heads = stack->source_heads, size = stack->source_head;
    const long one = (long)size * source->room;
    for (int h = 0; h < heads; h++) {
        const long at = (layer * heads + h) * one;
        const sl_head head = {.keys = source->keys + at, .values = source->values + at,
                              .value_stride = size, .size = size,
                              .count = source->count, .room = source->room};
        sl_kernels_chosen()->attend(&head, pass->wide + row * pass->wide_stride + h * size,
                                    pass->wide_stride, rows, paths->weights,
                                    pass->found + row * pass->found_stride + h * size,
                                    pass->found_stride);
        if (step->attention && layer == stack->layers - 1)
            add_attention(step, row, rows, paths->weights, source, heads);
    }
}

static int look_across(const sl_pass *pass, const sl_step *step, const lookup *paths, int layer) {
    const sl_block *block = &pass->stack->blocks[layer];
    if (sl_widen(pass, &block->query, sl_before(pass, &block->norms[1]), SL_IDENTITY)) return 1;
    for (int row = 0, rows; row < pass->rows; row += rows) {
        for (rows = 1; row + rows < pass->rows && step->sources[row + rows] == step->sources[row];)
            rows++;
        look_at_source(pass, step, paths, layer, row, rows);
    }
    if (sl_add(pass, &block->merge, pass->found, pass->found_stride)) return 1;
    sl_after(pass, &block->norms[1]);
    return 0;
}

int sl_read(const sl_stack *decoder, sl_workspace *space, const sl_step *step, float *hidden) {
    sl_pass pass;
    lookup paths;
    sl_space_reset(space);
    if (decoder->recurrent) return sl_read_recurrent(decoder, space, step, hidden);
    if (sl_pass_begin(&pass, decoder, space, step->rows, hidden)) return 1;
    if (resolve(&pass, step, &paths)) return 1;
    if (sl_embed(&pass, step->tokens, step->inputs, step->positions)) return 1;
    for (int layer = 0; layer < decoder->layers; layer++) {
        if (decoder->ssru ? go_on(&pass, step, layer) : look_back(&pass, step, &paths, layer))
            return 1;
        if (decoder->crossing && look_across(&pass, step, &paths, layer)) return 1;
        if (sl_think(&pass, &decoder->blocks[layer])) return 1;
    }
    if (decoder->norm.gain)
        sl_kernels_chosen()->normalise(&decoder->norm, hidden, pass.stride, step->rows, hidden,
                                       pass.stride);
    return 0;
}

int sl_write(const sl_stack *decoder, sl_workspace *space, const float *hidden, int32_t rows,
             float *logits) {
    const sl_outputs out = {logits, sl_aligned(decoder->output.outputs), SL_IDENTITY, 0};
    sl_space_reset(space);
    return sl_apply(space, &decoder->output, hidden, sl_aligned(decoder->output.inputs), rows, &out);
}
