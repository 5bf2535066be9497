/* forward_pass.c - steppable_component.forward_pass: a model on made-up batches, to be measured. */
#include "config/builder.h"
#include "data/batch_generator.h"
#include "exec/schedule.h"
#include "train/evaluator.h"
#include "train/steppable.h"
#include <string.h>

typedef struct Settings {
    Model *model;
    BatchGenerator *dataset_batch_generator;
    Loss *loss_fn;
    Optimizer *optimizer;
} Settings;

typedef struct ForwardPass {
    Steppable base;
    const Settings *settings;
    Arena *arena;
    Session *session;
    Program *program;
    Batch batch;
    RunTime now;
} ForwardPass;

/* What the batches bring must be what the model reads. */
static Error *check_batches(const Settings *s)
{
    const BatchGenerator *g = s->dataset_batch_generator;
    const ModelInput *in = model_text(s->model);
    if (!in) return error_new("the batches hold token ids, which is not what this model reads");
    if (strcmp(in->name, "input_ids"))
        return error_new("the model's sample_key is %s, but the batches have input_ids", in->name);
    if (s->loss_fn && strcmp(s->loss_fn->target_key, "target_ids"))
        return error_new("the loss's target_key is %s, but the batches have target_ids",
                         s->loss_fn->target_key);
    if (dtype_is_float(g->dtype) || g->dims.n != 2)
        return error_new("the model reads token ids [batch, sequence]: data_type must be int64, "
                         "and dims must have two entries");
    if (g->min < 0 || g->max > s->model->vocab_size)
        return error_new("ids from %lld to %lld do not lie in the model's vocabulary of %lld",
                         (long long)g->min, (long long)g->max - 1, (long long)s->model->vocab_size);
    return NULL;
}

static Error *make_program(ForwardPass *f)
{
    static const GradientClipper only_measured = { .norm_type = 2 };
    const Settings *s = f->settings;
    const IntMap *d = &s->dataset_batch_generator->dims;
    int64_t batch = d->item[0].value, sequence = d->item[1].value;
    if (s->optimizer && s->loss_fn)
        return session_training_program(f->session, s->loss_fn, s->optimizer, &only_measured, NULL,
                                        batch, sequence, &f->program);
    return session_inspection_program(f->session, s->loss_fn, s->loss_fn != NULL, batch, sequence,
                                      &f->program);
}

static Error *prepare(Steppable *self, const SessionSettings *settings)
{
    ForwardPass *f = (ForwardPass *)self;
    SessionSettings own = *settings;
    own.model = f->settings->model;
    own.rounded_buffers = own.model->compute == BF16;
    TRY(check_batches(f->settings));
    TRY(session_new(&own, &f->session));
    TRY(make_program(f));
    if (f->settings->optimizer) TRY(scheduler_rates(NULL, f->settings->optimizer, 0, f->now.rate));
    f->now.loss_scale = 1;
    f->now.seed = (uint64_t)own.model->seed;
    return store_initialize(session_store(f->session), f->now.seed);
}

static Error *step(Steppable *self)
{
    ForwardPass *f = (ForwardPass *)self;
    const Settings *s = f->settings;
    batch_generator_next(s->dataset_batch_generator, &f->batch);
    TRY(program_feed(f->program, 0, &f->batch));
    TRY(program_run_phases(f->program, s->loss_fn ? RUN_MICROBATCH : RUN_FORWARD, &f->now));
    if (s->loss_fn && s->optimizer) {
        TRY(program_run_phases(f->program, RUN_STEP, &f->now));
        f->now.updates++;
    }
    f->now.step++;
    return NULL;
}

static void release(Steppable *self)
{
    session_free(((ForwardPass *)self)->session);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    ForwardPass *f = NEW(a, ForwardPass);
    *f = (ForwardPass){ .base = { .prepare = prepare, .step = step, .release = release },
                        .settings = s,
                        .arena = a,
                        .batch = { .arena = a } };
    *out = f;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model"),
    FIELD_COMPONENT(Settings, dataset_batch_generator, BatchGenerator, "dataset_batch_generator", NULL, "its batches"),
    FIELD_COMPONENT(Settings, loss_fn, Loss, "loss", "null", "with it a step has a backward pass"),
    FIELD_COMPONENT(Settings, optimizer, Optimizer, "optimizer", "null", "with it, and with a loss, a step has an update"),
    { 0 },
};
/* clang-format on */

const ComponentDef steppable_component_forward_pass = {
    .kind = "steppable_component",
    .variant = "forward_pass",
    .doc = "forward, and if asked backward pass and update, of a model on made-up batches",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
