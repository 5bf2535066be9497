/* model.c - models that are measured, and a program of training steps for each. */
#include "model.h"
#include "bare_step.h"
#include "measure.h"
#include "models/layers.h"
#include "monitor/mfu.h"
#include "passes/recompute.h"
#include <string.h>

static void rotate(Gpt2Settings *s, QkvTransform *own, int64_t base)
{
    own->config.rotary = (__typeof__(own->config.rotary)){ s->n_embd, s->n_head_q, -2, base };
    s->poe_type = POE_NOPE;
    s->attention_config.qkv_transforms.item = own;
    s->attention_config.qkv_transforms.n = 1;
    s->activation_type = ACTIVATION_SWIGLU;
}

static Gpt2Settings tutorial_model(void)
{
    static QkvTransform rotary;
    Gpt2Settings s = bench_gpt2(2, 8, 128, 50304, 256, bench_rms(128));
    s.n_head_kv = 4;
    s.ffn_hidden = 128;
    rotate(&s, &rotary, 100000);
    return s;
}

static Gpt2Settings gpt2_model(void)
{
    Gpt2Settings s = bench_gpt2(12, 12, 768, 50304, 1024, bench_layer_norm(768));
    s.bias = true;
    s.use_weight_tying = true;
    return s;
}

/* Llama 3 as released: its feed-forward layers are 2/3 as wide as `ffn_hidden`. */
static Gpt2Settings llama_model(int64_t n_layer, int64_t width, int64_t ffn_hidden, bool tied)
{
    static QkvTransform rotary[2];
    Gpt2Settings s = bench_gpt2(n_layer, 32, width, 128256, 8192, bench_rms(width));
    s.n_head_kv = 8;
    s.ffn_hidden = ffn_hidden;
    s.use_weight_tying = tied;
    rotate(&s, &rotary[tied], 500000);
    return s;
}

bool bench_model(const char *name, Gpt2Settings *out)
{
    if (!strcmp(name, "tutorial"))
        *out = tutorial_model();
    else if (!strcmp(name, "gpt2"))
        *out = gpt2_model();
    else if (!strcmp(name, "llama-1b"))
        *out = llama_model(16, 2048, 12288, true);
    else if (!strcmp(name, "llama-8b"))
        *out = llama_model(32, 4096, 21504, false);
    else
        return false;
    return true;
}

double bench_flops_per_token(const BenchCase *c)
{
    const Gpt2Settings *s = c->settings;
    int64_t d_ff = s->activation_type == ACTIVATION_SWIGLU
                       ? 3 * swiglu_hidden(s->ffn_hidden, s->enforce_swiglu_hidden_dim_multiple_of)
                       : 2 * s->ffn_hidden;
    int64_t kv = s->n_embd / s->n_head_q * s->n_head_kv;
    int64_t multiplied =
        s->n_layer * s->n_embd * (2 * s->n_embd + 2 * kv + d_ff) + s->vocab_size * s->n_embd;
    return flops_per_token_matmul(multiplied, s->n_layer, c->sequence, s->n_embd);
}

Program *bench_program(const BenchCase *c, const char *device, Arena *a, Session **session)
{
    Model *model = gpt2_new(a, c->settings);
    static const Recompute all = { .every = 1 };
    model->initializer = &bench_small_weights;
    if (c->is_tight) passes_add(&model->passes, &pass_recompute, &all);
    SessionSettings ss = { .model = model, .device = device, .precision = &c->precision };
    die(session_new(&ss, session));
    Program *p =
        bench_training(a, *session, model, c->is_tight ? BF16 : F32, c->batch, c->sequence);
    const int64_t n = c->batch * c->sequence;
    int32_t *ids = NEW_N(a, int32_t, n), *targets = NEW_N(a, int32_t, n);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(i * 7919 % c->settings->vocab_size);
        targets[i] = (int32_t)((i + 1) * 7919 % c->settings->vocab_size);
    }
    die(program_write(p, "input_ids", 0, ids));
    die(program_write(p, "target_ids", 0, targets));
    die(program_wait(p));
    return p;
}
