/* tokenizer.c - encoding text: bytes per second of one core, first pass and warm, beside other
 * tokenizers; and on adversarial texts, where time must grow with length alone.
 *
 * usage: tokenizer [-a] [-r ROUNDS] [-m MEGABYTES] [-t TOKENIZER]... [TEXT...]
 * -a: adversarial texts alone.
 * Texts are JSON lines (key "text") or plain files, of which every line is a document. The first
 * pass is that of a fresh process. Peers are those that $PYTHON (python3) can import
 * (tokenizer_peers.py); they take turns with this program, and their ids are compared. Processor
 * time of one thread; medians. */
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "measure.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/train/corpus.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { MAX_ROUNDS = 32, MAX_PEERS = 4, MAX_PATHS = 32, FIRST_PASS_BYTES = 300000000 };

typedef struct Texts {
    const char *name;
    Text joined; /* a byte 0xFF after each document */
    Text limits; /* int64 ends of the documents, without that byte */
    int64_t n, max_bytes;
} Texts;

/* Figures of one tokenizer, cold and warm: bytes per second by round. */
typedef struct Rates {
    const char *name;
    double rate[2][MAX_ROUNDS];
    double tokens_per_byte;
} Rates;

typedef struct Pass {
    double seconds;
    int64_t n_bytes, n_ids;
    uint32_t crc;
} Pass;

typedef struct Peers {
    Peer peer;
    char names[256];
    const char *name[MAX_PEERS];
    int n;
} Peers;

static Error *take_text(void *arg, int thread, Str text, int64_t place, bool is_start)
{
    (void)thread, (void)place, (void)is_start;
    Texts *t = arg;
    if ((int64_t)(t->joined.len + text.len) > t->max_bytes) return NULL;
    text_add(&t->joined, text.ptr, text.len);
    int64_t end = (int64_t)t->joined.len;
    text_add(&t->limits, (const char *)&end, sizeof end);
    text_add(&t->joined, "\xFF", 1);
    t->n++;
    return NULL;
}

static Error *skip_bad_text(void *arg, BadText bad)
{
    (void)arg;
    error_free(bad.reason);
    return NULL;
}

static Texts read_texts(const char *path, int64_t max_bytes)
{
    Texts t = { .name = path_name(path), .max_bytes = max_bytes };
    CorpusSettings s = { .path = &path, .n_paths = 1, .key = "text", .bad_text = skip_bad_text };
    Corpus *c;
    Pool *pool = pool_new(1);
    die(corpus_open(&s, pool, &c));
    for (bool some = true; some;) die(corpus_next(c, take_text, &t, &some));
    corpus_close(c);
    pool_free(pool);
    return t;
}

/* Encodes documents until `limit` bytes were read. Ids go to a small buffer that is used again. */
static Pass encode_all(Encoder *encoder, const Texts *t, int64_t limit, Ids *ids, bool checks)
{
    const int64_t *end = (const int64_t *)(const void *)t->limits.ptr;
    Pass p = { .crc = (uint32_t)crc32(0, NULL, 0) };
    double start = thread_seconds();
    for (int64_t i = 0, from = 0; i < t->n && (!i || p.n_bytes + end[i] - from <= limit);
         from = end[i++] + 1) {
        Str document = { t->joined.ptr + from, (size_t)(end[i] - from) };
        ids->n = 0;
        die(encoder->tokenizer->encode(encoder, document, false, ids));
        p.n_ids += ids->n;
        p.n_bytes += (int64_t)document.len;
        if (checks) p.crc = (uint32_t)crc32(p.crc, (const void *)ids->id, (unsigned)(4 * ids->n));
    }
    p.seconds = thread_seconds() - start;
    return p;
}

/* The first pass of a fresh process: a copy of this one, which has not encoded anything. */
static Pass cold_pass(const Tokenizer *tokenizer, const Texts *t)
{
    int pipes[2];
    Pass p = { 0 };
    if (pipe(pipes)) return p;
    pid_t child = fork();
    if (!child) {
        Encoder *e = tokenizer->encoder_new(tokenizer);
        Ids ids = { 0 };
        die(tokenizer->encode(e, str_of("hello world"), false, &ids));
        p = encode_all(e, t, INT64_MAX, &ids, false);
        _exit(write(pipes[1], &p, sizeof p) == sizeof p ? 0 : 1);
    }
    close(pipes[1]);
    if (read(pipes[0], &p, sizeof p) != sizeof p) p.seconds = 0;
    close(pipes[0]);
    waitpid(child, NULL, 0);
    return p;
}

static char *write_texts(Arena *a, const Texts *t)
{
    char *path = arena_printf(a, "/tmp/bench_tokenizer.%d", (int)getpid());
    die(file_write(path, t->joined.ptr, t->joined.len));
    return path;
}

/* Leaves p->n at 0 when there is none. */
static void start_peers(Peers *p, const char *tokenizer, const char *texts)
{
    *p = (Peers){ 0 };
    const char *const args[] = { "bench/tokenizer_peers.py", tokenizer, texts, NULL };
    if (!peer_start(&p->peer, args)) return;
    if (!fgets(p->names, sizeof p->names, p->peer.out)) return;
    for (char *name = strtok(p->names, " \n"); name && p->n < MAX_PEERS; name = strtok(NULL, " \n"))
        p->name[p->n++] = name;
}

static Pass peer_pass(Peers *p, const char *name, bool cold)
{
    Pass r = { 0 };
    long long bytes, ids;
    fprintf(p->peer.in, "%s %s\n", name, cold ? "cold" : "warm");
    fflush(p->peer.in);
    if (fscanf(p->peer.out, "%lf %lld %lld %x", &r.seconds, &bytes, &ids, &r.crc) != 4) {
        fprintf(stderr, "%s ended\n", name);
        exit(1);
    }
    r.n_bytes = bytes;
    r.n_ids = ids;
    return r;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *rate, int n)
{
    qsort(rate, (size_t)n, sizeof *rate, by_size);
    return rate[n / 2];
}

static void print_rates(Rates *r, int n, int rounds)
{
    printf("  %-14s %10s %10s %10s %10s %12s\n", "", "first MB/s", "Mtok/s", "warm MB/s", "Mtok/s",
           "ours : it");
    double own[2] = { 0 };
    for (int i = 0; i < n; i++) {
        double cold = median(r[i].rate[0], rounds) * 1e-6;
        double warm = median(r[i].rate[1], rounds) * 1e-6;
        if (!i) own[0] = cold, own[1] = warm;
        printf("  %-14s %10.1f %10.1f %10.1f %10.1f", r[i].name, cold, cold * r[i].tokens_per_byte,
               warm, warm * r[i].tokens_per_byte);
        if (i) printf("  %5.2f %5.2f", own[0] / cold, own[1] / warm);
        printf("\n");
    }
}

static void add_rate(Rates *r, bool warm, int round, Pass p)
{
    r->rate[warm][round] = p.seconds > 0 ? (double)p.n_bytes / p.seconds : 0;
    r->tokens_per_byte = (double)p.n_ids / (double)p.n_bytes;
}

static void compare(Arena *a, const char *path, const Texts *t, int rounds)
{
    Tokenizer *tokenizer;
    Error *e = tokenizer_open(path, &tokenizer);
    if (e) {
        printf("%s: %s\n", path, error_text(e));
        error_free(e);
        return;
    }
    char *texts = write_texts(a, t);
    Peers peers;
    start_peers(&peers, path, texts);
    Rates rates[1 + MAX_PEERS] = { { .name = "modalities" } };
    Ids ids = { 0 };
    Encoder *warm = NULL;
    for (int round = 0; round < rounds; round++) {
        add_rate(&rates[0], false, round, cold_pass(tokenizer, t));
        for (int i = 0; i < peers.n; i++) {
            rates[1 + i].name = peers.name[i];
            add_rate(&rates[1 + i], false, round, peer_pass(&peers, peers.name[i], true));
        }
        if (!warm) {
            warm = tokenizer->encoder_new(tokenizer);
            encode_all(warm, t, INT64_MAX, &ids, false);
        }
        add_rate(&rates[0], true, round, encode_all(warm, t, INT64_MAX, &ids, false));
        for (int i = 0; i < peers.n; i++)
            add_rate(&rates[1 + i], true, round, peer_pass(&peers, peers.name[i], false));
    }
    printf("%s, %s: %lld documents, %.1f MB\n", path, t->name, (long long)t->n,
           (double)(t->joined.len - (size_t)t->n) * 1e-6);
    if (t->joined.len < FIRST_PASS_BYTES)
        printf("  a first pass over less than %d MB says little (bench/README.md)\n",
               FIRST_PASS_BYTES / 1000000);
    printf("  peers that can be imported and read this file:");
    for (int i = 0; i < peers.n; i++) printf(" %s", peers.name[i]);
    printf("%s", peers.n ? "\n" : " none (PYTHON= chooses another python3)\n");
    for (int i = 0; i < peers.n; i++) {
        Pass theirs = peer_pass(&peers, peers.name[i], false);
        Pass ours = encode_all(warm, t, theirs.n_bytes, &ids, true);
        if (ours.n_ids != theirs.n_ids || ours.crc != theirs.crc)
            printf("  %s gives OTHER IDS (%lld, ours are %lld)\n", peers.name[i],
                   (long long)theirs.n_ids, (long long)ours.n_ids);
    }
    print_rates(rates, 1 + peers.n, rounds);
    peer_stop(&peers.peer);
    unlink(texts);
    tokenizer->encoder_free(warm);
    tokenizer->close(tokenizer);
    ids_free(&ids);
    fflush(stdout);
}

/* The n-th byte of a text without an end that is hard on tokenizers. */
typedef char Adversary(uint64_t i);

static char one_letter(uint64_t i)
{
    (void)i;
    return 'a';
}

static char line_ends(uint64_t i)
{
    (void)i;
    return '\n';
}

static char punctuation(uint64_t i)
{
    (void)i;
    return '.';
}

static char two_letters(uint64_t i)
{
    return i % 2 ? 'b' : 'a';
}

static char random_letters(uint64_t i)
{
    return (char)('a' + rng_bits(1, i) % 26);
}

static const struct {
    const char *name;
    Adversary *at;
} adversaries[] = { { "one letter", one_letter },
                    { "line ends", line_ends },
                    { "punctuation", punctuation },
                    { "ab repeated", two_letters },
                    { "random letters", random_letters } };
enum { N_ADVERSARIES = sizeof adversaries / sizeof *adversaries, ADVERSARY_MB = 4 };

/* Seconds of a fresh encoder. The ids go to memory that is used again, as everywhere. */
static double encode_fresh(const Tokenizer *t, Str text, Ids *ids)
{
    Encoder *e = t->encoder_new(t);
    ids->n = 0;
    double start = thread_seconds();
    die(t->encode(e, text, false, ids));
    double seconds = thread_seconds() - start;
    t->encoder_free(e);
    return seconds;
}

/* Prints the rate at 1 MB and 4 MB, each as one document, and how much longer the long one takes:
 * the median over rounds in which both read as many bytes, half of the short ones before the long
 * one and half after, so that both see the same machine. */
static void resist_one(const Tokenizer *t, const char *name, Str text, int rounds)
{
    double rate[2][MAX_ROUNDS], ratio[MAX_ROUNDS];
    Ids ids = { 0 };
    encode_fresh(t, text, &ids);
    Str part = { text.ptr, text.len / ADVERSARY_MB };
    for (int r = 0; r < rounds; r++) {
        double small = 0, large = 0;
        for (int i = 0; i < ADVERSARY_MB; i++) {
            if (i == ADVERSARY_MB / 2) large = encode_fresh(t, text, &ids);
            small += encode_fresh(t, part, &ids);
        }
        rate[0][r] = 1e-6 * (double)text.len / small;
        rate[1][r] = 1e-6 * (double)text.len / large;
        ratio[r] = ADVERSARY_MB * large / small;
    }
    ids_free(&ids);
    printf("  %-16s %10.1f %10.1f %12.2f\n", name, median(rate[0], rounds), median(rate[1], rounds),
           median(ratio, rounds));
}

/* Else the C library keeps what 1 MB of text needs and gives back what 4 MB need, so that pages
 * which are taken anew would add to the time of the long text alone. */
static void keep_memory(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
}

static void resist(const char *path, int rounds)
{
    Tokenizer *t;
    Error *failed = tokenizer_open(path, &t);
    if (failed) {
        printf("%s: %s\n", path, error_text(failed));
        error_free(failed);
        return;
    }
    keep_memory();
    printf("%s, adversarial texts\n  %-16s %10s %10s %12s\n", path, "", "1 MB MB/s", "4 MB MB/s",
           "time 4 : 1");
    size_t len = ADVERSARY_MB * 1000000;
    char *text = malloc(len);
    CHECK(text != NULL);
    for (int i = 0; i < N_ADVERSARIES; i++) {
        for (size_t k = 0; k < len; k++) text[k] = adversaries[i].at(k);
        resist_one(t, adversaries[i].name, (Str){ text, len }, rounds);
    }
    free(text);
    t->close(t);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *tokenizer[MAX_PATHS] = {
        "../shared/data/tokenizers/gpt2", "../shared/data/tokenizers/dolma2",
        "../shared/data/tokenizers/sentencepiece/mistral_v1.model",
        "../shared/data/tokenizers/sentencepiece/modalities_unigram.model"
    };
    enum { N_DEFAULT = 4 };
    bool only_adversaries = false;
    const char *text[MAX_PATHS] = { "../shared/data/text/books_24m.jsonl",
                                    "../shared/data/text/multilingual.jsonl" };
    int n_tokenizers = 0, n_texts = 0, rounds = 5, option;
    int64_t megabytes = 400;
    while ((option = getopt(argc, argv, "ar:m:t:")) != -1) {
        if (option == 'r') rounds = atoi(optarg) < MAX_ROUNDS ? atoi(optarg) : MAX_ROUNDS;
        if (option == 'a') only_adversaries = true;
        if (option == 'm') megabytes = atoll(optarg);
        if (option == 't' && n_tokenizers < MAX_PATHS) tokenizer[n_tokenizers++] = optarg;
        if (option == '?') return 2;
    }
    for (; optind < argc && n_texts < MAX_PATHS; optind++) text[n_texts++] = argv[optind];
    Watch w = watch_start();
    Arena *a = arena_new();
    if (rounds < 1) rounds = 1;
    if (!n_tokenizers) n_tokenizers = N_DEFAULT;
    for (int i = 0; i < (n_texts ? n_texts : 2) && !only_adversaries; i++) {
        Texts t = read_texts(text[i], megabytes * 1000000);
        for (int j = 0; j < n_tokenizers; j++)
            compare(a, hf_tokenizer_path(a, tokenizer[j]), &t, rounds);
        text_free(&t.joined);
        text_free(&t.limits);
    }
    for (int j = 0; j < n_tokenizers; j++) resist(hf_tokenizer_path(a, tokenizer[j]), rounds);
    watch_report(&w);
    arena_free(a);
    return 0;
}
