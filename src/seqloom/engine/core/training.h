/* Kernels of training in bfloat16: what lies between the products of a Transformer.
 *
 * Products in bfloat16 leave little time for anything else, so each step between two of them goes over
 * its values once: dropout with the residual sum, ReLU with dropout, layer norm, attention, the loss.
 */
#ifndef SL_TRAINING_H
#define SL_TRAINING_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t half;

static inline __mmask16 lanes(long left) {
    return left >= LANES ? 0xffffu : (__mmask16)((1u << (left > 0 ? left : 0)) - 1);
}
static inline vec h_load(const half *from, __mmask16 which) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(which, from)), 16));
}
static inline void h_store(half *to, vec a, __mmask16 which) {
    _mm256_mask_storeu_epi16(to, which, (__m256i)_mm512_cvtneps_pbh(a));
}
static inline vec f_load(const float *from, __mmask16 which) { return _mm512_maskz_loadu_ps(which, from); }
static inline void f_store(float *to, vec a, __mmask16 which) { _mm512_mask_storeu_ps(to, which, a); }

/* Which of 64 values are kept: a byte decides for each, and 8 bytes are the hash of a counter.
 * Steele et al. 2014, Fast Splittable Pseudorandom Number Generators. */
static inline __mmask64 kept_values(uint64_t seed, uint64_t group, int kept) {
    const __m512i steps = _mm512_setr_epi64(1, 2, 3, 4, 5, 6, 7, 8);
    const __m512i stride = _mm512_set1_epi64((long long)0x9E3779B97F4A7C15ull);
    __m512i z = _mm512_add_epi64(_mm512_set1_epi64((long long)(8 * group)), steps);
    z = _mm512_add_epi64(_mm512_mullo_epi64(z, stride), _mm512_set1_epi64((long long)seed));
    z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 30));
    z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0xBF58476D1CE4E5B9ull));
    z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 27));
    z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0x94D049BB133111EBull));
    z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
    return _mm512_cmplt_epu8_mask(z, _mm512_set1_epi8((char)kept));
}

#define EACH_KEPT(count, seed, kept, body)                                         \
    for (long i = 0; i < (count); i += 64) {                                       \
        const __mmask64 group = kept_values((seed), (uint64_t)i / 64, (kept));     \
        UNROLL for (int part = 0; part < 4; part++) {                              \
            const long at = i + part * LANES;                                      \
            const __mmask16 which = lanes((count) - at);                           \
            const __mmask16 keep = (__mmask16)(group >> (part * LANES));           \
            body                                                                   \
        }                                                                          \
    }

/* Dropout of floats; its gradient is the same of the gradient. */
static void train_drop(const float *values, float *out, int64_t count, uint64_t seed, int32_t kept) {
    const vec scale = v_set(256.0f / (float)kept);
    EACH_KEPT(count, seed, kept,
              { f_store(out + at, _mm512_maskz_mul_ps(keep, f_load(values + at, which), scale), which); })
}

/* values + dropout(change). */
static void train_add(const float *values, const half *change, float *out, int64_t count, uint64_t seed,
                      int32_t kept) {
    const vec scale = v_set(256.0f / (float)kept);
    EACH_KEPT(count, seed, kept, {
        const vec more = _mm512_maskz_mul_ps(keep, h_load(change + at, which), scale);
        f_store(out + at, v_add(f_load(values + at, which), more), which);
    })
}

/* The gradient of `change` there. */
static void train_add_back(const float *gradient, half *out, int64_t count, uint64_t seed, int32_t kept) {
    const vec scale = v_set(256.0f / (float)kept);
    EACH_KEPT(count, seed, kept,
              { h_store(out + at, _mm512_maskz_mul_ps(keep, f_load(gradient + at, which), scale), which); })
}

/* dropout(max(0, x)). */
static void train_relu(const half *values, half *out, int64_t count, uint64_t seed, int32_t kept) {
    const vec scale = v_set(256.0f / (float)kept);
    EACH_KEPT(count, seed, kept, {
        const vec value = v_max(h_load(values + at, which), v_set(0.0f));
        h_store(out + at, _mm512_maskz_mul_ps(keep, value, scale), which);
    })
}

static void train_relu_back(const half *gradient, const half *after, half *out, int64_t count, int32_t kept) {
    const vec scale = v_set(256.0f / (float)kept);
    for (long at = 0; at < count; at += LANES) {
        const __mmask16 which = lanes(count - at);
        const __mmask16 open = _mm512_cmp_ps_mask(h_load(after + at, which), v_set(0.0f), _CMP_GT_OQ);
        h_store(out + at, _mm512_maskz_mul_ps(open, h_load(gradient + at, which), scale), which);
    }
}

/* Layer norm of floats to halves; keeps mean and 1/deviation of each row. */
static void train_norm(const float *values, const float *gain, const float *bias, half *out,
                       float *means, float *slopes, int64_t rows, int32_t width, float epsilon) {
    for (long row = 0; row < rows; row++) {
        const float *x = values + row * width;
        vec total = v_set(0.0f), square = v_set(0.0f);
        for (int i = 0; i < width; i += LANES) total = v_add(total, f_load(x + i, lanes(width - i)));
        const float mean = v_sum(total) / (float)width;
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            const vec d = _mm512_maskz_sub_ps(which, f_load(x + i, which), v_set(mean));
            square = v_fma(d, d, square);
        }
        const float slope = 1.0f / sqrtf(v_sum(square) / (float)width + epsilon);
        means[row] = mean;
        slopes[row] = slope;
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            const vec d = v_mul(v_sub(f_load(x + i, which), v_set(mean)), v_set(slope));
            h_store(out + row * width + i, v_fma(d, f_load(gain + i, which), f_load(bias + i, which)), which);
        }
    }
}

/* Its gradients; those of gain and bias are added to what is there. */
static void train_norm_back(const half *gradient, const float *values, const float *gain,
                            const float *means, const float *slopes, float *out, float *to_gain,
                            float *to_bias, int64_t rows, int32_t width) {
    for (long row = 0; row < rows; row++) {
        const float *x = values + row * width;
        const half *g = gradient + row * width;
        const vec mean = v_set(means[row]), slope = v_set(slopes[row]);
        vec sum = v_set(0.0f), product = v_set(0.0f);
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            const vec change = h_load(g + i, which);
            const vec d = _mm512_maskz_mul_ps(which, v_sub(f_load(x + i, which), mean), slope);
            const vec inner = v_mul(change, f_load(gain + i, which));
            sum = v_add(sum, inner);
            product = v_fma(inner, d, product);
            f_store(to_gain + i, v_fma(change, d, f_load(to_gain + i, which)), which);
            f_store(to_bias + i, v_add(change, f_load(to_bias + i, which)), which);
        }
        const vec first = v_set(v_sum(sum) / (float)width), second = v_set(v_sum(product) / (float)width);
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            const vec d = v_mul(v_sub(f_load(x + i, which), mean), slope);
            const vec inner = v_mul(h_load(g + i, which), f_load(gain + i, which));
            const vec centred = v_sub(v_sub(inner, first), v_mul(d, second));
            f_store(out + row * width + i, v_mul(centred, slope), which);
        }
    }
}

/* A row of logits in a loss: the logarithm of its sum of exponentials, its own sum, and its target's. */
typedef struct {
    float norm, sum, own;
} row_of_logits;

INLINE float h_value(half bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

INLINE half h_from(float value) {
    const __m256i all = (__m256i)_mm512_cvtneps_pbh(v_set(value));
    return (half)_mm256_extract_epi16(all, 0);
}

static row_of_logits survey_logits(const half *x, int64_t target, int32_t size) {
    vec top = v_set(-INFINITY), total = v_set(0.0f), plain = v_set(0.0f);
    for (int i = 0; i < size; i += LANES) {
        const __mmask16 which = lanes(size - i);
        top = _mm512_mask_max_ps(top, which, top, h_load(x + i, which));
    }
    const vec most = v_set(_mm512_reduce_max_ps(top));
    for (int i = 0; i < size; i += LANES) {
        const __mmask16 which = lanes(size - i);
        const vec value = h_load(x + i, which);
        total = v_add(total, _mm512_maskz_mov_ps(which, v_exp(v_sub(value, most))));
        plain = v_add(plain, value);
    }
    const float norm = _mm512_cvtss_f32(most) + logf(v_sum(total));
    return (row_of_logits){.norm = norm, .sum = v_sum(plain), .own = h_value(x[target])};
}

INLINE float smoothed_loss(row_of_logits row, int32_t size, float smoothing) {
    return (1 - smoothing) * (row.norm - row.own) + smoothing * (row.norm - row.sum / (float)size);
}

/* Smoothed cross-entropy of each row of logits, which its gradient times a factor replaces. */
static void train_loss(half *logits, const int64_t *targets, const float *factors, float *losses,
                       float *likelihoods, int64_t rows, int32_t size, float smoothing) {
    for (long row = 0; row < rows; row++) {
        half *x = logits + row * size;
        const row_of_logits found = survey_logits(x, targets[row], size);
        likelihoods[row] = found.own - found.norm;
        losses[row] = smoothed_loss(found, size, smoothing);
        const float factor = factors[row];
        const vec shift = v_set(found.norm), times = v_set(factor), less = v_set(factor * smoothing / (float)size);
        for (int i = 0; i < size; i += LANES) {
            const __mmask16 which = lanes(size - i);
            const vec p = v_exp(v_sub(h_load(x + i, which), shift));
            h_store(x + i, _mm512_fmsub_ps(p, times, less), which);
        }
        x[targets[row]] = h_from((expf(found.own - found.norm) - smoothing / (float)size - (1 - smoothing)) * factor);
    }
}

/* The same where row i of the first half and row i of the second are two readings of one position:
 * `agreement` times the mean of both divergences between their distributions counts too, half of it in
 * each row's loss. */
static void train_pair_loss(half *logits, const int64_t *targets, const float *factors, float *losses,
                            float *likelihoods, int64_t rows, int32_t size, float smoothing,
                            float agreement) {
    const long half_rows = rows / 2;
    for (long row = 0; row < half_rows; row++) {
        const long other = row + half_rows;
        half *x = logits + row * size, *y = logits + other * size;
        const int64_t target = targets[row];
        const row_of_logits one = survey_logits(x, target, size), two = survey_logits(y, target, size);
        const vec norm_x = v_set(one.norm), norm_y = v_set(two.norm);
        vec forward = v_set(0.0f), backward = v_set(0.0f);
        for (int i = 0; i < size; i += LANES) {
            const __mmask16 which = lanes(size - i);
            const vec a = v_sub(h_load(x + i, which), norm_x), b = v_sub(h_load(y + i, which), norm_y);
            const vec apart = _mm512_maskz_sub_ps(which, a, b);
            forward = v_fma(v_exp(a), apart, forward);
            backward = v_fma(v_exp(b), apart, backward);
        }
        const float from_x = v_sum(forward), from_y = -v_sum(backward); /* the two divergences */
        const float factor = factors[row], spread = smoothing / (float)size, pull = agreement / 2;
        likelihoods[row] = one.own - one.norm;
        likelihoods[other] = two.own - two.norm;
        losses[row] = smoothed_loss(one, size, smoothing) + pull * (from_x + from_y) / 2;
        losses[other] = smoothed_loss(two, size, smoothing) + pull * (from_x + from_y) / 2;
        const vec times = v_set(factor), less = v_set(spread), drawn = v_set(pull);
        for (int i = 0; i < size; i += LANES) {
            const __mmask16 which = lanes(size - i);
            const vec a = v_sub(h_load(x + i, which), norm_x), b = v_sub(h_load(y + i, which), norm_y);
            const vec p = v_exp(a), q = v_exp(b), apart = v_sub(a, b), gap = v_sub(p, q);
            const vec to_x = v_fma(p, v_sub(apart, v_set(from_x)), gap);
            const vec to_y = v_sub(v_mul(q, v_sub(v_set(-from_y), apart)), gap);
            h_store(x + i, v_mul(times, v_fma(drawn, to_x, v_sub(p, less))), which);
            h_store(y + i, v_mul(times, v_fma(drawn, to_y, v_sub(q, less))), which);
        }
        const float a = one.own - one.norm, b = two.own - two.norm, p = expf(a), q = expf(b);
        const float to_x = p * (a - b - from_x) + p - q, to_y = q * (b - a - from_y) + q - p;
        x[target] = h_from(factor * (p - spread - (1 - smoothing) + pull * to_x));
        y[target] = h_from(factor * (q - spread - (1 - smoothing) + pull * to_y));
    }
}

/* C = A B for small matrices: A (rows, 2 pairs) in halves, B in pairs of its rows (pairs, columns, 2),
 * columns a multiple of 16, C in floats. */
INLINE void small_tile(int rows, int vectors, const half *a, long stride, const half *b, int pairs,
                       int columns, float *c) {
    vec sums[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sums[r][v] = v_set(0.0f);
    for (int k = 0; k < pairs; k++) {
        pvec weights[4];
        UNROLL for (int v = 0; v < vectors; v++) weights[v] = pv_load(b + 2l * k * columns + 2 * v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const pvec input = pv_inputs((const uint8_t *)(a + r * stride + 2 * k));
            UNROLL for (int v = 0; v < vectors; v++) sums[r][v] = pv_dot(sums[r][v], input, weights[v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) v_store(c + (long)r * columns + v * LANES, sums[r][v]);
}

INLINE void small_columns(int vectors, const half *a, long stride, int rows, const half *b, int pairs,
                          int columns, float *c) {
    int row = 0;
    for (; row + 6 <= rows; row += 6) small_tile(6, vectors, a + row * stride, stride, b, pairs, columns, c + (long)row * columns);
    if (row + 3 <= rows) {
        small_tile(3, vectors, a + row * stride, stride, b, pairs, columns, c + (long)row * columns);
        row += 3;
    }
    for (; row < rows; row++) small_tile(1, vectors, a + row * stride, stride, b, pairs, columns, c + (long)row * columns);
}

static void small_product(const half *a, long stride, int rows, const half *b, int pairs, int columns, float *c) {
    for (int column = 0; column < columns; column += 4 * LANES) {
        const half *part = b + 2 * column;
        switch ((columns - column) / LANES) {
        case 1: small_columns(1, a, stride, rows, part, pairs, columns, c + column); break;
        case 2: small_columns(2, a, stride, rows, part, pairs, columns, c + column); break;
        case 3: small_columns(3, a, stride, rows, part, pairs, columns, c + column); break;
        default: small_columns(4, a, stride, rows, part, pairs, columns, c + column);
        }
    }
}

/* Rows (count, width) as pairs of rows: (count / 2, width, 2), with zeros after the last. */
static void pair_rows(const half *from, long stride, int count, int width, half *to) {
    for (int row = 0; row < count; row += 2) {
        const half *a = from + row * stride, *b = a + stride;
        for (int i = 0; i < width; i += LANES, to += 2 * LANES) {
            const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(a + i)));
            __m512i high = _mm512_setzero_si512();
            if (row + 1 < count) high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(b + i)));
            _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
    }
}

/* The transpose of rows (count, width) as pairs of its rows: (width / 2, room, 2). */
static void pair_columns(const half *from, long stride, int count, int width, int room, half *to) {
    for (int row = 0; row < room; row++)
        for (int i = 0; i < width / 2; i++) {
            uint32_t two = 0;
            if (row < count) memcpy(&two, from + row * stride + 2 * i, 4);
            memcpy(to + 2l * (i * (long)room + row), &two, 4);
        }
}

static void halve_rows(const float *from, int rows, int width, half *to, long stride) {
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < width; i += LANES)
            h_store(to + row * stride + i, v_load(from + (long)row * width + i), 0xffff);
}

/* Attention of all heads of all sentences. Rows of queries, keys and values of a head lie `step` apart,
 * those of sentences and heads as their strides say; so do their gradients. Outputs are (sentences,
 * steps, heads, size), weights (sentences, heads, steps, room) with room a multiple of 16. */
static inline int round_up(int count, int unit) { return (count + unit - 1) / unit * unit; }

static long look_work(const sl_attention *all) {
    const long steps = round_up(all->steps, 16), room = round_up(all->seen, 16), size = all->size;
    const long most = steps > room ? steps : room;
    return most * size + 2 * steps * room + 2 * most * (most > size ? most : size) + 64;
}

static const half *part_of(const sl_heads *heads, int sentence, int head) {
    return heads->values + sentence * heads->sentence + head * heads->head;
}

/* Softmax of the scores (steps, room) in halves; what is not seen has a weight of 0. */
static void look_weights(const sl_attention *all, const uint8_t *mask, float *scores, int room, half *weights) {
    for (int t = 0; t < all->steps; t++, scores += room, weights += room) {
        const int seen = all->causal && t + 1 < all->seen ? t + 1 : all->seen;
        vec top = v_set(-INFINITY), total = v_set(0.0f);
        for (int i = 0; i < room; i += LANES) {
            __mmask16 which = lanes(seen - i);
            if (mask) which &= _mm_test_epi8_mask(_mm_maskz_loadu_epi8(which, mask + i), _mm_set1_epi8(-1));
            const vec value = v_mul(v_load(scores + i), v_set(all->scale));
            const vec open = _mm512_mask_mov_ps(v_set(-INFINITY), which, value);
            top = v_max(top, open);
            v_store(scores + i, open);
        }
        const vec most = v_set(_mm512_reduce_max_ps(top));
        for (int i = 0; i < room; i += LANES) {
            const vec value = v_load(scores + i);
            const __mmask16 open = _mm512_cmp_ps_mask(value, v_set(-INFINITY), _CMP_GT_OQ);
            const vec power = _mm512_maskz_mov_ps(open, v_exp(v_sub(value, most)));
            total = v_add(total, power);
            v_store(scores + i, power);
        }
        const vec share = v_set(1.0f / v_sum(total));
        for (int i = 0; i < room; i += LANES)
            h_store(weights + i, v_mul(v_load(scores + i), share), 0xffff);
    }
}

static void look(const sl_attention *all, int sentence, int head, half *work) {
    const int room = round_up(all->seen, 16), size = all->size;
    const long number = (long)sentence * all->heads + head;
    half *pairs = work, *weights = all->weights + number * all->steps * room;
    float *sums = (float *)(work + (long)room * size);
    half *out = all->out + ((long)sentence * all->steps * all->heads + head) * size;
    const uint8_t *mask = all->mask ? all->mask + (long)sentence * all->seen : NULL;
    pair_columns(part_of(&all->key, sentence, head), all->key.step, all->seen, size, room, pairs);
    small_product(part_of(&all->query, sentence, head), all->query.step, all->steps, pairs, size / 2, room, sums);
    look_weights(all, mask, sums, room, weights);
    pair_rows(part_of(&all->value, sentence, head), all->value.step, all->seen, size, pairs);
    small_product(weights, room, all->steps, pairs, (all->seen + 1) / 2, size, sums);
    halve_rows(sums, all->steps, size, out, (long)all->heads * size);
}

static void turn(const half *from, int rows, int columns, int stride, half *to, int room) {
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < room; r++) to[(long)c * room + r] = r < rows ? from[(long)r * stride + c] : 0;
}

/* From the gradient of a head's outputs to those of its scores, in halves. */
static void look_scores_back(const sl_attention *all, const half *weights, const float *sums, int room, half *scores) {
    for (int t = 0; t < all->steps; t++, weights += room, sums += room, scores += room) {
        vec inner = v_set(0.0f);
        for (int i = 0; i < room; i += LANES)
            inner = v_fma(h_load(weights + i, 0xffff), v_load(sums + i), inner);
        const vec mean = v_set(v_sum(inner)), scale = v_set(all->scale);
        for (int i = 0; i < room; i += LANES) {
            const vec weight = v_mul(h_load(weights + i, 0xffff), scale);
            h_store(scores + i, v_mul(weight, v_sub(v_load(sums + i), mean)), 0xffff);
        }
    }
}

static void look_back(const sl_attention *all, int sentence, int head, half *work) {
    const int room = round_up(all->seen, 16), steps = round_up(all->steps, 16), size = all->size;
    const long number = (long)sentence * all->heads + head, jump = (long)all->heads * size;
    const long most = room > steps ? room : steps;
    half *pairs = work, *scores = pairs + most * size, *turned = scores + (long)steps * room;
    float *sums = (float *)(turned + (long)steps * room);
    const half *weights = all->weights + number * all->steps * room;
    const half *gradient = all->out + ((long)sentence * all->steps * all->heads + head) * size;
    const sl_heads *query = &all->query, *key = &all->key, *value = &all->value;
    pair_columns(part_of(value, sentence, head), value->step, all->seen, size, room, pairs);
    small_product(gradient, jump, all->steps, pairs, size / 2, room, sums);
    look_scores_back(all, weights, sums, room, scores);
    pair_rows(part_of(key, sentence, head), key->step, all->seen, size, pairs);
    small_product(scores, room, all->steps, pairs, (all->seen + 1) / 2, size, sums);
    halve_rows(sums, all->steps, size, (half *)part_of(&all->to_query, sentence, head), all->to_query.step);
    turn(scores, all->steps, all->seen, room, turned, steps);
    pair_rows(part_of(query, sentence, head), query->step, all->steps, size, pairs);
    small_product(turned, steps, all->seen, pairs, (all->steps + 1) / 2, size, sums);
    halve_rows(sums, all->seen, size, (half *)part_of(&all->to_key, sentence, head), all->to_key.step);
    turn(weights, all->steps, all->seen, room, turned, steps);
    pair_rows(gradient, jump, all->steps, size, pairs);
    small_product(turned, steps, all->seen, pairs, (all->steps + 1) / 2, size, sums);
    halve_rows(sums, all->seen, size, (half *)part_of(&all->to_value, sentence, head), all->to_value.step);
}

static int each_head(const sl_attention *all, void (*work_on)(const sl_attention *, int, int, half *)) {
    half *work = aligned_alloc(64, (size_t)(look_work(all) * 2 + 63) / 64 * 64);
    if (work == NULL) return -1;
    for (int sentence = 0; sentence < all->sentences; sentence++)
        for (int head = 0; head < all->heads; head++) work_on(all, sentence, head, work);
    free(work);
    return 0;
}

static int32_t train_attend(const sl_attention *all) { return each_head(all, look); }
static int32_t train_attend_back(const sl_attention *all) { return each_head(all, look_back); }

/* One step of an LSTM from its projected inputs and the product with the state before it; gates lie in
 * the order input, forget, output, candidate. */
static void train_lstm(const half *sums, const half *product, const float *cell, float *gates, float *after,
                       float *squashed, float *hidden, half *halved, int64_t rows, int32_t width) {
    for (int64_t row = 0; row < rows; row++) {
        const half *sum = sums + 4 * row * width, *more = product + 4 * row * width;
        float *gate = gates + 4 * row * width;
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            vec g[4];
            for (int n = 0; n < 4; n++) {
                const long at = (long)n * width + i;
                const vec total = v_add(h_load(sum + at, which), h_load(more + at, which));
                g[n] = n < 3 ? v_sigmoid(total) : v_tanh(total);
                f_store(gate + at, g[n], which);
            }
            const long at = row * width + i;
            const vec kept = v_fma(g[0], g[3], v_mul(g[1], f_load(cell + at, which))), shown = v_tanh(kept);
            f_store(after + at, kept, which);
            f_store(squashed + at, shown, which);
            f_store(hidden + at, v_mul(g[2], shown), which);
            h_store(halved + at, v_mul(g[2], shown), which);
        }
    }
}

/* Its gradient: of the sums, and of the cell before, in place of that of the cell after. */
static void train_lstm_back(const float *gates, const float *cell, const float *squashed,
                            const float *to_hidden, float *to_cell, half *delta, int64_t rows, int32_t width) {
    const vec one = v_set(1.0f);
    for (int64_t row = 0; row < rows; row++) {
        const float *gate = gates + 4 * row * width;
        half *out = delta + 4 * row * width;
        for (int i = 0; i < width; i += LANES) {
            const __mmask16 which = lanes(width - i);
            const long at = row * width + i;
            const vec enter = f_load(gate + i, which), keep = f_load(gate + width + i, which);
            const vec show = f_load(gate + 2l * width + i, which), news = f_load(gate + 3l * width + i, which);
            const vec shown = f_load(squashed + at, which), change = f_load(to_hidden + at, which);
            const vec opened = v_mul(show, _mm512_fnmadd_ps(shown, shown, one));
            const vec inner = v_fma(change, opened, f_load(to_cell + at, which));
            const vec before = f_load(cell + at, which);
            h_store(out + i, v_mul(v_mul(inner, news), v_mul(enter, v_sub(one, enter))), which);
            h_store(out + width + i, v_mul(v_mul(inner, before), v_mul(keep, v_sub(one, keep))), which);
            h_store(out + 2l * width + i, v_mul(v_mul(change, shown), v_mul(show, v_sub(one, show))), which);
            h_store(out + 3l * width + i, v_mul(v_mul(inner, enter), _mm512_fnmadd_ps(news, news, one)), which);
            f_store(to_cell + at, v_mul(inner, keep), which);
        }
    }
}

static const sl_training training = {
    .drop = train_drop, .add = train_add, .add_back = train_add_back, .relu = train_relu,
    .relu_back = train_relu_back, .norm = train_norm, .norm_back = train_norm_back, .loss = train_loss,
    .pair_loss = train_pair_loss,
    .attend = train_attend, .attend_back = train_attend_back,
    .lstm = train_lstm, .lstm_back = train_lstm_back,
};

#endif
