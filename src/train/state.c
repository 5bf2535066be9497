/* state.c - names of the store's tensors in checkpoints. */
#include "train/state.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/hf_weights.h"
#include "checkpoint/load_shared.h"
#include "checkpoint/shares.h"
#include "config/yaml.h"
#include "models/adapter_names.h"
#include "passes/average.h"
#include <inttypes.h>
#include <string.h>

#define OPTIMIZER_STATE "app.optimizer.state."

/* "{state}.{parameter}"; both may have dots. */
static const char *state_name(Arena *a, const ParamStore *s, const char *name)
{
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        const Stored *of = store_find(s, dot + 1);
        if (of && of->kind == VALUE_PARAM)
            return arena_printf(a, OPTIMIZER_STATE "%s.%.*s", dot + 1, (int)(dot - name), name);
    }
    return arena_printf(a, OPTIMIZER_STATE "%s", name); /* of no parameter */
}

/* An average that stands for its parameter (passes/average.h) is read where training kept it. */
static const char *param_name(Arena *a, const char *name)
{
    if (str_starts(str_of(name), AVERAGE))
        return arena_printf(a, OPTIMIZER_STATE "%s.ema", name + strlen(AVERAGE));
    return arena_printf(a, "app.model.%s", name);
}

static bool is_saved(const Stored *x, bool with_optimizer)
{
    if (x->kind == VALUE_PARAM) return true;
    return x->kind == VALUE_STATE && !x->is_cache && !x->is_low && with_optimizer;
}

static StateTensor state_tensor(const char *name, const Tensor *t)
{
    StateTensor s = { .name = name, .part = *t };
    for (int d = 0; d < t->n_dims; d++) s.whole[d] = global_size(t, d);
    return s;
}

StateTensor *state_of_store(Arena *a, const ParamStore *s, bool with_optimizer, float *steps,
                            int64_t *n)
{
    StateTensor *state = NEW_N(a, StateTensor, 2 * store_count(s));
    *n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (!is_saved(x, with_optimizer)) continue;
        const char *name =
            x->kind == VALUE_PARAM ? param_name(a, x->name) : state_name(a, s, x->name);
        const Tensor numbers = stored_numbers(x);
        state[*n] = state_tensor(name, &numbers);
        state[(*n)++].halves = x->low ? x : NULL;
        if (x->kind != VALUE_PARAM || !with_optimizer || x->is_frozen) continue;
        Tensor step = { .data = steps, .dtype = F32 };
        state[(*n)++] = state_tensor(arena_printf(a, OPTIMIZER_STATE "%s.step", x->name), &step);
    }
    return state;
}

/* The original keeps the frequencies of rotary embeddings; here they follow from the settings. */
static bool is_of_model(const char *name)
{
    static const char made[] = ".inv_freq";
    size_t n = strlen(name), m = strlen(made);
    return str_starts(str_of(name), "app.model.") && !(n > m && !strcmp(name + n - m, made));
}

static bool is_of_optimizer(const char *name)
{
    return str_starts(str_of(name), "app.optimizer.");
}

static bool is_of_model_or_optimizer(const char *name)
{
    return is_of_model(name) || is_of_optimizer(name);
}

/* What the names of a checkpoint are held against. */
typedef struct Names {
    const ParamStore *store;
    bool (*wanted)(const char *name);
} Names;

/* Whether it belongs to a parameter that other ranks of the pipeline have. */
static bool is_state_elsewhere(const ParamStore *s, const char *name)
{
    static const char prefix[] = OPTIMIZER_STATE;
    if (!str_starts(str_of(name), prefix)) return false;
    const char *param = name + strlen(prefix);
    for (const char *dot = strchr(param, '.'); dot; dot = strchr(dot + 1, '.'))
        if (map_has(s->elsewhere, (Str){ param, (size_t)(dot - param) })) return true;
    return false;
}

/* Whether its average is read instead. */
static bool is_averaged(const ParamStore *s, const char *name)
{
    char average[512];
    if (!str_starts(str_of(name), "app.model.")) return false;
    name += strlen("app.model.");
    const int n = snprintf(average, sizeof average, AVERAGE "%s", name);
    if (n >= (int)sizeof average) return false;
    const Stored *x = store_find(s, average);
    return (x && x->kind == VALUE_PARAM) ||
           (map_has(s->elsewhere, str_of(average)) && !map_has(s->elsewhere, str_of(name)));
}

/* Whether only other programs of the model have the parameter. */
static bool is_left_out(const ParamStore *s, const char *name)
{
    static const char prefix[] = "app.model.";
    if (!str_starts(str_of(name), prefix)) return false;
    for (int64_t i = 0; i < s->left_out->n; i++) {
        const Str below = s->left_out->entry[i].key;
        if (!strncmp(name + strlen(prefix), below.ptr, below.len)) return true;
    }
    return false;
}

static bool must_fit(const void *ctx, const char *name)
{
    const Names *n = ctx;
    return n->wanted(name) && !is_state_elsewhere(n->store, name) && !is_averaged(n->store, name) &&
           !is_left_out(n->store, name);
}

/* Adapters begin anew over the parameters of a model that had none. */
static bool has_adapters(const CheckpointReader *r)
{
    for (int64_t i = 0; i < r->n_entries; i++)
        if (parameter_is_adapter(r->entry[i].name)) return true;
    return false;
}

static bool takes_adapters(const CheckpointReader *r, bool (*wanted)(const char *name))
{
    return wanted != is_of_model || has_adapters(r);
}

/* Whether `name` is the first state that the optimizer has of a parameter that the checkpoint has
 * without any. */
static bool is_untrained(Arena *a, const CheckpointReader *r, const char *name)
{
    const size_t before = strlen(OPTIMIZER_STATE), behind = strlen(".step"), n = strlen(name);
    if (!str_starts(str_of(name), OPTIMIZER_STATE) || !str_ends(str_of(name), ".step"))
        return false;
    const char *param =
        arena_printf(a, "app.model.%.*s", (int)(n - before - behind), name + before);
    return checkpoint_find(r, name) < 0 && checkpoint_find(r, param) >= 0;
}

/* Adds to an error why the optimizer's state of some parameters is missing alone. Indexers were not
 * trained before there was index_loss, whose default trains them. */
static Error *name_untrained(Arena *a, Error *e, const CheckpointReader *r,
                             const StateTensor *state, int64_t n)
{
    bool has_any = false, indexers = false;
    int64_t untrained = 0;
    for (int64_t i = 0; e && i < r->n_entries && !has_any; i++)
        has_any = str_starts(str_of(r->entry[i].name), OPTIMIZER_STATE);
    for (int64_t i = 0; has_any && i < n; i++) {
        if (!is_untrained(a, r, state[i].name)) continue;
        untrained++;
        indexers |= strstr(state[i].name, ".attn.index_") != NULL;
    }
    if (!untrained) return e;
    return error_join(
        e, error_new("%" PRId64 " parameters were not trained when this was saved, but are now%s",
                     untrained,
                     indexers ? "; of indexers (attn.index_*) `index_loss: 0.0` in "
                                "sparse_attention of the model leaves them so: its default, 1.0, "
                                "trains them"
                              : ""));
}

/* The state of this rank, and after it what the others have of the model. */
static Error *check(Arena *a, const ParamStore *s, CheckpointReader *r, const StateTensor *state,
                    int64_t n, bool (*wanted)(const char *name))
{
    const bool with_adapters = takes_adapters(r, wanted);
    StateTensor *all = NEW_N(a, StateTensor, n + s->elsewhere->n);
    if (n) memcpy(all, state, sizeof *all * (size_t)n);
    for (int64_t i = 0; i < s->elsewhere->n; i++) {
        const MapEntry *e = &s->elsewhere->entry[i];
        const char *name = param_name(a, arena_printf(a, "%.*s", (int)e->key.len, e->key.ptr));
        if ((wanted(name) || wanted == is_of_model) &&
            (with_adapters || !parameter_is_adapter(name)))
            all[n++] = state_tensor(name, e->value);
    }
    const Names names = { s, wanted };
    return name_untrained(a, checkpoint_check(r, all, n, must_fit, &names), r, all, n);
}

/* All of it is checked, whatever is read: what is damaged somewhere is not to be trusted. */
static Error *load(Arena *a, const ParamStore *s, CheckpointReader *r, Comm *comm,
                   const StateTensor *state, int64_t n, bool (*wanted)(const char *name))
{
    TRY(ranks_agree(comm, check(a, s, r, state, n, wanted)));
    return checkpoint_load_shared(r, state, n, comm);
}

/* What is read of a checkpoint, with names of its own. */
static StateTensor *wanted_state(Arena *a, const ParamStore *s, bool (*wanted)(const char *name),
                                 bool with_adapters, float *steps, int64_t *n)
{
    int64_t n_all;
    StateTensor *state = state_of_store(a, s, wanted != is_of_model, steps, &n_all);
    *n = 0;
    for (int64_t i = 0; i < n_all; i++)
        if ((wanted(state[i].name) || wanted == is_of_model) &&
            (with_adapters || !parameter_is_adapter(state[i].name)))
            state[(*n)++] = state[i];
    return state;
}

/* Where the numbers that were read go to. */
static Error *put(ParamStore *s, const StateTensor *read, const Tensor *there)
{
    return read->halves ? store_put_numbers(s, read->halves, &read->part)
                        : store_put(s, there, &read->part);
}

/* Where tensors are not the host's, or in two halves, what is read goes through other memory. */
static Error *load_into(Arena *a, ParamStore *s, CheckpointReader *r, Comm *comm,
                        bool (*wanted)(const char *name), bool with_adapters, float *steps)
{
    int64_t n;
    StateTensor *state = wanted_state(a, s, wanted, with_adapters, steps, &n);
    Tensor *there = NEW_N(a, Tensor, n);
    TRY(store_before_change(s));
    for (int64_t i = 0; i < n; i++) {
        there[i] = state[i].part;
        TRY(state[i].halves ? store_numbers(s, state[i].halves, false, a, &state[i].part)
                            : store_view(s, &there[i], false, a, &state[i].part));
    }
    TRY(load(a, s, r, comm, state, n, wanted));
    for (int64_t i = 0; i < n; i++) TRY(put(s, &state[i], &there[i]));
    return NULL;
}

static Error *load_all(Arena *a, ParamStore *s, CheckpointReader *r, Comm *comm,
                       bool (*wanted)(const char *name), float *steps)
{
    const bool with_adapters = takes_adapters(r, wanted);
    Error *e = load_into(a, s, r, comm, wanted, with_adapters, steps);
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        Stored *x = store_at(s, i);
        bool is_param = x->kind == VALUE_PARAM;
        if (!with_adapters && parameter_is_adapter(x->name)) continue;
        if (is_saved(x, wanted != is_of_model) && !(is_param && wanted == is_of_optimizer))
            x->is_set = true;
    }
    store_changed(s);
    return e;
}

static Error *load_path(ParamStore *s, const char *path, Comm *comm,
                        bool (*wanted)(const char *name), float *steps)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = ranks_agree(comm, checkpoint_open(a, path, &r));
    if (!e) e = load_all(a, s, r, comm, wanted, steps);
    arena_free(a);
    return e;
}

Error *state_load(ParamStore *s, const char *path, Comm *comm, bool with_optimizer, float *steps)
{
    return load_path(s, path, comm, with_optimizer ? is_of_model_or_optimizer : is_of_model, steps);
}

Error *state_load_optimizer(ParamStore *s, const char *path, Comm *comm, float *steps)
{
    return load_path(s, path, comm, is_of_optimizer, steps);
}

Error *state_check(const ParamStore *s, const char *path, StateParts parts)
{
    static bool (*const wanted[])(const char *name) = {
        [STATE_OF_MODEL] = is_of_model,
        [STATE_OF_OPTIMIZER] = is_of_optimizer,
        [STATE_OF_BOTH] = is_of_model_or_optimizer,
    };
    Arena *a = arena_new();
    CheckpointReader *r;
    float steps;
    Error *e = checkpoint_open(a, path, &r);
    if (!e) {
        int64_t n;
        const StateTensor *state =
            wanted_state(a, s, wanted[parts], takes_adapters(r, wanted[parts]), &steps, &n);
        e = check(a, s, r, state, n, wanted[parts]);
    }
    arena_free(a);
    return error_wrap(e, "%s", path);
}

/* A parameter with the sizes of all ranks together. */
static CheckpointEntry whole_entry(const char *name, const Tensor *t)
{
    CheckpointEntry e = { .name = name, .n_dims = t->n_dims };
    for (int d = 0; d < t->n_dims; d++) e.size[d] = global_size(t, d);
    return e;
}

static Error *open_hf(Arena *a, const ParamStore *s, const HfModel *m, CheckpointReader **out)
{
    CheckpointEntry *param = NEW_N(a, CheckpointEntry, store_count(s) + s->elsewhere->n);
    int64_t n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind != VALUE_PARAM || parameter_is_adapter(x->name)) continue;
        param[n++] = whole_entry(x->name, &x->tensor);
    }
    for (int64_t i = 0; i < s->elsewhere->n; i++) {
        const MapEntry *e = &s->elsewhere->entry[i];
        const Tensor *t = e->value;
        const char *name = arena_string_n(a, e->key.ptr, e->key.len);
        if (!parameter_is_adapter(name)) param[n++] = whole_entry(name, t);
    }
    return hf_weights_open(a, m, param, n, out);
}

Error *state_check_hf(const ParamStore *s, const HfModel *m)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = open_hf(a, s, m, &r);
    arena_free(a);
    return e;
}

Error *state_load_hf(ParamStore *s, const HfModel *m)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = open_hf(a, s, m, &r);
    if (!e) e = load_all(a, s, r, NULL, is_of_model, NULL);
    arena_free(a);
    return e;
}

/* What the checkpoint itself says; formats that hold no progress may have it in their name. */
static bool find_number(Arena *a, const CheckpointReader *r, const char *name, int64_t *out)
{
    Yaml *progress;
    Error *e = yaml_parse(a, str_of(r->progress), r->path, &progress);
    const Yaml *number = e ? NULL : yaml_get(progress, name);
    error_free(e);
    if (number && number->type == YAML_INT) {
        *out = number->integer;
        return true;
    }
    e = checkpoint_path_number(r->path, arena_printf(a, "%s_", name), out);
    bool found = !e;
    error_free(e);
    return found;
}

Error *state_check_progress(const char *path, int64_t seen_steps, int64_t seen_tokens)
{
    const struct {
        const char *name, *setting;
        int64_t configured;
    } number[] = { { "seen_steps", "num_seen_steps", seen_steps },
                   { "seen_tokens", "global_num_seen_tokens", seen_tokens } };
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = checkpoint_open(a, path, &r);
    for (int i = 0; !e && i < 2; i++) {
        int64_t saved;
        if (!find_number(a, r, number[i].name, &saved) || saved == number[i].configured) continue;
        e = error_new("%s has %s %" PRId64 ", but settings.training_progress.%s is %" PRId64
                      "; to begin anew with its parameters use --initial_weights",
                      path, number[i].name, saved, number[i].setting, number[i].configured);
    }
    arena_free(a);
    return e;
}
