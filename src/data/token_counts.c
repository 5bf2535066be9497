/* token_counts.c - counts tokens of lines, and keeps the counts.
 *
 * The file is: 8 bytes "MODCOUNT", u32 version, u32 0, the SHA-256 of all that the counts depend
 * on, u64 number of lines, then a u32 per line; little-endian. A file of another digest is made
 * anew. */
#include "data/token_counts.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/bad_lines.h"
#include "data/progress.h"
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1, LINES_PER_TASK = 64, TASKS_AT_ONCE = 256 };

typedef struct Header {
    char magic[8];
    uint32_t version, zero;
    uint8_t digest[32];
    uint64_t n_lines;
} Header;

typedef struct Refusal {
    Error *reason;
    int64_t column;
} Refusal;

/* Lines from..to of one round of the pool. */
typedef struct Round {
    const CountSettings *settings;
    int64_t from, to;
    uint32_t *count;  /* of all lines */
    Refusal *refusal; /* of the lines of this round */
} Round;

/* ---- counting ---- */

static Error *count_line(const Round *r, LineReader *reader, int64_t i, int64_t *column)
{
    Str line;
    *column = -1;
    TRY(jsonl_line(r->settings->source, r->settings->line[i], &line));
    TRY(line_reader_run(reader, line, column));
    r->count[i] = (uint32_t)reader->ids.n;
    return NULL;
}

static void count_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Round *r = arg;
    int64_t from = r->from + task * LINES_PER_TASK, to = from + LINES_PER_TASK;
    LineReader *reader;
    Refusal *refusal = &r->refusal[from - r->from];
    refusal->reason = line_reader_take(r->settings->readers, -1, &reader);
    if (refusal->reason) return;
    for (int64_t i = from; i < (to < r->to ? to : r->to) && !signal_stop_requested();
         i++, refusal++)
        refusal->reason = count_line(r, reader, i, &refusal->column);
    line_reader_give_back(reader);
}

/* Names a line without tokens; an error when that ends the work. */
static Error *refuse(const CountSettings *s, BadLines *bad, LineCounter *lines, int64_t i,
                     Refusal *r)
{
    Str line = { "", 0 };
    int64_t offset = s->line[i].offset;
    Error *reason = r->reason, *e = jsonl_line(s->source, s->line[i], &line);
    r->reason = NULL;
    if (e) { /* the index is wrong: no policy helps */
        error_free(reason);
        return e;
    }
    return bad_lines_add(bad, s->source->path, line_at(lines, offset), offset, line, r->column,
                         reason);
}

static Error *settle_round(const Round *r, BadLines *bad, LineCounter *lines)
{
    Error *e = NULL;
    for (int64_t i = r->from; i < r->to; i++) {
        Refusal *refusal = &r->refusal[i - r->from];
        if (refusal->reason && !e)
            e = refuse(r->settings, bad, lines, i, refusal);
        else
            error_free(refusal->reason);
        refusal->reason = NULL;
    }
    if (!e && signal_stop_requested()) return error_stopped("stopped by a signal while counting");
    return e;
}

static Error *count_with(Pool *pool, const CountSettings *s, BadLines *bad, Arena *scratch,
                         uint32_t *count)
{
    enum { LINES_AT_ONCE = LINES_PER_TASK * TASKS_AT_ONCE };
    LineCounter lines = { .text = s->source->text };
    CommandProgress progress =
        progress_start("counting tokens", (int64_t)s->source->text.len, PROGRESS_BYTES);
    Round r = { .settings = s, .count = count, .refusal = NEW_N(scratch, Refusal, LINES_AT_ONCE) };
    for (; r.from < s->n_lines; r.from = r.to) {
        r.to = s->n_lines - r.from < LINES_AT_ONCE ? s->n_lines : r.from + LINES_AT_ONCE;
        pool_run(pool, (r.to - r.from + LINES_PER_TASK - 1) / LINES_PER_TASK, count_task, &r);
        TRY(settle_round(&r, bad, &lines));
        progress_update(&progress, s->line[r.to - 1].offset);
    }
    progress_end(&progress);
    return NULL;
}

/* ---- the file ---- */

static void add_number(Sha256 *h, int64_t n)
{
    sha256_add(h, &n, sizeof n);
}

static void add_text(Sha256 *h, const char *text)
{
    sha256_add(h, text, strlen(text) + 1);
}

/* Of the file, the pattern, the vocabulary and the policy. What it misses (limits of length, say)
 * is found when a line gives another number of tokens than was counted. */
static Error *digest_of(const CountSettings *s, uint8_t digest[32])
{
    struct stat st;
    Sha256 h;
    if (stat(s->source->path, &st) != 0) return error_new("cannot look at %s", s->source->path);
    sha256_start(&h);
    add_number(&h, st.st_size);
    add_number(&h, st.st_mtim.tv_sec);
    add_number(&h, st.st_mtim.tv_nsec);
    add_number(&h, s->n_lines);
    add_text(&h, s->jq_pattern);
    add_number(&h, s->eod);
    add_number(&h, s->max_line_bytes);
    add_number(&h, s->on_bad_line);
    add_text(&h, s->tokenizer->kind);
    for (int64_t i = 0; i < s->tokenizer->n_ids; i++) {
        Str name = { "", 0 };
        add_number(&h, s->tokenizer->token_name(s->tokenizer, (uint32_t)i, &name));
        sha256_add(&h, name.ptr, name.len);
    }
    sha256_finish(&h, digest);
    return NULL;
}

/* True with the counts if the file was made for this. */
static bool read_counts(const CountSettings *s, const Header *wanted, uint32_t *count)
{
    FileMap map;
    if (!file_exists(s->counts_path)) return false;
    Error *e = file_map(s->counts_path, &map);
    if (e) {
        error_free(e);
        return false;
    }
    size_t bytes = sizeof *count * (size_t)s->n_lines;
    bool fits = map.len == sizeof *wanted + bytes && !memcmp(map.ptr, wanted, sizeof *wanted);
    if (fits) memcpy(count, map.ptr + sizeof *wanted, bytes);
    file_unmap(&map);
    return fits;
}

/* Only counts are replaced by counts. */
static Error *check_replaced(const char *path, const Header *header)
{
    FileMap map;
    if (!file_exists(path)) return NULL;
    TRY(file_map(path, &map));
    bool is_ours = !map.len || (map.len >= sizeof header->magic &&
                                !memcmp(map.ptr, header->magic, sizeof header->magic));
    file_unmap(&map);
    return is_ours ? NULL
                   : error_new("counts_path %s is there already and holds no counts of tokens; it "
                               "is not replaced",
                               path);
}

static Error *write_counts(const CountSettings *s, const Header *header, const uint32_t *count)
{
    NewFile f;
    TRY(file_create(s->counts_path, &f));
    fwrite(header, sizeof *header, 1, f.stream);
    fwrite(count, sizeof *count, (size_t)s->n_lines, f.stream);
    return file_commit(&f);
}

static Error *get_counts(const CountSettings *s, Arena *scratch, uint32_t *count)
{
    Header header = { .magic = "MODCOUNT", .version = VERSION, .n_lines = (uint64_t)s->n_lines };
    TRY(digest_of(s, header.digest));
    if (read_counts(s, &header, count)) return NULL;
    TRY(check_replaced(s->counts_path, &header));
    log_info("%s: counting the tokens of %lld lines once; the counts are kept in %s",
             s->source->path, (long long)s->n_lines, s->counts_path);
    BadLines bad;
    TRY(bad_lines_open(s->on_bad_line, NULL, &bad));
    bad.skipping = "on_bad_line: skip of the dataset";
    Pool *pool = pool_new(s->n_threads);
    Error *e = count_with(pool, s, &bad, scratch, count);
    pool_free(pool);
    if (!e) bad_lines_tell(&bad, s->source->path, s->n_lines);
    e = error_join(e, bad_lines_close(&bad, !e));
    return e ? e : write_counts(s, &header, count);
}

Error *token_counts(Arena *a, const CountSettings *s, int64_t **first)
{
    Arena *scratch = arena_new();
    uint32_t *count = NEW_N(scratch, uint32_t, s->n_lines + 1);
    Error *e = get_counts(s, scratch, count);
    if (!e) {
        int64_t *sum = *first = NEW_N(a, int64_t, s->n_lines + 1);
        for (int64_t i = 0; i < s->n_lines; i++) sum[i + 1] = sum[i] + count[i];
    }
    arena_free(scratch);
    return e;
}
