/* What training in bfloat16 does between products, for the instruction sets that have it. */
#ifndef SL_TRAINING_KERNELS_H
#define SL_TRAINING_KERNELS_H

#include <stdint.h>

/* Vectors of heads: rows lie `step` apart, and sentences and heads as far as their strides say. */
typedef struct {
    const uint16_t *values;
    int64_t sentence, step, head;
} sl_heads;

/* `out` is (sentences, steps, heads, size), or its gradient; `weights` (sentences, heads, steps, seen
 * rounded up to 16); `mask` (sentences, seen) is absent where all is seen. Sizes are multiples of 16. */
typedef struct {
    int32_t sentences, heads, steps, seen, size, causal;
    float scale;
    const uint8_t *mask;
    sl_heads query, key, value, to_query, to_key, to_value;
    uint16_t *weights, *out;
} sl_attention;

/* Of 256 values, dropout keeps `kept`; the seed says which. */
typedef struct {
    void (*drop)(const float *values, float *out, int64_t count, uint64_t seed, int32_t kept);
    void (*add)(const float *values, const uint16_t *change, float *out, int64_t count, uint64_t seed,
                int32_t kept);
    void (*add_back)(const float *gradient, uint16_t *out, int64_t count, uint64_t seed, int32_t kept);
    void (*relu)(const uint16_t *values, uint16_t *out, int64_t count, uint64_t seed, int32_t kept);
    void (*relu_back)(const uint16_t *gradient, const uint16_t *after, uint16_t *out, int64_t count,
                      int32_t kept);
    void (*norm)(const float *values, const float *gain, const float *bias, uint16_t *out, float *means,
                 float *slopes, int64_t rows, int32_t width, float epsilon);
    void (*norm_back)(const uint16_t *gradient, const float *values, const float *gain,
                      const float *means, const float *slopes, float *out, float *to_gain,
                      float *to_bias, int64_t rows, int32_t width);
    void (*loss)(uint16_t *logits, const int64_t *targets, const float *factors, float *losses,
                 float *likelihoods, int64_t rows, int32_t size, float smoothing);
    void (*pair_loss)(uint16_t *logits, const int64_t *targets, const float *factors, float *losses,
                      float *likelihoods, int64_t rows, int32_t size, float smoothing, float agreement);
    int32_t (*attend)(const sl_attention *all);
    int32_t (*attend_back)(const sl_attention *all);
    void (*lstm)(const uint16_t *sums, const uint16_t *product, const float *cell, float *gates,
                 float *after, float *squashed, float *hidden, uint16_t *halved, int64_t rows,
                 int32_t width);
    void (*lstm_back)(const float *gates, const float *cell, const float *squashed,
                      const float *to_hidden, float *to_cell, uint16_t *delta, int64_t rows,
                      int32_t width);
} sl_training;

const sl_training *sl_training_kernels(void); /* absent where the processor has no products of bfloat16 */

#endif
