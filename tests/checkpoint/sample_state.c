/* sample_state.c - a small state, different for every seed, to save and to compare. */
#include "sample_state.h"
#include "base/rng.h"
#include <stdio.h>
#include <string.h>

static const StateTensor form[N_SAMPLE_TENSORS] = {
    { .name = "app.model.transformer.wte.weight",
      .part = { .dtype = F32, .n_dims = 2, .size = { 7, 5 } } },
    { .name = "app.model.transformer.lm_head.weight",
      .part = { .dtype = BF16, .n_dims = 3, .size = { 2, 3, 4 } } },
    { .name = "app.optimizer.state.transformer.wte.weight.exp_avg",
      .part = { .dtype = F32, .n_dims = 2, .size = { 7, 5 } } },
    { .name = "app.optimizer.state.transformer.wte.weight.step", .part = { .dtype = F32 } },
    { .name = "app.model.counts", .part = { .dtype = I64, .n_dims = 1, .size = { 3 } } },
    { .name = "app.model.empty", .part = { .dtype = F16, .n_dims = 2, .size = { 0, 4 } } },
};

void sample_state(Arena *a, int seed, StateTensor out[N_SAMPLE_TENSORS])
{
    for (int i = 0; i < N_SAMPLE_TENSORS; i++) {
        StateTensor *t = &out[i];
        *t = form[i];
        memcpy(t->whole, t->part.size, sizeof t->whole);
        uint8_t *bytes = t->part.data = arena_alloc(a, tensor_bytes(&t->part));
        uint64_t key = rng_key((uint64_t)seed, RNG_DATA, 0, (uint64_t)i);
        for (size_t k = 0; k < tensor_bytes(&t->part); k++) bytes[k] = (uint8_t)rng_bits(key, k);
    }
}

const char *sample_progress(Arena *a, int seed)
{
    return arena_printf(a, "{\"seed\":%d}", seed);
}

static const char *const settings[] = { "lr", "betas", "fused" };
static const char *const values[] = { "0.1", "{\"tuple\": [0.9, 0.95]}", "null" };

CheckpointContent sample_content(Arena *a, int seed)
{
    StateTensor *state = NEW_N(a, StateTensor, N_SAMPLE_TENSORS);
    CheckpointObject *object = NEW_N(a, CheckpointObject, 3);
    sample_state(a, seed, state);
    for (int i = 0; i < 3; i++) {
        const char *name = arena_printf(a, "param_groups.transformer.wte.weight.%s", settings[i]);
        Pickle *path = pickle_of_kind(a, PICKLE_TUPLE);
        pickle_append(a, path, pickle_of_text(a, "app"));
        pickle_append(a, path, pickle_of_text(a, "optimizer"));
        pickle_append(a, path, pickle_of_text(a, name));
        object[i] = (CheckpointObject){ .name = object_name(a, path), .path = path };
        Error *e = object_value_read(a, values[i], &object[i].value);
        CHECK(e == NULL);
    }
    return (CheckpointContent){ .state = state,
                                .n = N_SAMPLE_TENSORS,
                                .object = object,
                                .n_objects = 3,
                                .progress = sample_progress(a, seed) };
}

Error *sample_save(const char *path, int seed)
{
    Arena *a = arena_new();
    StateTensor state[N_SAMPLE_TENSORS];
    sample_state(a, seed, state);
    Error *e = checkpoint_save(path, state, N_SAMPLE_TENSORS, sample_progress(a, seed));
    arena_free(a);
    return e;
}

static Error *compare(CheckpointReader *r, Arena *a, int seed)
{
    StateTensor want[N_SAMPLE_TENSORS], got[N_SAMPLE_TENSORS];
    sample_state(a, seed, want);
    sample_state(a, seed + 1, got);
    TRY(checkpoint_load(r, got, N_SAMPLE_TENSORS));
    for (int i = 0; i < N_SAMPLE_TENSORS; i++)
        if (memcmp(got[i].part.data, want[i].part.data, tensor_bytes(&want[i].part)))
            return error_new("%s: the numbers of %s are not those of seed %d", r->path,
                             want[i].name, seed);
    return r->n_entries == N_SAMPLE_TENSORS ? NULL : error_new("%s: other tensors", r->path);
}

Error *sample_load(const char *path, int *seed)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = checkpoint_open(a, path, &r);
    if (!e && sscanf(r->progress, "{\"seed\":%d}", seed) != 1)
        e = error_new("%s: progress is %s", path, r->progress);
    if (!e) e = compare(r, a, *seed);
    arena_free(a);
    return e;
}
