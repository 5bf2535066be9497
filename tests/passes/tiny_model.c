/* tiny_model.c - builds and runs the small model of tiny_model.h. */
#include "tiny_model.h"
#include "passes/all_passes.h"
#include "stored.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { BATCH = 2, SEQUENCE = 6 };

static NormChoice tiny_norm(bool rms, int64_t width)
{
    if (rms)
        return (NormChoice){ .norm_type = 0,
                             .config = { .which = 0, .rms = { width, 1e-6, true } } };
    return (NormChoice){ .norm_type = 1,
                         .config = { .which = 2, .layer = { width, 1e-5, true, true } } };
}

Gpt2Settings tiny_settings(bool llama_like)
{
    static QkvTransform rotary = { .config = { .rotary = { 16, 4, -2, 10000 } } };
    NormChoice n = tiny_norm(llama_like, 16);
    Gpt2Settings s = { .sample_key = "input_ids",
                       .prediction_key = "logits",
                       .poe_type = llama_like ? POE_NOPE : POE_ABSOLUTE,
                       .sequence_length = 8,
                       .vocab_size = 13,
                       .n_layer = 3,
                       .n_head_q = 4,
                       .n_head_kv = llama_like ? 2 : 4,
                       .n_embd = 16,
                       .ffn_hidden = 24,
                       .bias = !llama_like,
                       .activation_type = llama_like ? 1 : 0,
                       .attention_norm_config = n,
                       .ffn_norm_config = n,
                       .lm_head_norm_config = n,
                       .enforce_swiglu_hidden_dim_multiple_of = 8 };
    if (llama_like) s.attention_config.qkv_transforms = (QkvTransforms){ &rotary, 1 };
    return s;
}

void tiny_set_width(Gpt2Settings *s, int64_t width)
{
    const NormChoice n = tiny_norm(s->poe_type == POE_NOPE, width);
    s->n_embd = width;
    s->attention_norm_config = s->ffn_norm_config = s->lm_head_norm_config = n;
}

static void fill_batch(Program *p, int64_t microbatch)
{
    int32_t ids[BATCH * SEQUENCE], targets[BATCH * SEQUENCE];
    for (int i = 0; i < BATCH * SEQUENCE; i++) {
        int at = i + 5 * (int)microbatch;
        ids[i] = at * 7 % 13;
        targets[i] = i == 5 ? -100 : (at + 1) * 7 % 13;
    }
    assert_no_error(program_write(p, "input_ids", microbatch, ids));
    assert_no_error(program_write(p, "target_ids", microbatch, targets));
    assert_no_error(program_wait(p));
}

TinyRun tiny_run_make(const TinyChoice *c)
{
    TinyRun t = { .arena = arena_new(), .device = c->device ? c->device : cpu_device_new(2) };
    t.store = store_new(t.device);
    t.graph = graph_new(t.arena);
    Model *m = gpt2_new(t.arena, c->settings);
    ModelOutput out = { 0 };
    assert_no_error(m->forward(
        m, t.graph,
        &(ForwardSettings){ .batch = BATCH, .sequence = SEQUENCE, .training = c->training }, &out));
    Dim tokens[] = { { .size = BATCH, .axis = "batch" }, { .size = SEQUENCE, .axis = "seq" } };
    model_loss(t.graph, &out, graph_input(t.graph, "target_ids", I32, 2, tokens), false);
    PassList own = { .arena = t.arena };
    for (int64_t i = 0; c->passes && i < c->passes->n; i++)
        passes_add(&own, c->passes->use[i].pass, c->passes->use[i].settings);
    passes_add(&own, pass_find("autodiff"), NULL);
    passes_add(&own, pass_find("initialize"), NULL);
    assert_no_error(passes_run(t.graph, NULL, &own, NULL));
    if (c->edit) c->edit(t.graph);
    ProgramSettings settings = { .device = t.device,
                                 .store = t.store,
                                 .level = cpu_level_available(),
                                 .reference_only = c->reference_only,
                                 .schedule = c->schedule,
                                 .name = "test" };
    assert_no_error(program_new(t.graph, &settings, &t.program));
    assert_no_error(store_initialize(t.store, 1));
    t.now = (RunTime){ .loss_scale = 1, .seed = 3 };
    if (!c->schedule) tiny_feed(&t, 0);
    return t;
}

TinyRun tiny_run_new(const Gpt2Settings *s, PassList *list, bool reference_only, bool training)
{
    return tiny_run_make(&(TinyChoice){
        .settings = s, .passes = list, .reference_only = reference_only, .training = training });
}

void tiny_feed(TinyRun *t, int64_t microbatch)
{
    fill_batch(t->program, microbatch);
}

void tiny_run_free(TinyRun *t)
{
    program_free(t->program);
    store_free(t->store);
    t->device->free(t->device);
    arena_free(t->arena);
}

double tiny_step(TinyRun *t)
{
    assert_no_error(store_clear_gradients(t->store));
    assert_no_error(program_run_phases(t->program, RUN_MICROBATCH, &t->now));
    return program_scalar(t->program, "loss", 0);
}

double tiny_gradient_difference(const TinyRun *a, const TinyRun *b)
{
    double most = 0, difference = 0;
    for (int64_t i = 0; i < store_count(a->store); i++) {
        const Stored *x = store_at(a->store, i);
        if (x->kind != VALUE_ACCUMULATOR) continue;
        const Stored *y = store_find(b->store, x->name);
        assert_non_null(y);
        const Tensor p = stored_view(a->arena, a->store, x), q = stored_view(b->arena, b->store, y);
        for (int64_t k = 0; k < tensor_count(&p); k++) {
            double u = dtype_get(p.dtype, p.data, k), v = dtype_get(q.dtype, q.data, k);
            assert_true(isfinite(u) && isfinite(v));
            if (fabs(u) > most) most = fabs(u);
            if (fabs(u - v) > difference) difference = fabs(u - v);
        }
    }
    assert_true(most > 0);
    return difference / most;
}
