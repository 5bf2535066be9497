/* scheduler.c - a plugin's learning-rate schedule. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include "plugin/parts.h"

typedef struct Own {
    Optimizer *optimizer;
    int64_t last_epoch;
} Own;
_Static_assert(sizeof(Own) <= OWN_SETTINGS, "the program's settings fit in front");

typedef struct PluginScheduler {
    ComponentDef component;
    const ModalitiesScheduler *from;
} PluginScheduler;

typedef struct Made {
    Scheduler base;
    const ModalitiesScheduler *from;
} Made;

static double rate(const Scheduler *self, int group, int64_t step)
{
    const Made *m = (const Made *)self;
    return m->from->rate(plugin_settings(self->settings), self->base_lr[group], step);
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    text_putc(out, '{');
    put_torch_steps(self, step, step + 1, step, out);
    text_putc(out, '}');
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Own *s = settings;
    Made *m = NEW(builder_arena(b), Made);
    m->base = *scheduler_new(b, s->optimizer, s->last_epoch, settings);
    m->base.rate = rate;
    m->base.torch_state = torch_state;
    m->from = ((const PluginScheduler *)builder_self(b)->def)->from;
    *out = m;
    return NULL;
}

static const Field own[] = {
    FIELD_OPTIMIZER(Own),
    FIELD_LAST_EPOCH(Own),
    { 0 },
};

Error *plugin_scheduler(Arena *a, const ModalitiesScheduler *from, const ComponentDef **out)
{
    if (!from->variant || !from->rate) return error_new("a scheduler needs variant and rate");
    PluginScheduler *s = NEW(a, PluginScheduler);
    const ComponentDef self = { .kind = "scheduler",
                                .variant = from->variant,
                                .doc = from->doc,
                                .fields = own,
                                .build = build };
    TRY(plugin_component(a, self, from->settings, from->settings_size, &s->component));
    s->from = from;
    *out = &s->component;
    return NULL;
}
