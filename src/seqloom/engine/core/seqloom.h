/* The compiled core of Seqloom's engine: its data and its functions, for ctypes and for C.
 *
 * Whoever calls owns the memory of weights, inputs and results; the core only keeps pointers while
 * a call lasts. Pools and workspaces are the core's own and are freed by their functions.
 *
 * Layout. Rows of values are `SL_BLOCK` aligned: a row of n values takes sl_round(n) floats, the last of
 * them 0, so that no kernel has to look after a remainder. Sizes of heads are multiples of 16, filled
 * up with 0 by whoever packs the weights.
 */
#ifndef SEQLOOM_H
#define SEQLOOM_H

#include <stdint.h>

#define SL_BLOCK 64 /* columns of a packed matrix that lie side by side */

typedef enum { SL_FLOAT32 = 0, SL_INT8 = 1, SL_BFLOAT16 = 2 } sl_kind;
typedef enum { SL_IDENTITY = 0, SL_RELU = 1, SL_GELU = 2, SL_GATED = 3 } sl_activation;

/* A linear map. Weights are packed in blocks of 64 columns: float32 as (block, input, 64), int8 as
 * (block, input / 4, 64, 4), bfloat16 as (block, input / 2, 64, 2). A product of bytes is multiplied
 * by the row's scale and the column's; `offsets` is 128 times the sum of a column's bytes. */
typedef struct {
    int32_t kind, inputs, outputs, reserved;
    const void *weights;
    const float *scales;
    const int32_t *offsets;
    const float *bias; /* 0 where there is none; minus infinity for columns that are no outputs */
} sl_matrix;

typedef struct {
    const float *gain, *bias; /* both absent: no norm at all */
    float epsilon;
    int32_t width; /* values that are real */
} sl_norm;

typedef struct {
    sl_norm norms[3]; /* of self-attention, of cross-attention, of the inner network */
    sl_matrix project; /* queries, keys and values side by side; of a unit, gate and value */
    sl_matrix combine; /* of self-attention */
    sl_matrix query, merge; /* attention to the source */
    sl_matrix widen, narrow; /* the inner network */
} sl_block;

/* Blocks of an encoder or decoder, with the vectors they read: a token's and its position's, added,
 * or where positions are joint, a map of the sum's positive part. */
typedef struct {
    int32_t width, heads, head, layers, norm_first, activation, vocabulary, positions;
    int32_t crossing, source_heads, source_head; /* attention to the source, if any */
    int32_t turned, joint;
    int32_t recurrent, reserved; /* whether a simple recurrent unit is in place of self-attention */
    const float *vectors, *places; /* (vocabulary, width) and (positions, width), rows aligned */
    const float *angles; /* (positions, head): sines and cosines in turn, where heads are turned */
    const sl_block *blocks;
    sl_norm norm;
    sl_matrix mix; /* of joint positions */
    sl_matrix sources; /* of a decoder: keys and values of the source, for all blocks side by side */
    sl_matrix output; /* of a decoder */
} sl_stack;

/* What the paths of a sentence look at in every block: keys (layer, head, size, room), and values
 * (layer, head, room, size), in one piece of memory. */
typedef struct {
    int32_t count, room;
    float *keys, *values;
} sl_source;

typedef struct sl_pool sl_pool;
typedef struct sl_workspace sl_workspace;

/* What one pass through a decoder works on: rows of one token each. Rows with one source follow
 * each other. A row sees the `counts` first entries of its path, the last of which is its own. */
typedef struct {
    int32_t rows;
    const int32_t *tokens, *positions, *counts;
    const int32_t *const *paths;
    const sl_source *const *sources;
    sl_pool *pool;
    float *attention; /* (rows, attention_stride): mean weights of the last block, if wanted */
    int64_t attention_stride;
} sl_step;

typedef struct {
    int32_t kind; /* 0 greedy, 1 beam, 2 patient beam */
    int32_t width, n_best, enough, first;
    float power, gnmt, reward;
    int32_t start, end, forbidden_count;
    const int32_t *forbidden;
} sl_search;

/* Sentences to be searched. With a shortlist, sentence i may only use the symbols
 * words[word_starts[i]] to words[word_starts[i + 1]], which are in order. */
typedef struct {
    int32_t sentences, steps; /* steps: room for the tokens of an output */
    const int32_t *tokens, *starts, *lengths; /* of sources: one after the other */
    const int32_t *longest, *shortest; /* tokens of outputs; shortest may be absent */
    const int32_t *words, *word_starts; /* absent without a shortlist */
    const void *output_rows; /* the output layer's weights before they were packed, for shortlists */
} sl_task;

typedef struct {
    int32_t *counts; /* (sentences): outputs */
    int32_t *tokens; /* (sentences, n_best, steps) */
    float *scores; /* the same */
    int32_t *lengths, *finished; /* (sentences, n_best) */
    float *ranks;
} sl_found;

/* Instruction sets */
int sl_choose(const char *name); /* 0, or -1 where this processor has none of that name */
const char *sl_chosen(void);
const char *sl_supported(void); /* names, best first, separated by spaces */

/* Packing */
int64_t sl_round(int64_t count); /* up to whole blocks */
void sl_pack_float32(const float *weights, int32_t outputs, int32_t inputs, float *packed);
void sl_quantise_columns(const float *weights, int32_t outputs, int32_t inputs, int8_t *bytes,
                         float *scales, int32_t *offsets);
void sl_pack_bytes(const int8_t *rows, const int32_t *chosen, int32_t count, int32_t inputs,
                   int8_t *packed);
void sl_pack_chosen(const float *rows, const int32_t *chosen, int32_t count, int32_t inputs,
                    float *packed);

/* Single kernels, for tests and measurements */
void sl_quantise(const float *values, int32_t rows, int32_t width, uint8_t *bytes, float *scales);
void sl_products(const sl_matrix *matrix, const uint8_t *bytes, int32_t rows, int32_t *sums);
void sl_multiply(const sl_matrix *matrix, const float *values, int32_t rows, float *out,
                 int32_t activation, int32_t add);
void sl_normalise(const sl_norm *norm, const float *values, int32_t rows, float *out);
void sl_softmax(float *values, int32_t rows, int32_t count, int32_t room);
void sl_best(const sl_matrix *matrix, const float *values, int32_t rows, int32_t count, float *best,
             int32_t *where, float *norms);

/* Passes through a model */
sl_workspace *sl_workspace_new(void);
void sl_workspace_free(sl_workspace *space);
sl_pool *sl_pool_new(int32_t layers, int32_t width);
void sl_pool_free(sl_pool *pool);
int32_t sl_pool_take(sl_pool *pool, int32_t count, int32_t *entries);
int32_t sl_pool_used(const sl_pool *pool);
int32_t sl_pool_copy(sl_pool *pool, const sl_pool *from, int32_t count, const int32_t *entries,
                     int32_t *copies);
int sl_encode(const sl_stack *encoder, sl_workspace *space, const int32_t *tokens,
              const int32_t *lengths, int32_t sentences, float *states);
int64_t sl_source_size(const sl_stack *decoder, int32_t count);
int sl_prepare(const sl_stack *decoder, sl_workspace *space, const float *states,
               const int32_t *lengths, int32_t sentences, sl_source *sources);
int sl_read(const sl_stack *decoder, sl_workspace *space, const sl_step *step, float *hidden);
int sl_write(const sl_stack *decoder, sl_workspace *space, const float *hidden, int32_t rows,
             float *logits);

/* A whole search; 0, 1 where memory ran out, 2 where probabilities are no numbers */
int sl_search_all(const sl_stack *encoder, const sl_stack *decoder, const sl_search *search,
                  const sl_task *task, const sl_found *found, int32_t threads, int32_t together);

#endif
