/* The kernels that every instruction set has its own form of. */
#ifndef SL_KERNELS_H
#define SL_KERNELS_H

#include "seqloom.h"
#include "training_kernels.h"

/* Rows that are multiplied: as floats, as bytes of which 128 is 0 with a scale for each row, or as
 * bfloat16, two bytes each. */
typedef struct {
    int rows;
    const float *values;
    long stride;
    const uint8_t *bytes;
    long byte_stride;
    const float *scales;
} sl_inputs;

typedef struct {
    float *values;
    long stride;
    int activation;
    int add; /* to what is there */
} sl_outputs;

/* Keys and values of one head: keys (size, room), values (count, size) in rows of value_stride. */
typedef struct {
    const float *keys, *values;
    long value_stride;
    int size, count, room;
} sl_head;

/* Columns of a row that do not even count, in order. */
typedef struct {
    const int32_t *columns;
    int32_t count;
} sl_omitted;

/* The likeliest outputs of each row, in order, ties by the lower symbol, and the sum of all exponentials:
 * `sums` (rows, 16) are of e^(logit - reference). `sl_rank_begin` comes before the first matrix, whose
 * columns are in the order of their symbols; what other matrices give is added. */
typedef struct {
    int count; /* 0: nothing is chosen */
    float *best;
    int32_t *where;
    const int32_t *symbols; /* of each column; absent: its number */
    const int32_t *closed; /* columns that are never chosen, in order */
    int closed_count;
    int end; /* column that some rows may not choose */
    const uint8_t *endless; /* which rows, if any */
    const sl_omitted *omitted; /* of each row, if any */
    float *sums, *references;
} sl_ranking;

typedef struct {
    const char *name;
    void (*quantise)(const float *values, long stride, int rows, int width, uint8_t *bytes,
                     long byte_stride, float *scales);
    void (*halve)(const float *values, long stride, int rows, int width, uint16_t *halves,
                  long half_stride);
    void (*products)(const sl_matrix *matrix, const sl_inputs *inputs, int32_t *sums);
    void (*multiply)(const sl_matrix *matrix, const sl_inputs *inputs, const sl_outputs *outputs);
    void (*rank)(const sl_matrix *matrix, const sl_inputs *inputs, const sl_ranking *ranking);
    void (*normalise)(const sl_norm *norm, const float *values, long stride, int rows, float *out,
                      long out_stride);
    void (*gate)(float *values, long stride, int rows, int width);
    void (*softmax)(float *scores, int count, int room);
    void (*transpose)(const float *from, long stride, int count, int size, float *to, int room);
    void (*attend)(const sl_head *head, const float *queries, long stride, int rows, float *weights,
                   float *out, long out_stride);
    void (*attend_path)(const float *query, const float *const *cells, long offset, int count,
                        int heads, int size, float *weights, float *out);
    void (*recur)(const float *sums, const float *before, int width, float *cell, float *hidden);
    void (*compare)(const sl_head *head, const float *queries, long stride, int rows, float *scores);
    void (*compare_sums)(const sl_head *head, const float *query, const float *weigh, float *scores);
    void (*mix)(const sl_head *head, const float *weights, int rows, float *out, long stride);
    void (*reset)(const sl_unit *unit, const float *sums, const float *made, const float *before,
                  float *left);
    void (*advance)(const sl_unit *unit, const float *sums, const float *made, const float *before,
                    float *after);
    const sl_training *training; /* absent where there are no products of bfloat16 */
} sl_kernels;

extern const sl_kernels sl_kernels_plain;
extern const sl_kernels sl_kernels_avx2;
extern const sl_kernels sl_kernels_avx2_vnni;
extern const sl_kernels sl_kernels_avx512;
extern const sl_kernels sl_kernels_avx512_bf16;
extern const sl_kernels sl_kernels_neon;

const sl_kernels *sl_kernels_chosen(void);

void sl_rank_begin(const sl_ranking *ranking, int rows);
float sl_rank_norm(const sl_ranking *ranking, int row); /* the logarithm of the sum of exponentials */

static inline long sl_aligned(long count) { return (count + SL_BLOCK - 1) / SL_BLOCK * SL_BLOCK; }

#endif
