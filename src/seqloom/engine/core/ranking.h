/* The output layer, the logarithm of the sum of its exponentials, and its largest values, in one pass.
 *
 * A block of 64 logits of a few rows exists at a time, in the first cache. Each row keeps a
 * reference near the largest logit so far, a vector of sums of e^(logit - reference), and its
 * largest values in order. Most blocks hold none of these: one comparison tells.
 */
#ifndef SL_RANKING_H
#define SL_RANKING_H

#define REACH 40.0f /* how far above its reference a logit may be */

static inline int is_before(float value, int32_t symbol, float other, int32_t others) {
    return value > other || (value == other && symbol < others && value > -__builtin_inff());
}

/* Put a value in its place; among equals the lower symbol comes first. */
static inline void insert(float *best, int32_t *where, int count, float value, int32_t symbol) {
    int at = count - 1;
    while (at > 0 && is_before(value, symbol, best[at - 1], where[at - 1])) {
        best[at] = best[at - 1];
        where[at] = where[at - 1];
        at--;
    }
    best[at] = value;
    where[at] = symbol;
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

/* Columns without symbols come in order, so that only what is larger can come before what is there. */
static inline void collect(const sl_ranking *ranking, const float *logits, long column, float *best,
                           int32_t *where) {
    const int count = ranking->count;
    const int32_t *symbols = ranking->symbols;
    for (int i = 0; i < SL_BLOCK; i += LANES) {
        const vec values = v_load(logits + i), least = v_set(best[count - 1]);
        unsigned found = symbols ? ~v_above(least, values) & ((1u << LANES) - 1) : v_above(values, least);
        for (; found; found &= found - 1) {
            const int lane = __builtin_ctz(found);
            const long at = column + i + lane;
            if (symbols && logits[i + lane] == -__builtin_inff()) continue; /* perhaps no column at all */
            const int32_t symbol = symbols ? symbols[at] : (int32_t)at;
            if (is_before(logits[i + lane], symbol, best[count - 1], where[count - 1]))
                insert(best, where, count, logits[i + lane], symbol);
        }
    }
}

static inline void omit_columns(const sl_omitted *omitted, long column, float *logits) {
    for (int32_t i = 0; i < omitted->count; i++)
        if (omitted->columns[i] / SL_BLOCK == column / SL_BLOCK)
            logits[omitted->columns[i] - column] = -__builtin_inff();
}

/* Leave out what may not be chosen, and say whether anything was. */
static inline int close_columns(const sl_ranking *ranking, int row, long column, int next, float *logits) {
    int closed = 0;
    for (int i = next; i < ranking->closed_count && ranking->closed[i] < column + SL_BLOCK; i++) {
        logits[ranking->closed[i] - column] = -__builtin_inff();
        closed = 1;
    }
    if (ranking->endless && ranking->endless[row] && ranking->end / SL_BLOCK == column / SL_BLOCK) {
        logits[ranking->end - column] = -__builtin_inff();
        closed = 1;
    }
    return closed;
}

static inline void rank_row(const sl_ranking *ranking, int row, long column, int next, float *logits) {
    if (ranking->omitted) omit_columns(ranking->omitted + row, column, logits);
    float peak = block_peak(logits);
    add_exponentials(logits, ranking->sums + 16 * row, ranking->references + row, peak);
    if (!ranking->count) return;
    float *best = ranking->best + row * ranking->count;
    const float least = best[ranking->count - 1];
    if (close_columns(ranking, row, column, next, logits)) peak = block_peak(logits);
    if (peak > least || (ranking->symbols && peak == least))
        collect(ranking, logits, column, best, ranking->where + row * ranking->count);
}

static void rank(const sl_matrix *matrix, const sl_inputs *inputs, const sl_ranking *ranking) {
    sl_sums sums __attribute__((aligned(64)));
    float mine[SL_BLOCK] __attribute__((aligned(64)));
    int next = 0;
    for (long column = 0; column < matrix->outputs; column += SL_BLOCK) {
        while (next < ranking->closed_count && ranking->closed[next] < column) next++;
        for (int row = 0, rows; row < inputs->rows; row += rows) {
            rows = tile_rows(inputs->rows, row);
            sum_block(matrix, inputs, row, rows, column, &sums);
            for (int r = 0; r < rows; r++) {
                block_logits(matrix, inputs, row + r, column, &sums, r, mine);
                rank_row(ranking, row + r, column, next, mine);
            }
        }
    }
}

#endif
