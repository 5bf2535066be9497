/* train_tokenizer.c - training a tokenizer, the whole command from the file to the tokenizer.json:
 * wall and processor time, beside Hugging Face's tokenizers if $PYTHON can import them.
 *
 * usage: train_tokenizer [-r ROUNDS] [-m MEGABYTES] [-v VOCAB_SIZE] [-t THREADS] [TEXT]
 * The text is JSON lines (key "text") or a plain file; its first megabytes are written to a plain
 * file of lines, which both read. Both use the same number of threads and take turns; the peer's
 * start and its imports are not counted, this program's are. Medians; the merges are compared. */
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "measure.h"
#include "tokenizer/train/corpus.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 32, N_MODELS = 2 };

static const char *const models[N_MODELS] = { "bpe", "wordpiece" };

typedef struct Times {
    double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];
    int n;
} Times;

typedef struct Bench {
    const char *text, *ours, *theirs; /* files */
    char vocab_size[16], threads[16];
    Peer peer;
    bool has_peer;
} Bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double processor_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-6;
}

/* ---- the text ---- */

typedef struct Lines {
    Text text;
    size_t most;
} Lines;

static Error *take_text(void *arg, int thread, Str text, int64_t place, bool is_start)
{
    (void)thread, (void)place, (void)is_start;
    Lines *l = arg;
    if (l->text.len + text.len > l->most) return NULL;
    text_add(&l->text, text.ptr, text.len);
    if (text.ptr[text.len - 1] != '\n') text_putc(&l->text, '\n');
    return NULL;
}

/* Returns the bytes written. */
static size_t write_lines(const char *from, size_t most, const char *to)
{
    Lines l = { .most = most };
    CorpusSettings s = { .path = &from, .n_paths = 1, .key = "text" };
    Corpus *c;
    Pool *pool = pool_new(1);
    die(corpus_open(&s, pool, &c));
    for (bool some = true; some;) die(corpus_next(c, take_text, &l, &some));
    corpus_close(c);
    pool_free(pool);
    die(file_write_unsynced(to, l.text.ptr, l.text.len));
    size_t n = l.text.len;
    text_free(&l.text);
    return n;
}

/* ---- one run ---- */

static void run_ours(const Bench *b, const char *model, Times *t)
{
    double start = now();
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        execl("build/modalities", "modalities", "tokenizer", "train", "--model", model,
              "--input_path", b->text, "--output_path", b->ours, "--file_existence_policy",
              "override", "--vocab_size", b->vocab_size, "--threads", b->threads, NULL);
        _exit(1);
    }
    int status;
    struct rusage used;
    if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        die(error_new("build/modalities tokenizer train does not run here"));
    t->wall[t->n] = now() - start;
    t->cpu[t->n++] = processor_seconds(&used);
}

static void run_peer(Bench *b, const char *model, Times *t)
{
    fprintf(b->peer.in, "train %s\n", model);
    fflush(b->peer.in);
    if (fscanf(b->peer.out, "%lf %lf", &t->wall[t->n], &t->cpu[t->n]) != 2)
        die(error_new("the peer ended"));
    t->n++;
}

/* ---- what came out ---- */

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

static void print_times(const char *name, Times *t, size_t n_bytes)
{
    double wall = median(t->wall, t->n), cpu = median(t->cpu, t->n);
    printf("  %-12s %9.3f s %9.3f s of processor %9.1f MB/s\n", name, wall, cpu,
           (double)n_bytes * 1e-6 / wall);
}

static void compare_tokens(Bench *b, const char *model)
{
    char said[256] = "";
    fprintf(b->peer.in, "compare %s\n", model);
    fflush(b->peer.in);
    if (fscanf(b->peer.out, " %255[^\n]", said) == 1) printf("  %s\n", said);
}

static void measure(Bench *b, const char *model, int rounds, size_t n_bytes)
{
    Times ours = { 0 }, theirs = { 0 };
    for (int i = 0; i < rounds; i++) {
        run_ours(b, model, &ours);
        if (b->has_peer) run_peer(b, model, &theirs);
    }
    printf("%s, %s ids from %.1f MB, %s threads\n", model, b->vocab_size, (double)n_bytes * 1e-6,
           b->threads);
    print_times("modalities", &ours, n_bytes);
    if (b->has_peer) {
        print_times("tokenizers", &theirs, n_bytes);
        printf("  tokenizers : modalities  %.1f by the clock, %.1f in processor time\n",
               median(theirs.wall, rounds) / median(ours.wall, rounds),
               median(theirs.cpu, rounds) / median(ours.cpu, rounds));
        compare_tokens(b, model);
    }
    fflush(stdout);
}

static void start_peer(Bench *b)
{
    const char *const args[] = { "bench/train_tokenizer_peer.py",
                                 b->text,
                                 b->ours,
                                 b->theirs,
                                 b->vocab_size,
                                 b->threads,
                                 NULL };
    char said[16] = "";
    b->has_peer = peer_start(&b->peer, args) && fgets(said, sizeof said, b->peer.out) &&
                  !strcmp(said, "ready\n");
}

int main(int argc, char **argv)
{
    const char *source = "../shared/data/text/books_24m.jsonl";
    int rounds = 3, option;
    long megabytes = 20;
    Bench b = { .vocab_size = "32000", .threads = "2" };
    while ((option = getopt(argc, argv, "r:m:v:t:")) != -1) {
        if (option == 'r') rounds = atoi(optarg);
        if (option == 'm') megabytes = atol(optarg);
        if (option == 'v') snprintf(b.vocab_size, sizeof b.vocab_size, "%s", optarg);
        if (option == 't') snprintf(b.threads, sizeof b.threads, "%s", optarg);
        if (option == '?') return 2;
    }
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    if (optind < argc) source = argv[optind];
    Arena *a = arena_new();
    const char *folder = arena_printf(a, "/tmp/bench_train_tokenizer.%d", (int)getpid());
    die(make_directories(folder));
    b.text = path_join(a, folder, "text.txt");
    b.ours = path_join(a, folder, "ours.json");
    b.theirs = path_join(a, folder, "theirs.json");
    size_t n_bytes = write_lines(source, (size_t)megabytes * 1000000, b.text);
    start_peer(&b);
    Watch w = watch_start();
    for (int i = 0; i < N_MODELS; i++) measure(&b, models[i], rounds, n_bytes);
    watch_report(&w);
    if (b.has_peer) peer_stop(&b.peer);
    die(remove_tree(folder));
    arena_free(a);
    return 0;
}
