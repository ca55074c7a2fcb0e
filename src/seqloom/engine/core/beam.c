/* The rules of the searches; those of seqloom.search in Python, which the tests compare. */
#include "beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = 0 }; /* what a finished path goes on by */

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t forks_of(const sl_search *search) {
    return search->kind == SL_PATIENT ? 2 * search->width : search->width;
}

int32_t sl_beam_candidates(const sl_search *search, int32_t vocabulary) {
    return least(forks_of(search), vocabulary);
}

int sl_beam_begin(sl_beam *beam, const sl_search *search, int32_t longest, int32_t shortest) {
    const size_t most = (size_t)forks_of(search) + 1;
    if (!beam->paths) beam->paths = malloc(most * sizeof *beam->paths);
    if (!beam->forks) beam->forks = malloc(most * sizeof *beam->forks);
    if (!beam->paths || !beam->forks) return 1;
    beam->paths[0] = (sl_path){.token = search->start};
    beam->path_count = 1;
    beam->steps = beam->ended_count = 0;
    beam->longest = longest;
    beam->shortest = shortest;
    return 0;
}

void sl_beam_free(sl_beam *beam) {
    free(beam->paths);
    free(beam->forks);
    free(beam->nodes);
    free(beam->ended);
}

/* How outputs are compared: (log-probability + reward n) / (n^power ((5 + n) / 6)^gnmt). */
static float rank_of(const sl_search *search, float total, int32_t length) {
    const float n = (float)(length > 1 ? length : 1);
    float divisor = 1.0f;
    if (search->power != 0.0f) divisor = search->power == 1.0f ? n : powf(n, search->power);
    if (search->gnmt != 0.0f) divisor *= powf((5.0f + n) / 6.0f, search->gnmt);
    return (total + search->reward * (float)length) / divisor;
}

/* What no output that continues a path is above: probabilities only fall, and a length divides a
 * negative sum most when it is greatest. */
static float hope_of(const sl_search *search, const sl_path *path, int32_t longest) {
    int32_t length = search->reward < 0.0f ? path->length + 1 : longest;
    const float most = path->total + search->reward * (float)length;
    length = search->reward > 0.0f && most > 0.0f ? path->length + 1 : longest;
    sl_search plain = *search;
    plain.reward = 0.0f;
    return rank_of(&plain, most, length);
}

/* Put a fork in its place among the best so far; what comes first among equals stays first. */
static int offer(sl_path *forks, int32_t *count, int32_t most, const sl_path *fork) {
    if (*count == most && !(fork->total > forks[most - 1].total)) return 0;
    int32_t at = *count < most ? (*count)++ : most - 1;
    for (; at > 0 && forks[at - 1].total < fork->total; at--) forks[at] = forks[at - 1];
    forks[at] = *fork;
    return 1;
}

/* A finished path stays as it is; beside that, as many impossible forks as others have. */
static void offer_finished(sl_beam *beam, int32_t parent, int32_t *count, int32_t most, int32_t width) {
    sl_path fork = beam->paths[parent];
    fork.token = EMPTY;
    fork.parent = parent;
    fork.gain = 0.0f;
    offer(beam->forks, count, most, &fork);
    fork.gain = fork.total = -INFINITY;
    for (int32_t i = 1; i < width && offer(beam->forks, count, most, &fork); i++) {}
}

static int32_t gather_forks(sl_beam *beam, const sl_search *search, const sl_choices *choices) {
    const int32_t most = forks_of(search), width = choices->count;
    int32_t count = 0, row = 0;
    for (int32_t parent = 0; parent < beam->path_count; parent++) {
        const sl_path *path = beam->paths + parent;
        if (path->finished) {
            offer_finished(beam, parent, &count, most, width);
            continue;
        }
        for (int32_t i = 0; i < width; i++) {
            const float gain = choices->best[row * width + i] - choices->norms[row];
            sl_path fork = {.total = path->total + gain, .length = beam->steps + 1,
                            .token = choices->where[row * width + i], .parent = parent, .gain = gain};
            if (fork.total == -INFINITY) fork.token = search->end;
            fork.finished = fork.token == search->end;
            if (!offer(beam->forks, &count, most, &fork)) break;
        }
        row++;
    }
    return count;
}

/* The forks that are still paths after a step, with what leads back from them. */
static int keep(sl_beam *beam, const sl_search *search, const sl_path *paths, int32_t count) {
    const int32_t width = search->width;
    if (beam->steps * width + count > beam->node_room) {
        const int32_t room = 2 * beam->node_room + 16 * width;
        sl_node *nodes = realloc(beam->nodes, (size_t)room * sizeof *nodes);
        if (!nodes) return 1;
        beam->nodes = nodes;
        beam->node_room = room;
    }
    for (int32_t i = 0; i < count; i++) {
        beam->nodes[beam->steps * width + i] =
            (sl_node){paths[i].token, paths[i].parent, paths[i].gain};
        beam->paths[i] = paths[i];
    }
    beam->path_count = count;
    beam->steps++;
    return 0;
}

static int put_aside(sl_beam *beam, const sl_search *search, const sl_path *path) {
    if (beam->ended_count == beam->ended_room) {
        const int32_t room = 2 * beam->ended_room + 8;
        sl_ended *ended = realloc(beam->ended, (size_t)room * sizeof *ended);
        if (!ended) return 1;
        beam->ended = ended;
        beam->ended_room = room;
    }
    const float rank = rank_of(search, path->total, path->length);
    beam->ended[beam->ended_count++] = (sl_ended){*path, rank, beam->steps};
    return 0;
}

/* Patience: what ends among the `width` best is put aside, and enough of it is enough. */
static int advance_patiently(sl_beam *beam, const sl_search *search, int32_t count) {
    int32_t living = 0;
    for (int32_t i = 0; i < count; i++) {
        const sl_path *fork = beam->forks + i;
        if (!fork->finished)
            living++;
        else if (i < search->width && fork->total > -INFINITY && put_aside(beam, search, fork))
            return -1;
    }
    const int done = beam->steps + 1 >= beam->longest || beam->ended_count >= search->enough || !living;
    if (done && beam->ended_count == 0 && put_aside(beam, search, beam->forks)) return -1;
    int32_t kept = 0;
    for (int32_t i = 0; i < count && kept < search->width; i++)
        if (!beam->forks[i].finished) beam->forks[kept++] = beam->forks[i];
    return keep(beam, search, beam->forks, kept) ? -1 : done;
}

/* Whether the n_best best finished paths cannot be overtaken, or no path is left to go on. */
static int settled(const sl_beam *beam, const sl_search *search) {
    const int32_t wanted = search->first ? 1 : search->n_best;
    float best = -INFINITY;
    int32_t living = 0;
    for (int32_t i = 0; i < beam->path_count; i++)
        if (!beam->paths[i].finished) {
            const float hope = hope_of(search, beam->paths + i, beam->longest);
            best = hope > best ? hope : best;
            living++;
        }
    int32_t reached = 0;
    for (int32_t i = 0; i < beam->path_count; i++) {
        const sl_path *path = beam->paths + i;
        const float rank = rank_of(search, path->total, path->length);
        if (path->finished && rank >= best && rank > -INFINITY) reached++;
    }
    if (reached >= least(wanted, beam->path_count)) return 1;
    return !living;
}

int sl_beam_advance(sl_beam *beam, const sl_search *search, const sl_choices *choices) {
    const int32_t count = gather_forks(beam, search, choices);
    if (search->kind == SL_PATIENT) return advance_patiently(beam, search, count);
    if (keep(beam, search, beam->forks, count)) return -1;
    if (beam->steps >= beam->longest) return 1;
    return search->kind == SL_GREEDY ? beam->paths[0].finished : settled(beam, search);
}

/* Tokens and scores of a path that leads back from a slot of a step. */
static void trace_back(const sl_beam *beam, int32_t width, int32_t step, int32_t slot, int32_t length,
                       int32_t *tokens, float *scores) {
    for (; step >= 0; step--) {
        const sl_node *node = beam->nodes + step * width + slot;
        if (step < length) {
            tokens[step] = node->token;
            scores[step] = node->gain;
        }
        slot = node->parent;
    }
}

/* Say last of all how many outputs there are, since who reads them may be waiting for it. */
static void finish(const sl_found *found, int32_t sentence, int32_t count) {
    __atomic_store_n(found->counts + sentence, count, __ATOMIC_RELEASE);
}

/* The paths, best first, where forks were: each with its rank for a gain and its slot for a parent.
 * Among equals, what came first stays first. */
static void sort_paths(sl_beam *beam, const sl_search *search) {
    for (int32_t i = 0; i < beam->path_count; i++) {
        sl_path path = beam->paths[i];
        path.parent = i;
        path.gain = search->kind == SL_GREEDY ? path.total : rank_of(search, path.total, path.length);
        int32_t at = i;
        for (; at > 0 && path.gain > beam->forks[at - 1].gain; at--)
            beam->forks[at] = beam->forks[at - 1];
        beam->forks[at] = path;
    }
}

/* Outputs are the best paths that have ended; where none has, the best that there is. */
static void write_beam(sl_beam *beam, const sl_search *search, const sl_found *found,
                       int32_t sentence, int32_t room) {
    int32_t good = 0, count = 0;
    sort_paths(beam, search);
    for (int32_t i = 0; i < beam->path_count; i++)
        good += beam->forks[i].finished && beam->forks[i].gain > -INFINITY;
    for (int32_t i = 0; i < beam->path_count && count < search->n_best; i++) {
        const sl_path *path = beam->forks + i;
        if (good ? !path->finished || path->gain == -INFINITY : count > 0) continue;
        const long place = (long)sentence * search->n_best + count++;
        trace_back(beam, search->width, beam->steps - 1, path->parent, path->length,
                   found->tokens + place * room, found->scores + place * room);
        found->lengths[place] = path->length;
        found->finished[place] = path->finished;
        found->ranks[place] = path->gain;
    }
    finish(found, sentence, count);
}

static int better(const sl_ended *a, const sl_ended *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->step > b->step;
}

static void write_patient(sl_beam *beam, const sl_search *search, const sl_found *found,
                          int32_t sentence, int32_t room) {
    for (int32_t i = 1; i < beam->ended_count; i++) { /* a stable sort of few */
        sl_ended moved = beam->ended[i];
        int32_t at = i;
        for (; at > 0 && better(&moved, beam->ended + at - 1); at--) beam->ended[at] = beam->ended[at - 1];
        beam->ended[at] = moved;
    }
    const int32_t count = least(beam->ended_count, search->n_best);
    for (int32_t i = 0; i < count; i++) {
        const sl_ended *each = beam->ended + i;
        const long place = (long)sentence * search->n_best + i;
        int32_t *tokens = found->tokens + place * room;
        float *scores = found->scores + place * room;
        tokens[each->step] = each->path.token;
        scores[each->step] = each->path.gain;
        trace_back(beam, search->width, each->step - 1, each->path.parent, each->step, tokens, scores);
        found->lengths[place] = each->path.length;
        found->finished[place] = each->path.finished;
        found->ranks[place] = each->rank;
    }
    finish(found, sentence, count);
}

void sl_beam_results(sl_beam *beam, const sl_search *search, const sl_found *found,
                     int32_t sentence, int32_t room) {
    if (search->kind == SL_PATIENT)
        write_patient(beam, search, found, sentence, room);
    else
        write_beam(beam, search, found, sentence, room);
}
