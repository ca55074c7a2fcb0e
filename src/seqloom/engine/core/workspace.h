/* Memory that a pass through a model needs and that is used again by the next. */
#ifndef SL_WORKSPACE_H
#define SL_WORKSPACE_H

#include <stddef.h>

#include "kernels.h"

/* Pieces of one growing block. `sl_space_reset` forgets them all; a piece stays where it is until
 * then. */
void sl_space_reset(sl_workspace *space);
void *sl_space_take(sl_workspace *space, size_t bytes); /* aligned to 64, or NULL */

/* Rows as a matrix takes them, quantised in the workspace where its weights are bytes. */
int sl_space_inputs(sl_workspace *space, const sl_matrix *matrix, const float *values, long stride,
                    int rows, sl_inputs *inputs);

/* out = activation(values * matrix + bias), or what is there plus that; 0, or 1 without memory. */
int sl_apply(sl_workspace *space, const sl_matrix *matrix, const float *values, long stride, int rows,
             const sl_outputs *out);

#endif
