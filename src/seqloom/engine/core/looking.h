/* Attention of a recurrent decoder to its source (Bahdanau et al. 2015; Luong et al. 2015). */
#ifndef SL_LOOKING_H
#define SL_LOOKING_H

#include "layers.h"

/* Values of a context: the encoder's states, once for each head. */
static inline int sl_context(const sl_recurrent *net) { return net->heads * net->source; }

/* Contexts of queries in rows of `stride`, one for each row of a step; both in aligned rows. */
int sl_look(const sl_recurrent *net, sl_workspace *space, const sl_step *step, const float *queries,
            long stride, float *contexts, long context_stride);

#endif
