/* loader.c - does training ever wait for its data? For each kind of dataset: tokens per second of
 * one core, and how long a consumer of a million tokens per second waits.
 *
 * loader [-t TOKENIZER] [-e EOD] [-j THREADS] [TEXT.jsonl] */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "data/collators.h"
#include "data/datasets.h"
#include "data/jsonl.h"
#include "data/pack.h"
#include "data/sampler.h"
#include "measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SEQUENCE = 1024, BATCH = 8, MOST_BATCHES = 3000 };
static const double CONSUMED = 1e6, SECONDS = 3; /* tokens per second; of a trial */

typedef struct Bench {
    Arena *arena;
    const char *text, *folder, *eod;
    Tokenizer *tokenizer;
    int n_threads;
} Bench;

static void die(Error *e)
{
    if (!e) return;
    fprintf(stderr, "%s\n", error_text(e));
    exit(1);
}

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

/* Takes batches as fast as they come. */
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

typedef struct Waiting {
    double share, longest; /* of the time; seconds */
} Waiting;

/* Takes a batch whenever a consumer of CONSUMED tokens per second would. The first one is not
 * counted: it starts the threads. */
static Waiting wait_for_batches(Loader *l)
{
    Waiting w = { 0 };
    double begin = 0, due = 0, waited = 0;
    for (int i = 0; !i || clock_seconds() - begin < SECONDS; i++) {
        Batch *b;
        double asked = clock_seconds();
        die(loader_next(l, &b));
        double got = clock_seconds(), wait = got - asked;
        if (!b) die(loader_seek(l, 0));
        if (!b) continue;
        if (!i) begin = due = got;
        if (i) waited += wait;
        if (i && wait > w.longest) w.longest = wait;
        due = (due > got ? due : got) + (double)n_tokens(b) / CONSUMED;
        double rest = due - clock_seconds();
        if (rest > 0) usleep((useconds_t)(rest * 1e6));
    }
    w.share = waited / (clock_seconds() - begin);
    return w;
}

static Loader *make_loader(const Bench *b, const Dataset *d, OrderKind kind)
{
    Sampler *sampler;
    BatchSampler *batches = NEW(b->arena, BatchSampler);
    DistributedOrder order = {
        .n = d->count(d), .num_replicas = 1, .kind = kind, .drop_last = true
    };
    die(distributed_sampler_new(b->arena, &order, &sampler));
    *batches = (BatchSampler){ sampler, BATCH };
    return loader_new(b->arena,
                      &(LoaderSettings){ .tag = "bench",
                                         .dataset = d,
                                         .batches = batches,
                                         .collator = gpt2_collator_new(b->arena, "x", "y"),
                                         .prefetch = 2 * b->n_threads,
                                         .n_threads = b->n_threads });
}

static void report(const Bench *b, const char *name, const Dataset *d, OrderKind kind)
{
    static const char *const order[] = { "in order", "torch", "feistel" };
    double rate = tokens_per_second(make_loader(b, d, kind));
    Waiting w = wait_for_batches(make_loader(b, d, kind));
    printf("%-18s %-9s %10.1f %10.2f %% %10.2f ms\n", name, order[kind], rate * 1e-6, 100 * w.share,
           1e3 * w.longest);
    fflush(stdout);
}

static Dataset *packed(const Bench *b)
{
    Dataset *d;
    PackSummary done;
    PackSettings s = { .src_path = b->text,
                       .index_path = path_join(b->arena, b->folder, "text.idx"),
                       .dst_path = path_join(b->arena, b->folder, "text.pbin"),
                       .jq_pattern = ".text",
                       .eod_token = b->eod,
                       .num_cpus = b->n_threads,
                       .processing_batch_size = 64,
                       .raw_samples_queue_size = 16,
                       .processed_samples_queue_size = 16,
                       .on_bad_line = BAD_LINE_SKIP };
    die(pack_jsonl(&s, b->tokenizer, &done));
    PackedContinuous c = { s.dst_path, "x", SEQUENCE, true };
    die(packed_continuous_open(b->arena, &c, &d));
    return d;
}

static Dataset *on_the_fly(const Bench *b)
{
    Dataset *d;
    JsonlOnTheFly s = { .raw_data_path = b->text,
                        .index_path = path_join(b->arena, b->folder, "text.idx"),
                        .counts_path = path_join(b->arena, b->folder, "text.counts"),
                        .tokenizer = b->tokenizer,
                        .jq_pattern = ".text",
                        .eod_token = b->eod,
                        .sample_key = "x",
                        .sequence_length = SEQUENCE,
                        .reuse_last_target = true,
                        .on_bad_line = BAD_LINE_SKIP };
    die(jsonl_on_the_fly_open(b->arena, &s, &d));
    return d;
}

static void run(const Bench *b)
{
    IndexSummary done;
    Dataset *mix;
    die(jsonl_write_index(b->text, path_join(b->arena, b->folder, "text.idx"), NULL, &done));
    const Dataset *part[] = { packed(b), on_the_fly(b) };
    WeightedMix s = { .dataset = part,
                      .n_datasets = 2,
                      .weights = (int64_t[]){ 3, 1 },
                      .n_weights = 2,
                      .shuffle = true };
    die(weighted_mix_new(b->arena, &s, &mix));
    printf("%s, %d threads, batches of %d x %d tokens\n", b->text, b->n_threads, BATCH, SEQUENCE);
    printf("%-18s %-9s %10s %12s %13s\n", "dataset", "order", "Mtok/s", "waits", "longest");
    printf("%-18s %-9s %10s %26s\n", "", "", "per core", "at 1 Mtok/s");
    report(b, "packed", part[0], ORDER_RISING);
    report(b, "packed", part[0], ORDER_TORCH);
    report(b, "packed", part[0], ORDER_FEISTEL);
    report(b, "jsonl_on_the_fly", part[1], ORDER_RISING);
    report(b, "jsonl_on_the_fly", part[1], ORDER_TORCH);
    report(b, "weighted_mix 3 : 1", mix, ORDER_RISING);
}

int main(int argc, char **argv)
{
    const char *tokenizer = "../shared/data/tokenizers/gpt2/tokenizer.json";
    Bench b = { .arena = arena_new(),
                .text = "../shared/data/text/books_24m.jsonl",
                .eod = "<|endoftext|>",
                .n_threads = 2 };
    char folder[] = "/tmp/loader.XXXXXX";
    int option;
    while ((option = getopt(argc, argv, "t:e:j:")) != -1) {
        if (option == 't') tokenizer = optarg;
        if (option == 'e') b.eod = optarg;
        if (option == 'j') b.n_threads = atoi(optarg) > 0 ? atoi(optarg) : 1;
        if (option == '?') return 2;
    }
    if (optind < argc) b.text = argv[optind];
    if (!mkdtemp(folder)) return 1;
    b.folder = folder;
    log_set_level(LOG_SILENT);
    Watch w = watch_start();
    die(tokenizer_open(tokenizer, &b.tokenizer));
    run(&b);
    watch_report(&w);
    arena_free(b.arena);
    b.tokenizer->close(b.tokenizer);
    die(remove_tree(folder));
    return 0;
}
