/* model.h - a model builds its forward pass into a graph; everything else is passes. */
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H
#include "config/field.h"
#include "graph/pass.h"

/* What a forward pass is built for. */
typedef struct ForwardSettings {
    int64_t batch, sequence; /* of one microbatch */
    bool training;           /* dropout is on */
    bool rounded_buffers; /* buffers are rounded to bf16 first, as the original's pure bf16 runs do
                           */
    int64_t cache_length; /* above 0: keys and values go through a cache of this many positions */
    bool documents;       /* batches tell documents apart, if the model's settings ask for it */
    bool inspect; /* all that can be looked at is an output; penalties are no part of the loss */
    bool ahead;   /* predictions of later tokens, too, which else training alone has */
} ForwardSettings;

/* What a batch must bring: token ids, but images and masks, too. */
typedef struct ModelInput {
    const char *name;    /* of the batch's item */
    const char *setting; /* of the model, that gives the name: "sample_key" */
    Dtype dtype;
    int n_dims;
    Dim dim[MAX_DIMS]; /* size 0: that of the microbatch, by its axis "batch" or "seq" */
    int64_t n_ids;     /* above 0: ids below it */
    bool of_documents; /* left out where batches do not tell documents apart */
} ModelInput;

enum { MAX_NAMED_OUTPUTS = 4, MAX_AHEAD = 8 };

/* A prediction besides the logits. */
typedef struct NamedOutput {
    const char *key;
    Value *value;
} NamedOutput;

/* A language model ends in hidden states [b s d] and the head's weight [v d]; logits are their
 * product, which the loss need not write down. Other models give logits. */
typedef struct ModelOutput {
    Value *hidden, *head;
    Value *head_bias; /* [v], added to the product; NULL: none */
    Value *logits;    /* NULL: hidden and head are given */
    NamedOutput named[MAX_NAMED_OUTPUTS];
    int n_named;
    double logit_cap; /* logits are bent to stay within it; 0: they are not */
    Value *penalty;   /* scalar that training lowers besides the loss; NULL: none */
    /* Hidden states of the head for the tokens after the next one, in order; the mean of their
     * losses times the weight is such a penalty. */
    Value *ahead[MAX_AHEAD];
    int n_ahead;
    double ahead_weight;
} ModelOutput;

/* Names of parameters of one weight decay group: a parameter belongs when its name contains one of
 * the parts, not at the very beginning; "^lm_head": at the very beginning. */
typedef struct DecayGroup {
    const char *name;
    const char *const *parts; /* ends with NULL */
} DecayGroup;

/* A kind of blocks: what configurations call it, "GPT2Block", and the list that they form,
 * "transformer.h" (graph_enter). */
typedef struct BlockClass {
    const char *name, *stack;
} BlockClass;

/* A tensor that follows from the settings and that the original keeps in checkpoints. */
typedef struct ModelBuffer {
    const char *name;
    Tensor tensor; /* numbers of the arena */
} ModelBuffer;

typedef struct Model {
    Error *(*forward)(const struct Model *self, Graph *g, const ForwardSettings *f,
                      ModelOutput *out);
    const char *name;         /* "gpt2" */
    const BlockClass *blocks; /* ends with an empty one; NULL: it has none */
    const ModelInput *inputs; /* ends with an empty one */
    const char *prediction_key;
    int64_t vocab_size, sequence_length;
    int64_t n_layer, width;
    int64_t seed;
    const DecayGroup *groups; /* ends with an empty one; NULL: none */
    PassList passes;          /* that wrappers and initialisation asked for */
    Dtype compute;            /* F32, or BF16 or F16 when a wrapper asks for mixed precision */
    const struct Sharding *sharding; /* passes/shard.h; NULL: nothing is split over tp and cp */
    const struct DataParallel *data_parallel; /* passes/data_parallel.h; NULL: DDP */
    const struct Pipeline *pipeline;          /* passes/pipeline.h; NULL: layers stay together */
    const struct Initializer *initializer;    /* NULL: the defaults of construction */
    const struct HfModel *hf; /* the Hugging Face folder that it was made from, and whose weights it
                                 begins with unless there is an initializer; NULL: none */
    const ModelBuffer *buffers;
    int64_t n_buffers;
    const char *weights_path; /* the checkpoint its parameters come from; NULL: the initializer */
    Dtype weights_dtype;      /* with weights_path: the format they are rounded to */
    const struct MemoryBudget *budget; /* passes/recompute.h; NULL: none */
    const struct Adapters *adapters;   /* passes/adapters.h; NULL: none */
    const struct Average *average;     /* passes/average.h; NULL: none is kept */
    const struct QkClip *qk_clip;      /* passes/qk_clip.h; NULL: logits grow as they will */
    const double
        *balance_rate;     /* by which biases of routers follow the load; NULL: there are none */
    bool is_ternary;       /* factors of linear layers are rounded (passes/ternary.c) */
    struct Watch *watches; /* who looks on while its nodes run (watch/watch.h), or NULL */
} Model;

/* Adds the input to a graph. */
Value *model_input(Graph *g, const ModelInput *in, const ForwardSettings *f);
/* Token ids [batch seq] under that name: what language models read. */
ModelInput model_token_ids(const char *name, const char *setting, int64_t n_ids);
/* The one input, if it is made of token ids [batch seq]; NULL: the model cannot continue a text. */
const ModelInput *model_text(const Model *m);
/* The class of that name, or whose blocks form that list; NULL: there is none. */
const BlockClass *model_block_class(const Model *m, const char *name);
const BlockClass *model_block_stack(const Model *m, const char *stack);
/* An error when one of the names is no class of the model's blocks; `key` is the setting. */
Error *model_check_blocks(const Model *m, const char *key, const StringList *names);
/* Matrix product of hidden states and head, capped: the logits [b s v]. */
Value *model_logits(Graph *g, const ModelOutput *out);
/* The mean loss per valid token as scalar, and the graph's outputs "loss" and "loss_sum" (sum over
 * valid tokens). Targets are the input `target_key` [b s]. With `global_tokens` the gradient is
 * that of the sum, and RunTime.loss_scale brings 1 / tokens of the step. */
Value *model_loss(Graph *g, const ModelOutput *out, Value *targets, bool global_tokens);
/* The graph's output that is the mean loss of ahead[i]. */
const char *model_ahead_name(Arena *a, int i);
/* Logits of ahead as the outputs "logits_ahead.0" ..., and no part of the loss. */
void model_give_ahead(Graph *g, ModelOutput *out);
/* Number of elements of all parameters, those of other ranks of a pipeline included. */
int64_t graph_parameter_count(const Graph *g);
#endif
