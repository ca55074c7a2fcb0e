/* Kernels that go through rows of values one by one: bytes, norms, gates. */
#ifndef SL_ROWS_H
#define SL_ROWS_H

/* Each row as whole numbers from -127 to 127, plus 128, of a scale of its own. `width` is a multiple
 * of 16. Rounding is to the nearest even, in every instruction set. */
static void quantise(const float *values, long stride, int rows, int width, uint8_t *bytes,
                     long byte_stride, float *scales) {
    for (int row = 0; row < rows; row++, values += stride, bytes += byte_stride) {
        vec most = v_set(0.0f);
        for (int i = 0; i < width; i += LANES) most = v_max(most, v_abs(v_load(values + i)));
        const float largest = v_largest(most);
        const float inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
        scales[row] = largest / 127.0f;
        const vec factor = v_set(inverse), middle = v_set(128.0f);
        for (int i = 0; i < width; i += LANES)
            v_store_bytes(bytes + i, v_add(v_round(v_mul(v_load(values + i), factor)), middle));
    }
}

/* Each value as bfloat16, the upper half of its float32, to the nearest even. */
static void halve(const float *values, long stride, int rows, int width, uint16_t *halves,
                  long half_stride) {
    for (int row = 0; row < rows; row++, values += stride, halves += half_stride)
        for (int i = 0; i < width; i++) {
            uint32_t bits;
            __builtin_memcpy(&bits, values + i, sizeof bits);
            halves[i] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
        }
}

/* Layer norm. Padding is 0 in inputs, gain and bias, so it stays 0; it is taken out of the variance. */
static void normalise(const sl_norm *norm, const float *values, long stride, int rows, float *out,
                      long out_stride) {
    const int width = norm->width, room = (width + 15) / 16 * 16;
    for (int row = 0; row < rows; row++, values += stride, out += out_stride) {
        vec sum = v_set(0.0f), squares = v_set(0.0f);
        for (int i = 0; i < room; i += LANES) sum = v_add(sum, v_load(values + i));
        const float mean = v_sum(sum) / (float)width;
        const vec centre = v_set(mean);
        for (int i = 0; i < room; i += LANES) {
            vec off = v_sub(v_load(values + i), centre);
            squares = v_fma(off, off, squares);
        }
        float variance = (v_sum(squares) - (float)(room - width) * mean * mean) / (float)width;
        if (variance < 0.0f) variance = 0.0f;
        const vec scale = v_set(1.0f / __builtin_sqrtf(variance + norm->epsilon));
        for (int i = 0; i < room; i += LANES) {
            vec unit = v_mul(v_sub(v_load(values + i), centre), scale);
            v_store(out + i, v_fma(unit, v_load(norm->gain + i), v_load(norm->bias + i)));
        }
    }
}

/* The second half of 2 * width values, gated by the GELU of the first, in its place. */
static void gate(float *values, long stride, int rows, int width) {
    for (int row = 0; row < rows; row++, values += stride)
        for (int i = 0; i < width; i += LANES)
            v_store(values + i, v_mul(v_gelu(v_load(values + i)), v_load(values + width + i)));
}

/* One step of the simpler simple recurrent unit (Kim et al. 2019): from W_f x + b_f and W x side by side
 * and the cell before, if there was one, to the cell; its positive part is added to `hidden`. */
static void recur(const float *sums, const float *before, int width, float *cell, float *hidden) {
    for (int i = 0; i < width; i += LANES) {
        vec forget = v_sigmoid(v_load(sums + i));
        vec value = v_load(sums + width + i);
        vec old = before ? v_load(before + i) : v_set(0.0f);
        vec now = v_fma(forget, v_sub(old, value), value);
        v_store(cell + i, now);
        v_store(hidden + i, v_add(v_load(hidden + i), v_max(now, v_set(0.0f))));
    }
}

#endif
