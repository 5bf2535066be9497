/* progress.c - the progress of a training as JSON, with every bit of its sums. */
#include "train/progress.h"
#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "config/yaml.h"
#include <inttypes.h>
#include <stdlib.h>

/* Trainings without it have no such key. */
static const char *scaling_json(Arena *a, const LossScaling *s)
{
    if (s->scale == 0) return "";
    return arena_printf(a, ", \"loss_scaling\": {\"scale\": \"%a\", \"good_steps\": %" PRId64 "}",
                        s->scale, s->good_steps);
}

/* Sums are written in hexadecimal, which is exact and also has NaN and infinities. */
const char *progress_json(Arena *a, const TrainingPosition *p, const TrainingFacts *f)
{
    const Window *w = &p->window;
    return arena_printf(
        a,
        "{\"seen_steps\": %" PRId64 ", \"seen_tokens\": %" PRId64 ", \"updates\": %" PRId64
        ", \"loader_position\": %" PRId64 ", \"dp_degree\": %" PRId64
        ", \"samples_per_step\": %" PRId64 ", \"n_samples\": %" PRId64 ", \"seed\": %" PRId64
        ", \"config\": \"%s\", \"is_evaluated\": %s, \"window\": {\"loss\": \"%a\", "
        "\"grad_norm\": \"%a\", \"seconds\": \"%a\", \"n_losses\": %" PRId64
        ", \"n_without_targets\": %" PRId64 ", \"n_steps\": %" PRId64 ", \"n_samples\": %" PRId64
        ", \"n_overflows\": %" PRId64 "}%s}",
        p->steps, p->tokens, f->updates, p->loader_position, p->dp_degree, p->samples_per_step,
        p->n_samples, f->seed, f->config_digest ? f->config_digest : "",
        p->is_evaluated ? "true" : "false", w->loss, w->grad_norm, clock_seconds() - w->started,
        w->n_losses, w->n_without_targets, w->n_steps, w->n_samples, w->n_overflows,
        scaling_json(a, &p->scaling));
}

static bool number(const Yaml *map, const char *key, int64_t *out)
{
    const Yaml *y = yaml_get(map, key);
    if (!y || y->type != YAML_INT) return false;
    *out = y->integer;
    return true;
}

static double sum(const Yaml *map, const char *key)
{
    const Yaml *y = yaml_get(map, key);
    return y && y->type == YAML_STRING ? strtod(y->text, NULL) : 0;
}

/* Checkpoints of earlier versions have none: their sums begin anew. */
static Window read_window(const Yaml *y)
{
    Window w = { .loss = sum(y, "loss"),
                 .grad_norm = sum(y, "grad_norm"),
                 .started = clock_seconds() - sum(y, "seconds") };
    number(y, "n_losses", &w.n_losses);
    number(y, "n_without_targets", &w.n_without_targets);
    number(y, "n_steps", &w.n_steps);
    number(y, "n_samples", &w.n_samples);
    number(y, "n_overflows", &w.n_overflows);
    return w;
}

static LossScaling read_scaling(const Yaml *y)
{
    LossScaling s = { .scale = sum(y, "scale") };
    number(y, "good_steps", &s.good_steps);
    return s;
}

Error *progress_read(Arena *a, const char *checkpoint, TrainingPosition *out)
{
    CheckpointReader *r;
    TRY(checkpoint_open(a, checkpoint, &r));
    Yaml *y;
    TRY(error_wrap(yaml_parse(a, str_of(r->progress), "progress", &y), "%s", checkpoint));
    if (!number(y, "seen_steps", &out->steps) || !number(y, "seen_tokens", &out->tokens) ||
        !number(y, "loader_position", &out->loader_position))
        return error_new("%s does not say at which step it was saved", checkpoint);
    if (!number(y, "dp_degree", &out->dp_degree)) out->dp_degree = 1; /* of an earlier version */
    number(y, "samples_per_step", &out->samples_per_step);
    number(y, "n_samples", &out->n_samples);
    const Yaml *is_evaluated = yaml_get(y, "is_evaluated"), *window = yaml_get(y, "window"),
               *scaling = yaml_get(y, "loss_scaling");
    out->is_evaluated = !is_evaluated || is_evaluated->boolean;
    if (scaling) out->scaling = read_scaling(scaling);
    out->window = window ? read_window(window) : (Window){ .started = clock_seconds() };
    return NULL;
}
