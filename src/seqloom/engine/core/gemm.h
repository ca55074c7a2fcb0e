/* Products of a few rows with a packed matrix.
 *
 * A tile of sums stays in registers while all inputs are gone through: TILE_ROWS rows times
 * TILE_VECTORS vectors of columns. The columns of a block are used for all rows before the next
 * block is touched, so that its weights come from memory once.
 */
#ifndef SL_GEMM_H
#define SL_GEMM_H

#define TILE_COLUMNS (TILE_VECTORS * LANES)

/* Sums of products, which are floats or, of bytes, whole numbers. They pass through the first cache on
 * their way to what is made of them: a tile that did it all would need more registers than there are. */
typedef union {
    float floats[TILE_ROWS * SL_BLOCK];
    int32_t ints[TILE_ROWS * SL_BLOCK];
} sl_sums;

/* `rows` is a constant where this is called; `part` is the first of a tile's columns in its block. */
INLINE void float_tile(int rows, const sl_matrix *matrix, const sl_inputs *inputs, int row, long column,
                       int part, sl_sums *out) {
    const int depth = matrix->inputs;
    const long jump = inputs->stride;
    const float *x = inputs->values + row * jump;
    const float *w = (const float *)matrix->weights + column * depth + part;
    vec sums[TILE_ROWS][TILE_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) sums[r][v] = v_set(0.0f);
    for (int k = 0; k < depth; k++, w += SL_BLOCK) {
        vec weights[TILE_VECTORS];
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) weights[v] = v_load(w + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            vec input = v_set(x[r * jump + k]);
            UNROLL for (int v = 0; v < TILE_VECTORS; v++)
                sums[r][v] = v_fma(input, weights[v], sums[r][v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < TILE_VECTORS; v++)
            v_store(out->floats + r * SL_BLOCK + part + v * LANES, sums[r][v]);
}

/* The same for bytes: exact sums of inputs, with their sign, times weights. */
INLINE void byte_tile(int rows, const sl_matrix *matrix, const sl_inputs *inputs, int row, long column,
                      int part, sl_sums *out) {
    const int groups = matrix->inputs / 4;
    const long jump = inputs->byte_stride;
    const uint8_t *x = inputs->bytes + row * jump;
    const int8_t *w = (const int8_t *)matrix->weights + column * matrix->inputs + part * 4;
    ivec sums[TILE_ROWS][TILE_VECTORS];
    UNROLL for (int v = 0; v < TILE_VECTORS; v++) {
        ivec first = iv_set(0);
        if (BYTE_OFFSET) first = iv_sub(first, iv_load_ints(matrix->offsets + column + part + v * LANES));
        UNROLL for (int r = 0; r < rows; r++) sums[r][v] = first;
    }
    for (int k = 0; k < groups; k++, w += 4 * SL_BLOCK) {
        ivec weights[TILE_VECTORS];
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) weights[v] = iv_load(w + v * 4 * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            ivec input = iv_inputs(x + r * jump + 4 * k);
            UNROLL for (int v = 0; v < TILE_VECTORS; v++)
                sums[r][v] = iv_dot(sums[r][v], input, weights[v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < TILE_VECTORS; v++)
            __builtin_memcpy(out->ints + r * SL_BLOCK + part + v * LANES, &sums[r][v], sizeof(ivec));
}

/* The same for pairs of bfloat16, which are added as float32. */
INLINE void pair_tile(int rows, const sl_matrix *matrix, const sl_inputs *inputs, int row, long column,
                      int part, sl_sums *out) {
    const int pairs = matrix->inputs / 2;
    const long jump = inputs->byte_stride;
    const uint8_t *x = inputs->bytes + row * jump;
    const uint16_t *w = (const uint16_t *)matrix->weights + column * matrix->inputs + part * 2;
    vec sums[TILE_ROWS][TILE_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) sums[r][v] = v_set(0.0f);
    for (int k = 0; k < pairs; k++, w += 2 * SL_BLOCK) {
        pvec weights[TILE_VECTORS];
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) weights[v] = pv_load(w + v * 2 * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            pvec input = pv_inputs(x + r * jump + 4 * k);
            UNROLL for (int v = 0; v < TILE_VECTORS; v++)
                sums[r][v] = pv_dot(sums[r][v], input, weights[v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < TILE_VECTORS; v++)
            v_store(out->floats + r * SL_BLOCK + part + v * LANES, sums[r][v]);
}

/* Call a tile with a constant number of rows, so that its loops are unrolled. */
#define WITH_ROWS(rows, tile, ...)                  \
    switch (rows) {                                 \
    case 1: tile(1, __VA_ARGS__); break;            \
    case 2: tile(2, __VA_ARGS__); break;            \
    case 3: tile(3, __VA_ARGS__); break;            \
    case 4: tile(4, __VA_ARGS__); break;            \
    case 5: tile(TILE_ROWS < 5 ? 1 : 5, __VA_ARGS__); break; \
    default: tile(TILE_ROWS < 6 ? 1 : 6, __VA_ARGS__);       \
    }

/* Sums of the block of 64 columns that begins at `column`, for some rows. */
static void sum_block(const sl_matrix *matrix, const sl_inputs *inputs, int row, int rows, long column,
                      sl_sums *sums) {
    for (int part = 0; part < SL_BLOCK; part += TILE_COLUMNS) {
        if (matrix->kind == SL_INT8) {
            WITH_ROWS(rows, byte_tile, matrix, inputs, row, column, part, sums)
        } else if (matrix->kind == SL_BFLOAT16) {
            WITH_ROWS(rows, pair_tile, matrix, inputs, row, column, part, sums)
        } else {
            WITH_ROWS(rows, float_tile, matrix, inputs, row, column, part, sums)
        }
    }
}

/* Sums to values: scales and bias. */
static inline void scale_row(const sl_matrix *matrix, const sl_inputs *inputs, int row, long column,
                             const sl_sums *sums, int number, vec *out) {
    enum { VECTORS = SL_BLOCK / LANES };
    const float *bias = matrix->bias + column;
    if (matrix->kind == SL_INT8) {
        const vec own = v_set(inputs->scales[row]);
        UNROLL for (int v = 0; v < VECTORS; v++) {
            vec sum = v_from_ints(iv_load_ints(sums->ints + number * SL_BLOCK + v * LANES));
            vec both = v_mul(own, v_load(matrix->scales + column + v * LANES));
            out[v] = v_fma(sum, both, v_load(bias + v * LANES));
        }
    } else {
        UNROLL for (int v = 0; v < VECTORS; v++)
            out[v] = v_add(v_load(sums->floats + number * SL_BLOCK + v * LANES), v_load(bias + v * LANES));
    }
}

/* Values to outputs: activation, and the sum with what is there. */
static void finish_block(const sl_matrix *matrix, const sl_inputs *inputs, int row, int rows, long column,
                         const sl_sums *sums, const sl_outputs *outputs) {
    enum { VECTORS = SL_BLOCK / LANES };
    for (int r = 0; r < rows; r++) {
        vec values[VECTORS];
        float *out = outputs->values + (row + r) * outputs->stride + column;
        scale_row(matrix, inputs, row + r, column, sums, r, values);
        if (outputs->activation == SL_RELU)
            UNROLL for (int v = 0; v < VECTORS; v++) values[v] = v_max(values[v], v_set(0.0f));
        else if (outputs->activation == SL_GELU)
            for (int v = 0; v < VECTORS; v++) values[v] = v_gelu(values[v]);
        else if (outputs->activation == SL_TANH)
            for (int v = 0; v < VECTORS; v++) values[v] = v_tanh(values[v]);
        else if (outputs->activation == SL_SIGMOID)
            for (int v = 0; v < VECTORS; v++) values[v] = v_sigmoid(values[v]);
        else if (outputs->activation == SL_SWISH)
            for (int v = 0; v < VECTORS; v++) values[v] = v_mul(values[v], v_sigmoid(values[v]));
        if (outputs->add)
            UNROLL for (int v = 0; v < VECTORS; v++) values[v] = v_add(values[v], v_load(out + v * LANES));
        UNROLL for (int v = 0; v < VECTORS; v++) v_store(out + v * LANES, values[v]);
    }
}

/* Rows of the tile that begins at `row`: tiles are as equal as can be, since a tile of one row costs
 * almost as much as one of six. */
static inline int tile_rows(int rows, int row) {
    int left = rows - row, tiles = (left + TILE_ROWS - 1) / TILE_ROWS;
    return (left + tiles - 1) / tiles;
}

static void multiply(const sl_matrix *matrix, const sl_inputs *inputs, const sl_outputs *outputs) {
    sl_sums sums __attribute__((aligned(64)));
    for (long column = 0; column < matrix->outputs; column += SL_BLOCK)
        for (int row = 0, rows; row < inputs->rows; row += rows) {
            rows = tile_rows(inputs->rows, row);
            sum_block(matrix, inputs, row, rows, column, &sums);
            finish_block(matrix, inputs, row, rows, column, &sums, outputs);
        }
}

/* Sums of bytes as they are, for the law that all instruction sets give the same. */
static void products(const sl_matrix *matrix, const sl_inputs *inputs, int32_t *out) {
    const long stride = sl_aligned(matrix->outputs);
    sl_sums sums __attribute__((aligned(64)));
    for (long column = 0; column < matrix->outputs; column += SL_BLOCK)
        for (int row = 0, rows; row < inputs->rows; row += rows) {
            rows = tile_rows(inputs->rows, row);
            sum_block(matrix, inputs, row, rows, column, &sums);
            for (int r = 0; r < rows; r++)
                __builtin_memcpy(out + (row + r) * stride + column, sums.ints + r * SL_BLOCK,
                                 SL_BLOCK * sizeof *out);
        }
}

#endif
