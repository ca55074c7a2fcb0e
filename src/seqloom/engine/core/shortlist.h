/* The part of an output layer that a sentence can need. */
#ifndef SL_SHORTLIST_H
#define SL_SHORTLIST_H

#include "seqloom.h"

typedef struct {
    sl_matrix matrix; /* a packed copy of the chosen columns */
    int32_t *words; /* the symbol of each column; those that may be written come first, in order */
    int32_t listed; /* how many these are; the others only count in the sum, for all that are absent */
    int32_t *closed; /* columns of symbols that are never written */
    int32_t closed_count, end; /* end: the column of the end marker */
    int32_t room; /* columns that there is memory for */
    void *weights;
    float *scales, *bias;
    int32_t *offsets;
} sl_shortlist;

/* Take the words of a sentence. 0, or 1 without memory. */
int sl_shortlist_fill(sl_shortlist *list, const sl_matrix *output, const sl_task *task,
                      const sl_search *search, int32_t sentence);

void sl_shortlist_free(sl_shortlist *list);

#endif
