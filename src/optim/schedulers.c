/* schedulers.c - the learning-rate schedulers: closed forms of what torch's classes step through.
 */
#include "optim/scheduler_parts.h"
#include <inttypes.h>

/* ---- dummy_lr ---- */

typedef struct DummyLr {
    Optimizer *optimizer;
} DummyLr;

static const Field dummy_fields[] = { FIELD_OPTIMIZER(DummyLr), { 0 } };

static double dummy_rate(const Scheduler *self, int64_t step)
{
    (void)step;
    return self->base_lr;
}

static Error *build_dummy(Builder *b, const void *settings, void **out)
{
    const DummyLr *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, -1, c);
    s->rate = dummy_rate;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_dummy_lr = {
    .kind = "scheduler",
    .variant = "dummy_lr",
    .doc = "the optimizer's own rate throughout",
    .fields = dummy_fields,
    .settings_size = sizeof(DummyLr),
    .build = build_dummy,
};

/* ---- step_lr ---- */

typedef struct StepLr {
    Optimizer *optimizer;
    int64_t step_size;
    double gamma;
    int64_t last_epoch;
} StepLr;

static const Field step_fields[] = {
    FIELD_OPTIMIZER(StepLr),
    FIELD_INT(StepLr, step_size, NULL, 1, INFINITY, "steps between two drops",
              .flags = FIELD_STRICT),
    FIELD_FLOAT(StepLr, gamma, NULL, 0, INFINITY, "factor of one drop", .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(StepLr),
    { 0 },
};

static double step_rate(const Scheduler *self, int64_t step)
{
    const StepLr *c = self->settings;
    return self->base_lr * pow(c->gamma, (double)(step / c->step_size));
}

static Error *build_step(Builder *b, const void *settings, void **out)
{
    const StepLr *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = step_rate;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_step_lr = {
    .kind = "scheduler",
    .variant = "step_lr",
    .doc = "lr * gamma^(step // step_size)",
    .fields = step_fields,
    .settings_size = sizeof(StepLr),
    .build = build_step,
};

/* ---- constant_lr ---- */

typedef struct ConstantLr {
    Optimizer *optimizer;
    double factor;
    int64_t total_iters, last_epoch;
} ConstantLr;

static const Field constant_fields[] = {
    FIELD_OPTIMIZER(ConstantLr),
    FIELD_FLOAT(ConstantLr, factor, NULL, 0, 1, "factor before total_iters", .flags = FIELD_STRICT),
    FIELD_INT(ConstantLr, total_iters, NULL, 1, INFINITY, "steps with the factor",
              .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(ConstantLr),
    { 0 },
};

static double constant_rate(const Scheduler *self, int64_t step)
{
    const ConstantLr *c = self->settings;
    return step < c->total_iters ? self->base_lr * c->factor : self->base_lr;
}

static Error *build_constant(Builder *b, const void *settings, void **out)
{
    const ConstantLr *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = constant_rate;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_constant_lr = {
    .kind = "scheduler",
    .variant = "constant_lr",
    .doc = "lr * factor for total_iters steps, then lr",
    .fields = constant_fields,
    .settings_size = sizeof(ConstantLr),
    .build = build_constant,
};

/* ---- linear_lr ---- */

typedef struct LinearLr {
    Optimizer *optimizer;
    double start_factor, end_factor;
    int64_t total_iters, last_epoch;
} LinearLr;

static const Field linear_fields[] = {
    FIELD_OPTIMIZER(LinearLr),
    FIELD_FLOAT(LinearLr, start_factor, NULL, 0, 1, "factor at the first step",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_FLOAT(LinearLr, end_factor, NULL, 0, 1, "factor from total_iters on",
                .flags = FIELD_STRICT),
    FIELD_INT(LinearLr, total_iters, NULL, 1, INFINITY, "steps between the two",
              .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(LinearLr),
    { 0 },
};

static double linear_rate(const Scheduler *self, int64_t step)
{
    const LinearLr *c = self->settings;
    int64_t at = step < c->total_iters ? step : c->total_iters;
    return self->base_lr *
           straight_line(c->start_factor, c->end_factor, (double)at / (double)c->total_iters);
}

static Error *build_linear(Builder *b, const void *settings, void **out)
{
    const LinearLr *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = linear_rate;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_linear_lr = {
    .kind = "scheduler",
    .variant = "linear_lr",
    .doc = "lr times a factor that goes linearly from start to end",
    .fields = linear_fields,
    .settings_size = sizeof(LinearLr),
    .build = build_linear,
};

/* ---- cosine_annealing_lr ---- */

typedef struct CosineAnnealingLr {
    Optimizer *optimizer;
    int64_t t_max;
    double eta_min;
    int64_t last_epoch;
} CosineAnnealingLr;

static const Field cosine_fields[] = {
    FIELD_OPTIMIZER(CosineAnnealingLr),
    FIELD_INT(CosineAnnealingLr, t_max, NULL, 1, INFINITY, "steps of half a period",
              .flags = FIELD_STRICT, .alias = "T_max"),
    FIELD_FLOAT(CosineAnnealingLr, eta_min, NULL, 0, INFINITY, "the least rate",
                .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(CosineAnnealingLr),
    { 0 },
};

static double cosine_rate(const Scheduler *self, int64_t step)
{
    const CosineAnnealingLr *c = self->settings;
    return half_cosine(self->base_lr, c->eta_min, (double)step / (double)c->t_max);
}

static Error *build_cosine(Builder *b, const void *settings, void **out)
{
    const CosineAnnealingLr *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = cosine_rate;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_cosine_annealing_lr = {
    .kind = "scheduler",
    .variant = "cosine_annealing_lr",
    .doc = "from lr to eta_min and back on a cosine with half period t_max",
    .fields = cosine_fields,
    .settings_size = sizeof(CosineAnnealingLr),
    .build = build_cosine,
};

/* ---- linear_warmup_cosine_annealing_lr ---- */

typedef struct WarmupCosineLr {
    Optimizer *optimizer;
    int64_t warmup_steps, total_steps;
    double initial_lr, final_lr, max_lr;
    int64_t last_epoch;
} WarmupCosineLr;

static const Field warmup_cosine_fields[] = {
    FIELD_OPTIMIZER(WarmupCosineLr),
    FIELD_INT(WarmupCosineLr, warmup_steps, NULL, 1, INFINITY, "steps from initial_lr to max_lr",
              .flags = FIELD_STRICT),
    FIELD_INT(WarmupCosineLr, total_steps, NULL, 1, INFINITY,
              "steps until final_lr, the warmup included", .flags = FIELD_STRICT),
    FIELD_FLOAT(WarmupCosineLr, initial_lr, NULL, 0, INFINITY, "rate of the first step",
                .flags = FIELD_STRICT),
    FIELD_FLOAT(WarmupCosineLr, final_lr, NULL, 0, INFINITY, "rate from total_steps on",
                .flags = FIELD_STRICT),
    FIELD_FLOAT(WarmupCosineLr, max_lr, NULL, 0, INFINITY, "the optimizer's lr",
                .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(WarmupCosineLr),
    { 0 },
};

static Error *check_warmup_cosine(const void *settings)
{
    const WarmupCosineLr *c = settings;
    if (c->total_steps <= c->warmup_steps)
        return error_new("total_steps %" PRId64 " must be greater than warmup_steps %" PRId64,
                         c->total_steps, c->warmup_steps);
    if (c->initial_lr > c->max_lr)
        return error_new("initial_lr %g must not be greater than max_lr %g", c->initial_lr,
                         c->max_lr);
    return NULL;
}

/* After total_steps torch's recursion rises again; nobody who asked for a final rate wants that. */
static double warmup_cosine_rate(const Scheduler *self, int64_t step)
{
    const WarmupCosineLr *c = self->settings;
    if (step < c->warmup_steps)
        return straight_line(c->initial_lr, c->max_lr, (double)step / (double)c->warmup_steps);
    if (step >= c->total_steps) return c->final_lr;
    return half_cosine(c->max_lr, c->final_lr,
                       (double)(step - c->warmup_steps) /
                           (double)(c->total_steps - c->warmup_steps));
}

static Error *build_warmup_cosine(Builder *b, const void *settings, void **out)
{
    const WarmupCosineLr *c = settings;
    if (c->optimizer->lr != c->max_lr)
        return error_new("max_lr is %g but the optimizer's lr is %g; they must be equal", c->max_lr,
                         c->optimizer->lr);
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = warmup_cosine_rate;
    s->held_after = c->total_steps;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_linear_warmup_cosine_annealing_lr = {
    .kind = "scheduler",
    .variant = "linear_warmup_cosine_annealing_lr",
    .doc = "linear from initial_lr to max_lr, then a cosine to final_lr",
    .fields = warmup_cosine_fields,
    .settings_size = sizeof(WarmupCosineLr),
    .check = check_warmup_cosine,
    .build = build_warmup_cosine,
};
