/* embed_cuda.h - what the kernels of a table's gradient share: tokens by row. Also compiles as
 * CUDA. */
#ifndef OPS_EMBED_CUDA_H
#define OPS_EMBED_CUDA_H
#include <stdint.h>

/* Of the sort: the most digits; tokens of a block at a time. Of the sums: tokens of a piece. */
enum { EMBED_DIGITS = 1024, EMBED_TILE = 512, EMBED_PIECE = 64 };

/* One pass of the sort. A token is its row above its number; those of no row come last, as the row
 * behind the table. Blocks have pieces of the tokens, which begin every `piece` tokens. */
typedef struct EmbedSort {
    const uint64_t *from; /* NULL: tokens as the ids have them */
    uint64_t *to;         /* the tokens sorted, after the last pass */
    int32_t *count;       /* [piece][digit] */
    float *partial;       /* sums of pieces of EMBED_PIECE tokens: [piece][width] */
    int32_t n, n_pieces, piece;
    int32_t shift, digits; /* the digit is row >> shift, below `digits`, a power of two */
} EmbedSort;
#endif
