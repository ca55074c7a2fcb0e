/* Pairs of bfloat16 where there is no instruction for them: as two vectors of float32. */
#ifndef SL_PAIRS_H
#define SL_PAIRS_H

#ifndef SL_HAS_PAIRS

typedef struct { vec first, second; } pvec;

static inline float widen_half(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

static __attribute__((noinline)) pvec pv_load(const uint16_t *from) {
    float first[LANES], second[LANES];
    for (int i = 0; i < LANES; i++) {
        first[i] = widen_half(from[2 * i]);
        second[i] = widen_half(from[2 * i + 1]);
    }
    return (pvec){v_load(first), v_load(second)};
}

static __attribute__((noinline)) pvec pv_inputs(const uint8_t *from) {
    uint16_t two[2];
    __builtin_memcpy(two, from, sizeof two);
    return (pvec){v_set(widen_half(two[0])), v_set(widen_half(two[1]))};
}

static inline vec pv_dot(vec sum, pvec inputs, pvec weights) {
    return v_fma(inputs.first, weights.first, v_fma(inputs.second, weights.second, sum));
}

#endif
#endif
