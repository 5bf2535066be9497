/* test_state.c - what of a store is in checkpoints, under which names, and what is taken back. */
#include "exec/store.h"
#include "tensor/halves.h"
#include "test.h"
#include "train/state.h"
#include <string.h>

static Value *of_four(Graph *g, const char *name,
                      Value *(*make)(Graph *, const char *, Dtype, int, const Dim *))
{
    const Dim d = { .size = 4 };
    return make(g, name, F32, 1, &d);
}

typedef struct Sample {
    Arena *arena;
    Device *device;
    ParamStore *store;
} Sample;

/* Parameters of these names, and one state of each kind. */
static Sample sample_new(const char *const *params)
{
    Arena *a = arena_new();
    Sample s = { a, cpu_device_new(1), NULL };
    Graph *g = graph_new(a);
    const Dim d = { .size = 4 };
    for (int i = 0; params[i]; i++) {
        graph_param(g, params[i], 1, &d);
        of_four(g, arena_printf(a, "momentum.%s", params[i]), graph_state);
        of_four(g, arena_printf(a, "lion.ema.%s", params[i]), graph_state);
    }
    of_four(g, "seen_so_far", graph_state);
    of_four(g, "h.0.k", graph_cache);
    s.store = store_new(s.device);
    assert_no_error(store_add(s.store, g));
    assert_no_error(store_allocate(s.store));
    for (int64_t i = 0; i < store_count(s.store); i++)
        for (int k = 0; k < 4; k++)
            ((float *)store_at(s.store, i)->tensor.data)[k] = (float)(10 * i + k);
    return s;
}

static void sample_free(Sample *s)
{
    store_free(s->store);
    s->device->free(s->device);
    arena_free(s->arena);
}

static const char *sample_save(Sample *s)
{
    int64_t n;
    float steps = 3;
    const char *path = path_join(s->arena, test_folder(), "saved");
    StateTensor *state = state_of_store(s->arena, s->store, true, &steps, &n);
    assert_no_error(checkpoint_save(path, state, n, "{}"));
    return path;
}

static const char *const two[] = { "h.0.w", "head", NULL };

TEST(every_state_is_saved_but_caches)
{
    static const char *const expected[] = {
        "app.model.h.0.w",
        "app.optimizer.state.h.0.w.step",
        "app.optimizer.state.h.0.w.momentum",
        "app.optimizer.state.h.0.w.lion.ema",
        "app.model.head",
        "app.optimizer.state.head.step",
        "app.optimizer.state.head.momentum",
        "app.optimizer.state.head.lion.ema",
        "app.optimizer.state.seen_so_far",
    };
    Sample s = sample_new(two);
    int64_t n;
    float steps = 0;
    StateTensor *state = state_of_store(s.arena, s.store, true, &steps, &n);
    assert_int_equal(n, 9);
    for (int i = 0; i < n; i++) assert_string_equal(state[i].name, expected[i]);
    state_of_store(s.arena, s.store, false, &steps, &n);
    assert_int_equal(n, 2);
    sample_free(&s);
}

TEST(every_state_comes_back)
{
    Sample s = sample_new(two);
    const char *path = sample_save(&s);
    float steps = 0;
    for (int64_t i = 0; i < store_count(s.store); i++)
        memset(store_at(s.store, i)->tensor.data, 0, 4 * sizeof(float));
    assert_no_error(state_load(s.store, path, NULL, true, &steps));
    assert_true(steps == 3);
    for (int64_t i = 0; i < store_count(s.store); i++) {
        const Stored *x = store_at(s.store, i);
        assert_int_equal(((const float *)x->tensor.data)[1], x->is_cache ? 0 : 10 * i + 1);
        assert_int_equal(x->is_set, !x->is_cache);
    }
    sample_free(&s);
}

/* A parameter that is whole, or in halves. */
static Sample parameter_new(bool in_halves)
{
    Arena *a = arena_new();
    Sample s = { a, cpu_device_new(1), NULL };
    Graph *g = graph_new(a);
    const Dim d = { .size = 5 };
    Value *v = graph_param(g, "w", 1, &d);
    v->init = (Init){ .kind = INIT_NORMAL, .std = 1 };
    if (in_halves) {
        v->dtype = BF16;
        v->low = graph_state(g, "low.w", I16, 1, &d);
        v->low->is_low = true;
    }
    s.store = store_new(s.device);
    assert_no_error(store_add(s.store, g));
    assert_int_equal(store_missing(s.store), 512);
    assert_no_error(store_allocate(s.store));
    return s;
}

static const float *numbers_of(Sample *s)
{
    Tensor t;
    assert_no_error(store_numbers(s->store, store_find(s->store, "w"), true, s->arena, &t));
    assert_int_equal(t.dtype, F32);
    return t.data;
}

TEST(a_parameter_in_halves_begins_as_a_whole_one)
{
    Sample halves = parameter_new(true), whole = parameter_new(false);
    assert_no_error(store_initialize(halves.store, 7));
    assert_no_error(store_initialize(whole.store, 7));
    assert_memory_equal(numbers_of(&halves), numbers_of(&whole), 5 * sizeof(float));
    assert_true(numbers_of(&whole)[3] != 0);
    const Stored *w = store_find(halves.store, "w");
    for (int i = 0; i < 5; i++)
        assert_int_equal(((uint16_t *)w->tensor.data)[i], high_half_of(numbers_of(&whole)[i]));
    sample_free(&halves);
    sample_free(&whole);
}

/* From one to the other. */
static void assert_travels(bool from_halves, bool to_halves)
{
    Sample from = parameter_new(from_halves), to = parameter_new(to_halves);
    assert_no_error(store_initialize(from.store, 7));
    const char *path = sample_save(&from);
    assert_no_error(state_load(to.store, path, NULL, false, NULL));
    assert_memory_equal(numbers_of(&to), numbers_of(&from), 5 * sizeof(float));
    sample_free(&from);
    sample_free(&to);
}

TEST(a_parameter_in_halves_is_saved_and_loaded_as_its_numbers)
{
    assert_travels(true, true);
    assert_travels(true, false);
    assert_travels(false, true);
}

TEST(a_checkpoint_with_more_than_the_model_has_is_refused_by_name)
{
    static const char *const one[] = { "head", NULL };
    Sample s = sample_new(two), smaller = sample_new(one);
    const char *path = sample_save(&s);
    float steps;
    Error *e = state_load(smaller.store, path, NULL, true, &steps);
    assert_non_null(e);
    assert_contains(error_text(e), "saved does not fit (4 of 9 tensors): ");
    assert_contains(error_text(e), "app.model.h.0.w: only in the checkpoint\n");
    assert_error_has(e, "app.optimizer.state.h.0.w.momentum: only in the checkpoint");
    assert_int_equal(((float *)store_at(smaller.store, 0)->tensor.data)[1], 1);
    assert_error_has(state_load(smaller.store, path, NULL, false, NULL),
                     "saved does not fit (1 of 2 tensors): app.model.h.0.w: only in");
    sample_free(&s);
    sample_free(&smaller);
}

/* As tied weights are kept by the original. */
TEST(a_checkpoint_may_hold_a_parameter_under_two_names)
{
    static const char *const one[] = { "h.0.w", NULL };
    Sample s = sample_new(two), smaller = sample_new(one);
    float *head = store_find(s.store, "head")->tensor.data;
    memcpy(head, store_find(s.store, "h.0.w")->tensor.data, 4 * sizeof *head);
    assert_no_error(state_load(smaller.store, sample_save(&s), NULL, false, NULL));
    head[3] += 1;
    assert_error_has(state_load(smaller.store, sample_save(&s), NULL, false, NULL),
                     "app.model.head: only in the checkpoint");
    sample_free(&s);
    sample_free(&smaller);
}

TEST(damage_to_what_is_not_loaded_is_refused_as_verify_does)
{
    Sample s = sample_new(two);
    const char *path = sample_save(&s), *part = path_join(s.arena, path, "part_0.safetensors");
    Str file;
    assert_no_error(state_load(s.store, path, NULL, false, NULL));
    assert_no_error(file_read(s.arena, part, &file));
    ((char *)file.ptr)[file.len - 5] ^= 4; /* of the last state */
    assert_no_error(file_write(part, file.ptr, file.len));
    assert_error_has(state_load(s.store, path, NULL, false, NULL), "the file is damaged");
    sample_free(&s);
}
