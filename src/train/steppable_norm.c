/* steppable_norm.c - steppable_component.steppable_norm: a norm on made-up numbers, to be measured.
 */
#include "config/builder.h"
#include "data/batch_generator.h"
#include "exec/schedule.h"
#include "models/layers.h"
#include "models/model.h"
#include "train/steppable.h"

typedef struct Settings {
    const Norm *norm;
    BatchGenerator *dataset_batch_generator;
    bool apply_compile;
} Settings;

typedef struct SteppableNorm {
    Steppable base;
    const Settings *settings;
    Model model; /* the norm as all there is to a model */
    Session *session;
    Program *program;
    Batch batch;
    RunTime now;
} SteppableNorm;

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    (void)f;
    const SteppableNorm *n =
        (const SteppableNorm *)((const char *)self - offsetof(SteppableNorm, model));
    const BatchGenerator *b = n->settings->dataset_batch_generator;
    Dim dim[MAX_DIMS] = { { 0 } };
    for (int64_t d = 0; d < b->dims.n; d++) dim[d].size = b->dims.item[d].value;
    Value *x = graph_input(g, "input_ids", b->dtype, (int)b->dims.n, dim);
    out->hidden = norm(g, "norm", x, n->settings->norm);
    out->head = NULL;
    graph_output(g, "normed", out->hidden);
    return graph_finish(g);
}

static Error *prepare(Steppable *self, const SessionSettings *settings)
{
    SteppableNorm *n = (SteppableNorm *)self;
    SessionSettings own = *settings;
    own.model = &n->model;
    if (!dtype_is_float(n->settings->dataset_batch_generator->dtype))
        return error_new("a norm takes float32 or bfloat16, not integers");
    TRY(session_new(&own, &n->session));
    TRY(session_plain_program(n->session, &n->program));
    return store_initialize(session_store(n->session), 0);
}

static Error *step(Steppable *self)
{
    SteppableNorm *n = (SteppableNorm *)self;
    batch_generator_next(n->settings->dataset_batch_generator, &n->batch);
    TRY(program_write(n->program, "input_ids", 0, batch_find(&n->batch, "input_ids")->data));
    TRY(program_run_phases(n->program, RUN_FORWARD, &n->now));
    n->now.step++;
    return NULL;
}

static void release(Steppable *self)
{
    session_free(((SteppableNorm *)self)->session);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    SteppableNorm *n = NEW(a, SteppableNorm);
    *n = (SteppableNorm){ .base = { .prepare = prepare, .step = step, .release = release },
                          .settings = s,
                          .model = { .forward = forward,
                                     .name = "norm",
                                     .compute = F32,
                                     .weights_dtype = F32,
                                     .passes = { .arena = a } },
                          .batch = { .arena = a } };
    *out = n;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, norm, const Norm, "layer_norm", NULL, "the norm"),
    FIELD_COMPONENT(Settings, dataset_batch_generator, BatchGenerator, "dataset_batch_generator", NULL, "its numbers"),
    FIELD_BOOL(Settings, apply_compile, "false", "compile it first", .no_effect = "always compiled into a plan"),
    { 0 },
};
/* clang-format on */

const ComponentDef steppable_component_steppable_norm = {
    .kind = "steppable_component",
    .variant = "steppable_norm",
    .doc = "a norm on made-up numbers, as in the original's profiling tutorial",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
