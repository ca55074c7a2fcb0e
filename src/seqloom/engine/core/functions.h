/* Exponentials and what is made of them, lane by lane. */
#ifndef SL_FUNCTIONS_H
#define SL_FUNCTIONS_H

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* e^x to 2 units in the last place, for x from -87 to 88: 2^n e^r with |r| <= log(2) / 2, and a
 * polynomial for e^r. What is below is taken for -87. */
INLINE vec v_exp(vec x) {
    x = v_max(x, v_set(-87.0f));
    vec n = v_round(v_mul(x, v_set(1.44269504f)));
    vec r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vec p = v_fma(v_set(1.9875691500e-4f), r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(v_mul(r, r), p, v_add(r, v_set(1.0f)));
    return v_times_power(p, n);
}

INLINE vec v_sigmoid(vec x) {
    vec rest = v_exp(v_min(v_sub(v_set(0.0f), x), v_set(88.0f)));
    return v_div(v_set(1.0f), v_add(rest, v_set(1.0f)));
}

/* To 1e-7: 1 - 2 / (e^2x + 1). */
INLINE vec v_tanh(vec x) {
    vec power = v_exp(v_min(v_add(x, x), v_set(88.0f)));
    return v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(power, v_set(1.0f))));
}

/* x (1 + erf(x / sqrt 2)) / 2, with the error function to 2e-7 (Abramowitz and Stegun, 7.1.26). */
INLINE vec v_gelu(vec x) {
    vec z = v_mul(v_abs(x), v_set(0.70710678f));
    vec t = v_div(v_set(1.0f), v_fma(z, v_set(0.3275911f), v_set(1.0f)));
    vec p = v_fma(v_set(1.061405429f), t, v_set(-1.453152027f));
    p = v_fma(p, t, v_set(1.421413741f));
    p = v_fma(p, t, v_set(-0.284496736f));
    p = v_fma(p, t, v_set(0.254829592f));
    vec rest = v_mul(v_mul(p, t), v_exp(v_sub(v_set(0.0f), v_mul(z, z))));
    vec erf = v_copy_sign(v_sub(v_set(1.0f), rest), x);
    return v_mul(v_mul(x, v_set(0.5f)), v_add(erf, v_set(1.0f)));
}

#endif
