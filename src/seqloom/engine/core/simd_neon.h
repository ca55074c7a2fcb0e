/* Vectors of 4 values: ARM NEON with the dot product of bytes. */
#ifndef SL_SIMD_H
#define SL_SIMD_H

#include <arm_neon.h>
#include <stdint.h>

#define LANES 4
#define TILE_ROWS 5 /* 5 x 4 sums, 4 weights and an input: 25 of 32 registers */
#define TILE_VECTORS 4
#define WIDEST 4 /* vectors of a head that are mixed at once */
#define BYTE_OFFSET 0

typedef float32x4_t vec;
typedef int32x4_t ivec;

static inline vec v_load(const float *from) { return vld1q_f32(from); }
static inline void v_store(float *to, vec a) { vst1q_f32(to, a); }
static inline vec v_set(float a) { return vdupq_n_f32(a); }
static inline vec v_add(vec a, vec b) { return vaddq_f32(a, b); }
static inline vec v_sub(vec a, vec b) { return vsubq_f32(a, b); }
static inline vec v_mul(vec a, vec b) { return vmulq_f32(a, b); }
static inline vec v_div(vec a, vec b) { return vdivq_f32(a, b); }
static inline vec v_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline vec v_max(vec a, vec b) { return vmaxq_f32(a, b); }
static inline vec v_min(vec a, vec b) { return vminq_f32(a, b); }
static inline vec v_abs(vec a) { return vabsq_f32(a); }
static inline vec v_round(vec a) { return vrndnq_f32(a); }
static inline vec v_times_power(vec a, vec n) {
    int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
    return vmulq_f32(a, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
}
static inline vec v_copy_sign(vec size, vec sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, size);
}
static inline vec v_first(vec a, int count, vec others) {
    const int32x4_t lanes = {0, 1, 2, 3};
    return vbslq_f32(vcltq_s32(lanes, vdupq_n_s32(count)), a, others);
}
static inline void v_zip(vec a, vec b, vec *low, vec *high) {
    *low = vzip1q_f32(a, b);
    *high = vzip2q_f32(a, b);
}
static inline float v_sum(vec a) { return vaddvq_f32(a); }
static inline float v_largest(vec a) { return vmaxvq_f32(a); }
static inline unsigned v_above(vec a, vec b) {
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcgtq_f32(a, b), bits));
}
/* The sums of four vectors, side by side. */
static inline void v_store_sums(float *to, vec a, vec b, vec c, vec d) {
    vst1q_f32(to, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

static inline ivec iv_load_ints(const int32_t *from) { return vld1q_s32(from); }
static inline ivec iv_load(const int8_t *from) { return vreinterpretq_s32_s8(vld1q_s8(from)); }
static inline ivec iv_set(int32_t a) { return vdupq_n_s32(a); }
static inline ivec iv_sub(ivec a, ivec b) { return vsubq_s32(a, b); }
static inline ivec iv_inputs(const uint8_t *from) {
    uint32_t four;
    __builtin_memcpy(&four, from, 4);
    return vreinterpretq_s32_u32(veorq_u32(vdupq_n_u32(four), vdupq_n_u32(0x80808080u)));
}
static inline ivec iv_dot(ivec sum, ivec inputs, ivec weights) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(weights), vreinterpretq_s8_s32(inputs));
}
static inline vec v_from_ints(ivec a) { return vcvtq_f32_s32(a); }
static inline void v_store_bytes(uint8_t *to, vec a) {
    uint16x4_t words = vqmovun_s32(vcvtnq_s32_f32(a));
    uint8x8_t bytes = vqmovn_u16(vcombine_u16(words, words));
    vst1_lane_u32((uint32_t *)(void *)to, vreinterpret_u32_u8(bytes), 0);
}

#endif
