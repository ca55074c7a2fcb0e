/* A workspace is a list of blocks; after a reset all that was taken fits into a single one. */
#include "workspace.h"

#include <stdlib.h>

typedef struct piece {
    struct piece *next;
    size_t size, used;
    unsigned char *memory;
} piece;

struct sl_workspace {
    piece *pieces; /* the newest first */
    size_t total;
    uint8_t *bytes; /* inputs of the product that is being made */
    float *scales;
    size_t bytes_size, scales_size;
};

enum { ALIGNMENT = 64, LEAST = 1 << 20 };

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

sl_workspace *sl_workspace_new(void) { return calloc(1, sizeof(sl_workspace)); }

static void free_pieces(sl_workspace *space) {
    while (space->pieces) {
        piece *next = space->pieces->next;
        free(space->pieces->memory);
        free(space->pieces);
        space->pieces = next;
    }
}

void sl_workspace_free(sl_workspace *space) {
    if (!space) return;
    free_pieces(space);
    free(space->bytes);
    free(space->scales);
    free(space);
}

static int add_piece(sl_workspace *space, size_t size) {
    piece *fresh = malloc(sizeof *fresh);
    if (!fresh) return 1;
    fresh->memory = aligned_alloc(ALIGNMENT, rounded(size));
    if (!fresh->memory) {
        free(fresh);
        return 1;
    }
    fresh->size = rounded(size);
    fresh->used = 0;
    fresh->next = space->pieces;
    space->pieces = fresh;
    return 0;
}

void sl_space_reset(sl_workspace *space) {
    if (space->pieces && space->pieces->next) {
        const size_t wanted = space->total;
        free_pieces(space);
        add_piece(space, wanted); /* without memory, the next piece is asked for anew */
    } else if (space->pieces) {
        space->pieces->used = 0;
    }
    space->total = 0;
}

void *sl_space_take(sl_workspace *space, size_t bytes) {
    bytes = rounded(bytes ? bytes : 1);
    if (!space->pieces || space->pieces->used + bytes > space->pieces->size)
        if (add_piece(space, bytes > LEAST ? bytes : LEAST)) return NULL;
    void *taken = space->pieces->memory + space->pieces->used;
    space->pieces->used += bytes;
    space->total += bytes;
    return taken;
}

/* The one buffer for bytes, since only one product is made at a time. */
static int byte_room(sl_workspace *space, size_t bytes, size_t rows) {
    if (bytes > space->bytes_size) {
        free(space->bytes);
        space->bytes = aligned_alloc(ALIGNMENT, rounded(bytes));
        space->bytes_size = space->bytes ? rounded(bytes) : 0;
    }
    if (rows > space->scales_size) {
        free(space->scales);
        space->scales = malloc(rows * sizeof(float));
        space->scales_size = space->scales ? rows : 0;
    }
    return !space->bytes || !space->scales;
}

int sl_space_inputs(sl_workspace *space, const sl_matrix *matrix, const float *values, long stride,
                    int rows, sl_inputs *inputs) {
    *inputs = (sl_inputs){.rows = rows, .values = values, .stride = stride};
    if (matrix->kind == SL_FLOAT32) return 0;
    const long width = matrix->kind == SL_INT8 ? matrix->inputs : 2L * matrix->inputs;
    if (byte_room(space, (size_t)rows * (size_t)width, (size_t)rows)) return 1;
    inputs->bytes = space->bytes;
    inputs->byte_stride = width;
    if (matrix->kind == SL_BFLOAT16) {
        sl_kernels_chosen()->halve(values, stride, rows, matrix->inputs, (uint16_t *)(void *)space->bytes,
                                   matrix->inputs);
        return 0;
    }
    sl_kernels_chosen()->quantise(values, stride, rows, matrix->inputs, space->bytes, width,
                                  space->scales);
    inputs->scales = space->scales;
    return 0;
}

int sl_apply(sl_workspace *space, const sl_matrix *matrix, const float *values, long stride, int rows,
             const sl_outputs *out) {
    sl_inputs inputs;
    if (sl_space_inputs(space, matrix, values, stride, rows, &inputs)) return 1;
    sl_kernels_chosen()->multiply(matrix, &inputs, out);
    return 0;
}
