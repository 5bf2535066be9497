/* attention.h - softmax(q k^T) v, and who may see whom. */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H
#include "graph/op.h"
#include <math.h>

typedef struct Attention {
    double scale;    /* of q k^T; 0: 1/sqrt(d) */
    double soft_cap; /* cap * tanh(score / cap); 0: none */
    double dropout;  /* of the probabilities, inverted; 0: none */
    /* A key that is n tokens ago counts by n alibi_slope less in the score (Press et al. 2021,
     * ALiBi); 0: it does not. Needs causal, and no soft cap. */
    double alibi;
    double alibi_scale; /* of these slopes; 0: 1 */
    int64_t window;     /* keys p-window+1 .. p only (needs causal); 0: all earlier ones */
    bool chunks;  /* those of them whose positions, divided by window, are in p's part alone */
    int64_t salt; /* tells the dropout of different layers apart */
    bool causal;
} Attention;
extern const OpDef op_attention, op_attention_grad;
extern const Field attention_fields[]; /* of its attributes */

/* Of query head `head` of n in the whole: powers from 2^(-alibi / n) to 2^-alibi, where n is a
 * power of 2; else those of the power below, and then every second one of twice as many; all times
 * the scale. On a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline double
    alibi_slope(const Attention *a, int64_t head, int64_t n_heads)
{
    int64_t n = 1;
    while (n < n_heads) n *= 2;
    const int64_t half = n / 2, step = n == n_heads  ? head + 1
                                       : head < half ? 2 * (head + 1)
                                                     : 2 * (head - half) + 1;
    return (a->alibi_scale > 0 ? a->alibi_scale : 1) * exp2(-a->alibi * (double)step / (double)n);
}

/* The first position that a causal query at p may see. On a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int64_t
    attention_oldest(const Attention *a, int64_t p)
{
    if (!a->window) return 0;
    return a->chunks ? p - p % a->window : p - a->window + 1;
}

/* q [b s g r d], k and v [b t g d], documents [b s] (same for keys, needs s = t; an input twice,
 * since queries and keys may be split differently) or NULL: tokens attend within their document
 * only. Query i stands at global position p(i) plus RunTime.position, key j at p(j). Results: o
 * like q, and lse [b s g r] in f32 (f64). A row without any allowed key gives zeros. */
Value *attention(Graph *g, Value *q, Value *k, Value *v, Value *documents, const Attention *attrs);
/* The largest logit of each query head [(g r)] over all queries and the keys that they see, in f32
 * (f64): scaled, but before any cap or alibi. `attention` is a node of op_attention. */
Value *attention_max(Graph *g, const Node *attention);
#endif
