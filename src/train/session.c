/* session.c - builds graphs from the model, runs the passes, makes programs. */
#include "train/session.h"
#include "device/cpu_peak.h"
#include "passes/all_passes.h"
#include "passes/halves.h"
#include "passes/optimize.h"
#include "passes/panels.h"
#include "passes/precision.h"
#include "train/loss_scaling.h"
#include "train/state.h"
#include "watch/watch.h"
#include <string.h>

typedef struct Made {
    struct Made *next;
    const char *kind;
    int64_t batch, sequence, cache;
    Program *program;
} Made;

struct Session {
    Arena *arena;
    const Model *model;
    Device *device;
    ParamStore *store;
    Groups *groups;
    bool is_plan;
    size_t memory;
    CpuLevel level;
    Precision precision;
    Halves halves;
    PanelsChoice panels;
    bool rounded_buffers;
    const PassTrace *trace;
    Made *made;
    Watch *watches;
    int64_t rank;
    double peak_flops; /* 0: not measured yet */
    bool has_weights;  /* those that the model brings were loaded */
};

Error *session_check_device(const char *device)
{
    return device ? device_check(device) : NULL;
}

Error *session_check_trace(const char *print)
{
    if (!print) return NULL;
    const char *colon = strchr(print, ':');
    bool has_place = !strncmp(print, "before:", 7) || !strncmp(print, "after:", 6);
    if (has_place && !strcmp(colon + 1, "all")) return NULL;
    Text names = { 0 };
    for (int i = 0; pass_at(i); i++) {
        if (has_place && !strcmp(colon + 1, pass_at(i)->name)) {
            text_free(&names);
            return NULL;
        }
        text_printf(&names, ", %s", pass_at(i)->name);
    }
    Error *e = error_usage("--print_graph %s: the form is before:PASS or after:PASS; allowed are "
                           "all%s",
                           print, names.ptr);
    text_free(&names);
    return e;
}

Error *session_new(const SessionSettings *settings, Session **out)
{
    CpuLevel level;
    Device *device;
    TRY(cpu_level(&level));
    TRY(device_open(settings->device, settings->local_rank, settings->n_threads, &device));
    Arena *a = arena_new();
    Session *s = NEW(a, Session);
    *s = (Session){ .arena = a,
                    .device = device,
                    .memory = settings->memory,
                    .model = settings->model,
                    .level = level,
                    .groups = settings->groups,
                    .is_plan = settings->is_plan,
                    .trace = settings->trace,
                    .watches = settings->watches,
                    .rank = settings->rank,
                    .rounded_buffers = settings->rounded_buffers };
    s->precision.compute = settings->precision ? *settings->precision : settings->model->compute;
    s->precision.wide = settings->wide;
    s->halves.decided = map_new(a);
    s->store = store_new(s->device);
    *out = s;
    return NULL;
}

void session_free(Session *s)
{
    if (!s) return;
    for (Made *m = s->made; m; m = m->next) program_free(m->program);
    store_free(s->store);
    s->device->free(s->device);
    arena_free(s->arena);
}

ParamStore *session_store(Session *s)
{
    return s->store;
}

Groups *session_groups(const Session *s)
{
    return s->groups;
}

const Model *session_model(const Session *s)
{
    return s->model;
}

size_t session_free_bytes(const Session *s)
{
    size_t taken;
    if (!s->memory) return s->device->free_bytes(s->device);
    store_workspace(s->store, &taken);
    taken += s->store->bytes;
    return s->memory > taken ? s->memory - taken : 1;
}

double session_peak_flops(Session *s)
{
    const Device *d = s->device;
    const Dtype t = s->precision.compute;
    if (!s->peak_flops)
        s->peak_flops =
            d->peak_flops ? d->peak_flops(d, t) : cpu_peak_flops(s->device, t, s->level);
    return s->peak_flops;
}

/* While one program is built. */
typedef struct Recipe {
    const char *kind;
    int64_t batch, sequence, cache;
    bool training, gradients, logits, documents, inspect, ahead;
    const Loss *loss;
    const Optimize *optimize;
    const Schedule *schedule;
} Recipe;

/* Generation alone reads weights often enough; where training changes them, few tokens are made
 * between two updates. */
static PanelsChoice *panels_of(Session *s, const Recipe *r)
{
    if (!s->device->reads_panels || strcmp(r->kind, "generation") != 0) return NULL;
    for (const Made *m = s->made; m; m = m->next)
        if (!strcmp(m->kind, "training")) return NULL;
    if (s->panels.decision == PANELS_UNDECIDED) s->panels.free_bytes = session_free_bytes(s);
    return &s->panels;
}

static Error *build_graph(Session *s, const Recipe *r, Graph **out)
{
    Graph *g = graph_new(s->arena);
    g->mesh = s->groups ? groups_mesh(s->groups) : NULL;
    ModelOutput result = { 0 };
    ForwardSettings f = { .batch = r->batch,
                          .sequence = r->sequence,
                          .training = r->training,
                          .rounded_buffers = s->rounded_buffers,
                          .cache_length = r->cache,
                          .documents = r->documents,
                          .inspect = r->inspect,
                          .ahead = r->ahead };
    TRY(s->model->forward(s->model, g, &f, &result));
    if (r->logits) graph_output(g, "logits", model_logits(g, &result));
    for (int i = 0; f.inspect && i < result.n_named; i++)
        graph_output(g, result.named[i].key, result.named[i].value);
    if (f.ahead) model_give_ahead(g, &result);
    if (r->loss) TRY(r->loss->apply(r->loss, g, &result, &f));
    const Purpose purpose = { .model = s->model,
                              .precision = &s->precision,
                              .mesh = g->mesh,
                              .optimize = r->optimize,
                              .halves = &s->halves,
                              .panels = panels_of(s, r),
                              .gradients = r->gradients,
                              .averages = !r->gradients,
                              .epilogues = s->device->has_epilogues };
    PassList list = passes_for(s->arena, &purpose);
    TRY(passes_run(g, g->mesh, &list, s->trace));
    *out = g;
    return NULL;
}

static Error *round_parameter(ParamStore *s, const Stored *x, Dtype to, Arena *a)
{
    Tensor view;
    TRY(store_numbers(s, x, true, a, &view));
    int64_t n = tensor_count(&view);
    void *rounded = arena_alloc(a, (size_t)n * dtype_size(to));
    dtype_convert(to, rounded, view.dtype, view.data, n);
    dtype_convert(view.dtype, view.data, to, rounded, n);
    return store_put_numbers(s, x, &view);
}

static Error *round_parameters(ParamStore *s, Dtype to)
{
    Arena *a = arena_new();
    Error *e = store_before_change(s);
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        /* what chooses among many must stay the whole number that it is */
        if (x->kind == VALUE_PARAM && x->init.kind != INIT_CHOICES)
            e = round_parameter(s, x, to, a);
        arena_clear(a);
    }
    arena_free(a);
    return e;
}

/* All parameters are in the store as soon as any program is. */
static Error *load_weights(Session *s)
{
    const Model *m = s->model;
    const bool from_hf = m->hf && !m->initializer && !m->weights_path;
    if ((!m->weights_path && !from_hf) || s->has_weights || s->is_plan) return NULL;
    TRY(from_hf ? state_load_hf(s->store, m->hf)
                : state_load(s->store, m->weights_path, NULL, false, NULL));
    if (m->weights_dtype != F32) TRY(round_parameters(s->store, m->weights_dtype));
    store_changed(s->store);
    s->has_weights = true;
    return NULL;
}

static Error *make(Session *s, const Recipe *r, Program **out)
{
    for (Made *m = s->made; m; m = m->next) {
        if (m->kind != r->kind || m->batch != r->batch || m->sequence != r->sequence ||
            m->cache != r->cache)
            continue;
        *out = m->program;
        return load_weights(s);
    }
    Graph *g = NULL;
    TRY(error_wrap(build_graph(s, r, &g), "%s program", r->kind));
    ProgramSettings settings = {
        .device = s->device,
        .store = s->store,
        .memory = s->memory,
        .level = s->level,
        .groups = s->groups,
        .is_plan = s->is_plan,
        .name = r->kind,
        .schedule = r->schedule,
    };
    TRY(program_new(g, &settings, out));
    Watchers *w = NEW(s->arena, Watchers);
    *w = (Watchers){
        .of_model = s->model->watches, .of_run = s->watches, .device = s->device, .rank = s->rank
    };
    Made *m = NEW(s->arena, Made);
    *m = (Made){ .next = s->made,
                 .kind = r->kind,
                 .batch = r->batch,
                 .sequence = r->sequence,
                 .cache = r->cache,
                 .program = *out };
    s->made = m;
    TRY(watchers_attach(w, *out));
    return load_weights(s);
}

Error *session_training_program(Session *s, const Loss *loss, const Optimizer *optimizer,
                                const GradientClipper *clipper, const Schedule *schedule,
                                int64_t batch, int64_t sequence, Program **out)
{
    Optimize *o = NEW(s->arena, Optimize);
    *o = (Optimize){ .optimizer = optimizer,
                     .norm_type = clipper->norm_type,
                     .max_norm = clipper->max_norm,
                     .is_scaled = loss_scaling_is_wanted(
                         s->model, s->groups ? groups_mesh(s->groups) : NULL) };
    Recipe r = { .kind = "training",
                 .batch = batch,
                 .sequence = sequence,
                 .training = true,
                 .gradients = true,
                 .documents = true,
                 .loss = loss,
                 .optimize = o,
                 .schedule = schedule };
    return make(s, &r, out);
}

Error *session_evaluation_program(Session *s, const Loss *loss, int64_t batch, int64_t sequence,
                                  Program **out)
{
    Recipe r = {
        .kind = "evaluation", .batch = batch, .sequence = sequence, .loss = loss, .documents = true
    };
    return make(s, &r, out);
}

static Error *make_inspection(Session *s, const char *kind, bool ahead, const Loss *loss,
                              bool gradients, int64_t batch, int64_t sequence, Program **out)
{
    const Recipe r = { .kind = kind,
                       .batch = batch,
                       .sequence = sequence,
                       .loss = loss,
                       .gradients = gradients,
                       .logits = true,
                       .inspect = true,
                       .ahead = ahead };
    return make(s, &r, out);
}

Error *session_inspection_program(Session *s, const Loss *loss, bool gradients, int64_t batch,
                                  int64_t sequence, Program **out)
{
    return make_inspection(s, "inspection", false, loss, gradients, batch, sequence, out);
}

Error *session_whole_program(Session *s, const Loss *loss, bool gradients, int64_t batch,
                             int64_t sequence, Program **out)
{
    return make_inspection(s, "whole", true, loss, gradients, batch, sequence, out);
}

Error *session_plain_program(Session *s, Program **out)
{
    return make(s, &(Recipe){ .kind = "plain" }, out);
}

Error *session_generation_program(Session *s, int64_t batch, int64_t sequence, int64_t cache_length,
                                  Program **out)
{
    Recipe r = { .kind = "generation",
                 .batch = batch,
                 .sequence = sequence,
                 .cache = cache_length,
                 .logits = sequence == 1 };
    return make(s, &r, out);
}
