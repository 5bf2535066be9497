/* debugging_enriched.c - model.debugging_enriched: statistics of what enters and leaves the model's
 * modules, a JSON line each. */
#include "base/file.h"
#include "base/json.h"
#include "config/builder.h"
#include "models/model.h"
#include "watch/module_map.h"
#include "watch/tensor_stats.h"
#include "watch/watch.h"
#include <time.h>

typedef struct Settings {
    Model *model;
    const char *logging_dir_path;
    const IntList *tracked_ranks;
    int64_t log_interval_steps;
} Settings;

typedef struct Known {
    struct Known *next;
    const Graph *graph;
    ModuleMap *map;
} Known;

typedef struct Enriched {
    Watch base;
    const Settings *settings;
    Arena *arena;
    const char *path;
    Known *known;    /* of each program's graph */
    int64_t counter; /* forward passes before this one, as the original counts calls of modules */
    Text lines;
} Enriched;

static void put_number(Text *t, const char *key, double x)
{
    text_printf(t, "\"%s\": ", key);
    text_json_double(t, x);
    text_puts(t, ", ");
}

static void put_shape(Text *t, const char *key, const Tensor *x, bool whole)
{
    text_printf(t, "\"%s\": [", key);
    for (int d = 0; d < x->n_dims; d++)
        text_printf(t, d ? ", %lld" : "%lld", (long long)(whole ? global_size(x, d) : x->size[d]));
    text_puts(t, "], ");
}

static const char *torch_name(Dtype t)
{
    switch (t) {
    case F64:
        return "torch.float64";
    case F32:
        return "torch.float32";
    case BF16:
        return "torch.bfloat16";
    case I32:
        return "torch.int32";
    case I64:
        return "torch.int64";
    default:
        return dtype_name(t);
    }
}

/* As the original: mean and deviation of float32 and bfloat16 only, else -1. */
static void put_line(Enriched *m, const ModuleSight *s, const NodeRun *x, const Tensor *t)
{
    const TensorStats stats = tensor_stats(t);
    bool is_float = t->dtype == F32 || t->dtype == BF16, is_split = false;
    for (int d = 0; d < t->n_dims; d++) is_split |= t->part[d] != NULL;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    Text *out = &m->lines;
    text_printf(out, "{\"tensor_tag\": \"%s\", \"hook_type\": \"%s\", ", s->name,
                module_event_name(s->event));
    put_shape(out, "global_shape", t, true);
    put_shape(out, "local_shape", t, false);
    text_printf(out, "\"dtype\": \"%s\", \"is_dtensor\": %s, \"nan_count\": %lld, ",
                torch_name(t->dtype), is_split ? "true" : "false", (long long)stats.n_nan);
    text_printf(out, "\"inf_count\": %lld, ", (long long)stats.n_inf);
    put_number(out, "mean", is_float ? stats.mean : -1);
    put_number(out, "std", is_float ? stats.std : -1);
    put_number(out, "min", stats.min);
    put_number(out, "max", stats.max);
    text_printf(out, "\"counter\": %lld, \"rank\": %lld, \"timestamp_ns\": %lld}\n",
                (long long)m->counter, (long long)x->rank,
                (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

static ModuleMap *map_of(Enriched *m, const Graph *g)
{
    for (Known *k = m->known; k; k = k->next)
        if (k->graph == g) return k->map;
    Known *k = NEW(m->arena, Known);
    *k = (Known){ m->known, g, module_map_new(m->arena, g) };
    m->known = k;
    return k->map;
}

static Error *start(Watch *self, const Program *p)
{
    (void)p;
    return make_directories(((Enriched *)self)->settings->logging_dir_path);
}

static Error *look(Enriched *m, const NodeRun *x)
{
    const ModuleMap *map = map_of(m, x->graph);
    Arena *a = arena_new();
    Error *e = NULL;
    for (int64_t i = 0; !e && i < map->n; i++) {
        const ModuleSight *s = &map->sight[i];
        Tensor host;
        if (x->graph->node[s->node] != x->node) continue;
        const Launch *l = x->launch;
        e = node_tensor(x, s->is_input ? &l->in[s->operand] : &l->out[s->operand], a, &host);
        if (!e) put_line(m, s, x, &host);
    }
    arena_free(a);
    return e;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    Enriched *m = (Enriched *)self;
    Phase p = x->node->phase;
    if (p != FORWARD && p != BACKWARD_INPUT && p != BACKWARD_WEIGHT) return NULL;
    m->counter += x->node == map_of(m, x->graph)->first;
    if (m->counter % m->settings->log_interval_steps) return NULL;
    TRY(look(m, x));
    Error *e = m->lines.len ? file_append(m->path, m->lines.ptr, m->lines.len) : NULL;
    text_clear(&m->lines);
    return e;
}

static void release(void *enriched)
{
    text_free(&((Enriched *)enriched)->lines);
}

static bool is_tracked(const IntList *ranks, int64_t rank)
{
    bool found = !ranks;
    for (int64_t i = 0; ranks && i < ranks->n; i++) found |= ranks->item[i] == rank;
    return found;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    const Rank *rank = builder_rank(b);
    int64_t number = rank ? rank->rank : 0;
    *out = s->model;
    if (!is_tracked(s->tracked_ranks, number)) return NULL;
    Enriched *m = NEW(a, Enriched);
    *m = (Enriched){ .base = { .start = start, .node = on_node },
                     .settings = s,
                     .arena = a,
                     .counter = -1,
                     .path = arena_printf(a, "%s/tensor_stats_rank_%lld.jsonl", s->logging_dir_path,
                                          (long long)number) };
    arena_on_free(a, release, m);
    watch_add(&s->model->watches, &m->base);
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_PATH(Settings, logging_dir_path, NULL, "folder for tensor_stats_rank_R.jsonl", .role = PATH_BEGINNING),
    FIELD_INTS(Settings, tracked_ranks, "null", 0, 0, "ranks that write; null: all"),
    FIELD_INT(Settings, log_interval_steps, "1", 1, INFINITY, "forward passes from one that is written to the next"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_debugging_enriched = {
    .kind = "model",
    .variant = "debugging_enriched",
    .doc = "writes statistics of the tensors that enter and leave each module",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
