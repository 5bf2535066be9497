/* state.c - names of the store's tensors in checkpoints. */
#include "train/state.h"
#include "checkpoint/checkpoint_name.h"
#include "config/yaml.h"
#include <inttypes.h>
#include <string.h>

static const char *name_in_checkpoint(Arena *a, const Stored *s)
{
    static const char *const moments[] = { "exp_avg", "exp_avg_sq" };
    if (s->kind == VALUE_PARAM) return arena_printf(a, "app.model.%s", s->name);
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(moments[i]);
        if (strncmp(s->name, moments[i], n) || s->name[n] != '.') continue;
        return arena_printf(a, "app.optimizer.state.%s.%s", s->name + n + 1, moments[i]);
    }
    return NULL; /* a cache */
}

static StateTensor state_tensor(const char *name, const Tensor *t)
{
    StateTensor s = { .name = name, .part = *t };
    for (int d = 0; d < t->n_dims; d++) s.whole[d] = t->size[d];
    return s;
}

StateTensor *state_of_store(Arena *a, const ParamStore *s, bool with_optimizer, float *steps,
                            int64_t *n)
{
    StateTensor *state = NEW_N(a, StateTensor, 2 * store_count(s));
    *n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind != VALUE_PARAM && (x->kind != VALUE_STATE || !with_optimizer)) continue;
        const char *name = name_in_checkpoint(a, x);
        if (!name) continue;
        state[(*n)++] = state_tensor(name, &x->tensor);
        if (x->kind != VALUE_PARAM || !with_optimizer) continue;
        Tensor step = { .data = steps, .dtype = F32 };
        state[(*n)++] =
            state_tensor(arena_printf(a, "app.optimizer.state.%s.step", x->name), &step);
    }
    return state;
}

Error *state_load(ParamStore *s, const char *path, bool with_optimizer, float *steps)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = checkpoint_open(a, path, &r);
    if (!e) {
        int64_t n;
        StateTensor *state = state_of_store(a, s, with_optimizer, steps, &n);
        e = checkpoint_load(r, state, n);
    }
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        Stored *x = store_at(s, i);
        if (x->kind == VALUE_PARAM || (x->kind == VALUE_STATE && with_optimizer)) x->is_set = true;
    }
    store_changed(s);
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
