/* Attention: queries that share their keys, and queries that each have a path of their own. */
#ifndef SL_ATTENTION_H
#define SL_ATTENTION_H

#define QUERIES 4 /* that are compared with the same keys at once */

/* Softmax over the first `count` values, of which there is one at least; the rest of the `room`, a
 * multiple of 16, becomes 0. The last vector of values is taken by itself, since part of it is no value. */
static void softmax(float *scores, int count, int room) {
    const int last = (count - 1) / LANES * LANES, real = count - last;
    const vec tail = v_first(v_load(scores + last), real, v_set(-__builtin_inff()));
    vec most = tail;
    for (int i = 0; i < last; i += LANES) most = v_max(most, v_load(scores + i));
    const vec peak = v_set(v_largest(most));
    const vec tail_share = v_first(v_exp(v_sub(tail, peak)), real, v_set(0.0f));
    vec sum = tail_share;
    for (int i = 0; i < last; i += LANES) {
        vec share = v_exp(v_sub(v_load(scores + i), peak));
        sum = v_add(sum, share);
        v_store(scores + i, share);
    }
    const vec scale = v_set(1.0f / v_sum(sum));
    for (int i = 0; i < last; i += LANES) v_store(scores + i, v_mul(v_load(scores + i), scale));
    v_store(scores + last, v_mul(tail_share, scale));
    for (int i = last + LANES; i < room; i += LANES) v_store(scores + i, v_set(0.0f));
}

/* As many rows as there are lanes become columns: each round takes rows of the upper and of the lower
 * half in turn. */
INLINE void transpose_square(vec *rows) {
    UNROLL for (int round = 1; round < LANES; round *= 2) {
        vec turned[LANES];
        UNROLL for (int i = 0; i < LANES / 2; i++)
            v_zip(rows[i], rows[i + LANES / 2], turned + 2 * i, turned + 2 * i + 1);
        UNROLL for (int i = 0; i < LANES; i++) rows[i] = turned[i];
    }
}

/* Keys with positions side by side: (count, size) in rows of `stride` to (size, room), filled up with 0.
 * Size and room are multiples of 16. */
static void transpose(const float *from, long stride, int count, int size, float *to, int room) {
    for (int at = 0; at < room; at += LANES)
        for (int e = 0; e < size; e += LANES) {
            vec square[LANES];
            UNROLL for (int i = 0; i < LANES; i++)
                square[i] = at + i < count ? v_load(from + (at + i) * stride + e) : v_set(0.0f);
            transpose_square(square);
            UNROLL for (int i = 0; i < LANES; i++) v_store(to + (long)(e + i) * room + at, square[i]);
        }
}

/* Products of `rows` queries with all keys; keys lie with positions side by side, so that a vector
 * holds the scores of LANES positions and nothing has to be summed across lanes. A few rows have
 * several sums each, since an addition has to wait for the one before it. */
INLINE void compare_rows(int rows, int chains, const sl_head *head, const float *queries, long stride,
                         float *scores) {
    for (int at = 0; at < head->count; at += LANES) {
        vec sums[QUERIES][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int c = 0; c < chains; c++) sums[r][c] = v_set(0.0f);
        const float *keys = head->keys + at;
        for (int e = 0; e < head->size; e += chains)
            UNROLL for (int c = 0; c < chains; c++, keys += head->room) {
                vec key = v_load(keys);
                UNROLL for (int r = 0; r < rows; r++)
                    sums[r][c] = v_fma(v_set(queries[r * stride + e + c]), key, sums[r][c]);
            }
        UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int c = 1; c < chains; c++) sums[r][0] = v_add(sums[r][0], sums[r][c]);
            v_store(scores + r * head->room + at, sums[r][0]);
        }
    }
}

/* Means of values under weights, for `parts` vectors of each row from `e` on. */
INLINE void mix_part(int rows, int parts, const sl_head *head, int e, const float *weights, float *out,
                     long stride) {
    vec sums[QUERIES][WIDEST];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int p = 0; p < parts; p++) sums[r][p] = v_set(0.0f);
    const float *values = head->values + e;
    for (int s = 0; s < head->count; s++, values += head->value_stride) {
        vec value[WIDEST];
        UNROLL for (int p = 0; p < parts; p++) value[p] = v_load(values + p * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            vec weight = v_set(weights[r * head->room + s]);
            UNROLL for (int p = 0; p < parts; p++) sums[r][p] = v_fma(weight, value[p], sums[r][p]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int p = 0; p < parts; p++) v_store(out + r * stride + e + p * LANES, sums[r][p]);
}

INLINE void mix_rows(int rows, const sl_head *head, const float *weights, float *out, long stride) {
    int e = 0;
    for (; e + WIDEST * LANES <= head->size; e += WIDEST * LANES)
        mix_part(rows, WIDEST, head, e, weights, out, stride);
    for (; e < head->size; e += LANES) mix_part(rows, 1, head, e, weights, out, stride);
}

INLINE void attend_rows(int rows, const sl_head *head, const float *queries, long stride,
                        float *weights, float *out, long out_stride) {
    compare_rows(rows, rows == 1 ? 4 : rows == 4 ? 1 : 2, head, queries, stride, weights);
    for (int r = 0; r < rows; r++) softmax(weights + r * head->room, head->count, head->room);
    mix_rows(rows, head, weights, out, out_stride);
}

/* One head, for queries that look at the same source; weights are (rows, room). */
static void attend(const sl_head *head, const float *queries, long stride, int rows, float *weights,
                   float *out, long out_stride) {
    while (rows > 0) {
        int some = rows < QUERIES ? rows : QUERIES;
        if (rows == QUERIES + 1) some = 3; /* rather than 4 and 1 */
        switch (some) {
        case 1: attend_rows(1, head, queries, stride, weights, out, out_stride); break;
        case 2: attend_rows(2, head, queries, stride, weights, out, out_stride); break;
        case 3: attend_rows(3, head, queries, stride, weights, out, out_stride); break;
        default: attend_rows(4, head, queries, stride, weights, out, out_stride);
        }
        queries += some * stride;
        weights += some * head->room;
        out += some * out_stride;
        rows -= some;
    }
}

/* The two halves of `attend` by themselves, for weights that are not a softmax of the scores alone. */
static void compare(const sl_head *head, const float *queries, long stride, int rows, float *scores) {
    for (; rows >= 2; rows -= 2, queries += 2 * stride, scores += 2 * head->room)
        compare_rows(2, 2, head, queries, stride, scores);
    if (rows) compare_rows(1, 4, head, queries, stride, scores);
}

static void mix(const sl_head *head, const float *weights, int rows, float *out, long stride) {
    for (; rows >= 2; rows -= 2, weights += 2 * head->room, out += 2 * stride)
        mix_rows(2, head, weights, out, stride);
    if (rows) mix_rows(1, head, weights, out, stride);
}

/* Additive scores of one query: w . tanh(query + key), for the keys of LANES positions at a time. */
static void compare_sums(const sl_head *head, const float *query, const float *weigh, float *scores) {
    for (int at = 0; at < head->count; at += LANES) {
        vec sum = v_set(0.0f);
        const float *keys = head->keys + at;
        for (int e = 0; e < head->size; e++, keys += head->room)
            sum = v_fma(v_set(weigh[e]), v_tanh(v_add(v_set(query[e]), v_load(keys))), sum);
        v_store(scores + at, sum);
    }
}

/* Scores of one head's query with the keys of its path, four at a time. */
static inline void compare_path(const float *query, const float *const *cells, long offset, int count,
                                int size, float *scores) {
    for (int t = 0; t < count; t += 4) {
        const float *keys[4];
        for (int i = 0; i < 4; i++) keys[i] = cells[t + i < count ? t + i : count - 1] + offset;
        vec sums[4] = {v_set(0.0f), v_set(0.0f), v_set(0.0f), v_set(0.0f)};
        for (int e = 0; e < size; e += LANES) {
            vec part = v_load(query + e);
            UNROLL for (int i = 0; i < 4; i++) sums[i] = v_fma(part, v_load(keys[i] + e), sums[i]);
        }
        v_store_sums(scores + t, sums[0], sums[1], sums[2], sums[3]);
    }
}

INLINE void mix_path(int parts, const float *const *cells, long offset, int count, const float *weights,
                     float *out) {
    vec sums[WIDEST];
    UNROLL for (int p = 0; p < parts; p++) sums[p] = v_set(0.0f);
    for (int t = 0; t < count; t++) {
        vec weight = v_set(weights[t]);
        UNROLL for (int p = 0; p < parts; p++)
            sums[p] = v_fma(weight, v_load(cells[t] + offset + p * LANES), sums[p]);
    }
    UNROLL for (int p = 0; p < parts; p++) v_store(out + p * LANES, sums[p]);
}

/* All heads of one query, which sees the keys and values of its own path only: cell t holds them,
 * heads * size keys and then as many values, `offset` floats from where it begins. */
static void attend_path(const float *query, const float *const *cells, long offset, int count,
                        int heads, int size, float *weights, float *out) {
    const int room = (count + 15) / 16 * 16, width = heads * size;
    for (int h = 0; h < heads; h++) {
        compare_path(query + h * size, cells, offset + h * size, count, size, weights);
        softmax(weights, count, room);
        int e = h * size;
        for (; e + WIDEST * LANES <= (h + 1) * size; e += WIDEST * LANES)
            mix_path(WIDEST, cells, offset + width + e, count, weights, out + e);
        for (; e < (h + 1) * size; e += LANES)
            mix_path(1, cells, offset + width + e, count, weights, out + e);
    }
}

#endif
