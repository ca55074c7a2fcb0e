/* Whole searches: sentences come and go, and all their paths are read together.
 *
 * A worker holds up to `together` sentences. When some are done, others take their places, so that
 * products always have many rows; no sentence waits for the longest of a batch. Workers share
 * nothing but the number of the next sentence.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "beam.h"
#include "pool.h"
#include "shortlist.h"
#include "threads.h"
#include "workspace.h"

enum { NO_MEMORY = 1, NOT_A_NUMBER = 2 };

typedef struct {
    const sl_stack *encoder, *decoder;
    const sl_search *search;
    const sl_task *task;
    const sl_found *found;
    int32_t threads, together;
    atomic_int next; /* sentence that nobody has taken */
    atomic_int status;
} job;

typedef struct {
    int32_t number;
    sl_beam beam;
    sl_source source;
    int64_t source_room;
    int32_t prefix; /* entries that every path begins with */
    int32_t *lists[2]; /* entries of each path: now, and while paths follow their parents */
    int32_t list_room; /* entries of a path that there is memory for */
    int32_t *owned; /* entries of all paths */
    int32_t owned_count, owned_room;
    sl_shortlist shortlist; /* where there is one */
} sentence;

typedef struct {
    job *job;
    sl_workspace *space;
    sl_pool *pool;
    sentence *sentences;
    int32_t count; /* sentences at work, which are the first */
    int32_t *marks; /* when an entry was last seen by a path */
    int32_t marks_room, clock;
    /* rows of a step */
    int32_t *tokens, *positions, *counts, *entries, *where;
    const int32_t **paths;
    const sl_source **sources;
    uint8_t *endless;
    float *hidden, *best, *norms, *sums, *references;
    /* of a shortlist */
    sl_register symbols;
    sl_omitted *omitted;
    float *absent, *absent_sums; /* of each row; the sums of the sample, with their references */
} worker;

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static void *room(size_t count, size_t size) { return calloc(count ? count : 1, size); }

static int begin_worker(worker *me) {
    const job *job = me->job;
    const sl_stack *decoder = job->decoder;
    const size_t rows = (size_t)job->together * (size_t)job->search->width;
    const size_t candidates = (size_t)sl_beam_candidates(job->search, decoder->output.outputs);
    me->space = sl_workspace_new();
    me->pool = sl_pool_new(sl_entry_size(decoder));
    me->sentences = room((size_t)job->together, sizeof *me->sentences);
    me->tokens = room(rows, sizeof *me->tokens);
    me->positions = room(rows, sizeof *me->positions);
    me->counts = room(rows, sizeof *me->counts);
    me->entries = room(rows, sizeof *me->entries);
    me->paths = room(rows, sizeof *me->paths);
    me->sources = room(rows, sizeof *me->sources);
    me->endless = room(rows, sizeof *me->endless);
    me->hidden = aligned_alloc(64, rows * (size_t)sl_aligned(decoder->width) * sizeof(float));
    me->best = room(rows * candidates, sizeof *me->best);
    me->where = room(rows * candidates, sizeof *me->where);
    me->norms = room(rows, sizeof *me->norms);
    me->sums = room(rows * 16, sizeof *me->sums);
    me->references = room(rows, sizeof *me->references);
    me->omitted = room(rows, sizeof *me->omitted);
    me->absent = room(rows, sizeof *me->absent);
    me->absent_sums = room(rows * 17, sizeof *me->absent_sums);
    if (job->task->lists && sl_register_begin(&me->symbols, &decoder->output, job->task, job->search))
        return 1;
    return !(me->space && me->pool && me->sentences && me->tokens && me->positions && me->counts &&
             me->entries && me->paths && me->sources && me->endless && me->hidden &&
             me->best && me->where && me->norms && me->sums && me->references && me->omitted &&
             me->absent && me->absent_sums);
}

static void end_worker(worker *me) {
    for (int32_t i = 0; me->sentences && i < me->job->together; i++) {
        sentence *each = me->sentences + i;
        sl_beam_free(&each->beam);
        free(each->source.keys);
        free(each->lists[0]);
        free(each->lists[1]);
        free(each->owned);
        sl_shortlist_free(&each->shortlist);
    }
    void *all[] = {me->sentences, me->marks, me->tokens, me->positions, me->counts, me->entries,
                   me->where, me->paths, me->sources, me->endless, me->hidden, me->best,
                   me->norms, me->sums, me->references, me->omitted, me->absent, me->absent_sums};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    sl_register_free(&me->symbols);
    sl_pool_free(me->pool);
    sl_workspace_free(me->space);
}

/* Sentences for this worker: no more than its share of what is left, so that none is idle. */
static int32_t take(job *job, int32_t free, int32_t *first) {
    const int32_t all = job->task->sentences;
    int next = atomic_load(&job->next);
    for (;;) {
        if (next >= all) return 0;
        const int32_t share = (all - next + job->threads - 1) / job->threads;
        const int32_t count = least(free, share);
        if (atomic_compare_exchange_weak(&job->next, &next, next + count)) {
            *first = next;
            return count;
        }
    }
}

/* Entries that a path has now: of what it was given, and of what it has written. */
static int32_t entries_of(const sentence *each) { return each->prefix + each->beam.steps; }

static int grow_lists(sentence *each, int32_t width, int32_t wanted) {
    if (wanted < each->list_room) return 0;
    const int32_t wider = 2 * wanted + 16;
    for (int i = 0; i < 2; i++) {
        int32_t *larger = malloc((size_t)wider * (size_t)width * sizeof *larger);
        if (!larger) return 1;
        for (int32_t path = 0; path < width && each->list_room; path++)
            memcpy(larger + path * wider, each->lists[i] + path * each->list_room,
                   (size_t)each->list_room * sizeof *larger);
        free(each->lists[i]);
        each->lists[i] = larger;
    }
    each->list_room = wider;
    return 0;
}

static int own(sentence *each, int32_t entry) {
    if (each->owned_count == each->owned_room) {
        const int32_t larger = 2 * each->owned_room + 64;
        int32_t *owned = realloc(each->owned, (size_t)larger * sizeof *owned);
        if (!owned) return 1;
        each->owned = owned;
        each->owned_room = larger;
    }
    each->owned[each->owned_count++] = entry;
    return 0;
}

static int begin_sentence(worker *me, sentence *each, int32_t number) {
    const sl_task *task = me->job->task;
    const int64_t size = sl_source_size(me->job->decoder, task->lengths[number]);
    if (size > each->source_room) {
        free(each->source.keys);
        each->source.keys = aligned_alloc(64, (size_t)size * sizeof(float));
        each->source_room = each->source.keys ? size : 0;
        if (!each->source.keys) return 1;
    }
    each->number = number;
    each->owned_count = 0;
    each->prefix = 0;
    if (task->lists && sl_shortlist_fill(&each->shortlist, &me->symbols, &me->job->decoder->output,
                                         task, me->job->search, number))
        return 1;
    return sl_beam_begin(&each->beam, me->job->search, task->longest[number],
                         task->shortest ? task->shortest[number] : 0);
}

/* Where there is nothing to read. */
static int begin_sentences(worker *me, int32_t first, int32_t count) {
    int failed = 0;
    for (int32_t i = 0; i < count && !failed; i++)
        failed = begin_sentence(me, me->sentences + me->count + i, first + i);
    me->count += count;
    return failed;
}

/* Let the decoder read what the encoder gives of these sentences, before their first tokens. */
static int read_prefixes(worker *me, const float *states, const int32_t *lengths, int32_t count,
                         int32_t rows) {
    const sl_stack *decoder = me->job->decoder;
    const long from = sl_aligned(me->job->encoder->width), to = sl_aligned(decoder->width);
    int32_t *numbers = room((size_t)rows * 2, sizeof *numbers);
    const int32_t **paths = room((size_t)rows, sizeof *paths);
    float *inputs = room((size_t)(rows * to), sizeof *inputs);
    float *hidden = room((size_t)(rows * to), sizeof *hidden);
    int failed = !numbers || !paths || !inputs || !hidden;
    for (int32_t i = 0, row = 0; i < count && !failed; i++) {
        sentence *each = me->sentences + me->count + i;
        each->prefix = lengths[i];
        failed = grow_lists(each, me->job->search->width, lengths[i]) ||
                 sl_pool_take(me->pool, lengths[i], each->lists[0]);
        for (int32_t p = 0; p < lengths[i] && !failed; p++, row++) {
            failed = own(each, each->lists[0][p]);
            numbers[row] = p;
            numbers[rows + row] = p + 1;
            paths[row] = each->lists[0];
            memcpy(inputs + row * to, states + row * from,
                   (size_t)least((int32_t)from, (int32_t)to) * sizeof *inputs);
        }
    }
    const sl_step step = {.rows = rows, .positions = numbers, .counts = numbers + rows,
                          .inputs = inputs, .paths = paths, .pool = me->pool};
    failed = failed || sl_read(decoder, me->space, &step, hidden);
    free(numbers);
    free(paths);
    free(inputs);
    free(hidden);
    return failed;
}

/* Encode sentences and make ready what their paths will look at. */
static int read_sources(worker *me, int32_t first, int32_t count) {
    const job *job = me->job;
    const sl_task *task = job->task;
    const int32_t *lengths = task->lengths + first;
    size_t rows = 0;
    for (int32_t i = 0; i < count; i++) rows += (size_t)lengths[i];
    const sl_stack *encoder = job->encoder;
    sl_codes codes = sl_code_shape(encoder);
    const size_t code = (size_t)sl_code_size(&codes);
    float *states = aligned_alloc(64, rows * (size_t)sl_aligned(encoder->width) * sizeof *states);
    codes.values = aligned_alloc(64, (size_t)count * code * sizeof(float));
    sl_source *sources = room((size_t)count, sizeof *sources);
    int failed = !states || !codes.values || !sources;
    if (codes.values) memset(codes.values, 0, (size_t)count * code * sizeof(float));
    for (int32_t i = 0; i < count && !failed; i++) {
        failed = begin_sentence(me, me->sentences + me->count + i, first + i);
        sources[i] = me->sentences[me->count + i].source;
    }
    const sl_text text = {.sentences = count, .lengths = lengths,
                          .tokens = task->tokens ? task->tokens + task->starts[first] : NULL,
                          .inputs = task->inputs ? task->inputs + task->starts[first] *
                                                                      sl_aligned(encoder->input)
                                                 : NULL};
    failed = failed || sl_encode(encoder, me->space, &text, states, codes.values) ||
             (job->decoder->crossing &&
              sl_prepare(job->decoder, me->space, states, &codes, lengths, count, sources));
    for (int32_t i = 0; i < count && !failed; i++) me->sentences[me->count + i].source = sources[i];
    if (job->decoder->prefix && !failed)
        failed = read_prefixes(me, states, lengths, count, (int32_t)rows);
    free(states);
    free(codes.values);
    free(sources);
    me->count += count;
    return failed;
}

/* Let new sentences in when a quarter of the places is free. */
static int refill(worker *me) {
    const int32_t free = me->job->together - me->count;
    int32_t first = 0;
    if (me->count && 4 * free < me->job->together) return 0;
    const int32_t count = take(me->job, free, &first);
    if (!count) return 0;
    return me->job->encoder ? read_sources(me, first, count) : begin_sentences(me, first, count);
}

/* The rows of a sentence: its paths that have not finished, each with an entry for what it reads. */
static int add_rows(worker *me, sentence *each, int32_t *rows) {
    const int32_t read = entries_of(each);
    if (grow_lists(each, me->job->search->width, read)) return 1;
    for (int32_t i = 0; i < each->beam.path_count; i++) {
        const sl_path *path = each->beam.paths + i;
        if (path->finished) continue;
        const int32_t row = (*rows)++;
        int32_t *list = each->lists[0] + i * each->list_room;
        if (sl_pool_take(me->pool, 1, list + read)) return 1;
        if (own(each, list[read])) return 1;
        me->tokens[row] = path->token;
        me->positions[row] = read;
        me->counts[row] = read + 1;
        me->paths[row] = list;
        me->sources[row] = &each->source;
        me->endless[row] = each->beam.shortest - each->beam.steps > 1;
    }
    return 0;
}

/* Rows of a sentence that were read. */
static int32_t rows_of(const sentence *each) {
    int32_t living = 0;
    for (int32_t i = 0; i < each->beam.path_count; i++) living += !each->beam.paths[i].finished;
    return living;
}

/* What is chosen from, and what is not to be. */
typedef struct {
    const sl_matrix *matrix;
    const int32_t *symbols;
    const sl_closed *closed;
} choice;

/* Add the likeliest of some symbols to the likeliest of some rows. */
static void rank_rows(const sl_inputs *all, const sl_ranking *whole, int32_t first, int32_t rows,
                      const choice *from) {
    if (!from->matrix->outputs) return;
    sl_ranking ranking = *whole;
    ranking.best += first * whole->count;
    ranking.where += first * whole->count;
    ranking.symbols = from->symbols;
    ranking.closed = from->closed->columns;
    ranking.closed_count = from->closed->count;
    ranking.end = from->closed->end;
    ranking.endless = ranking.end < 0 ? NULL : whole->endless + first;
    ranking.sums += 16 * first;
    ranking.references += first;
    sl_inputs inputs = *all;
    inputs.rows = rows;
    inputs.values += first * inputs.stride;
    if (inputs.bytes) {
        inputs.bytes += first * inputs.byte_stride;
        if (inputs.scales) inputs.scales += first;
    }
    sl_kernels_chosen()->rank(from->matrix, &inputs, &ranking);
}

/* Of what all sentences may write, and of what each may. */
static void rank_lists(worker *me, const sl_inputs *inputs, const sl_ranking *ranking) {
    const sl_lists *lists = me->job->task->lists;
    const choice common = {&lists->common.matrix, lists->common.symbols, &me->symbols.common};
    rank_rows(inputs, ranking, 0, inputs->rows, &common);
    for (int32_t i = 0, row = 0; i < me->count; i++) {
        const sl_shortlist *list = &me->sentences[i].shortlist;
        const choice own = {&list->matrix, list->symbols, &list->closed};
        const int32_t mine = rows_of(me->sentences + i);
        rank_rows(inputs, ranking, row, mine, &own);
        for (const int32_t end = row + mine; row < end; row++) {
            me->omitted[row] = list->omitted;
            me->absent[row] = list->absent;
        }
    }
}

/* Count the symbols that a sentence may not write, by those of the sample, in the sum of exponentials. */
static void add_absent(worker *me, const sl_inputs *inputs) {
    const sl_matrix *sample = &me->job->task->lists->sample.matrix;
    const sl_ranking ranking = {.omitted = me->omitted, .sums = me->absent_sums,
                                .references = me->absent_sums + 16L * inputs->rows};
    if (!sample->outputs) return;
    sl_rank_begin(&ranking, inputs->rows);
    sl_kernels_chosen()->rank(sample, inputs, &ranking);
    for (int32_t row = 0; row < inputs->rows; row++) {
        const float rest = sl_rank_norm(&ranking, row) + me->absent[row], sum = me->norms[row];
        if (rest == -INFINITY) continue; /* the sample is all of what the sentence may write */
        me->norms[row] = fmaxf(rest, sum) + log1pf(expf(-fabsf(rest - sum)));
    }
}

static int choose(worker *me, int32_t rows, int32_t candidates) {
    const job *job = me->job;
    sl_inputs inputs;
    if (sl_space_inputs(me->space, &job->decoder->output, me->hidden, sl_aligned(job->decoder->width),
                        rows, &inputs))
        return NO_MEMORY;
    const sl_ranking ranking = {
        .count = candidates, .best = me->best, .where = me->where,
        .closed = job->search->forbidden, .closed_count = job->search->forbidden_count,
        .end = job->search->end, .endless = me->endless,
        .sums = me->sums, .references = me->references};
    sl_rank_begin(&ranking, rows);
    if (job->task->lists)
        rank_lists(me, &inputs, &ranking);
    else
        sl_kernels_chosen()->rank(&job->decoder->output, &inputs, &ranking);
    for (int32_t row = 0; row < rows; row++) me->norms[row] = sl_rank_norm(&ranking, row);
    if (job->task->lists) add_absent(me, &inputs);
    for (int32_t row = 0; row < rows; row++)
        if (!isfinite(me->norms[row])) return NOT_A_NUMBER;
    return 0;
}

static int read_rows(worker *me, int32_t rows) {
    const sl_step step = {.rows = rows, .tokens = me->tokens, .positions = me->positions,
                          .counts = me->counts, .paths = me->paths,
                          .sources = me->job->decoder->crossing ? me->sources : NULL,
                          .pool = me->pool};
    return sl_read(me->job->decoder, me->space, &step, me->hidden);
}

static int make_marks(worker *me, int32_t most) {
    if (most < me->marks_room) return 0;
    const int32_t larger = 2 * most + 256;
    int32_t *marks = realloc(me->marks, (size_t)larger * sizeof *marks);
    if (!marks) return 1;
    memset(marks + me->marks_room, 0, (size_t)(larger - me->marks_room) * sizeof *marks);
    me->marks = marks;
    me->marks_room = larger;
    return 0;
}

/* Give back the entries that no path sees any more. */
static int drop_entries(worker *me, sentence *each, int all) {
    int32_t kept = 0;
    const int32_t now = ++me->clock;
    for (int32_t i = 0; i < each->owned_count; i++)
        if (make_marks(me, each->owned[i])) return 1;
    for (int32_t i = 0; i < each->beam.path_count && !all; i++) {
        if (each->beam.paths[i].finished) continue;
        const int32_t *list = each->lists[0] + i * each->list_room;
        const int32_t count = entries_of(each); /* a recurrent decoder goes on from the last alone */
        for (int32_t t = me->job->decoder->recurrent ? count - 1 : 0; t < count; t++)
            me->marks[list[t]] = now;
    }
    for (int32_t i = 0; i < each->owned_count; i++) {
        const int32_t entry = each->owned[i];
        if (me->marks[entry] == now)
            each->owned[kept++] = entry;
        else if (sl_pool_give_back(me->pool, entry))
            return 1;
    }
    each->owned_count = kept;
    return 0;
}

/* Every path has the entries of the path that it continues. */
static int follow_parents(worker *me, sentence *each) {
    for (int32_t i = 0; i < each->beam.path_count; i++) {
        const sl_path *path = each->beam.paths + i;
        if (path->finished) continue;
        memcpy(each->lists[1] + i * each->list_room, each->lists[0] + path->parent * each->list_room,
               (size_t)entries_of(each) * sizeof(int32_t));
    }
    int32_t *before = each->lists[0];
    each->lists[0] = each->lists[1];
    each->lists[1] = before;
    const int unseen = me->job->search->width > 1 || me->job->decoder->recurrent;
    return unseen ? drop_entries(me, each, 0) : 0;
}

/* What each sentence makes of its choices; those that are done leave, and others close the gap. */
static int advance(worker *me, int32_t candidates) {
    const job *job = me->job;
    int32_t row = 0, staying = 0;
    for (int32_t i = 0; i < me->count; i++) {
        sentence *each = me->sentences + i;
        const int32_t living = rows_of(each);
        const sl_choices choices = {candidates, me->best + row * candidates,
                                    me->where + row * candidates, me->norms + row};
        row += living;
        const int done = sl_beam_advance(&each->beam, job->search, &choices);
        if (done < 0) return 1;
        if (done) {
            sl_beam_results(&each->beam, job->search, job->found, each->number, job->task->steps);
            if (drop_entries(me, each, 1)) return 1;
            continue;
        }
        if (follow_parents(me, each)) return 1;
        const sentence swapped = me->sentences[staying]; /* its memory is used again */
        me->sentences[staying++] = *each;
        if (staying - 1 != i) *each = swapped;
    }
    me->count = staying;
    return 0;
}

static int run(worker *me) {
    const int32_t candidates = sl_beam_candidates(me->job->search, me->job->decoder->output.outputs);
    if (begin_worker(me)) return NO_MEMORY;
    while (!atomic_load(&me->job->status)) {
        if (refill(me)) return NO_MEMORY;
        if (!me->count) break;
        int32_t rows = 0;
        for (int32_t i = 0; i < me->count; i++)
            if (add_rows(me, me->sentences + i, &rows)) return NO_MEMORY;
        if (read_rows(me, rows)) return NO_MEMORY;
        const int status = choose(me, rows, candidates);
        if (status) return status;
        if (advance(me, candidates)) return NO_MEMORY;
    }
    return 0;
}

static void work(void *data) {
    worker me = {.job = data};
    const int status = run(&me);
    if (status) atomic_store(&me.job->status, status);
    end_worker(&me);
}

int sl_search_all(const sl_stack *encoder, const sl_stack *decoder, const sl_search *search,
                  const sl_task *task, const sl_found *found, int32_t threads, int32_t together) {
    job all = {.encoder = encoder, .decoder = decoder, .search = search, .task = task,
               .found = found, .threads = threads, .together = together};
    sl_kernels_chosen();
    sl_run_threads(least(threads, task->sentences), work, &all);
    return atomic_load(&all.status);
}
