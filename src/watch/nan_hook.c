/* nan_hook.c - model_debugging_hook.nan_hook: tells where NaNs come up, and keeps what they came
 * from. */
#include "base/file.h"
#include "base/log.h"
#include "config/builder.h"
#include "models/model.h"
#include "watch/node_record.h"
#include "watch/tensor_stats.h"
#include "watch/watch.h"

typedef struct Settings {
    Model *model;
    bool raise_exception;
    const char *save_inputs_to;
} Settings;

typedef struct NanHook {
    Watch base;
    const Settings *settings;
    int64_t n_saved;
} NanHook;

enum { MOST_SAVED = 16 };

static Error *any_nan(const NodeRun *x, const Tensor *t, int n, Arena *a, bool *found)
{
    *found = false;
    for (int k = 0; k < n && !*found; k++) {
        Tensor host;
        if (!dtype_is_float(t[k].dtype)) continue;
        TRY(node_tensor(x, &t[k], a, &host));
        *found = tensor_has_nan(&host);
    }
    return NULL;
}

static Error *save(NanHook *h, const NodeRun *x, Arena *a, const char **said)
{
    const char *folder = h->settings->save_inputs_to;
    *said = "";
    if (!folder || h->n_saved == MOST_SAVED) return NULL;
    const char *path =
        arena_printf(a, "%s/nan_rank_%lld_step_%lld_%lld.safetensors", folder, (long long)x->rank,
                     (long long)x->now->step + 1, (long long)h->n_saved++);
    TRY(make_directories(folder));
    TRY(node_record_write(a, x, path));
    *said = arena_printf(a, "; modalities replay %s", path);
    return NULL;
}

/* Where NaNs come in they were told of already, at the node that made them. */
static Error *look(NanHook *h, const NodeRun *x, Arena *a)
{
    bool is_nan, came_in;
    const char *saved, *what = "output";
    TRY(any_nan(x, x->launch->out, x->launch->n_out, a, &is_nan));
    if (!is_nan) return NULL;
    TRY(any_nan(x, x->launch->in, x->launch->n_in, a, &came_in));
    if (came_in && x->node->in[0]->kind == VALUE_RESULT && !node_parameter(x->node)) return NULL;
    if (came_in) what = "input";
    TRY(save(h, x, a, &saved));
    const char *text =
        arena_printf(a, "NaN detected in %s of %s: step %lld, microbatch %lld, rank %lld%s", what,
                     node_place(a, x->node), (long long)x->now->step + 1,
                     (long long)x->now->microbatch, (long long)x->rank, saved);
    if (h->settings->raise_exception) return error_new("%s", text);
    log_warning("%s", text);
    return NULL;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    Arena *a = arena_new();
    Error *e = look((NanHook *)self, x, a);
    arena_free(a);
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    NanHook *h = NEW(builder_arena(b), NanHook);
    *h = (NanHook){ .base = { .node = on_node }, .settings = s };
    watch_add(&s->model->watches, &h->base);
    *out = h;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_BOOL(Settings, raise_exception, "false", "a NaN ends the run; else it is a warning"),
    FIELD_PATH(Settings, save_inputs_to, "null", "folder for the inputs of nodes that make NaNs, for `modalities replay`", .role = PATH_BEGINNING),
    { 0 },
};
/* clang-format on */

const ComponentDef model_debugging_hook_nan_hook = {
    .kind = "model_debugging_hook",
    .variant = "nan_hook",
    .doc = "tells which op of which layer makes a NaN, in the forward or the backward pass",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
