/* What encoders and decoders have in common: rows of hidden values going through blocks. */
#ifndef SL_BLOCKS_H
#define SL_BLOCKS_H

#include "workspace.h"

/* Rows on their way through a stack. */
typedef struct {
    const sl_stack *stack;
    sl_workspace *space;
    int rows;
    long stride; /* of hidden and normed */
    long wide_stride, found_stride;
    float *hidden; /* the sum so far */
    float *normed;
    float *wide; /* queries, keys and values, or the inner network */
    float *found; /* what attention found */
} sl_pass;

/* Room for so many rows; `hidden` is where the last of them is left. 0, or 1 without memory. */
int sl_pass_begin(sl_pass *pass, const sl_stack *stack, sl_workspace *space, int rows, float *hidden);

/* The vectors of tokens, or those that are given, at their positions. 0, or 1 without memory. */
int sl_embed(const sl_pass *pass, const int32_t *tokens, const float *inputs, const int32_t *positions);

/* What a step of a block works on, and what becomes of its sum. */
const float *sl_before(const sl_pass *pass, const sl_norm *norm);
void sl_after(const sl_pass *pass, const sl_norm *norm);

/* wide = matrix * values, and hidden += matrix * values. */
int sl_widen(const sl_pass *pass, const sl_matrix *matrix, const float *values, int activation);
int sl_add(const sl_pass *pass, const sl_matrix *matrix, const float *values, long stride);

/* The inner network of a block. */
int sl_think(const sl_pass *pass, const sl_block *block);

/* Turn the first `parts` heads * size values of each row of `wide` by their positions. */
void sl_turn(const sl_pass *pass, const int32_t *positions, int parts);

#endif
