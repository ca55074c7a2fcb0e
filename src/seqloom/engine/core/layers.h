/* Recurrent layers over whole sentences, and one step of them for rows of any sentences. */
#ifndef SL_LAYERS_H
#define SL_LAYERS_H

#include "workspace.h"

/* Rows of values with the room for what a unit makes of them. */
typedef struct {
    sl_workspace *space;
    float *sums, *made, *left;
    long sums_stride, left_stride;
} sl_unit_pass;

static inline int32_t sl_whole(int32_t count) { return (count + 15) / 16 * 16; }

/* The sums of a unit: `width` for each gate. */
int sl_gates(const sl_unit *unit);

/* Values that a layer gives: those of all directions. */
int sl_layer_outputs(const sl_layer *layer);

/* Room for so many rows that are projected, and so many that go on together. 0, or 1 without memory. */
int sl_unit_begin(sl_unit_pass *pass, const sl_recurrent *net, sl_workspace *space, long rows,
                  int together);

/* pass->made: what states in rows of `stride` give to the sums; `sums` are those of each row. */
int sl_unit_recur(const sl_unit_pass *pass, const sl_unit *unit, const float *states, long stride,
                  int rows, const float *const *sums);

/* A row's output, of which `real` values are real, from its state. */
void sl_unit_output(const sl_unit *unit, const float *state, float *output);

/* All layers over the rows of all sentences: the outputs of the top layer in aligned rows, and every
 * layer's last state as codes (part, layer, output), if wanted. Takes `inputs` for its own. */
int sl_run_layers(const sl_recurrent *net, sl_workspace *space, const sl_text *text, float *inputs,
                  float *outputs, float *codes);

#endif
