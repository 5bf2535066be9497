/* saving_beside.c - how much longer steps of GPT-2 124M take while a checkpoint (1.5 GB) is written
 * in the background of them, beside what a save takes that they wait for.
 *
 * usage: saving_beside [rounds]      BENCH_FOLDER names a folder of the disk (present folder),
 * BENCH_LAYERS makes the model smaller. A round takes steps without saving, a save that is waited
 * for, and one in the background until it is safe; the median of the rounds counts. Aims: the call
 * that begins a save below 20 ms or 5 % of a step, the extra time of all steps until it is safe
 * below 15 % of the save that is waited for. Extra time is how much later the steps come to the
 * node after which the checkpoint is safe than steps without saving do: steps of seconds differ by
 * more from each other than a save takes. */
#include "bare_step.h"
#include "base/clock.h"
#include "base/file.h"
#include "checkpoint/saving.h"
#include "measure.h"
#include "train/state_saving.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 8, SEQUENCE = 256, PLAIN_STEPS = 4, MOST_ROUNDS = 32, MOST_NODES = 4096 };

typedef struct Beside {
    Program *program;
    StateSaving *saving;
    int64_t steps;
    double begin, reached[PLAIN_STEPS][MOST_NODES]; /* of plain steps: seconds from the begin on */
    int plain, nodes; /* of the present step: which of them it is, nodes that have run */
    bool waits;       /* for a save in the background; then */
    int waited_nodes; /* those of the step in which it was safe, */
    double safe;      /* at this time */
} Beside;

/* What a round took, in seconds; of CPU time: what the save that is waited for took. Megabytes that
 * were copied, as the state changed before they were written. */
typedef struct Round {
    double step, waited, call, extra, cpu, copied;
} Round;

static Error *after_node(void *context, const Node *n, const Launch *l, double seconds)
{
    Beside *b = context;
    (void)n, (void)l, (void)seconds;
    CHECK(b->nodes < MOST_NODES);
    if (b->plain >= 0) b->reached[b->plain][b->nodes] = clock_seconds() - b->begin;
    if (b->waits && state_saving_is_done(b->saving)) {
        b->waits = false;
        b->waited_nodes = b->nodes;
        b->safe = clock_seconds();
    }
    b->nodes++;
    return NULL;
}

static double step(Beside *b, int plain)
{
    b->begin = clock_seconds();
    b->plain = plain;
    b->nodes = 0;
    bench_step(b->program, ++b->steps);
    return clock_seconds() - b->begin;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

static CheckpointTotals totals(const Beside *b)
{
    return (CheckpointTotals){ .seen_steps = b->steps,
                               .seen_tokens = b->steps * BATCH * SEQUENCE,
                               .target_steps = b->steps,
                               .target_tokens = b->steps * BATCH * SEQUENCE };
}

static Round measure(Beside *b)
{
    double plain[PLAIN_STEPS];
    Round r = { 0 };
    double at[PLAIN_STEPS];
    int whole = -1; /* steps that ended before it was safe */
    int64_t saved;
    for (int i = 0; i < PLAIN_STEPS; i++) plain[i] = step(b, i);
    r.step = median(plain, PLAIN_STEPS);
    CheckpointTotals now = totals(b);
    const double used = process_seconds();
    double start = clock_seconds();
    die(state_saving_save(b->saving, &now, "{}"));
    r.waited = clock_seconds() - start;
    r.cpu = process_seconds() - used;
    step(b, -1);
    now = totals(b);
    start = clock_seconds();
    die(state_saving_begin(b->saving, &now, "{}"));
    r.call = clock_seconds() - start;
    for (b->waits = true; b->waits; whole++) step(b, -1);
    for (int i = 0; i < PLAIN_STEPS; i++) at[i] = b->reached[i][b->waited_nodes];
    r.extra = b->safe - start - whole * r.step - median(at, PLAIN_STEPS);
    r.copied = 1e-6 * (double)state_saving_copied(b->saving);
    die(state_saving_finish(b->saving, &saved));
    return r;
}

static Program *make_program(Arena *a, Session **session, Model **model)
{
    const char *layers = getenv("BENCH_LAYERS");
    Gpt2Settings s =
        bench_gpt2(layers ? atoi(layers) : 12, 12, 768, 50304, 1024, bench_layer_norm(768));
    s.bias = true;
    s.use_weight_tying = true;
    *model = gpt2_new(a, &s);
    (*model)->initializer = &bench_small_weights;
    const Dtype precision = F32;
    die(session_new(&(SessionSettings){ .model = *model, .precision = &precision }, session));
    Program *p = bench_training(a, *session, *model, F32, BATCH, SEQUENCE);
    int32_t *ids = program_input(p, "input_ids", 0)->data,
            *targets = program_input(p, "target_ids", 0)->data;
    for (int64_t i = 0; i < (int64_t)BATCH * SEQUENCE; i++) {
        ids[i] = (int32_t)(i * 7919 % s.vocab_size);
        targets[i] = (int32_t)((i + 1) * 7919 % s.vocab_size);
    }
    return p;
}

static void report(const Round *round, int n, size_t bytes)
{
    double x[6][MOST_ROUNDS];
    for (int i = 0; i < n; i++) {
        x[0][i] = round[i].step, x[1][i] = round[i].waited;
        x[2][i] = round[i].call, x[3][i] = round[i].extra, x[4][i] = round[i].cpu;
        x[5][i] = round[i].copied;
    }
    const double step = median(x[0], n), waited = median(x[1], n), call = median(x[2], n),
                 extra = median(x[3], n), /* x[3] is in order now */
        most = fmax(0.02, 0.05 * step);
    printf("a step takes %.3f s, a save that is waited for %.3f s (%.3f s of CPU time)\n", step,
           waited, median(x[4], n));
    printf("the call of a save in the background: %.1f ms (aim %.1f): %s\n", 1e3 * call, 1e3 * most,
           call < most ? "reached" : "missed");
    printf("extra time of all steps until it is safe: %.3f s (%.3f to %.3f), %.1f %% of the save "
           "that is waited for (aim 15): %s\n",
           extra, x[3][0], x[3][n - 1], 100 * extra / waited,
           extra < 0.15 * waited ? "reached" : "missed");
    printf("copied, as the next update came before it was written: %.0f of %.0f MB\n",
           median(x[5], n), 1e-6 * (double)bytes);
}

int main(int argc, char **argv)
{
    static const char *const none[] = { NULL };
    const int asked = argc > 1 ? atoi(argv[1]) : 5, n = asked < 1             ? 1
                                                        : asked > MOST_ROUNDS ? MOST_ROUNDS
                                                                              : asked;
    Arena *a = arena_new();
    const char *in = getenv("BENCH_FOLDER");
    char *folder = arena_printf(a, "%s/saving-bench-XXXXXX", in ? in : ".");
    if (!mkdtemp(folder)) die(error_new("cannot make %s: %s", folder, strerror(errno)));
    const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
    const CheckpointExecution execution = { .checkpoint_path = folder, .experiment_id = "bench" };
    CheckpointSaving *saving = checkpoint_saving_new(a, &strategy, &execution);
    Session *session;
    AppState state = { 0 };
    Optimizer optimizer = { .excluded = none };
    float updates = 0;
    Round round[MOST_ROUNDS];
    Beside b = { .program = make_program(a, &session, &state.model) };
    saving->in_background = true;
    optimizer.model = state.model;
    state.optimizer = &optimizer;
    const TrainingJob job = { .state = &state, .saving = saving };
    die(state_saving_new(&job, session_store(session), program_graph(b.program), &updates,
                         &b.saving));
    program_set_hook(b.program, after_node, &b);
    for (int i = 0; i < 2; i++) step(&b, -1);
    Watch w = watch_start();
    for (int i = 0; i < n; i++) round[i] = measure(&b);
    report(round, n, state_saving_bytes(b.saving));
    watch_report(&w);
    state_saving_free(b.saving);
    session_free(session);
    die(remove_tree(folder));
    arena_free(a);
    return 0;
}
