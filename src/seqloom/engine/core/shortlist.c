/* Each sentence has its own columns, so what it is searched beside changes nothing; and a few hundred
 * columns for the rows of one sentence are less work than the union of all lists for all rows. */
#include "shortlist.h"

#include <math.h>
#include <stdlib.h>

#include "kernels.h"

void sl_shortlist_free(sl_shortlist *list) {
    free(list->words);
    free(list->closed);
    free(list->weights);
    free(list->scales);
    free(list->bias);
    free(list->offsets);
    *list = (sl_shortlist){0};
}

static int make_room(sl_shortlist *list, const sl_matrix *output, int32_t count, int32_t closed) {
    if (count + closed <= list->room) return 0;
    sl_shortlist_free(list);
    const size_t room = (size_t)sl_aligned(count + closed + count / 4);
    const size_t size = output->kind == SL_INT8 ? 1 : output->kind == SL_BFLOAT16 ? 2 : sizeof(float);
    list->words = malloc(room * sizeof(int32_t));
    list->closed = malloc(room * sizeof(int32_t));
    list->weights = aligned_alloc(64, room * (size_t)output->inputs * size);
    list->scales = malloc(room * sizeof(float));
    list->bias = malloc(room * sizeof(float));
    list->offsets = malloc(room * sizeof(int32_t));
    if (!list->words || !list->closed || !list->weights || !list->scales || !list->bias ||
        !list->offsets)
        return 1;
    list->room = (int32_t)room;
    return 0;
}

static int32_t column_of(const sl_shortlist *list, int32_t word) {
    int32_t low = 0, high = list->listed;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (list->words[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->listed && list->words[low] == word ? low : -1;
}

/* The words of a sentence; those that stand for all that are not listed come last, as -1 - word. */
static void take_words(sl_shortlist *list, const int32_t *words, int32_t count) {
    list->listed = count;
    for (int32_t i = 0; i < count; i++) {
        list->words[i] = words[i] < 0 ? -1 - words[i] : words[i];
        if (words[i] < 0 && i < list->listed) list->listed = i;
    }
}

static void copy_columns(sl_shortlist *list, const sl_matrix *output, const void *rows, int32_t count) {
    if (output->kind == SL_INT8)
        sl_pack_bytes(rows, list->words, count, output->inputs, list->weights);
    else if (output->kind == SL_BFLOAT16)
        sl_pack_bytes(rows, list->words, count, 2 * output->inputs, list->weights);
    else
        sl_pack_chosen(rows, list->words, count, output->inputs, list->weights);
    const int32_t sample = count - list->listed, absent = output->outputs - list->listed;
    const float weight = sample ? logf((float)absent / (float)sample) : 0.0f;
    for (int32_t i = 0; i < sl_aligned(count); i++) {
        const int32_t word = i < count ? list->words[i] : -1;
        list->bias[i] = word < 0 ? -INFINITY : output->bias[word] + (i < list->listed ? 0.0f : weight);
        if (output->kind != SL_INT8) continue;
        list->scales[i] = word < 0 ? 0.0f : output->scales[word];
        list->offsets[i] = word < 0 ? 0 : output->offsets[word];
    }
    list->matrix = (sl_matrix){.kind = output->kind, .inputs = output->inputs, .outputs = count,
                               .weights = list->weights, .scales = list->scales,
                               .offsets = list->offsets, .bias = list->bias};
}

int sl_shortlist_fill(sl_shortlist *list, const sl_matrix *output, const sl_task *task,
                      const sl_search *search, int32_t sentence) {
    const int32_t first = task->word_starts[sentence];
    const int32_t count = task->word_starts[sentence + 1] - first;
    if (make_room(list, output, count, search->forbidden_count)) return 1;
    take_words(list, task->words + first, count);
    copy_columns(list, output, task->output_rows, count);
    list->closed_count = 0;
    for (int32_t i = 0; i < search->forbidden_count; i++) {
        const int32_t column = column_of(list, search->forbidden[i]);
        if (column >= 0) list->closed[list->closed_count++] = column;
    }
    for (int32_t i = list->listed; i < count; i++) list->closed[list->closed_count++] = i;
    list->end = column_of(list, search->end);
    return 0;
}
