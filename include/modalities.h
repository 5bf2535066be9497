/* modalities.h - the C interface of Modalities: plugins that add components to it, and programs
 * that train with it.
 *
 * A plugin is a shared object that exports one constant, `modalities_plugin`, and that a
 * configuration names:
 *
 *     plugins: [./libmylab.so]        cc -shared -fPIC -o libmylab.so mylab.c
 *
 * A program links with libmodalities (-lmodalities) and steps a training itself:
 *
 *     Modalities *m = modalities_open("train.yaml", NULL);
 *     if (!m || !modalities_build(m)) return puts(modalities_error()), 1;
 *     while (modalities_step(m) == MODALITIES_STEPPED)
 *         printf("%g\n", modalities_metric(m, "loss"));
 *     modalities_close(m);
 *
 * docs/library.md explains both; examples/ has them as files. Names that are given to the library
 * are copied; tables (settings, components) must stay as long as the library is loaded. */
#ifndef MODALITIES_H
#define MODALITIES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plugin is built against; a library takes plugins of its own number only. */
#define MODALITIES_API 1

#define MODALITIES_PUBLIC __attribute__((visibility("default")))

/* ---- settings of a component, as YAML gives them ---- */

typedef enum ModalitiesType {
    MODALITIES_END,
    MODALITIES_INT,   /* int64_t */
    MODALITIES_FLOAT, /* double */
    MODALITIES_BOOL,  /* bool */
    MODALITIES_TEXT   /* const char * */
} ModalitiesType;

/* One row per member of a settings struct; a table ends with an empty row. */
typedef struct ModalitiesSetting {
    const char *name;
    ModalitiesType type;
    size_t offset;
    const char *fallback; /* the default as YAML; NULL: the setting is required */
    double min, max;      /* of a number, checked where min < max */
    const char *doc;      /* one sentence */
} ModalitiesSetting;

/* The row of a member; its type is that of the member. */
#define MODALITIES_SETTING(Settings, member, fallback, min, max, doc)                              \
    {                                                                                              \
#member,                                                                                   \
            _Generic(((Settings *)0)->member, int64_t: MODALITIES_INT, double: MODALITIES_FLOAT,   \
                     bool: MODALITIES_BOOL, const char *: MODALITIES_TEXT),                        \
            offsetof(Settings, member), fallback, min, max, doc       \
    }

/* ---- ops: what a node of a model's graph computes ---- */

/* Numbers in row-major order; one rank's part of them. */
typedef struct ModalitiesTensor {
    double *data; /* NULL where the tensor has integers */
    int32_t *ids; /* NULL where it has floats */
    int n_dims;
    const int64_t *size;
    int64_t count; /* of all numbers */
} ModalitiesTensor;

/* `dims` names the dimensions of operands and results, "*k,nk->*n": a letter is a size, the same
 * letter the same size, `*` any leading dimensions. A letter with `!` is whole on every rank; over
 * the others a tensor may be split. There is one result. */
typedef struct ModalitiesOp {
    const char *name, *doc, *dims;
    const ModalitiesSetting *settings; /* NULL: none */
    size_t settings_size;
    void (*forward)(const void *settings, const ModalitiesTensor *in, const ModalitiesTensor *out);
    /* Writes the gradients of the float operands, from that of the result; din[k].data is NULL for
     * operands without one. NULL: no gradient flows through this op. */
    void (*backward)(const void *settings, const ModalitiesTensor *in, const ModalitiesTensor *dout,
                     const ModalitiesTensor *din);
} ModalitiesOp;

/* ---- optimizers ---- */

enum { MODALITIES_MAX_STATES = 4 };

/* Some consecutive elements of one parameter. */
typedef struct ModalitiesUpdate {
    double *param;                        /* to be changed */
    const double *grad;                   /* clipped already */
    double *state[MODALITIES_MAX_STATES]; /* as the last step left them; 0 at first */
    int64_t n;
    double lr, weight_decay;
    int64_t step; /* updates before this one */
} ModalitiesUpdate;

/* component_key: optimizer. In YAML it has the settings of its table and, as every optimizer, lr,
 * wrapped_model, weight_decay (0.0) and weight_decay_groups_excluded ([]). */
typedef struct ModalitiesOptimizer {
    const char *variant, *doc;
    const ModalitiesSetting *settings;
    size_t settings_size;
    const char *states[MODALITIES_MAX_STATES]; /* names of what is kept per parameter, in
                                                  checkpoints too: "moment"; NULL ends them */
    void (*update)(const void *settings, const ModalitiesUpdate *u);
} ModalitiesOptimizer;

/* component_key: scheduler. The rate after `step` steps; `base` is the optimizer's lr. */
typedef struct ModalitiesScheduler {
    const char *variant, *doc;
    const ModalitiesSetting *settings;
    size_t settings_size;
    double (*rate)(const void *settings, double base, int64_t step);
} ModalitiesScheduler;

/* ---- models: a forward pass as a graph ---- */

typedef struct ModalitiesGraph ModalitiesGraph;
typedef struct ModalitiesValue ModalitiesValue;

/* What a parameter is for: initializers go by it. */
typedef enum ModalitiesRole {
    MODALITIES_LINEAR,
    MODALITIES_RESIDUAL, /* writes to the residual stream */
    MODALITIES_EMBEDDING,
    MODALITIES_POSITION,
    MODALITIES_HEAD,
    MODALITIES_NORM
} ModalitiesRole;

/* How a parameter begins unless an initializer says otherwise: N(mean, std), or `mean` throughout
 * where std is 0. */
typedef struct ModalitiesInit {
    double mean, std;
} ModalitiesInit;

/* What the forward pass is made for. */
typedef struct ModalitiesForward {
    int64_t batch, sequence; /* of a microbatch */
    bool training;
    int64_t vocab_size, sequence_length; /* of the settings; a sequence is no longer than that */
    ModalitiesValue *ids;                /* I32 [batch sequence] */
} ModalitiesForward;

/* Parameters whose names contain one of the parts, not at the very beginning; "^lm_head": at the
 * very beginning. */
typedef struct ModalitiesDecayGroup {
    const char *name;
    const char *const *parts; /* ends with NULL */
} ModalitiesDecayGroup;

/* component_key: model. In YAML it has the settings of its table and, as every model, sample_key,
 * prediction_key, vocab_size and sequence_length. */
typedef struct ModalitiesModel {
    const char *variant, *doc;
    const ModalitiesSetting *settings;
    size_t settings_size;
    const char *block_class, *block_stack; /* "TransformerBlock" and "layers", the name that
                                              modalities_enter gets; NULL: it has no blocks */
    const ModalitiesDecayGroup *groups;    /* ends with an empty one; NULL: none */
    /* NULL: good; else what is wrong with the settings. Tells the width of the hidden states and
     * the number of blocks, by which initializers go. */
    const char *(*check)(const void *settings, int64_t *width, int64_t *n_blocks);
    /* Appends the forward pass and returns the logits [batch sequence vocab_size]. The first error
     * made sticks to the graph: nothing needs to be checked within. */
    ModalitiesValue *(*forward)(ModalitiesGraph *g, const void *settings,
                                const ModalitiesForward *f);
} ModalitiesModel;

/* Parameters and blocks made from here to the leave have "name.index." in front of theirs; an index
 * of -1 gives "name.". With an index it is a block: the unit of recomputation and sharding. */
MODALITIES_PUBLIC void modalities_enter(ModalitiesGraph *g, const char *name, int index);
MODALITIES_PUBLIC void modalities_leave(ModalitiesGraph *g);
/* Refuses to go on; the message reaches the user. */
MODALITIES_PUBLIC void modalities_fail(ModalitiesGraph *g, const char *message);

/* A parameter; the same name again is the same one. `axes`: a name per dimension, separated by
 * spaces, by which dimensions are split over ranks: "vocab embed"; NULL: none is. */
MODALITIES_PUBLIC ModalitiesValue *modalities_parameter(ModalitiesGraph *g, const char *name,
                                                        int n_dims, const int64_t *size,
                                                        const char *axes, ModalitiesRole role,
                                                        ModalitiesInit init);
/* One op of a plugin or of docs/ops.md, by its name, with its attributes as YAML: "{cap: 30.0}", or
 * NULL. Its first result. */
MODALITIES_PUBLIC ModalitiesValue *modalities_apply(ModalitiesGraph *g, const char *op,
                                                    const char *attributes, int n_in,
                                                    ModalitiesValue *const *in);
/* Sum over the letters that the result lacks: "btd,dnh->btnh". */
MODALITIES_PUBLIC ModalitiesValue *modalities_einsum(ModalitiesGraph *g, const char *dims,
                                                     ModalitiesValue *a, ModalitiesValue *b);
/* The same numbers under another shape: "bt(kg)h->btkgh" with sizes "k=2". */
MODALITIES_PUBLIC ModalitiesValue *modalities_reshape(ModalitiesGraph *g, const char *dims,
                                                      const char *sizes, ModalitiesValue *x);
/* Rows of a table by id. */
MODALITIES_PUBLIC ModalitiesValue *modalities_embed(ModalitiesGraph *g, ModalitiesValue *ids,
                                                    ModalitiesValue *table);
/* x [batch sequence width] plus the row of each position. */
MODALITIES_PUBLIC ModalitiesValue *modalities_add_positions(ModalitiesGraph *g, ModalitiesValue *x,
                                                            ModalitiesValue *table);
MODALITIES_PUBLIC ModalitiesValue *modalities_add(ModalitiesGraph *g, ModalitiesValue *a,
                                                  ModalitiesValue *b);
MODALITIES_PUBLIC ModalitiesValue *modalities_mul(ModalitiesGraph *g, ModalitiesValue *a,
                                                  ModalitiesValue *b);
MODALITIES_PUBLIC ModalitiesValue *modalities_scale(ModalitiesGraph *g, ModalitiesValue *x,
                                                    double factor);
MODALITIES_PUBLIC ModalitiesValue *modalities_rms_norm(ModalitiesGraph *g, ModalitiesValue *x,
                                                       ModalitiesValue *weight, double eps);
/* softmax(q k^T / sqrt(d)) v over the positions up to each one's own: q [b t g r d], k and v
 * [b t g d]. */
MODALITIES_PUBLIC ModalitiesValue *modalities_attention(ModalitiesGraph *g, ModalitiesValue *q,
                                                        ModalitiesValue *k, ModalitiesValue *v);
/* The size of a dimension in the whole job. */
MODALITIES_PUBLIC int64_t modalities_size(const ModalitiesValue *v, int dim);

/* ---- collators: from samples to a batch ---- */

typedef struct ModalitiesSamples ModalitiesSamples;
typedef struct ModalitiesBatch ModalitiesBatch;

/* component_key: collate_fn. Several threads may call `collate` at once. */
typedef struct ModalitiesCollator {
    const char *variant, *doc;
    const ModalitiesSetting *settings;
    size_t settings_size;
    /* NULL: good; else what is wrong with the samples. */
    const char *(*collate)(const void *settings, const ModalitiesSamples *samples, int64_t n,
                           ModalitiesBatch *out);
} ModalitiesCollator;

/* The ids of item `name` of sample i, *n of them, valid during the call; NULL: it has no such item.
 */
MODALITIES_PUBLIC const int32_t *modalities_sample(const ModalitiesSamples *samples, int64_t i,
                                                   const char *name, int64_t *n);
/* Adds an item of rows x columns ids to the batch; they are to be filled. `name` must stay, as a
 * setting does. In targets, -100 means that nothing is to be learnt. NULL: it cannot be added,
 * which ends the training. */
MODALITIES_PUBLIC int32_t *modalities_batch(ModalitiesBatch *batch, const char *name, int64_t rows,
                                            int64_t columns);

/* ---- a plugin ---- */

/* Lists end with NULL; NULL is an empty one. */
typedef struct ModalitiesPlugin {
    int64_t api;      /* MODALITIES_API */
    const char *name; /* in messages */
    const ModalitiesOp *const *ops;
    const ModalitiesOptimizer *const *optimizers;
    const ModalitiesScheduler *const *schedulers;
    const ModalitiesModel *const *models;
    const ModalitiesCollator *const *collators;
} ModalitiesPlugin;

/* What a plugin exports. */
extern MODALITIES_PUBLIC const ModalitiesPlugin modalities_plugin;

/* ---- a program that trains ---- */

typedef struct Modalities Modalities;
typedef enum ModalitiesProgress {
    MODALITIES_FAILED = -1, /* modalities_error tells why */
    MODALITIES_ENDED,       /* the target, or the end of the data, was reached before */
    MODALITIES_STEPPED
} ModalitiesProgress;

/* MODALITIES_API of the library, and its version. */
MODALITIES_PUBLIC int64_t modalities_api(void);
MODALITIES_PUBLIC const char *modalities_version(void);
/* What the last call of this thread that failed has said; "" before. Valid until the next one. */
MODALITIES_PUBLIC const char *modalities_error(void);

/* Reads a training configuration with overrides "a.b=value" (ends with NULL; NULL: none). NULL: it
 * failed. Relative paths lead from the present folder. Threads may have one training each. */
MODALITIES_PUBLIC Modalities *modalities_open(const char *config_file_path,
                                              const char *const *overrides);
/* Adds components of the calling program itself, before modalities_build. */
MODALITIES_PUBLIC bool modalities_add_plugin(Modalities *m, const ModalitiesPlugin *plugin);
/* Builds the components and the step's program. Nothing is written: checkpoints, results and
 * progress are the program's own business here. */
MODALITIES_PUBLIC bool modalities_build(Modalities *m);
/* One optimizer step. */
MODALITIES_PUBLIC ModalitiesProgress modalities_step(Modalities *m);
/* Of the last step: "loss" (mean over its microbatches), "grad_norm", "lr"; and "step", "tokens",
 * "target_steps", "parameters". NaN: there is no such number yet. */
MODALITIES_PUBLIC double modalities_metric(const Modalities *m, const char *name);
/* Copies the parameter of that name to `to`, which has room for n numbers, unless it has more than
 * that. Returns its number of elements; -1: it failed. */
MODALITIES_PUBLIC int64_t modalities_read_parameter(Modalities *m, const char *name, float *to,
                                                    int64_t n);
/* Writes the parameters as a .safetensors file, which `run --initial_weights_path` takes. */
MODALITIES_PUBLIC bool modalities_save(Modalities *m, const char *path);
MODALITIES_PUBLIC void modalities_close(Modalities *m);

#ifdef __cplusplus
}
#endif
#endif
