/* Vectors of 4 values in plain C: what every processor can do, and what the others are held to. */
#ifndef SL_SIMD_H
#define SL_SIMD_H

#include <math.h>
#include <stdint.h>

#define LANES 4
#define TILE_ROWS 4
#define TILE_VECTORS 2
#define WIDEST 4 /* vectors of a head that are mixed at once */
#define BYTE_OFFSET 0

typedef struct { float at[LANES]; } vec;
typedef struct { int32_t at[LANES]; } ivec; /* also 16 bytes, or 4 bytes as 4 numbers */

#define EACH_LANE for (int lane = 0; lane < LANES; lane++)

static inline vec v_load(const float *from) { vec r; EACH_LANE r.at[lane] = from[lane]; return r; }
static inline void v_store(float *to, vec a) { EACH_LANE to[lane] = a.at[lane]; }
static inline vec v_set(float a) { vec r; EACH_LANE r.at[lane] = a; return r; }
static inline vec v_add(vec a, vec b) { EACH_LANE a.at[lane] += b.at[lane]; return a; }
static inline vec v_sub(vec a, vec b) { EACH_LANE a.at[lane] -= b.at[lane]; return a; }
static inline vec v_mul(vec a, vec b) { EACH_LANE a.at[lane] *= b.at[lane]; return a; }
static inline vec v_div(vec a, vec b) { EACH_LANE a.at[lane] /= b.at[lane]; return a; }
static inline vec v_fma(vec a, vec b, vec c) {
    EACH_LANE c.at[lane] += a.at[lane] * b.at[lane];
    return c;
}
static inline vec v_max(vec a, vec b) {
    EACH_LANE a.at[lane] = a.at[lane] > b.at[lane] ? a.at[lane] : b.at[lane];
    return a;
}
static inline vec v_min(vec a, vec b) {
    EACH_LANE a.at[lane] = a.at[lane] < b.at[lane] ? a.at[lane] : b.at[lane];
    return a;
}
static inline vec v_abs(vec a) { EACH_LANE a.at[lane] = fabsf(a.at[lane]); return a; }
static inline vec v_round(vec a) { EACH_LANE a.at[lane] = rintf(a.at[lane]); return a; }
static inline vec v_times_power(vec a, vec n) {
    EACH_LANE a.at[lane] = ldexpf(a.at[lane], (int)n.at[lane]);
    return a;
}
static inline vec v_copy_sign(vec size, vec sign) {
    EACH_LANE size.at[lane] = copysignf(size.at[lane], sign.at[lane]);
    return size;
}
static inline vec v_first(vec a, int count, vec others) {
    EACH_LANE a.at[lane] = lane < count ? a.at[lane] : others.at[lane];
    return a;
}
static inline void v_zip(vec a, vec b, vec *low, vec *high) {
    *low = (vec){{a.at[0], b.at[0], a.at[1], b.at[1]}};
    *high = (vec){{a.at[2], b.at[2], a.at[3], b.at[3]}};
}
static inline float v_sum(vec a) { return (a.at[0] + a.at[2]) + (a.at[1] + a.at[3]); }
static inline float v_largest(vec a) {
    float most = a.at[0];
    EACH_LANE most = a.at[lane] > most ? a.at[lane] : most;
    return most;
}
static inline unsigned v_above(vec a, vec b) {
    unsigned mask = 0;
    EACH_LANE mask |= (unsigned)(a.at[lane] > b.at[lane]) << lane;
    return mask;
}
/* The sums of four vectors, side by side. */
static inline void v_store_sums(float *to, vec a, vec b, vec c, vec d) {
    to[0] = v_sum(a), to[1] = v_sum(b), to[2] = v_sum(c), to[3] = v_sum(d);
}

static inline ivec iv_load_ints(const int32_t *from) {
    ivec r;
    EACH_LANE r.at[lane] = from[lane];
    return r;
}
static inline ivec iv_load(const int8_t *from) {
    ivec r;
    __builtin_memcpy(r.at, from, sizeof r.at);
    return r;
}
static inline ivec iv_set(int32_t a) { ivec r; EACH_LANE r.at[lane] = a; return r; }
static inline ivec iv_sub(ivec a, ivec b) { EACH_LANE a.at[lane] -= b.at[lane]; return a; }
static inline ivec iv_inputs(const uint8_t *from) {
    ivec r;
    EACH_LANE r.at[lane] = (int32_t)from[lane] - 128;
    return r;
}
static inline ivec iv_dot(ivec sum, ivec inputs, ivec weights) {
    int8_t bytes[4 * LANES];
    __builtin_memcpy(bytes, weights.at, sizeof bytes);
    EACH_LANE for (int part = 0; part < 4; part++)
        sum.at[lane] += inputs.at[part] * bytes[4 * lane + part];
    return sum;
}
static inline vec v_from_ints(ivec a) {
    vec r;
    EACH_LANE r.at[lane] = (float)a.at[lane];
    return r;
}
static inline void v_store_bytes(uint8_t *to, vec a) {
    EACH_LANE to[lane] = (uint8_t)lrintf(a.at[lane]);
}

#endif
