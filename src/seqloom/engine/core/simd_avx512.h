/* Vectors of 16 values: AVX-512 with VNNI, whose one instruction multiplies and adds 64 bytes. */
#ifndef SL_SIMD_H
#define SL_SIMD_H

#include <immintrin.h>
#include <stdint.h>

#define LANES 16
#define TILE_ROWS 6 /* 6 x 4 sums, 4 weights and an input: 29 of 32 registers */
#define TILE_VECTORS 4
#define WIDEST 4 /* vectors of a head that are mixed at once */
#define BYTE_OFFSET 128 /* VPDPBUSD takes inputs without sign: what they are shifted by */

typedef __m512 vec;
typedef __m512i ivec;

static inline vec v_load(const float *from) { return _mm512_loadu_ps(from); }
static inline void v_store(float *to, vec a) { _mm512_storeu_ps(to, a); }
static inline vec v_set(float a) { return _mm512_set1_ps(a); }
static inline vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
static inline vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
static inline vec v_div(vec a, vec b) { return _mm512_div_ps(a, b); }
static inline vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
static inline vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
static inline vec v_abs(vec a) { return _mm512_abs_ps(a); }
static inline vec v_round(vec a) { return _mm512_roundscale_ps(a, 8); }
static inline vec v_times_power(vec a, vec n) { return _mm512_scalef_ps(a, n); }
static inline vec v_copy_sign(vec size, vec sign) {
    __m512i bit = _mm512_set1_epi32((int)0x80000000u);
    return _mm512_castsi512_ps(
        _mm512_or_si512(_mm512_castps_si512(size), _mm512_and_si512(_mm512_castps_si512(sign), bit)));
}
/* The first `count` lanes of one vector, the others of another; a count may be more than there are. */
static inline vec v_first(vec a, int count, vec others) {
    return _mm512_mask_blend_ps((__mmask16)(count < LANES ? (1u << count) - 1 : 0xffffu), others, a);
}
/* Lanes of two vectors in turn: those of their lower halves, and those of their upper ones. */
static inline void v_zip(vec a, vec b, vec *low, vec *high) {
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *low = _mm512_permutex2var_ps(a, first, b);
    *high = _mm512_permutex2var_ps(a, _mm512_add_epi32(first, _mm512_set1_epi32(8)), b);
}
static inline float v_sum(vec a) { return _mm512_reduce_add_ps(a); }
static inline float v_largest(vec a) { return _mm512_reduce_max_ps(a); }
static inline unsigned v_above(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
/* The sums of four vectors, side by side. */
static inline void v_store_sums(float *to, vec a, vec b, vec c, vec d) {
    __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    __m512 all = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
}

static inline ivec iv_load_ints(const int32_t *from) { return _mm512_loadu_si512(from); }
static inline ivec iv_load(const int8_t *from) { return _mm512_loadu_si512(from); }
static inline ivec iv_set(int32_t a) { return _mm512_set1_epi32(a); }
static inline ivec iv_sub(ivec a, ivec b) { return _mm512_sub_epi32(a, b); }
static inline ivec iv_inputs(const uint8_t *from) {
    int32_t four;
    __builtin_memcpy(&four, from, 4);
    return _mm512_set1_epi32(four);
}
static inline ivec iv_dot(ivec sum, ivec inputs, ivec weights) {
    return _mm512_dpbusd_epi32(sum, inputs, weights);
}
static inline vec v_from_ints(ivec a) { return _mm512_cvtepi32_ps(a); }
static inline void v_store_bytes(uint8_t *to, vec a) {
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
}

#ifdef __AVX512BF16__
#define SL_HAS_PAIRS
typedef __m512bh pvec;
static inline pvec pv_load(const uint16_t *from) { return (pvec)_mm512_loadu_si512(from); }
static inline pvec pv_inputs(const uint8_t *from) { return (pvec)iv_inputs(from); }
static inline vec pv_dot(vec sum, pvec inputs, pvec weights) {
    return _mm512_dpbf16_ps(sum, inputs, weights);
}
#endif

#endif
