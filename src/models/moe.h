/* moe.h - mixtures of experts: a router sends each token to a few of many feed-forward layers. */
#ifndef MODELS_MOE_H
#define MODELS_MOE_H
#include "models/layers.h"
#include "models/model.h"

typedef enum RouterScore {
    SCORE_SOFTMAX,
    SCORE_SIGMOID,
    SCORE_MIXER, /* ops/moe_mixer.h */
    SCORE_SQRT_SOFTPLUS
} RouterScore;

typedef enum MoeOverflow { OVERFLOW_DROPS, OVERFLOW_STOPS } MoeOverflow;

typedef struct Moe {
    int64_t n_experts, top_k, hidden;
    int64_t zero_experts; /* so many more, numbered behind the others, give a token back as it is */
    int score;            /* RouterScore */
    double logit_cap;     /* the router's logits are bent to stay within it; 0: they are not */
    double near;          /* of the mixer */
    bool normalize;       /* the weights of a token's experts add up to 1 */
    double sum_eps;       /* added to the sum that they are divided by then */
    bool weigh_inputs;    /* they multiply what the experts read, not what they give */
    double factor;        /* that the weights are multiplied by; 0: as 1 */
    int64_t n_groups, top_groups; /* as in ops/moe_route.h */
    double capacity; /* an expert takes so many times its fair share; 0: all that come (dropless) */
    int overflow;    /* what is done with more: MoeOverflow */
    int64_t latent;  /* width of a product of the token that experts read, and what they give goes
                        through another; 0: they read the token itself */
    int64_t shared_hidden;   /* width of an expert that every token goes through; 0: none */
    double shared_factor;    /* that what it gives is multiplied by; 0: as 1 */
    bool shared_gate;        /* what it gives counts by the sigmoid of a product of the token */
    double aux_loss, z_loss; /* weights of the penalties */
    bool bias;               /* of the router and of the experts */
    bool has_biases;         /* the router has biases for the choice alone */
    bool by_logits;          /* they are added to logits, not to scores */
    double balance_rate; /* by which they change in a step; there are some where it is above 0 */
    Activation activation;
    double gate_bound;    /* as in models/layers.h */
    double experts_bound; /* likewise, of all but the shared expert; 0: as gate_bound */
    bool is_plain;        /* experts, the shared one too, have no gate */
    bool beside_ffn;  /* sparse blocks have a feed-forward layer, too; the mixture reads the stream
                         behind a norm of its own, and so do both's results reach it */
    bool router_norm; /* then the router reads the stream behind another one, divided by the root of
                         the width */
    bool norm_behind; /* what it gives, that of a shared expert included, goes through a norm,
                         whatever other blocks have */
    bool expert_scale; /* weights are multiplied by a learned number of the expert */
} Moe;

/* What the layers of one model have in common. */
typedef struct MoeSums {
    Value *share, *probability; /* [experts], sums over the layers */
    Value *z;                   /* scalar */
    Value *dropped;             /* pairs of token and expert beyond a capacity */
    int64_t n_layers;
    bool inspect;   /* set by the caller: logits are wanted as outputs */
    bool training;  /* likewise: the load of experts is counted */
    bool continues; /* likewise: a text is continued, so that nothing may depend on how many of its
                       tokens come at a time: no expert has a capacity */
} MoeSums;

/* A layer whose tokens go to experts by their ids, which a table has: the parameter
 * router.experts [vocab_size top_k], which training keeps. */
typedef struct MoeIds {
    Value *ids; /* [b s] */
    int64_t vocab_size;
} MoeIds;

/* Of x, by_id NULL but where ids choose the experts; the router reads `routed`, mostly the same.
 * Parameters router.weight (and router.balance [all experts], biases that no gradient changes),
 * experts.{W,V,W_2}.weight [experts ...], and shared.{W,V,W_2,gate}; where experts are plain,
 * {c_fc,c_proj} in the place of {W,V,W_2}; with expert_scale router.scale [all experts]; with
 * latent latent_{in,out}.weight. */
Value *moe_layer(Graph *g, Value *x, Value *routed, const Moe *m, const MoeIds *by_id,
                 MoeSums *sums);
/* Experts that the router chooses from, those without weights included. */
int64_t moe_all_experts(const Moe *m);
/* What n_groups, top_groups and the other numbers do not agree on; NULL: they do. */
const char *moe_groups_wrong(const Moe *m);
/* Whether routers have biases. */
bool moe_has_biases(const Moe *m);
/* The biases of the router whose load this is. */
Value *moe_bias_of(const Graph *g, const Value *load);
/* Outputs of training programs: of each expert, how often a token chose it, summed over the layers;
 * and pairs of token and expert that a capacity dropped, per token. */
#define MOE_DROPPED "expert_pairs_dropped"
const char *moe_share_name(Arena *a, int64_t expert);
/* Penalties into out->penalty; for inspection instead the outputs "aux_loss" and, from moe_layer,
 * "router_logits.<block>". */
void moe_finish(Graph *g, const Moe *m, const MoeSums *sums, const ForwardSettings *f,
                ModelOutput *out);
#endif
