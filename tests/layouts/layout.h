/* layout.h - one training step of a small model on the ranks of a mesh, for "N ranks equal one". */
#ifndef TESTS_LAYOUT_H
#define TESTS_LAYOUT_H
#include "comm/mesh.h"
#include "exec/rank_plan.h"
#include "models/gpt2.h"
#include "models/moe.h"
#include "passes/data_parallel.h"
#include "passes/shard.h"

typedef struct LayoutCase {
    int64_t size[MESH_N_AXES]; /* of the mesh's axes; 0: 1 */
    DataParallel data_parallel;
    Sharding sharding;
    bool llama_like;               /* see tiny_settings */
    const Moe *moe;                /* experts in all layers but the first; NULL: in none */
    const struct Decoder *decoder; /* NULL: that of tiny_settings; else with `vocabulary` of it */
    bool tied;                     /* embedding and head share their weight */
    Dtype compute;                 /* F64, F32, BF16 or F16 */
    bool reference_only;
    int64_t recompute_every; /* 0: nothing is computed again */
    int64_t accumulation;    /* microbatches per data-parallel rank; 0: 1 */
    int64_t batch, sequence; /* of a microbatch; 0: 2 and 8 */
    double max_norm;         /* of clipping; 0: none */
    const char *schedule;    /* of the pipeline, where the mesh has one; NULL: 1F1B */
    int per_rank;            /* stages on each of its ranks; 0: 1 */
    int layers;              /* 0: those of tiny_settings */
    int width;               /* of the model; 0: that of tiny_settings */
    int heads, kv_heads;     /* 0: those of tiny_settings; heads have 4 channels */
    int vocabulary;          /* 0: 13 */
    bool keeps_whole;        /* no parameter is kept in two halves */
    bool global_tokens;      /* of the loss; microbatches have different numbers of targets then */
    const struct Optimizer *optimizer;         /* NULL: AdamW */
    void (*edit)(Model *m);                    /* what else wrappers would set; NULL: nothing */
    void (*inspect)(const Graph *g, void *to); /* looks at rank 0's graph; NULL: nobody does */
    void *inspect_to;
} LayoutCase;

/* A parameter, whole: its gradient before the update, and itself after it. */
typedef struct LayoutParam {
    const char *name;
    int64_t n, rows;
    double *gradient, *after;
    bool *is_set; /* by element */
} LayoutParam;

typedef struct LayoutResult {
    LayoutParam *param;
    int64_t n_params;
    double loss; /* mean over all microbatches */
    double grad_norm;
    int64_t bytes[4]; /* on rank 0: parameters, gradients, optimizer states, the workspace */
} LayoutResult;

/* What a rank would take, without running anything. */
RankPlan layout_plan(Arena *a, const LayoutCase *l, int64_t rank);
/* Runs one step on threads, one per rank. An error of any rank, or of ranks that hold the same
 * number and disagree. */
Error *layout_try(Arena *a, const LayoutCase *l, LayoutResult *out);
/* The same; an error fails the test. */
LayoutResult layout_run(Arena *a, const LayoutCase *l);
/* The same step on one rank, with a microbatch for each of the layout's. */
LayoutResult layout_run_alone(Arena *a, const LayoutCase *l);
/* max |difference| / (max |gradient of that parameter| + 0.01 max over all), over all parameters;
 * the losses and norms must be as near. */
double layout_difference(const LayoutResult *x, const LayoutResult *y);
/* The same of gradients alone; `x` says how large they are. */
double layout_gradient_difference(const LayoutResult *x, const LayoutResult *y);
/* Whether all gradients, and parameters after the update, have the same bits. */
bool layout_same_bits(const LayoutResult *x, const LayoutResult *y);
/* Fails the test where the ranks are further than `most` from one rank. */
void layout_equals_one_rank(LayoutCase l, double most);
#endif
