/* loader.c - does training ever wait for its data? The random order, the making of batches beside
 * memcpy, and for each kind of dataset how often a consumer finds no batch ready.
 *
 * usage: loader [-t TOKENIZER] [-e EOD] [-j THREADS] [-n MILLIONS] [TEXT.jsonl]
 * -n: millions of samples in the random order. A consumer of 1 Mtok/s sleeps between batches; one
 * at memory speed reads each batch once and asks for the next. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "corpus.h"
#include "data/collators.h"
#include "data/jsonl.h"
#include "data/sampler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEQUENCE = 1024, BATCH = 8, MOST_BATCHES = 3000, VOCABULARY = 50257, ROUNDS = 3 };
static const double CONSUMED = 1e6, SECONDS = 1.5; /* tokens per second; of a trial */
static const double BAR = 50e6;                    /* entries of the random order per second */

/* Processor time of all threads but this one. */
static double others_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 - clock_thread_seconds();
}

static int64_t n_tokens(const Batch *b)
{
    return b ? tensor_count(batch_find(b, "x")) : 0;
}

/* Takes batches as fast as they come: tokens per second of all other threads together. */
static double tokens_per_second(Loader *l)
{
    double before = others_seconds();
    int64_t total = 0;
    for (int i = 0; i < MOST_BATCHES; i++) {
        Batch *b;
        die(loader_next(l, &b));
        if (!b) break;
        total += n_tokens(b);
    }
    return (double)total / (others_seconds() - before);
}

static int64_t read_batch(const Batch *b)
{
    int64_t sum = 0;
    for (int k = 0; k < b->n; k++) {
        const int32_t *id = b->item[k].tensor.data;
        for (int64_t i = 0, n = tensor_count(&b->item[k].tensor); i < n; i++) sum += id[i];
    }
    return sum;
}

typedef struct Consumer {
    int64_t n_batches, n_tokens;
    double seconds;
    LoaderWaits waits;
} Consumer;

/* Takes a batch whenever a consumer of `rate` tokens per second would (0: that only reads them).
 * The first batch is not counted: it starts the threads. */
static Consumer consume(Loader *l, double rate)
{
    Consumer c = { 0 };
    double begin = 0, due = 0;
    LoaderWaits before = { 0 };
    volatile int64_t sum = 0;
    for (int i = 0; !i || clock_seconds() - begin < SECONDS; i++) {
        Batch *b;
        die(loader_next(l, &b));
        if (!b) die(loader_seek(l, 0));
        if (!b) continue;
        sum += read_batch(b);
        if (!i) {
            begin = due = clock_seconds();
            before = loader_waits(l);
            continue;
        }
        c.n_batches++;
        c.n_tokens += n_tokens(b);
        if (!rate) continue;
        double now = clock_seconds();
        due = (due > now ? due : now) + (double)n_tokens(b) / rate;
        if (due > now) usleep((useconds_t)((due - now) * 1e6));
    }
    c.seconds = clock_seconds() - begin;
    c.waits = loader_waits(l);
    c.waits.n -= before.n;
    c.waits.seconds -= before.seconds;
    return c;
}

/* n_threads 0: batches are made when asked for. */
static Loader *make_loader(const Corpus *corpus, const Dataset *d, OrderKind kind, int n_threads)
{
    Sampler *sampler;
    BatchSampler *batches = NEW(corpus->arena, BatchSampler);
    DistributedOrder order = {
        .n = d->count(d), .num_replicas = 1, .kind = kind, .drop_last = true
    };
    die(distributed_sampler_new(corpus->arena, &order, &sampler));
    *batches = (BatchSampler){ sampler, BATCH };
    Loader *l = loader_new(
        corpus->arena, &(LoaderSettings){ .tag = "bench",
                                          .dataset = d,
                                          .batches = batches,
                                          .collator = gpt2_collator_new(corpus->arena, "x", "y"),
                                          .prefetch = 2 * n_threads,
                                          .n_threads = n_threads });
    loader_check_ids(l, VOCABULARY);
    return l;
}

static void report(const Corpus *corpus, const char *name, const Dataset *d, OrderKind kind)
{
    static const char *const order[] = { "in order", "torch", "feistel" };
    double rate = tokens_per_second(make_loader(corpus, d, kind, corpus->n_threads));
    Consumer slow = consume(make_loader(corpus, d, kind, corpus->n_threads), CONSUMED),
             fast = consume(make_loader(corpus, d, kind, corpus->n_threads), 0);
    printf("%-18s %-9s %10.1f %6lld of %4lld %7.3f %% %10.1f %6.1f %%\n", name, order[kind],
           rate * 1e-6, (long long)slow.waits.n, (long long)slow.n_batches,
           100 * slow.waits.seconds / slow.seconds, (double)fast.n_tokens / fast.seconds * 1e-6,
           100 * fast.waits.seconds / fast.seconds);
    fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, compare);
    return x[ROUNDS / 2];
}

/* Inputs and targets of batches, beside copies of as many bytes from a large array to memory as
 * large as a batch's. One thread; the two take turns. */
static void report_memory_speed(const Corpus *corpus, const Dataset *d)
{
    enum { SOURCE = 64 << 20 };
    Loader *l = make_loader(corpus, d, ORDER_RISING, 0);
    const size_t bytes = 2 * sizeof(int32_t) * BATCH * SEQUENCE;
    int64_t n = loader_count(l);
    char *from = arena_alloc(corpus->arena, SOURCE), *to = arena_alloc(corpus->arena, bytes);
    double made[ROUNDS], copied[ROUNDS];
    memset(from, 1, SOURCE);
    for (int r = 0; r < ROUNDS; r++) {
        Batch *batch;
        die(loader_seek(l, 0));
        double start = thread_seconds();
        for (int64_t i = 0; i < n; i++) die(loader_next(l, &batch));
        double middle = thread_seconds();
        for (int64_t i = 0; i < n; i++) {
            memcpy(to, from + (size_t)i * bytes % SOURCE, bytes);
            __asm__ volatile("" ::"r"(to) : "memory");
        }
        made[r] = (double)n * (double)bytes / (middle - start) * 1e-9;
        copied[r] = (double)n * (double)bytes / (thread_seconds() - middle) * 1e-9;
    }
    double share = median(made) / median(copied);
    printf("batches, one core  %6.2f GB/s: %.0f %% of memcpy's %.2f GB/s\n\n", median(made),
           100 * share, median(copied));
}

/* From nothing to the first answer, the memory's first touch included. */
static void report_order(int64_t n, bool is_shared)
{
    double rate[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        Arena *a = arena_new();
        double start = clock_seconds();
        order_at(order_new(a, n, ORDER_TORCH, (uint64_t)r, is_shared), 0);
        rate[r] = (double)n / (clock_seconds() - start);
        arena_free(a);
    }
    double m = median(rate);
    printf("torch's order, %-7s %6.1f M entries/s of %lld M (bar %.0f): %s\n",
           is_shared ? "shared" : "own", m * 1e-6, (long long)(n / 1000000), BAR * 1e-6,
           m >= BAR ? "holds" : "DOES NOT HOLD");
    fflush(stdout);
}

static Dataset *packed(const Corpus *corpus)
{
    Dataset *d;
    PackSummary done;
    PackSettings s = corpus_pack_settings(corpus);
    die(pack_jsonl(&s, corpus->tokenizer, &done));
    PackedContinuous c = { s.dst_path, "x", SEQUENCE, true };
    die(packed_continuous_open(corpus->arena, &c, &d));
    return d;
}

static void run(const Corpus *corpus)
{
    IndexSummary done;
    Dataset *mix;
    die(jsonl_write_index(corpus->path, path_join(corpus->arena, corpus->folder, "text.idx"), NULL,
                          &done));
    const Dataset *part[] = { packed(corpus), corpus_on_the_fly(corpus, SEQUENCE) };
    WeightedMix s = { .dataset = part,
                      .n_datasets = 2,
                      .weights = (int64_t[]){ 3, 1 },
                      .n_weights = 2,
                      .shuffle = true };
    die(weighted_mix_new(corpus->arena, &s, &mix));
    printf("%s, %d threads, batches of %d x %d tokens, ids checked\n", corpus->path,
           corpus->n_threads, BATCH, SEQUENCE);
    report_memory_speed(corpus, part[0]);
    printf("%-18s %-9s %10s %25s %20s\n", "dataset", "order", "Mtok/s", "waits at 1 Mtok/s",
           "at memory speed");
    printf("%-18s %-9s %10s %14s %10s %10s %8s\n", "", "", "per core", "batches", "of time",
           "Mtok/s", "waits");
    report(corpus, "packed", part[0], ORDER_RISING);
    report(corpus, "packed", part[0], ORDER_TORCH);
    report(corpus, "packed", part[0], ORDER_FEISTEL);
    report(corpus, "jsonl_on_the_fly", part[1], ORDER_RISING);
    report(corpus, "jsonl_on_the_fly", part[1], ORDER_TORCH);
    report(corpus, "weighted_mix 3 : 1", mix, ORDER_RISING);
}

int main(int argc, char **argv)
{
    const char *tokenizer = "../shared/data/tokenizers/gpt2/tokenizer.json";
    int64_t n_order = 100000000;
    Corpus corpus = { .arena = arena_new(),
                      .path = "../shared/data/text/books_24m.jsonl",
                      .eod = "<|endoftext|>",
                      .n_threads = 2 };
    int option;
    while ((option = getopt(argc, argv, "t:e:j:n:")) != -1) {
        if (option == 't') tokenizer = optarg;
        if (option == 'e') corpus.eod = optarg;
        if (option == 'j') corpus.n_threads = atoi(optarg) > 0 ? atoi(optarg) : 1;
        if (option == 'n') n_order = atoll(optarg) * 1000000;
        if (option == '?') return 2;
    }
    if (n_order < 1) return 2;
    if (optind < argc) corpus.path = argv[optind];
    corpus.folder = corpus_folder(corpus.arena, "/tmp");
    log_set_level(LOG_SILENT);
    Watch w = watch_start();
    report_order(n_order, false);
    report_order(n_order, true);
    die(tokenizer_open(tokenizer, &corpus.tokenizer));
    run(&corpus);
    watch_report(&w);
    corpus.tokenizer->close(corpus.tokenizer);
    die(remove_tree(corpus.folder));
    arena_free(corpus.arena);
    return 0;
}
