/* ops.h - the vocabulary in which models, losses and passes are written: one builder per op.
 *
 * Builders append nodes to the graph and return symbolic values. Token ids and targets are I32; a
 * target of IGNORED does not count. Letters: b batch, s query position, t key position, g key/value
 * head, r query heads per key/value head, d width, v vocabulary, n and k features. */
#ifndef OPS_OPS_H
#define OPS_OPS_H
#include "graph/op.h"

enum { IGNORED = -100 };

/* contract.c: sum over letters that the result lacks, "*k,nk->*n"; gradients swap operands. */
Value *contract(Graph *g, const char *dims, Value *a, Value *b);
/* y = x W^T (+ bias): parameters "<name>.weight" [n k] and "<name>.bias" [n]. `axis` names the
 * dimension n (and `in_axis` the dimension k) for splitting: "heads", "ff", "vocab", "embed". */
Value *linear(Graph *g, const char *name, Value *x, int64_t n, const char *axis,
              const char *in_axis, bool bias);

/* elementwise.c */
Value *add(Graph *g, Value *a, Value *b);
Value *mul(Graph *g, Value *a, Value *b);
Value *add_bias(Graph *g, Value *x, Value *bias); /* "*d,d->*d" */
Value *silu(Graph *g, Value *x);
Value *gelu(Graph *g, Value *x);                 /* exact: x Phi(x) */
Value *swiglu(Graph *g, Value *gate, Value *up); /* silu(gate) * up */
Value *scale(Graph *g, Value *x, double factor);

/* reshape.c: the same numbers under another shape, "bs(grd)->bsgrd" with sizes "g=4 d=8". */
Value *reshape(Graph *g, const char *dims, const char *sizes, Value *x);
/* cast.c: the same values in another dtype. */
Value *cast(Graph *g, Value *x, Dtype t);
/* fill.c: a constant with the dims and dtype of `like`; the value is not kept alive for it. */
Value *fill(Graph *g, const Value *like, double value);
/* accumulate.c: adds x to an accumulator. */
void accumulate(Graph *g, Value *x, Value *into);

/* embed.c: rows of `table` [v d] by id, "*,vd->*d". */
Value *embed(Graph *g, Value *ids, Value *table);
/* positions.c: x[b s d] + table[p(s), d], p = global position (plus RunTime.position). */
Value *add_positions(Graph *g, Value *x, Value *table);
/* I32 [b s]: the place of a token in its document, by the number of each token's document [b s],
 * which differs where a document begins. */
Value *document_positions(Graph *g, Value *documents);

/* norm.c: over the last dimension; weight and bias [d] may be NULL. */
Value *rms_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);
Value *layer_norm(Graph *g, Value *x, Value *weight, Value *bias, double eps);

/* rope.c: cos and sin of p * base^(-2j/d): table [t d], first half cos, second half sin; made once
 * (phase PREPARE, no block). `rounded`: frequencies are rounded to bf16 first, as the original's
 * bf16 runs do. */
Value *rope_table(Graph *g, Dtype t, int64_t n_positions, int64_t d, double base, bool rounded);
/* Frequency j of d/2, rounded to float in each step as the original's buffer `inv_freq`. */
float rope_frequency(double base, int64_t j, int64_t d);
/* x[b s ... d] rotated by halves, x*cos + (-x2, x1)*sin, at the position of s (plus
 * RunTime.position). */
Value *rope(Graph *g, Value *x, Value *table);

typedef struct Attention {
    double scale;    /* of q k^T; 0: 1/sqrt(d) */
    double soft_cap; /* cap * tanh(score / cap); 0: none */
    double dropout;  /* of the probabilities, inverted; 0: none */
    int64_t window;  /* keys p-window+1 .. p only (needs causal); 0: all earlier ones */
    int64_t salt;    /* tells the dropout of different layers apart */
    bool causal;
} Attention;
/* attention.c: softmax(q k^T) v; q [b s g r d], k and v [b t g d], documents [b s] (same for keys,
 * needs s = t; an input twice, since queries and keys may be split differently) or NULL: tokens
 * attend within their document only. Query i stands at global position
 * p(i) plus RunTime.position, key j at p(j). Results: o like q, and lse [b s g r] in f32 (f64). A
 * row without any allowed key gives zeros. */
Value *attention(Graph *g, Value *q, Value *k, Value *v, Value *documents, const Attention *attrs);
/* cache_write.c: writes x[b s ...] into cache[b t ...] at rows RunTime.position + i; returns the
 * cache. */
Value *cache_write(Graph *g, Value *cache, Value *x);

/* dropout.c: inverted dropout; dropout.h tells the mask, a function of (seed, step, microbatch,
 * salt, element). */
Value *dropout(Graph *g, Value *x, double p, int64_t salt);

/* cross_entropy.c: loss per token from logits "*v,*->*"; 0 for ignored targets. Result f32 or
 * better. */
Value *cross_entropy(Graph *g, Value *logits, Value *targets);
/* head_loss.c: the same from x [* d] and the head's weight [v d], without keeping logits. */
Value *head_loss(Graph *g, Value *x, Value *weight, Value *targets);
/* The same and its gradients from one computation of the logits, where the gradient of the loss is
 * known beforehand. Results: loss, dx, dweight. */
Node *head_step(Graph *g, Value *x, Value *weight, Value *targets, Value *loss_grad);
/* mean_valid.c: mean over the tokens that count; 0 if there are none, with zero gradient.
 * Adds count_valid too, the number of those tokens: both are partial sums where tokens are split.
 */
Value *mean_valid(Graph *g, Value *token_loss, Value *targets);
Value *count_valid(Graph *g, Value *targets);
/* The sum instead. */
Value *sum_valid(Graph *g, Value *token_loss, Value *targets);
/* fill.c: the scalar RunTime.loss_scale in the dtype of the loss. */
Value *loss_seed(Graph *g, Dtype t);

/* gradient_norm.c: norm_partial gives sum |x|, sum x^2 or max |x| for p = 1, 2, 0 (= inf) in f64;
 * norm_total joins the partials of all parameters into the norm; clip_factor gives min(1, max_norm
 * / (norm + 1e-6)), or 1 when max_norm is 0. All scalars f64. */
Value *norm_partial(Graph *g, Value *x, int64_t p);
Value *norm_total(Graph *g, int64_t n, Value *const *partial, int64_t p);
Value *clip_factor(Graph *g, Value *norm, double max_norm);

typedef struct AdamSettings {
    double beta1, beta2, eps, weight_decay;
    bool decoupled; /* AdamW: p *= 1 - lr*wd; else Adam: gradient += wd*p */
} AdamSettings;
/* adam.c: one optimizer step in place: reads the gradient times `factor` (scalar f64), updates
 * param, m, v, clears the gradient. Bias correction from RunTime.step (+1); the rate is RunTime.lr.
 */
void adam(Graph *g, Value *param, Value *grad, Value *m, Value *v, Value *factor,
          const AdamSettings *attrs);
#endif
