/* block_sum.h - a 64-bit sum of large blocks that finds accidental damage at the speed of memory.
 */
#ifndef BASE_BLOCK_SUM_H
#define BASE_BLOCK_SUM_H
#include <stddef.h>
#include <stdint.h>

/* Any change within eight bytes gives another sum; other changes do but for one in 2^64. It is no
 * defence against forgery. */
uint64_t block_sum(const void *bytes, size_t n);
/* The same for a block that comes in pieces; zero-initialise. */
enum { BLOCK_SUM_LANES = 8 };
typedef struct BlockSum {
    uint64_t lane[BLOCK_SUM_LANES];
    uint8_t rest[8 * BLOCK_SUM_LANES]; /* of the bytes, what no step has taken */
    size_t n;                          /* bytes so far */
} BlockSum;
void block_sum_take(BlockSum *s, const void *bytes, size_t n);
/* The sum of the block; `s` is ready for the next one. */
uint64_t block_sum_end(BlockSum *s);
/* The sum of a sequence of blocks: begins with 0, takes the sums of the blocks in their order. */
uint64_t block_sum_add(uint64_t so_far, uint64_t sum);
#endif
