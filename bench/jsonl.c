/* jsonl.c - from JSON lines to tokens: checking, indexing, packing, tokenizing on the fly.
 *
 * usage: jsonl [-r ROUNDS] [-m MEGABYTES] [-j THREADS] [-t TOKENIZER] [-e EOD] [-i FOLDER]
 *              [-d FOLDER] [TEXT.jsonl]
 * The lines of TEXT that have a text (key "text") are repeated up to MEGABYTES in a file in the
 * first FOLDER (default: /var/tmp), which is read once, so that the page cache holds it as a file
 * that was downloaded; what is made of it goes to the second (default: /dev/shm, so that no disk is
 * measured). All parts take turns; medians of wall-clock time, so others on the machine disturb. */
#include "data/jsonl.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/decompress.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/log.h"
#include "base/thread.h"
#include "corpus.h"
#include "data/text_query.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROUNDS = 64, MAX_THREADS = 256, BLOCK_BYTES = 1 << 18, SEQUENCE = 1024 };

typedef struct Bench {
    Corpus corpus;
    int n_rounds, round;
    int64_t n_tokens;
    Dataset *on_the_fly;
} Bench;

/* Seconds of one part by round, for `work` bytes or tokens. */
typedef struct Figure {
    double seconds[MAX_ROUNDS], work;
} Figure;

/* ---- checking ---- */

typedef struct Check {
    const Bench *bench;
    Str text;
    CpuLevel level;
    int64_t n_bad[MAX_THREADS];
} Check;

/* The lines that begin in a block, as in indexing. */
static void check_block(void *arg, int64_t i, int thread)
{
    Check *c = arg;
    const char *begin = c->text.ptr, *end = begin + c->text.len;
    size_t from = (size_t)i * BLOCK_BYTES, left = c->text.len - from;
    const char *p = begin + from, *to = p + (left < BLOCK_BYTES ? left : BLOCK_BYTES);
    while (i && p < to && p[-1] != '\n') p++;
    while (p < to) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        JsonFault fault;
        Str line = { p, (size_t)(stop - p) };
        c->n_bad[thread] += !json_check_at(c->level, line, SURROGATES_PASS, &fault);
        p = stop + 1;
    }
}

static void check_text(const Bench *b, CpuLevel level, Str text, int n_threads)
{
    Pool *pool = pool_new(n_threads);
    Check c = { .bench = b, .text = text, .level = level };
    pool_run(pool, (int64_t)(text.len + BLOCK_BYTES - 1) / BLOCK_BYTES, check_block, &c);
    pool_free(pool);
}

/* The same on a fresh mapping of the file: what reading in place costs beside. */
static void check_mapped(const Bench *b, CpuLevel level)
{
    Arena *a = arena_new();
    Str text;
    die(file_view_forward(a, b->corpus.path, &text));
    check_text(b, level, text, b->corpus.n_threads);
    arena_free(a);
}

/* ---- reading ---- */

static void read_block(void *arg, int64_t i, int thread)
{
    static char buffer[MAX_THREADS][BLOCK_BYTES];
    if (pread(*(int *)arg, buffer[thread], BLOCK_BYTES, i * BLOCK_BYTES) < 0) exit(1);
}

static void read_file(const Bench *b, int n_threads)
{
    int fd = open(b->corpus.path, O_RDONLY);
    Pool *pool = pool_new(n_threads);
    pool_run(pool, (int64_t)(b->corpus.memory.len + BLOCK_BYTES - 1) / BLOCK_BYTES, read_block,
             &fd);
    pool_free(pool);
    close(fd);
}

/* Brings each page into a mapping and takes it away. */
static void touch_block(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Str *text = arg;
    size_t from = (size_t)i * BLOCK_BYTES, to = from + BLOCK_BYTES;
    if (to > text->len) to = text->len;
    for (size_t at = from; at < to; at += 4096) (void)*(volatile const char *)(text->ptr + at);
    file_view_done(text->ptr + from, text->ptr + to);
}

static void map_file(const Bench *b, int n_threads)
{
    Arena *a = arena_new();
    Str text;
    die(file_view_forward(a, b->corpus.path, &text));
    Pool *pool = pool_new(n_threads);
    pool_run(pool, (int64_t)(text.len + BLOCK_BYTES - 1) / BLOCK_BYTES, touch_block, &text);
    pool_free(pool);
    arena_free(a);
}

/* ---- tokens ---- */

typedef struct Encoding {
    const Bench *bench;
    bool from_json; /* lines, not texts */
    TextQuery *query[MAX_THREADS];
    Text text[MAX_THREADS];
    Encoder *encoder[MAX_THREADS];
    Ids ids[MAX_THREADS];
} Encoding;

enum { TEXTS_PER_TASK = 64 };

/* Ids go to a small buffer that is used again. */
static void encode_texts(void *arg, int64_t i, int thread)
{
    Encoding *e = arg;
    const Bench *b = e->bench;
    int64_t from = i * TEXTS_PER_TASK, to = from + TEXTS_PER_TASK;
    Text *own = &e->text[thread];
    for (int64_t k = from; k < to && k < b->corpus.n_texts; k++) {
        Str text = b->corpus.text[k];
        int64_t column;
        if (e->from_json) {
            die(text_query_run(e->query[thread], b->corpus.line[k], own, &column));
            text = (Str){ own->len ? own->ptr : "", own->len };
        }
        e->ids[thread].n = 0;
        die(b->corpus.tokenizer->encode(e->encoder[thread], text, true, &e->ids[thread]));
    }
}

static void encode_all(const Bench *b, bool from_json)
{
    static Encoding e;
    e = (Encoding){ .bench = b, .from_json = from_json };
    Pool *pool = pool_new(b->corpus.n_threads);
    for (int i = 0; i < b->corpus.n_threads; i++) {
        e.encoder[i] = b->corpus.tokenizer->encoder_new(b->corpus.tokenizer);
        die(text_query_new(".text", &e.query[i]));
    }
    pool_run(pool, (b->corpus.n_texts + TEXTS_PER_TASK - 1) / TEXTS_PER_TASK, encode_texts, &e);
    for (int i = 0; i < b->corpus.n_threads; i++) {
        b->corpus.tokenizer->encoder_free(e.encoder[i]);
        text_query_free(e.query[i]);
        text_free(&e.text[i]);
        ids_free(&e.ids[i]);
    }
    pool_free(pool);
}

static void write_index(const Bench *b)
{
    IndexSummary done;
    die(jsonl_write_index(b->corpus.path, path_join(b->corpus.arena, b->corpus.folder, "text.idx"),
                          NULL, &done));
}

/* All lines, or those of another file, without an index. */
static int64_t pack(const Bench *b, const char *other)
{
    PackSummary done;
    PackSettings s = corpus_pack_settings(&b->corpus);
    if (other) s.src_path = other;
    if (other) s.index_path = NULL;
    die(pack_jsonl(&s, b->corpus.tokenizer, &done));
    return done.n_tokens;
}

/* ---- compressed ---- */

static char *room_for_nothing(void *buffer, size_t *n)
{
    *n = BLOCK_BYTES;
    return buffer;
}

static Error *take_nothing(void *buffer, size_t n, size_t stored)
{
    (void)buffer, (void)n, (void)stored;
    return NULL;
}

static void inflate_alone(const Bench *b)
{
    static char buffer[BLOCK_BYTES];
    const Sink nowhere = { room_for_nothing, take_nothing, buffer };
    Arena *a = arena_new();
    Str bytes;
    die(file_view(a, b->corpus.compressed, &bytes));
    die(decompress(COMPRESSED_GZIP, bytes, b->corpus.compressed, &nowhere));
    arena_free(a);
}

/* Some samples in order, by this thread alone; returns how many tokens. */
static int64_t take_samples(const Bench *b)
{
    enum { MOST = 20000 };
    int64_t n = b->on_the_fly->count(b->on_the_fly);
    if (n > MOST) n = MOST;
    for (int64_t i = 0; i < n; i++) {
        Arena *a = arena_new();
        Sample sample;
        die(b->on_the_fly->get(b->on_the_fly, i, a, &sample));
        arena_free(a);
    }
    return n * SEQUENCE;
}

/* ---- measuring and telling ---- */

enum {
    READ_1,
    READ_N,
    MAP_1,
    MAP_N,
    CHECK_1,
    CHECK_N = CHECK_1 + CPU_AMX + 1,
    CHECK_MAPPED = CHECK_N + CPU_AMX + 1,
    INDEX,
    ENCODE,
    ENCODE_LINES,
    PACK,
    INFLATE,
    PACK_INFLATED,
    ON_THE_FLY,
    N_FIGURES
};

static double run(Bench *b, int kind)
{
    CpuLevel best = cpu_level_in_use();
    die(remove_tree(path_join(b->corpus.arena, b->corpus.folder, "text.pbin")));
    double start = clock_seconds();
    if (kind == READ_1 || kind == READ_N) read_file(b, kind == READ_N ? b->corpus.n_threads : 1);
    if (kind == MAP_1 || kind == MAP_N) map_file(b, kind == MAP_N ? b->corpus.n_threads : 1);
    if (kind >= CHECK_1 && kind < CHECK_N)
        check_text(b, (CpuLevel)(kind - CHECK_1), b->corpus.memory, 1);
    if (kind >= CHECK_N && kind < CHECK_MAPPED)
        check_text(b, (CpuLevel)(kind - CHECK_N), b->corpus.memory, b->corpus.n_threads);
    if (kind == CHECK_MAPPED) check_mapped(b, best);
    if (kind == INDEX) write_index(b);
    if (kind == ENCODE || kind == ENCODE_LINES) encode_all(b, kind == ENCODE_LINES);
    if (kind == PACK) b->n_tokens = pack(b, NULL);
    if (kind == INFLATE) inflate_alone(b);
    if (kind == PACK_INFLATED) pack(b, b->corpus.compressed);
    if (kind == ON_THE_FLY) take_samples(b);
    return clock_seconds() - start;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Work per second, by the median. */
static double rate_of(Figure *f, int n_rounds)
{
    qsort(f->seconds, (size_t)n_rounds, sizeof *f->seconds, by_size);
    return f->work / f->seconds[n_rounds / 2];
}

/* bar 0: none. */
static void tell(const char *what, int n_threads, double rate, const char *unit, double share,
                 double bar)
{
    printf("  %-34s %2d %9.2f %-6s", what, n_threads, rate, unit);
    if (bar > 0) printf("  %7.2f, bar %.2f%s", share, bar, share >= bar ? "" : ": BELOW");
    printf("\n");
}

static void tell_checks(const Bench *b, const double *rate)
{
    static const double bar[] = { 0, 2.5e9, 5e9, 5e9 };
    for (CpuLevel level = CPU_SCALAR; level <= cpu_level_available(); level++) {
        char name[64];
        double one = rate[CHECK_1 + level], all = rate[CHECK_N + level];
        snprintf(name, sizeof name, "check JSON and UTF-8, %s", cpu_level_name(level));
        tell(name, 1, one * 1e-9, "GB/s", one / 1e9, bar[level] / 1e9);
        tell(name, b->corpus.n_threads, all * 1e-9, "GB/s", 0, 0);
    }
}

static void tell_all(const Bench *b, const double *rate)
{
    CpuLevel best = cpu_level_in_use();
    int n = b->corpus.n_threads;
    double text_per_token = (double)b->corpus.n_text_bytes / (double)b->n_tokens;
    printf("%.0f MB of JSON lines, %s, to %s, %s, medians of %d rounds\n",
           (double)b->corpus.memory.len * 1e-6, b->corpus.path, b->corpus.folder,
           cpu_level_name(best), b->n_rounds);
    printf("  %-34s threads\n", "");
    tell("read the page cache (pread)", 1, rate[READ_1] * 1e-9, "GB/s", 0, 0);
    tell("read the page cache (pread)", n, rate[READ_N] * 1e-9, "GB/s", 0, 0);
    tell("map the page cache, touch pages", 1, rate[MAP_1] * 1e-9, "GB/s", 0, 0);
    tell("map the page cache, touch pages", n, rate[MAP_N] * 1e-9, "GB/s", 0, 0);
    tell_checks(b, rate);
    tell("check a mapped file", n, rate[CHECK_MAPPED] * 1e-9, "GB/s", 0, 0);
    tell("create_raw_index, of checking", n, rate[INDEX] * 1e-9, "GB/s",
         rate[INDEX] / rate[CHECK_N + best], 0.8);
    tell("    of checking a mapped file", n, rate[INDEX] * 1e-9, "GB/s",
         rate[INDEX] / rate[CHECK_MAPPED], 0.8);
    tell("encode texts in memory", n, rate[ENCODE] * 1e-6, "Mtok/s", 0, 0);
    tell("    bytes of text", n, rate[ENCODE] * text_per_token * 1e-6, "MB/s", 0, 0);
    tell("encode JSON lines in memory", n, rate[ENCODE_LINES] * 1e-6, "Mtok/s", 0, 0);
    tell("JSON lines to .pbin, of encoding", n, rate[PACK] * 1e-6, "Mtok/s",
         rate[PACK] / rate[ENCODE], 0.75);
    tell("    of encoding JSON lines", n, rate[PACK] * 1e-6, "Mtok/s",
         rate[PACK] / rate[ENCODE_LINES], 0.75);
    tell("inflate .gz", 1, rate[INFLATE] * 1e-9, "GB/s", 0, 0);
    tell(".gz to .pbin, of inflating", n, rate[PACK_INFLATED] * 1e-9, "GB/s",
         rate[PACK_INFLATED] / rate[INFLATE], 0.9);
    tell("jsonl_on_the_fly, Mtok/s", 1, rate[ON_THE_FLY] * 1e-6, "Mtok/s", rate[ON_THE_FLY] * 1e-6,
         5);
}

static void measure(Bench *b)
{
    static Figure f[N_FIGURES];
    double rate[N_FIGURES] = { 0 };
    int n_samples = (int)(take_samples(b) / SEQUENCE);
    for (b->round = 0; b->round < b->n_rounds; b->round++)
        for (int kind = 0; kind < N_FIGURES; kind++) {
            int level = kind < CHECK_N ? kind - CHECK_1 : kind - CHECK_N;
            if (kind < CHECK_MAPPED && level > (int)cpu_level_available()) continue;
            f[kind].seconds[b->round] = run(b, kind);
        }
    for (int kind = 0; kind < N_FIGURES; kind++) {
        f[kind].work = (double)b->corpus.memory.len;
        if (kind == ENCODE || kind == ENCODE_LINES || kind == PACK)
            f[kind].work = (double)b->n_tokens;
        if (kind == INFLATE || kind == PACK_INFLATED) f[kind].work = (double)b->corpus.n_compressed;
        if (kind == ON_THE_FLY) f[kind].work = (double)n_samples * SEQUENCE;
        rate[kind] = rate_of(&f[kind], b->n_rounds);
    }
    tell_all(b, rate);
}

int main(int argc, char **argv)
{
    const char *tokenizer = "../shared/data/tokenizers/gpt2/tokenizer.json";
    const char *from = "/var/tmp", *to = "/dev/shm", *text = "../shared/data/text/books_24m.jsonl";
    int64_t megabytes = 300;
    Bench b = { .corpus = { .arena = arena_new(), .eod = "<|endoftext|>", .n_threads = 2 },
                .n_rounds = 5 };
    for (int c; (c = getopt(argc, argv, "r:m:j:t:e:i:d:")) != -1;) {
        if (c == 'r') b.n_rounds = atoi(optarg);
        if (c == 'm') megabytes = atoll(optarg);
        if (c == 'j') b.corpus.n_threads = atoi(optarg);
        if (c == 't') tokenizer = optarg;
        if (c == 'e') b.corpus.eod = optarg;
        if (c == 'i') from = optarg;
        if (c == 'd') to = optarg;
        if (c == '?') return 2;
    }
    if (b.n_rounds < 1 || b.n_rounds > MAX_ROUNDS || megabytes < 1 || b.corpus.n_threads < 1 ||
        b.corpus.n_threads > MAX_THREADS)
        return 2;
    if (optind < argc) text = argv[optind];
    const char *source = corpus_folder(b.corpus.arena, from);
    b.corpus.folder = corpus_folder(b.corpus.arena, to);
    b.corpus.path = path_join(b.corpus.arena, source, "text.jsonl");
    log_set_level(LOG_SILENT);
    setenv("MODALITIES_THREADS", arena_printf(b.corpus.arena, "%d", b.corpus.n_threads), 1);
    corpus_fill(&b.corpus, text, megabytes * 1000000);
    die(tokenizer_open(tokenizer, &b.corpus.tokenizer));
    write_index(&b);
    corpus_compress(&b.corpus);
    b.on_the_fly = corpus_on_the_fly(&b.corpus, SEQUENCE);
    Watch w = watch_start();
    measure(&b);
    watch_report(&w);
    die(remove_tree(source));
    die(remove_tree(b.corpus.folder));
    arena_free(b.corpus.arena);
    b.corpus.tokenizer->close(b.corpus.tokenizer);
    return 0;
}
