/* library.c - a training that a program of the user's steps through. */
#include "base/version.h"
#include "checkpoint/safetensors.h"
#include "components.h"
#include "optim/param_groups.h"
#include "plugin/plugin.h"
#include "train/bare_training.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct Modalities {
    Arena *arena;
    Registry *registry;
    Yaml *root;
    BareTraining training;
    bool is_built, has_failed;
};

enum { MAX_MESSAGE = 16384 };
static _Thread_local char message[MAX_MESSAGE];

const char *modalities_error(void)
{
    return message;
}

int64_t modalities_api(void)
{
    return MODALITIES_API;
}

const char *modalities_version(void)
{
    return PROGRAM_VERSION;
}

/* Keeps what was wrong for modalities_error; true: nothing was. */
static bool is_good(Error *e)
{
    if (!e) return true;
    snprintf(message, sizeof message, "%s", error_text(e));
    error_free(e);
    return false;
}

static StringList list_of(Arena *a, const char *const *text)
{
    StringList list = { 0 };
    while (text && text[list.n]) list.n++;
    list.item = NEW_N(a, const char *, list.n + 1);
    for (int64_t i = 0; i < list.n; i++) list.item[i] = arena_string(a, text[i]);
    return list;
}

static Error *read(Modalities *m, const char *path, const char *const *overrides)
{
    const ResolverContext context = { .config_file_path = path,
                                      .experiments_root_path = ".",
                                      .experiment_id = "library" };
    TRY(components_registry(m->arena, &m->registry));
    TRY(config_load(m->arena, path, list_of(m->arena, overrides), &context, &m->root));
    return training_config_complete(m->arena, m->root, NULL, ".");
}

Modalities *modalities_open(const char *config_file_path, const char *const *overrides)
{
    Arena *a = arena_new();
    Modalities *m = NEW(a, Modalities);
    m->arena = a;
    if (is_good(read(m, arena_string(a, config_file_path), overrides))) return m;
    arena_free(a);
    return NULL;
}

bool modalities_add_plugin(Modalities *m, const ModalitiesPlugin *plugin)
{
    if (m->is_built) return is_good(error_new("components are to be added before the build"));
    return is_good(plugin_add(m->registry, plugin, plugin->name ? plugin->name : "without a name"));
}

static Error *build(Modalities *m)
{
    TRY(bare_training_open(m->arena, m->registry, m->root, &(RunSettings){ 0 }, &m->training));
    int64_t n = m->training.job.mesh.world_size;
    if (n == 1) return NULL;
    return error_new("the configuration is for %lld ranks; the library trains on one",
                     (long long)n);
}

bool modalities_build(Modalities *m)
{
    if (m->is_built) return is_good(error_new("it was built before"));
    m->is_built = true;
    m->has_failed = !is_good(build(m));
    return !m->has_failed;
}

ModalitiesProgress modalities_step(Modalities *m)
{
    if (!m->is_built || m->has_failed) {
        if (!m->has_failed) is_good(error_new("it is to be built before it steps"));
        return MODALITIES_FAILED;
    }
    bool ended;
    m->has_failed = !is_good(bare_training_step(&m->training, &ended));
    if (m->has_failed) return MODALITIES_FAILED;
    return ended ? MODALITIES_ENDED : MODALITIES_STEPPED;
}

static double mean_loss(const OptimizerStep *s)
{
    double sum = 0, n = 0;
    for (int64_t i = 0; i < s->plan.n; i++) {
        sum += s->has_targets[i] ? s->loss[i] : 0;
        n += s->has_targets[i];
    }
    return sum / n;
}

double modalities_metric(const Modalities *m, const char *name)
{
    const BareTraining *t = &m->training;
    const bool is_ready = m->is_built && !m->has_failed;
    const int64_t done = t->steps - t->job.seen_steps,
                  of_step = t->job.microbatch_size * t->job.sequence_length * t->job.accumulation;
    if (is_ready && !strcmp(name, "step")) return (double)t->steps;
    if (is_ready && !strcmp(name, "tokens")) return (double)(t->job.seen_tokens + done * of_step);
    if (is_ready && !strcmp(name, "target_steps")) return (double)t->job.target_steps;
    if (is_ready && !strcmp(name, "parameters"))
        return (double)graph_parameter_count(program_graph(t->step.program));
    if (!is_ready || !done) return NAN;
    if (!strcmp(name, "loss")) return mean_loss(&t->step);
    if (!strcmp(name, "grad_norm")) return t->step.grad_norm;
    if (!strcmp(name, "lr"))
        return rates_mean(t->step.now.rate, param_groups_count(t->job.state->optimizer));
    return NAN;
}

static Error *check_ready(const Modalities *m)
{
    if (m->training.session && m->training.step.program) return NULL;
    return error_new("it was not built, so there are no parameters");
}

static Error *read_parameter(Modalities *m, const char *name, float *to, int64_t room, int64_t *n)
{
    TRY(check_ready(m));
    ParamStore *store = session_store(m->training.session);
    const Stored *p = store_find(store, name);
    if (!p || p->kind != VALUE_PARAM) return error_new("there is no parameter \"%s\"", name);
    *n = tensor_count(&p->tensor);
    if (*n > room) return NULL;
    Arena *a = arena_new();
    Tensor view;
    Error *e = store_numbers(store, p, true, a, &view);
    if (!e) dtype_convert(F32, to, view.dtype, view.data, *n);
    arena_free(a);
    return e;
}

int64_t modalities_read_parameter(Modalities *m, const char *name, float *to, int64_t n)
{
    int64_t count = 0;
    return is_good(read_parameter(m, name, to, n, &count)) ? count : -1;
}

static Error *save(Modalities *m, Arena *a, const char *path)
{
    TRY(check_ready(m));
    ParamStore *store = session_store(m->training.session);
    const int64_t n_stored = store_count(store);
    NamedTensor *tensor = NEW_N(a, NamedTensor, n_stored);
    int64_t n = 0;
    for (int64_t i = 0; i < n_stored; i++) {
        const Stored *p = store_at(store, i);
        if (p->kind != VALUE_PARAM) continue;
        tensor[n].name = p->name;
        TRY(store_numbers(store, p, true, a, &tensor[n++].tensor));
    }
    return safetensors_write(path, tensor, n);
}

bool modalities_save(Modalities *m, const char *path)
{
    Arena *a = arena_new();
    Error *e = save(m, a, path);
    arena_free(a);
    return is_good(e);
}

void modalities_close(Modalities *m)
{
    if (!m) return;
    bare_training_close(&m->training);
    arena_free(m->arena);
}
