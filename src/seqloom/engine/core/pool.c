/* A pool grows by whole chunks, so that no entry ever moves. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 };

struct sl_pool {
    long cell; /* floats of an entry */
    float **chunks;
    int32_t chunk_count, chunk_room;
    int32_t used; /* entries that were ever taken */
    int32_t *free; /* of these, what was given back */
    int32_t free_count, free_room;
};

sl_pool *sl_pool_new(int32_t size) {
    sl_pool *pool = calloc(1, sizeof *pool);
    if (pool) pool->cell = size;
    return pool;
}

void sl_pool_free(sl_pool *pool) {
    if (!pool) return;
    for (int32_t i = 0; i < pool->chunk_count; i++) free(pool->chunks[i]);
    free(pool->chunks);
    free(pool->free);
    free(pool);
}

float *sl_pool_cell(const sl_pool *pool, int32_t entry) {
    return pool->chunks[entry / CHUNK] + entry % CHUNK * pool->cell;
}

static int add_chunk(sl_pool *pool) {
    if (pool->chunk_count == pool->chunk_room) {
        const int32_t room = pool->chunk_room ? 2 * pool->chunk_room : 16;
        float **chunks = realloc(pool->chunks, (size_t)room * sizeof *chunks);
        if (!chunks) return 1;
        pool->chunks = chunks;
        pool->chunk_room = room;
    }
    const size_t bytes = (size_t)CHUNK * (size_t)pool->cell * sizeof(float);
    float *chunk = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!chunk) return 1;
    pool->chunks[pool->chunk_count++] = chunk;
    return 0;
}

int32_t sl_pool_take(sl_pool *pool, int32_t count, int32_t *entries) {
    for (int32_t i = 0; i < count; i++) {
        if (pool->free_count) {
            entries[i] = pool->free[--pool->free_count];
            continue;
        }
        if (pool->used == pool->chunk_count * CHUNK && add_chunk(pool)) return 1;
        entries[i] = pool->used++;
    }
    return 0;
}

int sl_pool_give_back(sl_pool *pool, int32_t entry) {
    if (pool->free_count == pool->free_room) {
        const int32_t room = pool->free_room ? 2 * pool->free_room : 256;
        int32_t *larger = realloc(pool->free, (size_t)room * sizeof *larger);
        if (!larger) return 1;
        pool->free = larger;
        pool->free_room = room;
    }
    pool->free[pool->free_count++] = entry;
    return 0;
}

int32_t sl_pool_used(const sl_pool *pool) { return pool->used - pool->free_count; }

int32_t sl_pool_copy(sl_pool *pool, const sl_pool *from, int32_t count, const int32_t *entries,
                     int32_t *copies) {
    if (sl_pool_take(pool, count, copies)) return 1;
    for (int32_t i = 0; i < count; i++)
        memcpy(sl_pool_cell(pool, copies[i]), sl_pool_cell(from, entries[i]),
               (size_t)pool->cell * sizeof(float));
    return 0;
}
