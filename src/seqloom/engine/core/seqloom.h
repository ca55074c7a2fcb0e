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
typedef enum {
    SL_IDENTITY = 0,
    SL_RELU = 1,
    SL_GELU = 2,
    SL_GATED = 3,
    SL_TANH = 4,
    SL_SIGMOID = 5,
    SL_SWISH = 6
} sl_activation;
typedef enum { SL_ELMAN = 0, SL_LSTM = 1, SL_GRU = 2, SL_SSRU = 3 } sl_unit_kind;
typedef enum { SL_NO_QUERY = 0, SL_CURRENT = 1, SL_PREVIOUS = 2, SL_FED = 3 } sl_query;
typedef enum { SL_DOT = 0, SL_ADDITIVE = 1, SL_PERCEPTRON = 2 } sl_score;
typedef enum { SL_EVERY = 0, SL_CODE = 1, SL_MEAN = 2, SL_MAXIMUM = 3 } sl_pooling;
typedef enum { SL_OWN = 0, SL_COPIED = 1, SL_MAPPED = 2, SL_READ = 3 } sl_first;

/* A linear map. Weights are packed in blocks of 64 columns: float32 as (block, input, 64), int8 as
 * (block, input / 4, 64, 4), bfloat16 as (block, input / 2, 64, 2). A product of bytes is multiplied
 * by the row's scale and the column's, one of bfloat16 is taken as it is; `offsets` is 128 times the sum of a column's bytes. */
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

/* A recurrent unit. Its state is `width` values, of which `real` are not 0 for good, and for an LSTM as
 * many more, its cell. The sums of gates lie side by side, `width` each: input, forget, output and
 * candidate of an LSTM; reset, update and candidate of a GRU; gate and value of an SSRU. */
typedef struct {
    int32_t kind, activation; /* activation: of an Elman unit */
    int32_t width, real;
    int32_t reset_after, take; /* of a GRU: where the reset gate acts, what the update gate means */
    sl_matrix project; /* from inputs to sums */
    sl_matrix recur; /* from the state before; of a GRU that resets before, without its candidate */
    sl_matrix candidate; /* of such a GRU */
} sl_unit;

/* A layer: one unit, or one for each direction, whose outputs lie side by side. */
typedef struct {
    sl_unit units[2];
    int32_t directions, backward; /* backward: the first reads from the end */
    int32_t inputs, residual; /* values that it reads; whether these are added to its outputs */
    sl_norm norm;
} sl_layer;

/* How recurrent layers are wired: of an encoder, the layers alone. An entry of a decoder's pool is the
 * state of every layer, one part after the other, and the last features where they are needed. */
typedef struct {
    int32_t layers, parts, width; /* parts of a state, and values of each, filled up */
    int32_t output; /* values of the top layer that are real, all directions */
    int32_t vectors; /* of a token */
    int32_t feedback, soft, code_input, code_first, code_output; /* what enters, and what is shown */
    int32_t feed; /* the features of the step before enter, too */
    int32_t summed; /* inputs are added, not concatenated */
    int32_t query, score, heads, key; /* attention: key is the size of one head's, filled up */
    int32_t causal, window, gaussian, predicted; /* window 0: all positions are seen */
    int32_t source; /* values of an encoder's state */
    int32_t code; /* values of the code that enters or is shown */
    int32_t first_kind, readout_width;
    const sl_layer *stack;
    const float *first; /* the state before the first step, as an entry; of an encoder, as a code */
    const sl_matrix *joins; /* of inputs that are added: of each but the first */
    sl_matrix bridges[2]; /* from the code to the first state, by part */
    sl_matrix ask, keys, second; /* of attention; `ask` and `keys` may be absent */
    sl_matrix focus; /* of a predicted window */
    sl_matrix mean; /* of soft feedback: from probabilities to the mean vector of all tokens */
    const float *weigh, *focus_weigh;
    sl_matrix readout; /* absent: what is shown is concatenated */
    int32_t bridge_activation;
    float key_factor; /* of states that are keys as they are */
} sl_recurrent;

/* Blocks of an encoder or decoder, with the vectors they read: a token's and its position's, added,
 * or where positions are joint, a map of the sum's positive part. Or recurrent layers. */
typedef struct {
    int32_t width, heads, head, layers, norm_first, activation, vocabulary, positions;
    int32_t crossing, source_heads, source_head; /* attention to the source, if any */
    int32_t turned, joint;
    int32_t ssru; /* whether a simple recurrent unit is in place of self-attention */
    int32_t backwards, closing; /* an encoder that reads from the end, but for the last items */
    int32_t input; /* values of the vectors that are read */
    int32_t turned_states; /* backwards: states stay in the order of reading */
    int32_t real; /* values of a row that are real */
    int32_t prefix; /* of a decoder: what the encoder gives is read before the first token */
    const float *vectors, *places; /* (vocabulary, width) and (positions, width), rows aligned */
    const float *angles; /* (positions, head): sines and cosines in turn, where heads are turned */
    const sl_block *blocks;
    sl_norm norm;
    sl_matrix mix; /* of joint positions */
    sl_matrix sources; /* of a decoder: keys and values of the source, for all blocks side by side */
    sl_matrix output; /* of a decoder */
    const sl_recurrent *recurrent; /* in place of blocks */
} sl_stack;

/* What is encoded: tokens or, where there are none, vectors in aligned rows, sentence after sentence. */
typedef struct {
    int32_t sentences;
    const int32_t *lengths, *tokens;
    const float *inputs;
} sl_text;

/* A head: scores from every state of a sentence, or from one vector of `width` values for all of it. */
typedef struct {
    int32_t pool, width;
    sl_matrix readout; /* with tanh, before the output; may be absent */
    sl_matrix output;
} sl_scorer;

/* What an encoder says of whole sentences: (part, layer, width) in aligned rows. */
typedef struct {
    int32_t parts, layers, width;
    float *values;
} sl_codes;

/* What the paths of a sentence look at in every block: keys (layer, head, size, room), and values
 * (layer, head, room, size), in one piece of memory. Of a recurrent decoder: keys of each head, the
 * encoder's states as values, its code, and the state before the first step. */
typedef struct {
    int32_t count, room;
    float *keys, *values, *code, *first;
} sl_source;

typedef struct sl_pool sl_pool;
typedef struct sl_workspace sl_workspace;

/* What one pass through a decoder works on: rows of one token each. Rows with one source follow
 * each other. A row sees the `counts` first entries of its path, the last of which is its own. */
typedef struct {
    int32_t rows;
    const int32_t *tokens, *positions, *counts;
    const float *inputs; /* vectors in place of tokens, in aligned rows */
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

/* Symbols, in order, and their columns of the output layer. */
typedef struct {
    const int32_t *symbols;
    sl_matrix matrix; /* outputs: how many they are; 0 for none */
} sl_columns;

/* What sentences may write: all of them the symbols of `common`; each besides those that the lexicon has
 * for the tokens of its source, and symbols[starts[i]] to symbols[starts[i + 1]]. Symbols of `sample`,
 * none of which is common, count in the sum of exponentials for all that a sentence may not write. */
typedef struct {
    sl_columns common, sample;
    const int32_t *symbols, *starts; /* of sentences */
    const int32_t *lexicon, *lexicon_starts; /* of tokens; absent where there are none */
    const void *output_rows; /* the output layer's weights before they were packed */
} sl_lists;

typedef struct {
    int32_t sentences, steps; /* steps: room for the tokens of an output */
    const int32_t *tokens, *starts, *lengths; /* of sources: one after the other */
    const float *inputs; /* vectors in place of tokens */
    const int32_t *longest, *shortest; /* tokens of outputs; shortest may be absent */
    const sl_lists *lists; /* absent without a shortlist */
} sl_task;

typedef struct {
    int32_t *counts; /* (sentences): outputs; 0 until all of a sentence's are written */
    int32_t *tokens; /* (sentences, n_best, steps) */
    float *scores; /* the same */
    int32_t *lengths, *finished; /* (sentences, n_best) */
    float *ranks;
} sl_found;

/* Instruction sets */
int sl_choose(const char *name); /* 0, or -1 where this processor has none of that name */
const char *sl_source_hash(void); /* of the files that it was compiled from, as builder.py computes it */
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
void sl_halve(const float *values, int32_t rows, int32_t width, uint16_t *halves);
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
int32_t sl_entry_size(const sl_stack *decoder); /* floats of an entry */
sl_pool *sl_pool_new(int32_t size);
void sl_pool_free(sl_pool *pool);
int32_t sl_pool_take(sl_pool *pool, int32_t count, int32_t *entries);
int32_t sl_pool_used(const sl_pool *pool);
int32_t sl_pool_copy(sl_pool *pool, const sl_pool *from, int32_t count, const int32_t *entries,
                     int32_t *copies);
sl_codes sl_code_shape(const sl_stack *encoder); /* without values */
int64_t sl_code_size(const sl_codes *codes); /* floats of a row */
int sl_encode(const sl_stack *encoder, sl_workspace *space, const sl_text *text, float *states,
              float *codes);
int64_t sl_source_size(const sl_stack *decoder, int32_t count);
int sl_prepare(const sl_stack *decoder, sl_workspace *space, const float *states, const sl_codes *codes,
               const int32_t *lengths, int32_t sentences, sl_source *sources);
int sl_read(const sl_stack *decoder, sl_workspace *space, const sl_step *step, float *hidden);
int sl_write(const sl_stack *decoder, sl_workspace *space, const float *hidden, int32_t rows,
             float *logits);

/* Scores (rows, outputs in aligned rows), a row for each position or for each sentence; 0, or 1 where memory ran
 * out. Sentences that follow each other are encoded together, best of like lengths. */
int sl_score_all(const sl_stack *encoder, const sl_scorer *scorer, const sl_text *text, float *scores,
                 int32_t threads);

/* A whole search; 0, 1 where memory ran out, 2 where probabilities are no numbers */
int sl_search_all(const sl_stack *encoder, const sl_stack *decoder, const sl_search *search,
                  const sl_task *task, const sl_found *found, int32_t threads, int32_t together);

#endif
