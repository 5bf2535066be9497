/* select_keys.h - which keys attention is to see: those that a narrow attention of its own, the
 * lightning indexer, scores highest (DeepSeek-AI 2025, DeepSeek Sparse Attention). */
#ifndef OPS_SELECT_KEYS_H
#define OPS_SELECT_KEYS_H
#include "graph/op.h"

typedef struct SelectKeys {
    int64_t top_k; /* keys of a query, at most */
    int64_t rate; /* tokens of a window that a key is, which must have ended; 1: a key is a token */
} SelectKeys;

/* Of queries q [b s h d] and keys k [b t d] with weights w [b s h], whose score is
 * sum over h of w relu(q k): for each query the indices [b s n] of the n = min(top_k, t) keys with
 * the highest score among those that it sees, of equal scores the earlier ones, in ascending order;
 * where it sees fewer, -1 follows them. A score that is no number is the lowest of all. Queries see
 * no later keys, and keys of their own document alone: documents [b s], or NULL. Positions are as
 * in ops/attention.h; where a key is a window of `rate` tokens (ops/compress.h), queries see those
 * that end with their own token or before. Nothing flows back. */
Value *select_keys(Graph *g, Value *q, Value *k, Value *w, Value *documents,
                   const SelectKeys *attrs);

/* A score as a number whose order is that of scores; on a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline uint32_t
    score_order(float score)
{
    union {
        float number;
        uint32_t bits;
    } u;
    u.number = score == score ? score + 0.0f : -1 / 0.0f; /* -0 is 0 */
    return u.bits >> 31 ? ~u.bits : u.bits | 0x80000000u;
}
#endif
