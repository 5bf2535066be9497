/* gpu.c - speed on a GPU: kernels as shares of its limits, and whole training steps.
 *
 * usage: gpu ops|steps RESULTS [tiny]
 * steps: GPT-2 124M, Llama 1B and 8B, or the models in MODELS, with what DETERMINISM has of "off
 * on". Results are lines of a table, and appended to RESULTS as lines of JSON as soon as they are
 * known. A kernel's limit is the longer of two times: its FLOPs at the peak of the datasheet, and
 * its operands once through memory. Times are those of many launches in a row, by the host's clock,
 * over copies of the operands that no cache holds. `tiny` is for trying this without a GPU. */
#include "../tests/ops/op_cases.h"
#include "../tests/ops/op_run.h"
#include "bare_step.h"
#include "base/clock.h"
#include "device/cuda_library.h"
#include "measure.h"
#include "model.h"
#include "monitor/mfu.h"
#include "ops/grouped_linear.h"
#include "ops/kernels.h"
#include "step_profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 16, MOST_COPIES = 8, CACHE_BYTES = 200 << 20, PATTERN = 1 << 16 };

/* A case of tests/ops/op_cases.c at a size that models have, and the share of the limit that is
 * expected of its kernels, as libraries reach it (from .. to). */
typedef struct GpuCase {
    const char *name, *what;
    int64_t n[MAX_CASE_SIZES], tiny[MAX_CASE_SIZES];
    bool is_f32;
    double from, to;
    bool by_mma; /* experts' products by kernels for tensor cores */
} GpuCase;

/* clang-format off */
static const GpuCase gpu_cases[] = {
    { "linear", "124M, up", { 64, 1024, 768, 3072 }, { 1, 4, 8, 16 }, false, 0.50, 0.62, false },
    { "linear", "8B, gate and up", { 1, 8192, 4096, 28672 }, { 1, 4, 8, 16 }, false, 0.70, 0.76, false },
    { "linear", "8B, down", { 1, 8192, 14336, 4096 }, { 1, 4, 8, 16 }, false, 0.70, 0.76, false },
    { "causal attention", "124M", { 64, 1024, 1024, 12, 1, 64 }, { 1, 16, 16, 2, 1, 8 }, false, 0.25, 0.34, false },
    { "causal attention", "1B", { 4, 4096, 4096, 8, 4, 64 }, { 1, 16, 16, 2, 2, 8 }, false, 0.27, 0.36, false },
    { "causal attention", "8B", { 1, 8192, 8192, 8, 4, 128 }, { 1, 16, 16, 2, 2, 8 }, false, 0.48, 0.65, false },
    { "layer_norm with weight and bias", "124M", { 65536, 768 }, { 8, 16 }, false, 0.80, 0.88, false },
    { "rms_norm with weight", "8B", { 8192, 4096 }, { 8, 16 }, false, 0.80, 0.88, false },
    { "rope of queries", "8B", { 8192, 1, 8192, 8, 4, 128 }, { 8, 1, 8, 2, 2, 8 }, false, 0.80, 0.88, false },
    { "swiglu", "8B", { 8192, 14336 }, { 8, 16 }, false, 0.80, 0.88, false },
    { "gelu_tanh", "124M", { 65536, 3072 }, { 8, 16 }, false, 0.80, 0.88, false },
    { "add", "8B", { 8192, 4096 }, { 8, 16 }, false, 0.80, 0.88, false },
    { "embed", "124M", { 64, 1024, 50304, 768 }, { 2, 4, 16, 8 }, false, 0.60, 0.88, false },
    { "head_step", "124M", { 8, 1024, 768, 50304 }, { 2, 4, 8, 32 }, false, 0.45, 0.60, false },
    { "cross_entropy", "8B", { 1, 4096, 128256 }, { 1, 4, 32 }, false, 0.80, 0.88, false },
    { "grouped_linear", "8 experts", { 2048, 2, 8, 1024, 2816 }, { 6, 2, 2, 8, 16 }, false, 0, 0, false },
    { "grouped_linear", "8 experts, mma", { 2048, 2, 8, 1024, 2816 }, { 6, 2, 2, 8, 16 }, false, 0.35, 0.45, true },
    { "adam", "8B, one matrix", { 4096, 14336 }, { 8, 16 }, true, 0.85, 0.90, false },
};
/* clang-format on */

typedef struct Bench {
    Device *device;
    Stream *stream;
    FILE *results;
    const char *gpu;
    double flops, bytes; /* per second, by datasheet */
    bool tiny;
} Bench;

static void *on_device(const Bench *b, size_t bytes)
{
    void *p;
    die(b->device->alloc(b->device, bytes, &p));
    return p;
}

/* The same few thousand numbers again and again: random enough for the power that it takes. */
static void fill(const Bench *b, const Value *v, Dtype t, void *to, int64_t n)
{
    static char pattern[PATTERN * 8];
    const int64_t below = v->init.high > 0 ? (int64_t)v->init.high : 1;
    const size_t size = dtype_size(t);
    uint64_t seed = 1;
    for (int64_t i = 0; i < PATTERN && i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double x = (double)(seed >> 40) / (1 << 24);
        dtype_set(t, pattern, i, dtype_is_float(t) ? x - 0.5 : floor(x * (double)below));
    }
    for (int64_t i = 0; i < n; i += PATTERN) {
        const int64_t part = n - i < PATTERN ? n - i : PATTERN;
        die(device_copy_now(b->device, (char *)to + (size_t)i * size, pattern, (size_t)part * size,
                            b->stream));
    }
}

/* The expert of a row: all have as many, and stand in rising order. */
static void fill_rising(const Bench *b, int64_t n_experts, void *to, int64_t n)
{
    int32_t *of = calloc((size_t)n, sizeof *of);
    for (int64_t i = 0; of && i < n; i++) of[i] = (int32_t)(i * n_experts / n);
    die(device_copy_now(b->device, to, of, (size_t)n * sizeof *of, b->stream));
    free(of);
}

static int64_t experts_of(const Node *n)
{
    if (n->op == &op_grouped_linear) return n->in[1]->dim[0].size;
    return strcmp(n->op->name, "grouped_outer") ? 0 : n->out[0]->dim[0].size;
}

static size_t tensor_place(Tensor *t, Dtype type, const Value *v)
{
    const Shape s = value_shape(v);
    *t = (Tensor){ .dtype = type, .n_dims = s.n_dims };
    memcpy(t->size, s.size, sizeof *s.size * (size_t)s.n_dims);
    return tensor_bytes(t);
}

/* Operands without memory. */
static Launch shape_launch(Arena *a, const Node *n, const Dtype *types)
{
    Tensor *in = NEW_N(a, Tensor, n->n_in), *out = NEW_N(a, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++) tensor_place(&in[k], types[k], n->in[k]);
    for (int k = 0; k < n->n_out; k++) tensor_place(&out[k], types[n->n_in + k], n->out[k]);
    return op_launch(n, in, out, NULL);
}

typedef struct Piece {
    void *data;
    size_t bytes;
} Piece;

/* Memory for one launch; what is changed in place is the same as the input. Returns the blocks. */
static int place(const Bench *b, const Node *n, Launch *l, Piece *block)
{
    int n_blocks = 0;
    Tensor *in = (Tensor *)l->in;
    for (int k = 0; k < l->n_in + l->n_out; k++) {
        const bool is_in = k < l->n_in;
        Tensor *t = is_in ? &in[k] : &l->out[k - l->n_in];
        const Value *v = is_in ? n->in[k] : n->out[k - l->n_in];
        int shared = 0;
        while (shared < l->n_in && n->in[shared] != v) shared++;
        if (shared < l->n_in && shared < k) {
            t->data = in[shared].data;
            continue;
        }
        t->data = on_device(b, tensor_bytes(t));
        block[n_blocks++] = (Piece){ t->data, tensor_bytes(t) };
        if (is_in && t->dtype == I32 && experts_of(n))
            fill_rising(b, experts_of(n), t->data, tensor_count(t));
        else if (is_in)
            fill(b, v, t->dtype, t->data, tensor_count(t));
    }
    return n_blocks;
}

/* Launches that are measured one after the other. */
typedef struct Copies {
    Launch launch[MOST_COPIES];
    Piece block[MOST_COPIES][MAX_OPERANDS + 2];
    int n_blocks[MOST_COPIES], n;
    double bytes;
} Copies;

static void make_copies(const Bench *b, Arena *a, const Node *n, const KernelDef *k,
                        const Dtype *types, Copies *c)
{
    const RunTime now = { .seed = 1, .updates = 1, .loss_scale = 1, .rate = { { .lr = 1e-3 } } };
    RunTime *there = on_device(b, sizeof now);
    die(device_copy_now(b->device, there, (void *)&now, sizeof now, b->stream));
    *c = (Copies){ .n = 1 };
    for (int i = 0; i < c->n; i++) {
        Launch *l = &c->launch[i];
        *l = shape_launch(a, n, types);
        l->stream = b->stream;
        l->now = there;
        c->n_blocks[i] = place(b, n, l, c->block[i]);
        const size_t scratch = k->scratch ? k->scratch(l, 1) : 0;
        l->scratch = on_device(b, scratch);
        c->block[i][c->n_blocks[i]++] = (Piece){ l->scratch, scratch };
        if (i == 0) c->block[i][c->n_blocks[i]++] = (Piece){ there, sizeof now };
        if (i > 0) continue;
        for (int j = 0; j < l->n_in + l->n_out; j++)
            c->bytes += (double)tensor_bytes(j < l->n_in ? &l->in[j] : &l->out[j - l->n_in]);
        while (!b->tiny && c->n < MOST_COPIES && c->n * c->bytes < CACHE_BYTES) c->n++;
    }
}

static void free_copies(const Bench *b, const Copies *c)
{
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->n_blocks[i]; k++)
            b->device->release(b->device, c->block[i][k].data, c->block[i][k].bytes);
}

static double seconds_of(const Bench *b, const KernelDef *k, const Copies *c, int n)
{
    const double start = clock_seconds();
    for (int i = 0; i < n; i++)
        if (b->device->launch(b->device, k->run, &c->launch[i % c->n])) return NAN;
    die(b->device->synchronize(b->device, b->stream));
    return b->stream->failed ? NAN : (clock_seconds() - start) / n;
}

/* The median of some series; each is long enough for the clock. */
static double median_seconds(const Bench *b, const KernelDef *k, const Copies *c)
{
    enum { SERIES = 7 };
    double each[SERIES];
    const double first = seconds_of(b, k, c, 1), second = seconds_of(b, k, c, b->tiny ? 1 : 3);
    if (isnan(first + second)) return NAN;
    const int n = b->tiny ? 1 : 1 + (int)(0.02 / second);
    for (int i = 0; i < SERIES; i++) {
        each[i] = seconds_of(b, k, c, n);
        for (int j = i; j > 0 && each[j] < each[j - 1]; j--) {
            const double x = each[j];
            each[j] = each[j - 1];
            each[j - 1] = x;
        }
    }
    return each[SERIES / 2];
}

static void measure(const Bench *b, const GpuCase *g, const Node *n, const KernelDef *k,
                    const Dtype *types)
{
    Arena *a = arena_new();
    Copies c;
    make_copies(b, a, n, k, types, &c);
    const double seconds = median_seconds(b, k, &c), flops = node_flops(n);
    const double peak = g->is_f32 ? b->flops / 15 : b->flops;
    const double limit = fmax(flops / peak, c.bytes / b->bytes);
    printf("  %-22s %-16s %9.1f us %7.1f TFLOP/s %6.2f TB/s   %4.2f of the limit (%.2f-%.2f)\n",
           n->op->name, g->what, seconds * 1e6, flops / seconds * 1e-12, c.bytes / seconds * 1e-12,
           limit / seconds, g->from, g->to);
    fprintf(
        b->results,
        "{\"stage\": \"ops\", \"op\": \"%s\", \"shape\": \"%s\", \"types\": \"%s\", \"us\": %.3f, "
        "\"tflops\": %.2f, \"tbs\": %.3f, \"share\": %.4f, \"expected\": [%.2f, %.2f]}\n",
        n->op->name, g->what, k->types, isnan(seconds) ? -1 : seconds * 1e6,
        isnan(seconds) ? 0 : flops / seconds * 1e-12,
        isnan(seconds) ? 0 : c.bytes / seconds * 1e-12, isnan(seconds) ? 0 : limit / seconds,
        g->from, g->to);
    fflush(stdout);
    fflush(b->results);
    free_copies(b, &c);
    arena_free(a);
}

/* The first row that the device has for the node in these dtypes, as a program takes it. */
static const KernelDef *row_of(const Bench *b, Arena *a, const Node *n, unsigned narrow,
                               Dtype *types)
{
    for (int t = 0; b->device->tables[t]; t++)
        for (const KernelDef *k = b->device->tables[t]; k->op; k++) {
            if (strcmp(k->op, n->op->name) || !op_row_types(k->types, n, narrow, types)) continue;
            Launch l = shape_launch(a, n, types);
            l.stream = b->stream;
            if (!k->serves || k->serves(&l)) return k;
        }
    return NULL;
}

static void measure_case(const Bench *b, const GpuCase *g, const OpCase *c)
{
    Arena *a = arena_new();
    setenv("MODALITIES_CUDA_MMA", g->by_mma ? "on" : "off", 1);
    const Graph *graph = op_case_build(a, c, b->tiny ? g->tiny : g->n).graph;
    for (int64_t i = 0; i < graph->n_nodes; i++) {
        const Node *n = graph->node[i];
        Dtype types[MAX_OPERANDS];
        if (n->op->flags & OP_VIEW || n->n_in + n->n_out > MAX_OPERANDS) continue;
        const KernelDef *k = row_of(b, a, n, g->is_f32 ? 0 : ~0u, types);
        if (k) measure(b, g, n, k, types);
    }
    arena_free(a);
}

static void measure_ops(Bench *b)
{
    die(b->device->stream_new(b->device, false, &b->stream));
    for (size_t i = 0; i < sizeof gpu_cases / sizeof *gpu_cases; i++)
        for (int c = 0; c < op_case_count(); c++)
            if (!strcmp(op_case_at(c)->name, gpu_cases[i].name))
                measure_case(b, &gpu_cases[i], op_case_at(c));
    b->device->stream_free(b->device, b->stream);
}

/* Bars and goals of one H200. */
typedef struct GpuStep {
    const char *model;
    int64_t batch, sequence;
    double bar, goal;
    bool is_tight; /* BenchCase */
} GpuStep;
static const GpuStep gpu_steps[] = { { "gpt2", 64, 1024, 520e3, 564e3, false },
                                     { "llama-1b", 4, 4096, 65e3, 69.3e3, false },
                                     { "llama-8b", 1, 8192, 11.5e3, 12.2e3, true },
                                     { "tutorial", 4, 256, 0, 0, false } };

static double started; /* of the program, until the first model is measured */

static double one_step(Program *p, int64_t number)
{
    const double start = clock_seconds();
    bench_step_ahead(p, number);
    return clock_seconds() - start;
}

/* Beside the results, in a file of its own. */
static void profile(const Bench *b, const BenchCase *c, Session *s, Program *p)
{
    char path[256];
    snprintf(path, sizeof path, "gpu-profile-%s.txt", c->name);
    FILE *to = fopen(path, "w");
    if (!to) return;
    fprintf(to, "%s, %lld x %lld, %s\n", c->name, (long long)c->batch, (long long)c->sequence,
            b->gpu);
    bench_profile(s, p, b->tiny ? 1 : 3, to);
    fclose(to);
}

static void measure_step(const Bench *b, const GpuStep *g, bool any_order)
{
    enum { STEPS = 20, WARM_UP = 3 };
    Arena *a = arena_new();
    Gpt2Settings s;
    Session *session;
    const int n = b->tiny ? 2 : STEPS;
    if (!bench_model(g->model, &s)) return;
    if (b->tiny) {
        bench_model("tutorial", &s);
        s.vocab_size = 256;
        s.n_layer = 1;
    }
    const BenchCase c = { .name = g->model,
                          .settings = &s,
                          .precision = BF16,
                          .is_tight = g->is_tight,
                          .batch = b->tiny ? 1 : g->batch,
                          .sequence = b->tiny ? 32 : g->sequence };
    const double start = started > 0 ? started : clock_seconds();
    started = 0;
    gpu_allow(&(GpuFreedom){ .any_order = any_order });
    Program *p = bench_program(&c, "cuda", a, &session);
    double least = INFINITY, most = 0, all = 0, ready = 0;
    for (int k = 0; k < WARM_UP + n; k++) {
        const double seconds = one_step(p, k);
        if (k == 0) ready = clock_seconds() - start;
        if (k < WARM_UP) continue;
        least = fmin(least, seconds);
        most = fmax(most, seconds);
        all += seconds / n;
    }
    const double tokens = (double)(c.batch * c.sequence), rate = tokens / all,
                 share = rate / b->flops, mfu = share * bench_flops_per_token(&c),
                 palm = share * flops_per_token_palm(graph_parameter_count(program_graph(p)),
                                                     s.n_layer, c.sequence, s.n_embd);
    const char *determinism = any_order ? "off" : "on";
    printf("  %-9s %lld x %lld, determinism %-3s: %10.0f tok/s (bar %.0f, goal %.0f), MFU %.1f %% "
           "causal, %.1f %% by 6 N + 12 L s d; steps of %.2f to %.2f ms; first step after %.2f s\n",
           g->model, (long long)c.batch, (long long)c.sequence, determinism, rate, g->bar, g->goal,
           100 * mfu, 100 * palm, least * 1e3, most * 1e3, ready);
    fprintf(b->results,
            "{\"stage\": \"steps\", \"model\": \"%s\", \"batch\": %lld, \"sequence\": %lld, "
            "\"determinism\": \"%s\", \"tokens_per_s\": %.1f, \"mfu_causal\": %.4f, "
            "\"mfu_6n_12lsd\": %.4f, \"least_ms\": %.3f, \"most_ms\": %.3f, "
            "\"first_step_s\": %.3f, \"bar\": %.0f, \"goal\": %.0f}\n",
            g->model, (long long)c.batch, (long long)c.sequence, determinism, rate, mfu, palm,
            least * 1e3, most * 1e3, ready, g->bar, g->goal);
    fflush(stdout);
    fflush(b->results);
    die(program_wait(p)); /* for the step that went ahead */
    if (!any_order) profile(b, &c, session, p);
    session_free(session);
    arena_free(a);
}

static void measure_steps(const Bench *b)
{
    const char *models = getenv("MODELS"), *determinism = getenv("DETERMINISM");
    if (!models) models = "gpt2 llama-1b llama-8b";
    if (!determinism) determinism = "off on";
    for (size_t i = 0; i < sizeof gpu_steps / sizeof *gpu_steps; i++)
        if (strstr(models, gpu_steps[i].model)) {
            if (strstr(determinism, "off")) measure_step(b, &gpu_steps[i], true);
            if (strstr(determinism, "on")) measure_step(b, &gpu_steps[i], false);
        }
}

int main(int argc, char **argv)
{
    GpuReport r;
    started = clock_seconds();
    if (argc < 3) {
        fprintf(stderr, "usage: gpu ops|steps RESULTS [tiny]\n");
        return 2;
    }
    gpu_report(&r);
    if (*r.problem || *r.gpu[0].problem) {
        fprintf(stderr, "gpu: %s\n", *r.problem ? r.problem : r.gpu[0].problem);
        return 1;
    }
    Bench b = { .gpu = r.gpu[0].name, .results = fopen(argv[2], "a"), .tiny = argc > 3 };
    if (!b.results) {
        fprintf(stderr, "gpu: cannot write %s\n", argv[2]);
        return 1;
    }
    die(gpu_open(0, 1, &b.device));
    b.flops = b.device->peak_flops(b.device, BF16);
    b.bytes = b.device->peak_bytes(b.device);
    printf("%s: %.0f TFLOP/s in bf16, %.2f TB/s by datasheet; %s\n", b.gpu, b.flops * 1e-12,
           b.bytes * 1e-12, r.versions);
    fprintf(b.results, "{\"stage\": \"gpu\", \"name\": \"%s\", \"versions\": \"%s\"}\n", b.gpu,
            r.versions);
    if (!strcmp(argv[1], "ops")) measure_ops(&b);
    b.device->free(b.device);
    if (!strcmp(argv[1], "steps")) measure_steps(&b);
    fclose(b.results);
    return 0;
}
