/* piece_numbers.h - where the numbers of a piece lie, and how a file gets its bytes of them.
 *
 * All that is saved is read by piece_copy, block by block, unless it lies in memory as in the file
 * (piece_span): numbers that lie in another way are put together there, in `take`, and nowhere
 * else. */
#ifndef CHECKPOINT_PIECE_NUMBERS_H
#define CHECKPOINT_PIECE_NUMBERS_H
#include "base/thread.h"
#include "checkpoint/box.h"

/* Rectangle `what` in the dense numbers of `part`. */
typedef struct PieceNumbers {
    Box what, part;
    size_t element; /* bytes */
    const void *data;
    bool in_halves; /* numbers in f32, of which the high halves of all come first */
} PieceNumbers;

/* Bytes of the piece, dense. */
size_t piece_bytes(const PieceNumbers *p);
/* Where bytes [from, from + *n) of the dense piece lie as they are in the file; *n becomes how many
 * of them do. NULL: they have to be put together. */
const char *piece_span(const PieceNumbers *p, size_t from, size_t *n);
/* Copies bytes [from, from + n) of the dense piece to `to`, blocks of block_bytes by the threads of
 * `pool` (NULL: the caller alone), and adds them to the checksums of the piece's blocks; `crc`
 * NULL: there are none. `to` NULL: only that, for bytes of a piece_span. */
void piece_copy(const PieceNumbers *p, size_t from, size_t n, char *to, size_t block_bytes,
                uint32_t *crc, Pool *pool);
#endif
