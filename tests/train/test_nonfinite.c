/* test_nonfinite.c - settings.on_nonfinite: stop, skip, ignore. */
#include "data/collators.h"
#include "data/sampler.h"
#include "train/small_job.h"
#include <math.h>
#include <string.h>

/* What goes wrong, after which step, and what was seen since. */
typedef struct Watch {
    Arena *arena;
    void (*damage)(ParamStore *s), (*repair)(ParamStore *s);
    int64_t after_step, last_step;
    double grad_norm[16], loss[16];
    char *before; /* parameters, moments and gradients after the damage */
    size_t n_bytes;
    bool was_same; /* after the bad step */
} Watch;

enum { BAD = 3 }; /* the step that is not finite */

/* All that an update writes, one after the other. */
static size_t copy_state(const ParamStore *s, char *to)
{
    size_t n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind == VALUE_RESULT) continue;
        size_t bytes = tensor_bytes(&x->tensor);
        if (to) memcpy(to + n, x->tensor.data, bytes);
        n += bytes;
    }
    return n;
}

static void watch(void *context, const StepReport *r)
{
    Watch *w = context;
    w->last_step = r->step;
    w->grad_norm[r->step] = r->grad_norm;
    w->loss[r->step] = r->loss[0];
    if (r->step == BAD - 1) {
        w->damage(r->store);
        store_changed(r->store);
        w->n_bytes = copy_state(r->store, NULL);
        w->before = arena_alloc(w->arena, w->n_bytes);
        copy_state(r->store, w->before);
    }
    if (r->step == BAD) {
        char *now = arena_alloc(w->arena, w->n_bytes);
        copy_state(r->store, now);
        w->was_same = !memcmp(now, w->before, w->n_bytes);
        if (w->repair) w->repair(r->store);
        store_changed(r->store);
    }
}

#define WEIGHT "transformer.h.1.attn.q_attn.weight"

static float kept;

static float put_weight(ParamStore *s, float x)
{
    const Stored *weight = store_find(s, WEIGHT);
    Arena *a = arena_new();
    Tensor numbers;
    assert_no_error(store_numbers(s, weight, true, a, &numbers));
    const float before = ((float *)numbers.data)[5];
    ((float *)numbers.data)[5] = x;
    assert_no_error(store_put_numbers(s, weight, &numbers));
    arena_free(a);
    return before;
}

static void damage_weight(ParamStore *s)
{
    kept = put_weight(s, NAN);
}
/* The float is finite; its products and, in bf16, its copy are not. */
static void enlarge_weight(ParamStore *s)
{
    kept = put_weight(s, 3.4e38f);
}
static void repair_weight(ParamStore *s)
{
    put_weight(s, kept);
}

static void scale(ParamStore *s, const char *name, double by)
{
    Tensor *t = small_job_param(s, name);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *)t->data)[i] = (float)(((float *)t->data)[i] * by);
}

/* A tiny residual stream, which the last norm blows up, and a huge head: the loss is finite, the
 * gradient in front of the norm is about 1e23 * 1e17. */
static void damage_backward(ParamStore *s)
{
    static const char *const silent[] = {
        "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias",
        "transformer.h.1.attn.c_proj.weight", "transformer.h.1.attn.c_proj.bias",
        "transformer.h.0.mlp.c_proj.weight",  "transformer.h.0.mlp.c_proj.bias",
        "transformer.h.1.mlp.c_proj.weight",  "transformer.h.1.mlp.c_proj.bias"
    };
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) scale(s, silent[i], 0);
    scale(s, "transformer.wte.weight", 1e-16);
    scale(s, "transformer.lm_head.weight", 1e25);
}

#define TINY_EPS "model_raw.config.lm_head_norm_config.config.eps=1e-38"
#define NO_DROPOUT "model_raw.config.dropout=0.0"
#define BF16_WEIGHTS "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16"

/* The error of training with this damage, or NULL. */
static Error *train(void (*damage)(ParamStore *), void (*repair)(ParamStore *), Words set, Watch *w)
{
    SmallJob *s = small_job_new("x", set);
    *w = (Watch){ .arena = s->bench.arena, .damage = damage, .repair = repair };
    s->job.observe = watch;
    s->job.observer = w;
    TrainingEnd end;
    return trainer_run(&s->job, &end);
}

static void assert_stops(void (*damage)(ParamStore *), Words set, const char *place)
{
    Watch w;
    Error *e = train(damage, NULL, set, &w);
    assert_non_null(e);
    Arena *a = arena_new();
    assert_contains(error_text(e), arena_printf(a,
                                                "step %d, microbatch 0: the first NaN or "
                                                "infinity comes from %s",
                                                BAD, place));
    assert_contains(error_text(e), "settings.on_nonfinite");
    assert_int_equal(w.last_step, BAD - 1);
    error_free(e);
    arena_free(a);
    arena_free(w.arena);
}

TEST(nonfinite_weight_stops_and_is_named)
{
    assert_stops(damage_weight, NULL, "the parameter transformer.h.1.attn.q_attn.weight");
}
TEST(nonfinite_forward_value_stops_and_its_op_is_named)
{
    assert_stops(enlarge_weight, NULL,
                 "contract in block 1 (forward) with transformer.h.1.attn.q_attn.weight");
}
TEST(nonfinite_bf16_copy_stops_and_is_named)
{
    assert_stops(enlarge_weight,
                 (const char *[]){ BF16_WEIGHTS, "optimizer.config.master_weights=FP_32", NULL },
                 "high_half (prepare) with transformer.h.1.attn.q_attn.weight");
}
TEST(nonfinite_high_half_stops_and_is_named)
{
    assert_stops(enlarge_weight, (const char *[]){ BF16_WEIGHTS, NULL },
                 "the parameter transformer.h.1.attn.q_attn.weight");
}
TEST(nonfinite_gradient_alone_stops_and_its_op_is_named)
{
    Watch w;
    Error *e = train(damage_backward, NULL, (const char *[]){ TINY_EPS, NO_DROPOUT, NULL }, &w);
    assert_non_null(e);
    assert_contains(error_text(e), "step 3, microbatch 0: the first NaN or infinity comes from "
                                   "layer_norm_grad (backward_input)");
    error_free(e);
    arena_free(w.arena);
}

static void assert_skips(void (*damage)(ParamStore *), void (*repair)(ParamStore *))
{
    Watch w;
    Error *e =
        train(damage, repair,
              (const char *[]){ "settings.on_nonfinite=skip", TINY_EPS, NO_DROPOUT, NULL }, &w);
    assert_no_error(e);
    assert_int_equal(w.last_step, 8);
    assert_true(isfinite(w.grad_norm[BAD - 1]) && !isfinite(w.grad_norm[BAD]));
    assert_true(w.was_same);
    for (int i = BAD + 1; repair && i <= 8; i++)
        assert_true(isfinite(w.grad_norm[i]) && isfinite(w.loss[i]));
    arena_free(w.arena);
}

TEST(nonfinite_forward_is_skipped_without_a_trace)
{
    assert_skips(enlarge_weight, repair_weight);
}
TEST(nonfinite_gradient_is_skipped_without_a_trace)
{
    assert_skips(damage_backward, NULL);
}

TEST(nonfinite_is_ignored_when_asked)
{
    Watch w;
    assert_no_error(
        train(damage_weight, NULL, (const char *[]){ "settings.on_nonfinite=ignore", NULL }, &w));
    assert_int_equal(w.last_step, 8);
    assert_false(w.was_same); /* the update was done with what there was */
    assert_true(isnan(w.loss[8]));
    arena_free(w.arena);
}

/* ---- what an update counts ---- */

/* Another collator's batches with the ids of the first one. */
typedef struct Repeating {
    Collator base;
    const Collator *inner;
    int32_t *first[2];
} Repeating;

static Error *repeat(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const Repeating *r = (const Repeating *)self;
    TRY(r->inner->collate(r->inner, sample, n, out));
    for (int i = 0; i < 2; i++) {
        const Tensor *t = &out->item[i].tensor;
        memcpy(out->position ? t->data : r->first[i], out->position ? r->first[i] : t->data,
               tensor_bytes(t));
    }
    return NULL;
}

/* A weight after each step; the second step is damaged if `damage`. */
typedef struct Steps {
    bool damage;
    float weight[9];
} Steps;

static void watch_steps(void *context, const StepReport *r)
{
    Steps *s = context;
    s->weight[r->step] = ((float *)small_job_param(r->store, WEIGHT)->data)[5];
    if (!s->damage || r->step > 2) return;
    (r->step == 1 ? enlarge_weight : repair_weight)(r->store);
    store_changed(r->store);
    if (r->step == 2) s->weight[2] = ((float *)small_job_param(r->store, WEIGHT)->data)[5];
}

static SmallJob *train_on_one_batch(Steps *steps)
{
    const char *const set[] = {
        NO_DROPOUT, "settings.on_nonfinite=skip",
        "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: {optimizer: "
        "{instance_key: optimizer, pass_type: BY_REFERENCE}}}",
        NULL
    };
    SmallJob *s = small_job_new("x", set);
    Arena *a = s->bench.arena;
    Dataset *d = s->config.train_dataset;
    int32_t *x = NEW_N(a, int32_t, 4096), *y = NEW_N(a, int32_t, 4096);
    Repeating r = { .base = { repeat },
                    .inner = gpt2_collator_new(a, "input_ids", "target_ids"),
                    .first = { x, y } };
    BatchSampler batches = { sequential_sampler_new(a, d->count(d)), 2 };
    s->job.train =
        loader_new(a, &(LoaderSettings){
                          .tag = "train", .dataset = d, .batches = &batches, .collator = &r.base });
    s->job.observe = watch_steps;
    s->job.observer = steps;
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    return s;
}

/* On the same batch again and again: Adam goes on after the skipped step as if it had not been. */
TEST(nonfinite_steps_that_are_skipped_are_no_updates_of_adam)
{
    Steps good = { 0 }, bad = { .damage = true };
    arena_free(train_on_one_batch(&good)->bench.arena);
    SmallJob *s = train_on_one_batch(&bad);
    Arena *a = s->bench.arena;
    assert_true(bad.weight[1] == good.weight[1] && bad.weight[2] == bad.weight[1]);
    for (int i = 3; i <= 8; i++) {
        assert_true(bad.weight[i] == good.weight[i - 1]);
        assert_true(bad.weight[i] != bad.weight[i - 1]);
    }
    int64_t steps;
    Str manifest;
    const char *folder = bench_last_checkpoint(&s->bench, "x", &steps);
    assert_no_error(file_read(a, path_join(a, folder, "manifest.json"), &manifest));
    assert_contains(manifest.ptr, "\"seen_steps\": 8");
    assert_contains(manifest.ptr, "\"updates\": 7");
    arena_free(a);
}
