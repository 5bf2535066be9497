/* shares.h - which rank writes which rectangles of a state that lies on many ranks.
 *
 * What several ranks have alike is written once, by the one of them that has least to write. */
#ifndef CHECKPOINT_SHARES_H
#define CHECKPOINT_SHARES_H
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

/* A rectangle that this rank writes. */
typedef struct Share {
    int64_t state; /* index in the state that was given */
    PartBox place;
} Share;

/* A rectangle of a tensor of the whole state. */
typedef struct WholeBox {
    int64_t tensor; /* index in Shares.whole */
    Box box;
} WholeBox;

struct Shares {
    Comm *comm;          /* NULL: this rank has no others */
    int64_t block_bytes; /* of checksums */
    const Share *mine;
    int64_t n;
    /* On rank 0: all tensors of all ranks, without numbers, and what each rank writes, in its
     * order. */
    const StateTensor *whole;
    int64_t n_whole;
    const WholeBox **of_rank;
    int64_t *n_of_rank;
};

/* Every rank of `comm` gives the parts that it has; nothing is sent but names and sizes. Holds as
 * long as these stay the same. All of it belongs to the arena, `comm` to the caller. The ranks
 * agree about errors. */
Error *shares_plan(Arena *a, Comm *comm, const StateTensor *state, int64_t n, Shares **out);
/* Ranks of the job, and the place of this one. */
int shares_ranks(const Shares *s);
int shares_rank(const Shares *s);

/* Rank 0 hears whether all ranks are well, and says so: an error on every rank if any has one, its
 * own or a silent one. */
Error *ranks_agree(Comm *comm, Error *mine);
/* Brings the bytes that each rank has to rank 0, which gets them by rank, and its own as they are.
 */
Error *ranks_collect(Arena *a, Comm *comm, Str mine, Str **out);
#endif
