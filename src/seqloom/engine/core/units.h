/* One step of a recurrent unit for one row: from the sums of its inputs, what the state before gives to
 * the same sums, and that state, to the state after. */
#ifndef SL_UNITS_H
#define SL_UNITS_H

INLINE vec added(const float *sums, const float *made, int at) {
    return v_add(v_load(sums + at), v_load(made + at));
}

/* Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000). */
static void advance_lstm(int width, const float *sums, const float *made, const float *before,
                         float *after) {
    for (int i = 0; i < width; i += LANES) {
        vec enter = v_sigmoid(added(sums, made, i));
        vec keep = v_sigmoid(added(sums, made, width + i));
        vec show = v_sigmoid(added(sums, made, 2 * width + i));
        vec candidate = v_tanh(added(sums, made, 3 * width + i));
        vec cell = v_fma(keep, v_load(before + width + i), v_mul(enter, candidate));
        v_store(after + width + i, cell);
        v_store(after + i, v_mul(show, v_tanh(cell)));
    }
}

/* Gated recurrent unit (Cho et al. 2014; Chung et al. 2014). */
static void advance_gru(const sl_unit *unit, const float *sums, const float *made, const float *before,
                        float *after) {
    const int width = unit->width;
    for (int i = 0; i < width; i += LANES) {
        vec update = v_sigmoid(added(sums, made, width + i));
        vec input = v_load(sums + 2 * width + i), state = v_load(made + 2 * width + i);
        if (unit->reset_after) state = v_mul(v_sigmoid(added(sums, made, i)), state);
        vec candidate = v_tanh(v_add(input, state)), old = v_load(before + i);
        vec from = unit->take ? old : candidate, to = unit->take ? candidate : old;
        v_store(after + i, v_fma(update, v_sub(to, from), from));
    }
}

/* Elman unit (Elman 1990). What is filled up stays 0. */
static void advance_elman(const sl_unit *unit, const float *sums, const float *made, float *after) {
    for (int i = 0; i < unit->width; i += LANES) {
        vec sum = added(sums, made, i);
        switch (unit->activation) {
        case SL_TANH: sum = v_tanh(sum); break;
        case SL_RELU: sum = v_max(sum, v_set(0.0f)); break;
        case SL_SIGMOID: sum = v_sigmoid(sum); break;
        default: break;
        }
        v_store(after + i, sum);
    }
    for (int i = unit->real; i < unit->width; i++) after[i] = 0.0f;
}

/* Simpler simple recurrent unit (Kim et al. 2019); no product depends on the step before. */
static void advance_ssru(int width, const float *sums, const float *before, float *after) {
    for (int i = 0; i < width; i += LANES) {
        vec forget = v_sigmoid(v_load(sums + i)), value = v_load(sums + width + i);
        v_store(after + i, v_fma(forget, v_sub(v_load(before + i), value), value));
    }
}

/* `before` and `after` may be the same. */
static void advance(const sl_unit *unit, const float *sums, const float *made, const float *before,
                    float *after) {
    switch (unit->kind) {
    case SL_LSTM: advance_lstm(unit->width, sums, made, before, after); break;
    case SL_GRU: advance_gru(unit, sums, made, before, after); break;
    case SL_SSRU: advance_ssru(unit->width, sums, before, after); break;
    default: advance_elman(unit, sums, made, after);
    }
}

/* What a GRU that resets before its product multiplies: the state, through the reset gate. */
static void reset(const sl_unit *unit, const float *sums, const float *made, const float *before,
                  float *left) {
    for (int i = 0; i < unit->width; i += LANES)
        v_store(left + i, v_mul(v_sigmoid(added(sums, made, i)), v_load(before + i)));
}

#endif
