/* Weights in the order in which the kernels read them. */
#include <math.h>
#include <string.h>

#include "kernels.h"

int64_t sl_round(int64_t count) { return sl_aligned(count); }

/* Weights are (outputs, inputs), as torch keeps them; columns that fill up the last block are 0. */
void sl_pack_float32(const float *weights, int32_t outputs, int32_t inputs, float *packed) {
    for (long block = 0; block < outputs; block += SL_BLOCK)
        for (int k = 0; k < inputs; k++)
            for (long column = block; column < block + SL_BLOCK; column++)
                *packed++ = column < outputs ? weights[column * inputs + k] : 0.0f;
}

/* One column's bytes: whole numbers from -127 to 127 of its own scale. */
static int32_t quantise_column(const float *weights, int32_t inputs, int8_t *bytes, float *scale) {
    float largest = 0.0f;
    int32_t sum = 0;
    for (int k = 0; k < inputs; k++) largest = fmaxf(largest, fabsf(weights[k]));
    const float inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
    for (int k = 0; k < inputs; k++) {
        bytes[k] = (int8_t)lrintf(weights[k] * inverse);
        sum += bytes[k];
    }
    *scale = largest / 127.0f;
    return 128 * sum;
}

/* Bytes of (outputs, inputs) before they are packed are what shortlists are cut from. */
void sl_quantise_columns(const float *weights, int32_t outputs, int32_t inputs, int8_t *bytes,
                         float *scales, int32_t *offsets) {
    for (long column = 0; column < outputs; column++)
        offsets[column] = quantise_column(weights + column * inputs, inputs, bytes + column * inputs,
                                          scales + column);
}

/* The chosen columns of such bytes, or the first `count`, packed; inputs are a multiple of 4. */
void sl_pack_bytes(const int8_t *rows, const int32_t *chosen, int32_t count, int32_t inputs,
                   int8_t *packed) {
    for (long block = 0; block < count; block += SL_BLOCK, packed += SL_BLOCK * (long)inputs)
        for (int column = 0; column < SL_BLOCK; column++) {
            const long number = block + column;
            const int8_t *from =
                number < count ? rows + (chosen ? chosen[number] : number) * (long)inputs : NULL;
            for (int k = 0; k < inputs; k += 4) {
                int8_t *to = packed + k * (long)SL_BLOCK + column * 4;
                if (from)
                    memcpy(to, from + k, 4);
                else
                    memset(to, 0, 4);
            }
        }
}

/* The same for float32. */
void sl_pack_chosen(const float *rows, const int32_t *chosen, int32_t count, int32_t inputs,
                    float *packed) {
    for (long block = 0; block < count; block += SL_BLOCK, packed += SL_BLOCK * (long)inputs)
        for (int column = 0; column < SL_BLOCK; column++) {
            const long number = block + column;
            const float *from = number < count ? rows + chosen[number] * (long)inputs : NULL;
            for (int k = 0; k < inputs; k++)
                packed[k * (long)SL_BLOCK + column] = from ? from[k] : 0.0f;
        }
}
