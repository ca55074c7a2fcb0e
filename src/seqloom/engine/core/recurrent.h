/* Recurrent encoders and decoders: what `sl_encode`, `sl_prepare` and `sl_read` do for them. */
#ifndef SL_RECURRENT_H
#define SL_RECURRENT_H

#include "layers.h"

int sl_encode_recurrent(const sl_stack *encoder, sl_workspace *space, const sl_text *text, float *states,
                        float *codes);
int32_t sl_recurrent_entry(const sl_recurrent *net); /* floats */
int64_t sl_recurrent_source(const sl_recurrent *net, int32_t count); /* floats */
int sl_prepare_recurrent(const sl_stack *decoder, sl_workspace *space, const float *states,
                         const sl_codes *codes, const int32_t *lengths, int32_t sentences,
                         sl_source *sources);
int sl_read_recurrent(const sl_stack *decoder, sl_workspace *space, const sl_step *step, float *hidden);

#endif
