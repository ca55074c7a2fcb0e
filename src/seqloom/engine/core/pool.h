/* Entries of a pool: what every block keeps of one token that a path has read. */
#ifndef SL_POOL_H
#define SL_POOL_H

#include "seqloom.h"

/* An entry's keys and values: for each block `width` keys and then as many values. It stays where it
 * is as long as the pool lives. */
float *sl_pool_cell(const sl_pool *pool, int32_t entry);

/* Entries that nobody looks at any more; they are taken again. 0, or 1 without memory. */
int sl_pool_give_back(sl_pool *pool, int32_t entry);

#endif
