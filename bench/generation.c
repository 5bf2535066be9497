/* generation.c - decoding and reading prompts, as shares of what memory and arithmetic allow.
 *
 * usage: generation [124m|1b] [f32|bf16]      without arguments: all four
 *
 * Decoding one text reads every weight once per token (and few keys: answers begin at token 64):
 * the bar is 0.85 of the rate at which all threads together read memory in the same run. Sixteen
 * texts at once should reach 0.75 of the lower of sixteen times that and what products alone would
 * allow, and so should the reading of a prompt of products. Rounds of each and of the memory take
 * turns for some seconds, since other guests of a host disturb as long; the best of each counts.
 * Where $PYTHON (python3) can import transformers, its GPT-2 of the same sizes, precision and
 * number of threads takes turns, too (generation_peer.py); what is beyond memory's rate shows in
 * its share. */
#include "bare_step.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/thread.h"
#include "device/cpu_peak.h"
#include "exec/schedule.h"
#include "graph/op.h"
#include "measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    POSITIONS = 512,
    CHUNK = 256,
    FIRST = 64,
    TEXTS = 16,
    TOKENS = 16,
    ROUNDS = 6,
    SECONDS = 15,
    PEER_SECONDS = 60 /* for an answer: bf16 take it minutes where no instruction is for them */
};
static const double decode_bar = 0.85, batch_bar = 0.75, prefill_bar = 0.75;

/* ---- a model ---- */

typedef struct Case {
    const char *name;
    int64_t n_layer, n_head, width;
    Dtype precision;
    double peer_bar; /* tokens/s of one text, as a multiple of transformers' */
} Case;

/* Seconds: of a token of one text, of one of all texts, of a prompt. */
typedef struct Times {
    double one, many, prompt;
} Times;

static void keep_best(Times *best, Times t)
{
    best->one = fmin(best->one, t.one);
    best->many = fmin(best->many, t.many);
    best->prompt = fmin(best->prompt, t.prompt);
}

/* Those of all matrices that a token is multiplied with. */
static double weight_bytes(const Program *p, Dtype t)
{
    const Graph *g = program_graph(p);
    double n = 0;
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM && g->value[i]->role != ROLE_EMBEDDING &&
            g->value[i]->role != ROLE_POSITION)
            n += (double)value_count(g->value[i]);
    return n * (double)dtype_size(t);
}

static double flops_of(const Program *p)
{
    const Graph *g = program_graph(p);
    double flops = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) flops += node_flops(g->node[i]);
    return flops;
}

/* Seconds of the fastest of so many runs of a program at growing positions: all of them take longer
 * than a measurement of the limits, which would find the quieter moment. */
static double time_of(Program *p, int64_t count, int n_runs, int64_t from, int64_t step)
{
    int64_t ids[CHUNK];
    const Dtype t = program_input(p, "input_ids", 0)->dtype;
    for (int64_t i = 0; i < count; i++) dtype_set(t, ids, i, (double)(i * 7919 % 50000));
    double best = INFINITY;
    for (int i = 0; i < n_runs; i++) {
        const double start = clock_seconds();
        die(program_write(p, "input_ids", 0, ids));
        die(program_run_phases(p, RUN_FORWARD,
                               &(RunTime){ .position = from + i * step, .loss_scale = 1 }));
        best = fmin(best, clock_seconds() - start);
    }
    return best;
}

/* ---- transformers beside ---- */

static bool start_peer(const Case *c, Peer *p, char *version)
{
    const int64_t numbers[] = { c->n_layer, c->n_head, c->width, POSITIONS,
                                CHUNK,      FIRST,     TEXTS,    thread_cores() };
    char text[8][24];
    for (int i = 0; i < 8; i++) snprintf(text[i], sizeof text[i], "%lld", (long long)numbers[i]);
    const char *const args[] = { "bench/generation_peer.py",
                                 text[0],
                                 text[1],
                                 text[2],
                                 dtype_name(c->precision),
                                 text[3],
                                 text[4],
                                 text[5],
                                 text[6],
                                 text[7],
                                 NULL };
    if (!peer_start(p, args)) return false;
    if (fscanf(p->out, "%31s", version) == 1) return true;
    peer_stop(p);
    return false;
}

/* Its seconds for one thing. False: it takes too long, or has ended. */
static bool ask(Peer *p, const char *what, int count, double *seconds)
{
    fprintf(p->in, "%s %d\n", what, count);
    fflush(p->in);
    return peer_answers(p, PEER_SECONDS) && fscanf(p->out, "%lf", seconds) == 1;
}

static bool ask_all(Peer *p, Times *best)
{
    Times t;
    if (!ask(p, "one", TOKENS, &t.one) || !ask(p, "many", TOKENS / 2, &t.many) ||
        !ask(p, "prompt", 1, &t.prompt))
        return false;
    keep_best(best, t);
    return true;
}

static void print_peer(const Case *c, const char *version, const Times *ours, const Times *theirs,
                       double share)
{
    const double ratio = theirs->one / ours->one;
    printf(
        "  transformers %s: one text %.1f tokens/s, %.3f of memory's rate, ours : its = %.2f, bar "
        "%.1f %s; 16 texts %.1f, %.2f; prompt %.1f, %.2f\n",
        version, 1 / theirs->one, share, ratio, c->peer_bar,
        ratio >= c->peer_bar ? "met" : "NOT MET", TEXTS / theirs->many, theirs->many / ours->many,
        CHUNK / theirs->prompt, theirs->prompt / ours->prompt);
}

static void print_share(const char *what, double rate, double share, const char *of, double bar)
{
    printf("  %-22s %9.1f tokens/s, %.3f of %s, bar %.2f %s\n", what, rate, share, of, bar,
           share >= bar ? "met" : "NOT MET");
}

static void measure(const Case *c, const void *memory, size_t bytes)
{
    Arena *a = arena_new();
    const Gpt2Settings settings =
        bench_gpt2(c->n_layer, c->n_head, c->width, 50304, POSITIONS, bench_layer_norm(c->width));
    Model *model = gpt2_new(a, &settings);
    model->initializer = &bench_small_weights;
    const SessionSettings ss = { .model = model, .precision = &c->precision };
    Session *s;
    Program *one, *many, *chunk;
    die(session_new(&ss, &s));
    die(session_generation_program(s, 1, 1, POSITIONS, &one));
    die(session_generation_program(s, TEXTS, 1, POSITIONS, &many));
    die(session_generation_program(s, 1, CHUNK, POSITIONS, &chunk));
    die(store_initialize(session_store(s), 1));
    Peer peer;
    char version[32];
    bool has_peer = start_peer(c, &peer, version);
    const char *why = has_peer ? "has not answered in time" : "$PYTHON (python3) cannot import it";
    Times best = { INFINITY, INFINITY, INFINITY }, theirs = best;
    double dram = 0, peak = 0;
    Device *cpu = cpu_device_new(thread_cores());
    const double start = clock_seconds();
    /* the first round warms up, and makes copies of weights */
    for (int i = 0; i <= ROUNDS || clock_seconds() - start < SECONDS; i++) {
        const Times t = { time_of(one, 1, TOKENS, FIRST, 1),
                          time_of(many, TEXTS, TOKENS / 2, FIRST, 1),
                          time_of(chunk, CHUNK, 1, 0, 0) };
        dram = fmax(dram, read_rate(memory, bytes, thread_cores()));
        peak = fmax(peak, cpu_peak_flops(cpu, c->precision, cpu_level_in_use()));
        if (i) keep_best(&best, t);
        if (has_peer && !ask_all(&peer, &theirs)) {
            peer_kill(&peer);
            has_peer = false;
        }
    }
    const double size = weight_bytes(one, c->precision);
    const double products = peak / (flops_of(many) / TEXTS),
                 most = fmin(TEXTS / best.one, products);
    printf("%s %s: %.0f MB of weights, memory %.1f GB/s, products %.0f GFLOP/s\n", c->name,
           dtype_name(c->precision), size * 1e-6, dram * 1e-9, peak * 1e-9);
    print_share("one text", 1 / best.one, size / best.one / dram, "memory's rate", decode_bar);
    print_share("16 texts", TEXTS / best.many, TEXTS / best.many / most,
                products < TEXTS / best.one ? "what products allow" : "16 times one", batch_bar);
    print_share("prompt of 256", CHUNK / best.prompt, flops_of(chunk) / best.prompt / peak,
                "what products allow", prefill_bar);
    if (has_peer) {
        print_peer(c, version, &best, &theirs, size / theirs.one / dram);
        peer_stop(&peer);
    } else {
        printf("  transformers: skipped, %s\n", why);
    }
    cpu->free(cpu);
    session_free(s);
    arena_free(a);
}

int main(int argc, char **argv)
{
    static const Case cases[] = { { "124m", 12, 12, 768, F32, 2 },
                                  { "124m", 12, 12, 768, BF16, 2 },
                                  { "1b", 20, 16, 2048, F32, 1.1 },
                                  { "1b", 20, 16, 2048, BF16, 1.1 } };
    const size_t bytes = (size_t)1 << 30;
    const Watch w = watch_start();
    void *memory = fresh_bytes(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) continue;
        if (argc > 2 && strcmp(argv[2], dtype_name(cases[i].precision)) != 0) continue;
        measure(&cases[i], memory, bytes);
    }
    munmap(memory, bytes);
    watch_report(&w);
    return 0;
}
