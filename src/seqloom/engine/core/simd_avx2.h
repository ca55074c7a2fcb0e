/* Vectors of 8 values: AVX2 with FMA, and with VNNI where the compiler is told so. */
#ifndef SL_SIMD_H
#define SL_SIMD_H

#include <immintrin.h>
#include <stdint.h>

#define LANES 8
#define TILE_ROWS 6 /* 6 x 2 sums, 2 weights and an input: 15 of 16 registers */
#define TILE_VECTORS 2
#define WIDEST 2 /* vectors of a head that are mixed at once */
#ifdef __AVXVNNI__
#define BYTE_OFFSET 128
#else
#define BYTE_OFFSET 0
#endif

typedef __m256 vec;
typedef __m256i ivec;

static inline vec v_load(const float *from) { return _mm256_loadu_ps(from); }
static inline void v_store(float *to, vec a) { _mm256_storeu_ps(to, a); }
static inline vec v_set(float a) { return _mm256_set1_ps(a); }
static inline vec v_add(vec a, vec b) { return _mm256_add_ps(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
static inline vec v_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
static inline vec v_div(vec a, vec b) { return _mm256_div_ps(a, b); }
static inline vec v_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec v_max(vec a, vec b) { return _mm256_max_ps(a, b); }
static inline vec v_min(vec a, vec b) { return _mm256_min_ps(a, b); }
static inline vec v_abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline vec v_round(vec a) { return _mm256_round_ps(a, 8); }
static inline vec v_times_power(vec a, vec n) {
    __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
static inline vec v_copy_sign(vec size, vec sign) {
    return _mm256_or_ps(size, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
}
static inline vec v_first(vec a, int count, vec others) {
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i ours = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes);
    return _mm256_blendv_ps(others, a, _mm256_castsi256_ps(ours));
}
static inline void v_zip(vec a, vec b, vec *low, vec *high) {
    __m256 even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
    *low = _mm256_permute2f128_ps(even, odd, 0x20);
    *high = _mm256_permute2f128_ps(even, odd, 0x31);
}
static inline float v_sum(vec a) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
static inline float v_largest(vec a) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
static inline unsigned v_above(vec a, vec b) {
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
/* The sums of four vectors, side by side. */
static inline void v_store_sums(float *to, vec a, vec b, vec c, vec d) {
    __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

static inline ivec iv_load_ints(const int32_t *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}
static inline ivec iv_load(const int8_t *from) { return _mm256_loadu_si256((const __m256i *)from); }
static inline ivec iv_set(int32_t a) { return _mm256_set1_epi32(a); }
static inline ivec iv_sub(ivec a, ivec b) { return _mm256_sub_epi32(a, b); }
static inline ivec iv_inputs(const uint8_t *from) {
    int32_t four;
    __builtin_memcpy(&four, from, 4);
#if BYTE_OFFSET
    return _mm256_set1_epi32(four);
#else
    return _mm256_xor_si256(_mm256_set1_epi32(four), _mm256_set1_epi8((char)0x80));
#endif
}
static inline ivec iv_dot(ivec sum, ivec inputs, ivec weights) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sum, inputs, weights);
#else
    /* Both sizes are at most 127, so a pair of products is at most 32,258 and no 16 bits saturate. */
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(inputs), _mm256_sign_epi8(weights, inputs));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
static inline vec v_from_ints(ivec a) { return _mm256_cvtepi32_ps(a); }
static inline void v_store_bytes(uint8_t *to, vec a) {
    __m256i whole = _mm256_cvtps_epi32(a);
    __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
}

#endif
