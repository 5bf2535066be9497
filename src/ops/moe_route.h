/* moe_route.h - which experts a token goes to, how much each counts, and how even that is. */
#ifndef OPS_MOE_ROUTE_H
#define OPS_MOE_ROUTE_H
#include "graph/op.h"

typedef struct MoeRoute {
    int64_t top_k;
    bool sigmoid;       /* scores are sigmoids of the logits, not their softmax */
    bool sqrt_softplus; /* scores are the roots of log(1 + e^x) of the logits */
    bool by_logits;     /* biases are added to logits for the choice, not to scores */
    bool normalize;     /* the weights of a token's experts add up to 1 */
    double sum_eps;     /* added to the sum that they are divided by then */
    double factor;      /* that the weights are multiplied by */
    /* Experts are chosen from the best `top_groups` of so many groups of neighbours. A group is as
     * good as its best expert, with scores of single logits as its best two together. 0: there are
     * none. */
    int64_t n_groups, top_groups;
} MoeRoute;
#define MOST_EXPERT_GROUPS 64

/* Logits [* e] give the weights [* k] (f32 or better), and in *expert [* k] the experts with the
 * largest scores, largest first; of equal ones the lower number. `bias` [e] is added to scores for
 * the choice alone; NULL: nothing is. */
extern const OpDef op_moe_route;
Value *moe_route(Graph *g, Value *logits, Value *bias, const MoeRoute *attrs, Value **expert);
/* The experts [b s k] of tokens by their ids [b s]: rows of table [v k], numbers that are experts
 * below n_experts (Roller et al. 2021, hash layers). KERNEL_BAD_INDEX: an id, or an expert, is not
 * there. Nothing flows back. */
Value *moe_hash(Graph *g, Value *ids, Value *table, int64_t n_experts);
/* Logits [* e] give the weights [* k] of experts [* k] that something else has chosen; bias, groups
 * and top_k do not count. An expert may come several times. */
Value *moe_weigh(Graph *g, Value *logits, Value *expert, const MoeRoute *attrs);
/* Attributes of "moe_hash". */
typedef struct MoeHash {
    int64_t n_experts;
} MoeHash;
/* Of all tokens: in *share [e] the number of times that a token goes to an expert, in *probability
 * [e] its softmax, both as means. The gradient goes through the probability alone. */
void moe_share(Graph *g, Value *logits, Value *expert, Value **share, Value **probability);
/* The scalar e sum(share probability) / n^2: smallest when the load is even (Fedus et al. 2021).
 * `n_layers` n: as many were added up. */
Value *moe_balance(Graph *g, Value *share, Value *probability, int64_t n_layers);
/* The element of a vector. */
Value *moe_element(Graph *g, Value *x, int64_t index);
/* The scalar mean(lse^2) of the rows: keeps logits small (Zoph et al. 2022). */
Value *mean_square_lse(Graph *g, Value *logits);
#endif
