/* One sentence under search: its paths, how they go on, and which of them are outputs. */
#ifndef SL_BEAM_H
#define SL_BEAM_H

#include "seqloom.h"

enum { SL_GREEDY = 0, SL_BEAM = 1, SL_PATIENT = 2 };

typedef struct {
    float total; /* log-probability */
    int32_t length; /* tokens, the end marker among them */
    int32_t token; /* the last */
    int32_t parent; /* path of the step before */
    float gain; /* log-probability of the last token */
    int32_t finished;
} sl_path;

/* A step of a path, by which outputs are read backwards. */
typedef struct {
    int32_t token, parent;
    float gain;
} sl_node;

/* A path that has ended, of a search that puts these aside. */
typedef struct {
    sl_path path;
    float rank;
    int32_t step;
} sl_ended;

typedef struct {
    int32_t steps, longest, shortest;
    int32_t path_count, ended_count, ended_room, node_room;
    sl_path *paths, *forks; /* at most width and 2 * width */
    sl_node *nodes; /* (steps, width) */
    sl_ended *ended;
} sl_beam;

/* What each living path may write, in order: (rows, count) of tokens and logits, and norms. */
typedef struct {
    int32_t count;
    const float *best;
    const int32_t *where;
    const float *norms;
} sl_choices;

int sl_beam_begin(sl_beam *beam, const sl_search *search, int32_t longest, int32_t shortest);
void sl_beam_free(sl_beam *beam);

/* One step: 0 to go on, 1 when the sentence is done, -1 without memory. Choices are those of the
 * paths that have not finished, in order. */
int sl_beam_advance(sl_beam *beam, const sl_search *search, const sl_choices *choices);

/* Likeliest tokens of a path that a step has to know. */
int32_t sl_beam_candidates(const sl_search *search, int32_t vocabulary);

/* Write the outputs of a sentence that is done. */
void sl_beam_results(sl_beam *beam, const sl_search *search, const sl_found *found,
                     int32_t sentence, int32_t room);

#endif
