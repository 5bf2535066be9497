/* corpus.c - blocks of about 4 MiB: those lines that start in a stretch of a file.
 *
 * Some blocks at a time are read by the threads. A file of one block is copied, so that many small
 * files fill all threads; a larger one is mapped. */
#include "tokenizer/train/corpus.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 4 << 20, BLOCKS_AT_ONCE = 32 };

/* What starts in file[from, to). */
typedef struct TextBlock {
    const char *path;
    CorpusFormat format; /* not CORPUS_AUTO */
    Str file;
    int64_t place; /* bytes of the files before it */
    size_t from, to;
    Buffer bad; /* offsets of bad lines from the block's start, n_bad of uint32_t */
    int64_t n_bad, n_texts;
    Error *error;
} TextBlock;

struct Corpus {
    const CorpusSettings *settings;
    Pool *pool;
    Arena *arena, *copies; /* copies of small files, for one round */
    TextInputs *inputs;
    TextInput input; /* the file under way: from `at` on it is not read */
    size_t at;
    int64_t stored_before; /* bytes of the files before it, on the disk */
    int64_t bytes_before;  /* and of their texts */
    CorpusDone done;
    TextBlock block[BLOCKS_AT_ONCE];
    int64_t n_blocks;
    TakeText *take;
    void *take_arg;
    Text *json_text; /* by thread */
};

static Error *check_regular(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return error_new(
            "cannot read %s: it is no regular file, and texts are read in parallel pieces", path);
    }
    return NULL;
}

Error *corpus_open(const CorpusSettings *s, Pool *pool, Corpus **out)
{
    Arena *a = arena_new();
    Corpus *c = *out = NEW(a, Corpus);
    *c = (Corpus){ .settings = s, .pool = pool, .arena = a, .copies = arena_new() };
    c->json_text = NEW_N(a, Text, pool_size(pool));
    PathList files = { 0 };
    Error *e = text_inputs_list(a, s->path, s->n_paths, &files);
    for (int64_t i = 0; i < files.n && !e; i++) {
        if (strcmp(files.item[i], "-") != 0) e = check_regular(files.item[i]);
    }
    if (e) {
        corpus_close(c);
        return e;
    }
    c->inputs = text_inputs_open(&files, s->beside ? s->beside : ".", pool_size(pool));
    c->done.stored_total = text_inputs_bytes(&files);
    return NULL;
}

void corpus_close(Corpus *c)
{
    for (int t = 0; t < pool_size(c->pool); t++) text_free(&c->json_text[t]);
    for (int i = 0; i < BLOCKS_AT_ONCE; i++) buffer_free(&c->block[i].bad);
    text_inputs_close(c->inputs);
    arena_free(c->copies);
    arena_free(c->arena);
}

CorpusDone corpus_done(const Corpus *c)
{
    return c->done;
}

/* ---- one block ---- */

static CorpusFormat format_of(const CorpusSettings *s, const char *path)
{
    if (s->format != CORPUS_AUTO) return s->format;
    bool is_jsonl = text_matches("*.jsonl", path) || text_matches("*.jsonl.gz", path) ||
                    text_matches("*.jsonl.zst", path);
    return is_jsonl ? CORPUS_JSONL : CORPUS_LINES;
}

/* The first start of a line at or after `at`. */
static size_t line_start(Str file, size_t at)
{
    if (at == 0 || at >= file.len) return at < file.len ? at : file.len;
    const char *end = memchr(file.ptr + at - 1, '\n', file.len - at + 1);
    return end ? (size_t)(end - file.ptr) + 1 : file.len;
}

static bool is_visible(char c)
{
    return c > ' ' && c <= '~';
}

/* The first single blank between visible ASCII characters at or after `at`. No word of the
 * pre-tokenizers that are trained with reaches over the place before it, whatever stands around. */
static size_t cut_start(Str file, size_t at)
{
    if (at == 0) return 0;
    for (; at + 1 < file.len; at++) {
        if (file.ptr[at] == ' ' && is_visible(file.ptr[at - 1]) && is_visible(file.ptr[at + 1]))
            return at;
    }
    return file.len;
}

static Error *take_checked(Corpus *c, int thread, Str text, int64_t place, bool is_start,
                           int64_t *column)
{
    if (text.len >= UINT32_MAX)
        return error_new("a text of more than %u bytes is too long", UINT32_MAX - 1);
    size_t valid = utf8_valid_length(text);
    if (valid < text.len) {
        *column = (int64_t)valid;
        return error_new("byte 0x%02X is no UTF-8", (unsigned char)text.ptr[valid]);
    }
    return text.len ? c->take(c->take_arg, thread, text, place, is_start) : NULL;
}

static bool is_blank(Str line)
{
    size_t n = 0;
    while (n < line.len && strchr(" \t\r\n", line.ptr[n]) && line.ptr[n]) n++;
    return n == line.len;
}

static Error *take_json(Corpus *c, int thread, Str line, int64_t place, int64_t *column)
{
    Str key = str_of(c->settings->key);
    Text *text = &c->json_text[thread];
    JsonFound found;
    JsonFault fault;
    if (!json_find(line, &key, 1, text, &found, &fault)) {
        *column = fault.offset;
        return error_new("%s", is_blank(line) ? "an empty line is not JSON" : fault.reason);
    }
    if (found.depth < 1)
        return error_new("the line is no object (found %s)", json_kind_name(found.kind));
    if (found.kind != JSON_STRING) {
        return error_new("there is no text under \"%s\" (found %s)", c->settings->key,
                         json_kind_name(found.kind));
    }
    Str value = { text->len ? text->ptr : "", text->len };
    int64_t in_value;
    return take_checked(c, thread, value, place, true, &in_value);
}

static Str without_end(Str line)
{
    if (line.ptr[line.len - 1] == '\n') line.len--;
    return line;
}

/* The line that starts at `at`; with its line end. */
static Error *take_line(Corpus *c, const TextBlock *b, int thread, size_t at, Str *line,
                        int64_t *column)
{
    *line = (Str){ b->file.ptr + at, line_start(b->file, at + 1) - at };
    *column = -1;
    int64_t place = b->place + (int64_t)at, most = c->settings->max_line_bytes;
    Str bare = without_end(*line);
    if (most && (int64_t)bare.len > most)
        return error_new("a line of more than %lld bytes (max_line_bytes)", (long long)most);
    if (b->format == CORPUS_JSONL) return take_json(c, thread, bare, place, column);
    return take_checked(c, thread, *line, place, true, column);
}

static void read_lines(Corpus *c, TextBlock *b, int thread)
{
    size_t end = line_start(b->file, b->to);
    for (size_t at = line_start(b->file, b->from); at < end;) {
        Str line;
        int64_t column;
        Error *e = take_line(c, b, thread, at, &line, &column);
        if (e) {
            uint32_t *bad = buffer_grow(&b->bad, (size_t)(b->n_bad + 1) * sizeof *bad);
            bad[b->n_bad++] = (uint32_t)(at - b->from);
        } else {
            b->n_texts++;
        }
        error_free(e);
        at += line.len;
    }
}

/* A whole text is good or not. */
static void read_part(Corpus *c, TextBlock *b, int thread)
{
    size_t start = cut_start(b->file, b->from), end = cut_start(b->file, b->to);
    int64_t column = 0;
    if (start == end) return;
    Str text = { b->file.ptr + start, end - start };
    b->error = take_checked(c, thread, text, b->place + (int64_t)start, start == 0, &column);
    b->error = error_wrap(b->error, "%s, byte %lld", b->path, (long long)start + column);
    b->n_texts++;
}

static void read_block(void *arg, int64_t i, int thread)
{
    Corpus *c = arg;
    TextBlock *b = &c->block[i];
    if (b->format == CORPUS_WHOLE)
        read_part(c, b, thread);
    else
        read_lines(c, b, thread);
}

/* ---- the blocks of a round ---- */

static void add_block(Corpus *c, Str file, size_t from)
{
    TextBlock *b = &c->block[c->n_blocks++];
    size_t to = file.len - from > BLOCK_BYTES ? from + BLOCK_BYTES : file.len;
    *b = (TextBlock){ .path = c->input.path,
                      .format = format_of(c->settings, c->input.path),
                      .file = file,
                      .place = c->bytes_before,
                      .from = from,
                      .to = to,
                      .bad = b->bad };
    c->done.n_bytes += (int64_t)(to - from);
}

/* The share of the file that is read, as bytes on the disk. */
static void count_stored(Corpus *c)
{
    double share = c->input.text.len ? (double)c->at / (double)c->input.text.len : 1;
    c->done.stored_bytes = c->stored_before + (int64_t)(share * (double)c->input.stored_bytes);
}

static Error *open_next(Corpus *c, bool *some)
{
    c->stored_before += c->input.stored_bytes;
    c->bytes_before += (int64_t)c->input.text.len;
    c->at = 0;
    c->input = (TextInput){ 0 };
    return text_inputs_next(c->inputs, &c->input, some);
}

/* A mapped file stays only until the next one is opened, so it ends the round. */
static Error *collect_blocks(Corpus *c)
{
    bool some = true, has_mapped = false;
    arena_clear(c->copies);
    c->n_blocks = 0;
    while (c->n_blocks < BLOCKS_AT_ONCE) {
        Str file = c->input.text;
        if (c->at == file.len) {
            if (has_mapped) break;
            TRY(open_next(c, &some));
            if (!some) break;
        } else if (file.len <= BLOCK_BYTES) {
            add_block(c, (Str){ arena_copy(c->copies, file.ptr, file.len), file.len }, 0);
            c->at = file.len;
        } else {
            add_block(c, file, c->at);
            c->at = c->block[c->n_blocks - 1].to;
            has_mapped = true;
        }
        count_stored(c);
    }
    return NULL;
}

/* ---- what came out of it ---- */

static Error *report(Corpus *c, BadText bad)
{
    const CorpusSettings *s = c->settings;
    c->done.n_bad++;
    if (s->bad_text) return s->bad_text(s->bad_text_arg, bad);
    return error_wrap(bad.reason, "%s, byte %lld", bad.path,
                      (long long)(bad.line.ptr - bad.file.ptr) + (bad.column > 0 ? bad.column : 0));
}

/* A bad line is looked at again for its reason: to keep all reasons would take memory without
 * bounds. */
static Error *report_bad(Corpus *c, const TextBlock *b)
{
    const uint32_t *offset = b->bad.ptr;
    for (int64_t i = 0; i < b->n_bad; i++) {
        BadText bad = { .path = b->path, .file = b->file };
        bad.reason = take_line(c, b, 0, b->from + offset[i], &bad.line, &bad.column);
        CHECK(bad.reason != NULL);
        bad.line = without_end(bad.line);
        TRY(report(c, bad));
    }
    return NULL;
}

static Error *finish_blocks(Corpus *c)
{
    Error *first = NULL;
    for (int64_t i = 0; i < c->n_blocks; i++) {
        TextBlock *b = &c->block[i];
        c->done.n_texts += b->n_texts;
        if (first) {
            error_free(b->error);
            continue;
        }
        first = b->error ? b->error : report_bad(c, b);
    }
    return first;
}

Error *corpus_next(Corpus *c, TakeText *take, void *arg, bool *some)
{
    c->take = take;
    c->take_arg = arg;
    TRY(collect_blocks(c));
    *some = c->n_blocks > 0;
    pool_run(c->pool, c->n_blocks, read_block, c);
    return finish_blocks(c);
}
