/* The part of an output layer that a sentence can need besides what all sentences can. */
#ifndef SL_SHORTLIST_H
#define SL_SHORTLIST_H

#include "kernels.h"

/* Columns of symbols that are never written, and that of the end marker or -1. */
typedef struct {
    int32_t *columns;
    int32_t count, end;
} sl_closed;

/* What a worker knows of all symbols: whether they are common, and who listed them last. */
typedef struct {
    int32_t *marks, clock;
    sl_closed common;
} sl_register;

typedef struct {
    sl_matrix matrix; /* a packed copy of the columns */
    int32_t *symbols; /* of each column, once each, as they were met */
    int32_t room; /* columns that there is memory for */
    sl_closed closed;
    sl_omitted omitted; /* columns of the sample that the sentence may write */
    int32_t *omitted_columns;
    float absent; /* logarithm of what a symbol of the sample stands for */
    void *weights;
    float *scales, *bias;
    int32_t *offsets;
} sl_shortlist;

/* 0, or 1 without memory. */
int sl_register_begin(sl_register *all, const sl_matrix *output, const sl_task *task,
                      const sl_search *search);
void sl_register_free(sl_register *all);

/* Take the symbols of a sentence. 0, or 1 without memory. */
int sl_shortlist_fill(sl_shortlist *list, sl_register *all, const sl_matrix *output, const sl_task *task,
                      const sl_search *search, int32_t sentence);
void sl_shortlist_free(sl_shortlist *list);

#endif
