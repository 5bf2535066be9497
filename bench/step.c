/* step.c - whole training steps: tokens per second and share of what the matrix products alone
 * would allow.
 *
 * usage: step [tutorial|gpt2] [f32|bf16] [batch] [steps]      without arguments: the tutorial model
 * in both precisions The limit is the measured multiply-add rate of all cores in the same run; the
 * FLOPs are those of the graph's matrix products, with the head counted three times (forward, two
 * gradients) and attention's causal half. */
#include "base/clock.h"
#include "base/error.h"
#include "exec/schedule.h"
#include "graph/op.h"
#include "measure.h"
#include "models/gpt2.h"
#include "models/layers.h"
#include "monitor/mfu.h"
#include "ops/ops.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "train/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static NormChoice rms(int64_t width)
{
    return (NormChoice){ .norm_type = NORM_RMS,
                         .config = { .which = 0, .rms = { width, 1e-5, true } } };
}

static NormChoice layer(int64_t width)
{
    return (NormChoice){ .norm_type = NORM_LAYER,
                         .config = { .which = 2, .layer = { width, 1e-5, true, true } } };
}

static Gpt2Settings tutorial_model(void)
{
    static QkvTransform rotary = { .config = { .rotary = { 128, 8, -2, 100000 } } };
    NormChoice n = rms(128);
    return (Gpt2Settings){ .sample_key = "input_ids",
                           .prediction_key = "logits",
                           .poe_type = POE_NOPE,
                           .sequence_length = 256,
                           .vocab_size = 50304,
                           .n_layer = 2,
                           .n_head_q = 8,
                           .n_head_kv = 4,
                           .n_embd = 128,
                           .ffn_hidden = 128,
                           .attention_config = { .qkv_transforms = { &rotary, 1 } },
                           .activation_type = ACTIVATION_SWIGLU,
                           .attention_norm_config = n,
                           .ffn_norm_config = n,
                           .lm_head_norm_config = n,
                           .enforce_swiglu_hidden_dim_multiple_of = 256 };
}

static Gpt2Settings gpt2_model(void)
{
    NormChoice n = layer(768);
    return (Gpt2Settings){ .sample_key = "input_ids",
                           .prediction_key = "logits",
                           .poe_type = POE_ABSOLUTE,
                           .sequence_length = 1024,
                           .vocab_size = 50304,
                           .n_layer = 12,
                           .n_head_q = 12,
                           .n_head_kv = 12,
                           .n_embd = 768,
                           .ffn_hidden = 3072,
                           .bias = true,
                           .activation_type = ACTIVATION_GELU,
                           .attention_norm_config = n,
                           .ffn_norm_config = n,
                           .lm_head_norm_config = n,
                           .use_weight_tying = true,
                           .enforce_swiglu_hidden_dim_multiple_of = 256 };
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   double weight_decay)
{
    (void)self;
    const AdamSettings attrs = {
        .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = weight_decay, .decoupled = true
    };
    Value *moment[2];
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "m%d.%s", i, param->name), F32,
                                param->n_dims, param->dim);
    adam(g, param, grad, moment[0], moment[1], factor, &attrs);
}

static void must(Error *e)
{
    if (!e) return;
    fprintf(stderr, "%s\n", error_text(e));
    exit(1);
}

typedef struct OpTime {
    const char *name;
    double seconds;
} OpTime;

static OpTime times[64];
static int n_times;

static void note(void *ctx, const Node *n, const Launch *l, double seconds)
{
    (void)ctx, (void)l;
    int i = 0;
    while (i < n_times && times[i].name != n->op->name) i++;
    if (i == n_times) times[n_times++] = (OpTime){ n->op->name, 0 };
    times[i].seconds += seconds;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const OpTime *)a)->seconds, y = ((const OpTime *)b)->seconds;
    return x < y ? 1 : -1;
}

static void run(const char *name, const Gpt2Settings *settings, Dtype precision, int64_t batch,
                int64_t sequence, int steps)
{
    Arena *a = arena_new();
    Model *m = gpt2_new(a, settings);
    CpuLevel level;
    must(cpu_level(&level));
    SessionSettings ss = { .model = m, .precision = &precision };
    Session *s;
    must(session_new(&ss, &s));
    const Loss loss = { .target_key = "target_ids" };
    const Optimizer optimizer = { .update = update,
                                  .excluded = (const char *const[]){ NULL },
                                  .model = m };
    const GradientClipper clipper = { .norm_type = 2, .max_norm = 1 };
    Program *p;
    double start = clock_seconds();
    must(session_training_program(s, &loss, &optimizer, &clipper, batch, sequence, &p));
    must(store_initialize(session_store(s), 1));
    double ready = clock_seconds() - start;
    int32_t *ids = program_input(p, "input_ids")->data,
            *targets = program_input(p, "target_ids")->data;
    for (int64_t i = 0; i < batch * sequence; i++) {
        ids[i] = (int32_t)(i * 7919 % settings->vocab_size);
        targets[i] = (int32_t)((i + 1) * 7919 % settings->vocab_size);
    }
    double best = 1e9, total = 0;
    Watch w = watch_start();
    program_set_hook(p, note, NULL);
    n_times = 0;
    for (int k = 0; k <= steps; k++) { /* the first one warms up */
        RunTime now = { .step = k, .updates = k, .lr = 1e-4, .loss_scale = 1 };
        if (k == 1) n_times = 0;
        double t = clock_seconds();
        must(program_run(p, RUN_FORWARD | RUN_BACKWARD, &now));
        must(program_run(p, RUN_REDUCE, &now));
        must(program_run(p, RUN_UPDATE, &now));
        t = clock_seconds() - t;
        if (k == 0) continue;
        total += t;
        if (t < best) best = t;
    }
    double tokens = (double)(batch * sequence),
           peak = cpu_core_flops(precision == BF16 && level == CPU_AVX512 ? BF16 : F32, level) *
                  (double)sysconf(_SC_NPROCESSORS_ONLN);
    int64_t d_ff = settings->activation_type == ACTIVATION_SWIGLU
                       ? 3 * swiglu_hidden(settings->ffn_hidden,
                                           settings->enforce_swiglu_hidden_dim_multiple_of)
                       : 2 * settings->ffn_hidden;
    int64_t kv = settings->n_embd / settings->n_head_q * settings->n_head_kv;
    int64_t multiplied =
        settings->n_layer * settings->n_embd * (2 * settings->n_embd + 2 * kv + d_ff) +
        settings->vocab_size * settings->n_embd;
    double flops =
        flops_per_token_matmul(multiplied, settings->n_layer, sequence, settings->n_embd);
    printf("%s %s, %lld x %lld tokens: best %.0f tok/s, mean %.0f; %.2f of the limit %.0f tok/s "
           "(%.0f GFLOP/s); ready in %.2f s\n",
           name, dtype_name(precision), (long long)batch, (long long)sequence, tokens / best,
           tokens * steps / total, tokens / best / (peak / flops), peak / flops, peak * 1e-9,
           ready);
    qsort(times, (size_t)n_times, sizeof *times, by_time);
    for (int i = 0; i < n_times && i < 12; i++)
        printf("    %5.1f %%  %8.2f ms  %s\n", 100 * times[i].seconds / total,
               1e3 * times[i].seconds / steps, times[i].name);
    watch_report(&w);
    session_free(s);
    arena_free(a);
}

int main(int argc, char **argv)
{
    bool gpt2 = argc > 1 && !strcmp(argv[1], "gpt2");
    Gpt2Settings s = gpt2 ? gpt2_model() : tutorial_model();
    int64_t batch = argc > 3 ? atoi(argv[3]) : gpt2 ? 8 : 16;
    int steps = argc > 4 ? atoi(argv[4]) : 4;
    const char *precision = argc > 2 ? argv[2] : NULL;
    if (!precision || !strcmp(precision, "f32"))
        run(gpt2 ? "GPT-2 124M" : "tutorial model", &s, F32, batch, 256, steps);
    if (!precision || !strcmp(precision, "bf16"))
        run(gpt2 ? "GPT-2 124M" : "tutorial model", &s, BF16, batch, 256, steps);
    return 0;
}
