/* The output layer, the logarithm of the sum of its exponentials, and its largest values, in one pass.
 *
 * A block of 64 logits of a few rows exists at a time, in the first cache. Each row keeps a
 * reference near the largest logit so far, a vector of sums of e^(logit - reference), and its
 * largest values in order. Most blocks hold none of these: one comparison tells.
 */
#ifndef SL_RANKING_H
#define SL_RANKING_H

#define REACH 40.0f /* how far above its reference a logit may be */

/* Put a value in its place; among equals the one that came first stays first. */
static inline void insert(float *best, int32_t *where, int count, float value, int32_t column) {
    int at = count - 1;
    while (at > 0 && best[at - 1] < value) {
        best[at] = best[at - 1];
        where[at] = where[at - 1];
        at--;
    }
    best[at] = value;
    where[at] = column;
}

static inline void add_exponentials(const float *logits, float *sums, float *reference, float peak) {
    if (peak == -__builtin_inff()) return; /* nothing is possible, and there may be no reference */
    if (peak > *reference + REACH) {
        /* The first block, whose reference is minus infinity, comes here too. */
        const float scale = *reference > -1e30f ? __builtin_expf(*reference - peak) : 0.0f;
        for (int i = 0; i < 16; i += LANES) v_store(sums + i, v_mul(v_load(sums + i), v_set(scale)));
        *reference = peak;
    }
    const vec centre = v_set(*reference);
    enum { PARTS = 16 / LANES };
    UNROLL for (int p = 0; p < PARTS; p++) {
        vec sum = v_load(sums + p * LANES);
        UNROLL for (int i = 0; i < SL_BLOCK; i += 16)
            sum = v_add(sum, v_exp(v_sub(v_load(logits + i + p * LANES), centre)));
        v_store(sums + p * LANES, sum);
    }
}

static inline void block_logits(const sl_matrix *matrix, const sl_inputs *inputs, int row, long column,
                                const sl_sums *sums, int number, float *logits) {
    vec values[SL_BLOCK / LANES];
    scale_row(matrix, inputs, row, column, sums, number, values);
    UNROLL for (int v = 0; v < SL_BLOCK / LANES; v++) v_store(logits + v * LANES, values[v]);
}

static inline float block_peak(const float *logits) {
    vec most = v_load(logits);
    for (int i = LANES; i < SL_BLOCK; i += LANES) most = v_max(most, v_load(logits + i));
    return v_largest(most);
}

static inline void collect(const float *logits, long column, float *best, int32_t *where, int count) {
    for (int i = 0; i < SL_BLOCK; i += LANES) {
        unsigned found = v_above(v_load(logits + i), v_set(best[count - 1]));
        for (; found; found &= found - 1) {
            const int lane = __builtin_ctz(found);
            if (logits[i + lane] > best[count - 1])
                insert(best, where, count, logits[i + lane], (int32_t)(column + i + lane));
        }
    }
}

/* Leave out what may not be chosen, and say whether anything was. */
static inline int close_columns(const sl_ranking *ranking, int row, long column, int *next, float *logits) {
    int closed = 0;
    for (int i = *next; i < ranking->closed_count && ranking->closed[i] < column + SL_BLOCK; i++) {
        logits[ranking->closed[i] - column] = -__builtin_inff();
        closed = 1;
    }
    if (ranking->endless && ranking->endless[row] && ranking->end / SL_BLOCK == column / SL_BLOCK) {
        logits[ranking->end - column] = -__builtin_inff();
        closed = 1;
    }
    return closed;
}

static void rank(const sl_matrix *matrix, const sl_inputs *inputs, const sl_ranking *ranking) {
    sl_sums sums __attribute__((aligned(64)));
    float mine[SL_BLOCK] __attribute__((aligned(64)));
    const int count = ranking->count;
    for (int row = 0; row < inputs->rows; row++) {
        ranking->references[row] = -__builtin_inff();
        for (int i = 0; i < 16; i++) ranking->sums[16 * row + i] = 0.0f;
        for (int i = 0; i < count; i++) {
            ranking->best[row * count + i] = -__builtin_inff();
            ranking->where[row * count + i] = 0;
        }
    }
    int next = 0;
    for (long column = 0; column < matrix->outputs; column += SL_BLOCK) {
        while (next < ranking->closed_count && ranking->closed[next] < column) next++;
        for (int row = 0, rows; row < inputs->rows; row += rows) {
            rows = tile_rows(inputs->rows, row);
            sum_block(matrix, inputs, row, rows, column, &sums);
            for (int r = 0; r < rows; r++) {
                const int at = row + r;
                float *best = ranking->best + at * count;
                block_logits(matrix, inputs, at, column, &sums, r, mine);
                float peak = block_peak(mine);
                add_exponentials(mine, ranking->sums + 16 * at, ranking->references + at, peak);
                if (close_columns(ranking, at, column, &next, mine)) peak = block_peak(mine);
                if (peak > best[count - 1])
                    collect(mine, column, best, ranking->where + at * count, count);
            }
        }
    }
    for (int row = 0; row < inputs->rows; row++) {
        float sum = 0.0f;
        for (int i = 0; i < 16; i++) sum += ranking->sums[16 * row + i];
        ranking->norms[row] = ranking->references[row] + __builtin_logf(sum);
    }
}

#endif
