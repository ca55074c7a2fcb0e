/* What all sentences may write is packed once and multiplied by the rows of all of them. What a sentence
 * may write besides is a few dozen columns, packed when it begins: they are its own, so that what it is
 * searched beside changes nothing. */
#include "shortlist.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { COMMON = INT_MAX }; /* the mark of what is common; a clock never gets there */

void sl_register_free(sl_register *all) {
    free(all->marks);
    free(all->common.columns);
    *all = (sl_register){0};
}

int sl_register_begin(sl_register *all, const sl_matrix *output, const sl_task *task,
                      const sl_search *search) {
    const sl_columns *common = &task->lists->common;
    const size_t forbidden = (size_t)search->forbidden_count;
    all->marks = calloc((size_t)output->outputs, sizeof *all->marks);
    all->common.columns = malloc((forbidden + 1) * sizeof *all->common.columns);
    all->common.end = -1;
    if (!all->marks || !all->common.columns) return 1;
    for (int32_t i = 0, next = 0; i < common->matrix.outputs; i++) { /* both are in order */
        const int32_t symbol = common->symbols[i];
        all->marks[symbol] = COMMON;
        while (next < search->forbidden_count && search->forbidden[next] < symbol) next++;
        if (next < search->forbidden_count && search->forbidden[next] == symbol)
            all->common.columns[all->common.count++] = i;
        if (symbol == search->end) all->common.end = i;
    }
    return 0;
}

void sl_shortlist_free(sl_shortlist *list) {
    void *parts[] = {list->symbols, list->closed.columns, list->omitted_columns, list->weights,
                     list->scales, list->bias, list->offsets};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
    *list = (sl_shortlist){0};
}

static int make_room(sl_shortlist *list, const sl_matrix *output, int32_t count, int32_t sample) {
    if (list->symbols && count <= list->room) return 0;
    sl_shortlist_free(list);
    const size_t room = (size_t)sl_aligned(count + count / 4 + 1);
    const size_t size = output->kind == SL_INT8 ? 1 : output->kind == SL_BFLOAT16 ? 2 : sizeof(float);
    list->symbols = malloc(room * sizeof(int32_t));
    list->closed.columns = malloc(room * sizeof(int32_t));
    list->omitted_columns = malloc(((size_t)sample + 1) * sizeof(int32_t));
    list->weights = aligned_alloc(64, room * (size_t)output->inputs * size);
    list->scales = malloc(room * sizeof(float));
    list->bias = malloc(room * sizeof(float));
    list->offsets = malloc(room * sizeof(int32_t));
    if (!list->symbols || !list->closed.columns || !list->omitted_columns || !list->weights ||
        !list->scales || !list->bias || !list->offsets)
        return 1;
    list->room = (int32_t)room;
    return 0;
}

/* Mark a symbol as listed by the sentence of this time, and say whether it was not. */
static int is_new(sl_register *all, int32_t symbol) {
    if (all->marks[symbol] >= all->clock) return 0;
    all->marks[symbol] = all->clock;
    return 1;
}

/* Every symbol that is a sentence's own, once: those that are named for it, then those of its source. */
static int32_t own_symbols(sl_register *all, const sl_task *task, int32_t sentence, int32_t *symbols) {
    const sl_lists *lists = task->lists;
    int32_t count = 0;
    all->clock++;
    for (int32_t i = lists->starts[sentence]; i < lists->starts[sentence + 1]; i++)
        if (is_new(all, lists->symbols[i])) symbols[count++] = lists->symbols[i];
    for (int32_t p = 0; lists->lexicon && p < task->lengths[sentence]; p++) {
        const int32_t token = task->tokens[task->starts[sentence] + p];
        for (int32_t i = lists->lexicon_starts[token]; i < lists->lexicon_starts[token + 1]; i++)
            if (is_new(all, lists->lexicon[i])) symbols[count++] = lists->lexicon[i];
    }
    return count;
}

/* As many as there can be at most. */
static int32_t most_symbols(const sl_matrix *output, const sl_task *task, int32_t sentence) {
    const sl_lists *lists = task->lists;
    int64_t most = lists->starts[sentence + 1] - lists->starts[sentence];
    for (int32_t p = 0; lists->lexicon && p < task->lengths[sentence]; p++) {
        const int32_t *starts = lists->lexicon_starts + task->tokens[task->starts[sentence] + p];
        most += starts[1] - starts[0];
    }
    return most < output->outputs ? (int32_t)most : output->outputs;
}

static void copy_columns(sl_shortlist *list, const sl_matrix *output, const void *rows, int32_t count) {
    if (output->kind == SL_INT8)
        sl_pack_bytes(rows, list->symbols, count, output->inputs, list->weights);
    else if (output->kind == SL_BFLOAT16)
        sl_pack_bytes(rows, list->symbols, count, 2 * output->inputs, list->weights);
    else
        sl_pack_chosen(rows, list->symbols, count, output->inputs, list->weights);
    for (int32_t i = 0; i < sl_aligned(count); i++) {
        const int32_t symbol = i < count ? list->symbols[i] : -1;
        list->bias[i] = symbol < 0 ? -INFINITY : output->bias[symbol];
        if (output->kind != SL_INT8) continue;
        list->scales[i] = symbol < 0 ? 0.0f : output->scales[symbol];
        list->offsets[i] = symbol < 0 ? 0 : output->offsets[symbol];
    }
    list->matrix = (sl_matrix){.kind = output->kind, .inputs = output->inputs, .outputs = count,
                               .weights = list->weights, .scales = list->scales,
                               .offsets = list->offsets, .bias = list->bias};
}

static int is_forbidden(const sl_search *search, int32_t symbol) {
    for (int32_t i = 0; i < search->forbidden_count; i++)
        if (search->forbidden[i] == symbol) return 1;
    return 0;
}

static void close_own(sl_shortlist *list, const sl_search *search) {
    list->closed.count = 0;
    list->closed.end = -1;
    for (int32_t i = 0; i < list->matrix.outputs; i++) {
        if (is_forbidden(search, list->symbols[i])) list->closed.columns[list->closed.count++] = i;
        if (list->symbols[i] == search->end) list->closed.end = i;
    }
}

/* What the sentence may write is not absent; the rest of the sample stands for all that is. */
static void estimate_absent(sl_shortlist *list, const sl_register *all, const sl_matrix *output,
                            const sl_lists *lists) {
    const sl_columns *sample = &lists->sample;
    int32_t omitted = 0;
    for (int32_t i = 0; i < sample->matrix.outputs; i++)
        if (all->marks[sample->symbols[i]] >= all->clock) list->omitted_columns[omitted++] = i;
    list->omitted = (sl_omitted){list->omitted_columns, omitted};
    const int32_t absent = output->outputs - lists->common.matrix.outputs - list->matrix.outputs;
    const int32_t asked = sample->matrix.outputs - omitted;
    list->absent = asked ? logf((float)absent / (float)asked) : 0.0f;
}

int sl_shortlist_fill(sl_shortlist *list, sl_register *all, const sl_matrix *output, const sl_task *task,
                      const sl_search *search, int32_t sentence) {
    const int32_t most = most_symbols(output, task, sentence);
    if (make_room(list, output, most, task->lists->sample.matrix.outputs)) return 1;
    const int32_t count = own_symbols(all, task, sentence, list->symbols);
    copy_columns(list, output, task->lists->output_rows, count);
    close_own(list, search);
    estimate_absent(list, all, output, task->lists);
    return 0;
}
