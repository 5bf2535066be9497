/* test_store_guard.c - who reads parameters and states beside a program hears of every change
 * before it comes, and of nothing else. */
#include "../optim/made_optimizer.h"
#include "../passes/tiny_model.h"
#include "passes/all_passes.h"
#include "passes/average.h"
#include "passes/optimize.h"
#include "passes/qk_clip.h"
#include "test.h"
#include <string.h>

#define ADAM                                                                                       \
    "optimizer: {component_key: optimizer, variant_key: adam_w, config: {lr: 0.01, betas: [0.9, "  \
    "0.95], eps: 1e-8, weight_decay: 0.1, weight_decay_groups_excluded: [], wrapped_model: "       \
    "{instance_key: model, pass_type: BY_REFERENCE}}}\n"

typedef struct Watcher {
    const TinyRun *run;
    uint64_t seen; /* of all that checkpoints keep, before */
    int n;
    bool was_late;
} Watcher;

static uint64_t numbers_now(const TinyRun *t)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < store_count(t->store); i++) {
        const Stored *x = store_at(t->store, i);
        if (x->kind == VALUE_PARAM || (x->kind == VALUE_STATE && !x->is_cache))
            hash = hash * 31 + hash_bytes(x->tensor.data, tensor_bytes(&x->tensor));
    }
    return hash;
}

static Error *hear(void *context)
{
    Watcher *w = context;
    w->was_late |= numbers_now(w->run) != w->seen;
    w->n++;
    return NULL;
}

static void run_phases(TinyRun *t, unsigned phases)
{
    assert_no_error(program_run_phases(t->program, phases, &t->now));
}

TEST(programs_say_so_before_their_update_changes_parameters_states_or_averages)
{
    Arena *a = arena_new();
    const Gpt2Settings s = tiny_settings(false);
    PassList passes = { .arena = a };
    const Optimize o = { .optimizer = made_optimizer(a, ADAM), .norm_type = 2 };
    const QkClip clip = { 1e-3, 0.5 };
    const Average average = { .decay = 0.9 };
    passes_add(&passes, &pass_watch_logits, &clip);
    passes_add(&passes, &pass_optimize, &o);
    passes_add(&passes, &pass_qk_clip, &clip);
    passes_add(&passes, &pass_average, &average);
    TinyRun t = tiny_run_new(&s, &passes, false, true);
    Watcher w = { .run = &t };
    store_guard(t.store, hear, &w);
    t.now.rate[0].lr = 0.01;
    for (int i = 0; i < 3; i++) {
        w.seen = numbers_now(&t);
        t.now.step = t.now.updates = i + 1;
        tiny_step(&t);
        run_phases(&t, RUN_REDUCE);
        assert_int_equal(w.n, i);
        assert_true(numbers_now(&t) == w.seen);
        run_phases(&t, i < 2 ? RUN_UPDATE : RUN_REDUCE | RUN_UPDATE);
        assert_int_equal(w.n, i + 1);
        assert_false(w.was_late);
        assert_true(numbers_now(&t) != w.seen);
    }
    store_guard(t.store, NULL, NULL);
    tiny_step(&t);
    run_phases(&t, RUN_REDUCE | RUN_UPDATE);
    assert_int_equal(w.n, 3);
    tiny_run_free(&t);
    arena_free(a);
}
