/* step.c - whole training steps: tokens per second, share of what the matrix products alone would
 * allow, and PyTorch beside.
 *
 * usage: step [tutorial|gpt2] [f32|bf16] [batch] [steps]      without arguments: the tutorial model
 * in both precisions. The limit is the measured multiply-add rate of all cores in the same run, of
 * the instruction set in use (MODALITIES_CPU lowers it); the FLOPs are those of the graph's matrix
 * products, with the head counted three times (forward, two gradients) and attention's causal half.
 * Where $PYTHON (python3) can import torch, steps of the same model, batch and number of threads
 * are taken in turn with PyTorch's (step_peer.py), and the ratio is that of the best steps. */
#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_peak.h"
#include "exec/schedule.h"
#include "graph/op.h"
#include "measure.h"
#include "models/gpt2.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "monitor/mfu.h"
#include "ops/adam.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "train/session.h"
#include <math.h>
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
                   const ParamGroup *group)
{
    (void)self;
    const AdamSettings attrs = { .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .eps = 1e-8,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = true };
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

static Error *note(void *ctx, const Node *n, const Launch *l, double seconds)
{
    (void)ctx, (void)l;
    int i = 0;
    while (i < n_times && times[i].name != n->op->name) i++;
    if (i == n_times) times[n_times++] = (OpTime){ n->op->name, 0 };
    times[i].seconds += seconds;
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const OpTime *)a)->seconds, y = ((const OpTime *)b)->seconds;
    return x < y ? 1 : -1;
}

/* What is measured: a model with a batch, in one precision. */
typedef struct Case {
    const char *name;
    const Gpt2Settings *settings;
    Dtype precision;
    int64_t batch, sequence;
    int n_steps;
} Case;

/* As GPT-2's. With the embeddings that construction gives, N(0, 1), a tied head has logits as no
 * trained model has, for which the head must go over its sums again. */
static Error *small_weights(const Initializer *self, Graph *g)
{
    (void)self;
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind == VALUE_PARAM && v->n_dims > 1)
            v->init = (Init){ .kind = INIT_NORMAL, .std = 0.02 };
    }
    return NULL;
}

static Program *make_program(const Case *c, Arena *a, Session **session)
{
    static const Initializer initializer = { .apply = small_weights };
    Model *model = gpt2_new(a, c->settings);
    model->initializer = &initializer;
    SessionSettings ss = { .model = model, .precision = &c->precision };
    must(session_new(&ss, session));
    Loss *loss = NEW(a, Loss);
    Optimizer *optimizer = NEW(a, Optimizer);
    GradientClipper *clipper = NEW(a, GradientClipper);
    static const char *const none[] = { NULL };
    *loss = loss_of_tokens("target_ids");
    *optimizer = (Optimizer){ .update = update, .excluded = none, .model = ss.model };
    *clipper = (GradientClipper){ .norm_type = 2, .max_norm = 1 };
    Program *p;
    must(session_training_program(*session, loss, optimizer, clipper, NULL, c->batch, c->sequence,
                                  &p));
    must(store_initialize(session_store(*session), 1));
    int32_t *ids = program_input(p, "input_ids", 0)->data,
            *targets = program_input(p, "target_ids", 0)->data;
    for (int64_t i = 0; i < c->batch * c->sequence; i++) {
        ids[i] = (int32_t)(i * 7919 % c->settings->vocab_size);
        targets[i] = (int32_t)((i + 1) * 7919 % c->settings->vocab_size);
    }
    return p;
}

static double one_step(Program *p, int64_t number)
{
    RunTime now = {
        .step = number, .updates = number, .loss_scale = 1, .rate = { { .lr = 1e-4 } }
    };
    double start = clock_seconds();
    must(program_run_phases(p, RUN_FORWARD | RUN_BACKWARD, &now));
    must(program_run_phases(p, RUN_REDUCE, &now));
    must(program_run_phases(p, RUN_UPDATE, &now));
    return clock_seconds() - start;
}

/* Tokens per second at most. */
static double limit(const Case *c, double peak)
{
    const Gpt2Settings *s = c->settings;
    int64_t d_ff = s->activation_type == ACTIVATION_SWIGLU
                       ? 3 * swiglu_hidden(s->ffn_hidden, s->enforce_swiglu_hidden_dim_multiple_of)
                       : 2 * s->ffn_hidden;
    int64_t kv = s->n_embd / s->n_head_q * s->n_head_kv;
    int64_t multiplied =
        s->n_layer * s->n_embd * (2 * s->n_embd + 2 * kv + d_ff) + s->vocab_size * s->n_embd;
    return peak / flops_per_token_matmul(multiplied, s->n_layer, c->sequence, s->n_embd);
}

/* PyTorch with the same model, ready for steps; false if there is none. */
static bool start_torch(const Case *c, const char *model, int n_threads, Peer *p, char *version)
{
    char batch[24], sequence[24], threads[24];
    snprintf(batch, sizeof batch, "%lld", (long long)c->batch);
    snprintf(sequence, sizeof sequence, "%lld", (long long)c->sequence);
    snprintf(threads, sizeof threads, "%d", n_threads);
    const char *precision = dtype_name(c->precision);
    const char *const args[] = {
        "bench/step_peer.py", model, precision, batch, sequence, threads, NULL
    };
    setenv("MALLOC_MMAP_THRESHOLD_", "8589934592", 0); /* else PyTorch spends half of its time in */
    setenv("MALLOC_TRIM_THRESHOLD_", "17179869184", 0); /* page faults */
    if (!peer_start(p, args)) return false;
    if (fscanf(p->out, "%31s", version) == 1) return true;
    peer_stop(p);
    return false;
}

static double torch_step(Peer *p)
{
    double seconds = INFINITY;
    fputs("step\n", p->in);
    fflush(p->in);
    if (fscanf(p->out, "%lf", &seconds) != 1) fprintf(stderr, "PyTorch ended\n");
    return seconds;
}

static void print_times(double total, int n_steps)
{
    qsort(times, (size_t)n_times, sizeof *times, by_time);
    for (int i = 0; i < n_times && i < 12; i++)
        printf("    %5.1f %%  %8.2f ms  %s\n", 100 * times[i].seconds / total,
               1e3 * times[i].seconds / n_steps, times[i].name);
}

static void run(const Case *c, const char *model)
{
    Arena *a = arena_new();
    CpuLevel level;
    Session *s;
    Peer torch;
    char version[32];
    must(cpu_level(&level));
    double start = clock_seconds();
    Program *p = make_program(c, a, &s);
    double ready = clock_seconds() - start, best = INFINITY, torch_best = INFINITY, total = 0;
    int n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    bool pairs = c->precision == BF16 && level == CPU_AVX512;
    bool has_torch = start_torch(c, model, n_threads, &torch, version);
    Watch w = watch_start();
    program_set_hook(p, note, NULL);
    for (int k = 0; k <= c->n_steps; k++) { /* the first one warms up */
        if (k == 1) n_times = 0;
        double t = one_step(p, k), u = has_torch ? torch_step(&torch) : INFINITY;
        if (k == 0) continue;
        total += t;
        best = fmin(best, t);
        torch_best = fmin(torch_best, u);
    }
    double tokens = (double)(c->batch * c->sequence);
    double peak = cpu_core_flops(pairs ? BF16 : F32, level) * n_threads;
    double most = limit(c, peak);
    printf("%s %s, %s, %lld x %lld tokens: best %.0f tok/s, mean %.0f; %.2f of the limit %.0f "
           "tok/s (%.0f GFLOP/s); ready in %.2f s\n",
           c->name, dtype_name(c->precision), cpu_level_name(level), (long long)c->batch,
           (long long)c->sequence, tokens / best, tokens * c->n_steps / total, tokens / best / most,
           most, peak * 1e-9, ready);
    if (has_torch)
        printf("    PyTorch %s, %d threads: best %.0f tok/s; ours : it = %.2f\n", version,
               n_threads, tokens / torch_best, torch_best / best);
    else
        printf("    PyTorch: skipped, $PYTHON (python3) cannot import torch\n");
    print_times(total, c->n_steps);
    watch_report(&w);
    if (has_torch) peer_stop(&torch);
    session_free(s);
    arena_free(a);
}

int main(int argc, char **argv)
{
    bool gpt2 = argc > 1 && !strcmp(argv[1], "gpt2");
    Gpt2Settings s = gpt2 ? gpt2_model() : tutorial_model();
    const char *precision = argc > 2 ? argv[2] : NULL;
    Case c = { .name = gpt2 ? "GPT-2 124M" : "tutorial model", .settings = &s, .sequence = 256 };
    c.batch = argc > 3 ? atoi(argv[3]) : gpt2 ? 8 : 16;
    c.n_steps = argc > 4 ? atoi(argv[4]) : 4;
    for (int i = 0; i < 2; i++) {
        c.precision = i ? BF16 : F32;
        if (!precision || !strcmp(precision, dtype_name(c.precision)))
            run(&c, gpt2 ? "gpt2" : "tutorial");
    }
    return 0;
}
