/* corpus.c - blocks of about 4 MiB: those lines that start in a stretch of the file. */
#include "tokenizer/corpus.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 4 << 20 };

static Error *check_regular(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return error_new(
            "cannot read %s: it is no regular file, and texts are read in parallel pieces", path);
    }
    return NULL;
}

Error *corpus_open(Arena *a, const CorpusSettings *s, Corpus *out)
{
    *out = (Corpus){ .settings = s };
    TRY(text_inputs_list(a, s->path, s->n_paths, &out->files));
    int64_t n = out->files.n;
    out->first_block = NEW_N(a, int64_t, n + 1);
    out->text = NEW_N(a, Str, n + 1);
    for (int64_t i = 0; i < n; i++) {
        TextInput input;
        if (strcmp(out->files.item[i], "-") != 0) TRY(check_regular(out->files.item[i]));
        TRY(text_input_open(a, out->files.item[i], s->beside, &input));
        int64_t bytes = (int64_t)input.text.len;
        out->text[i] = input.text;
        out->first_block[i] = out->n_blocks;
        out->n_blocks += (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
        out->n_bytes += bytes;
    }
    out->first_block[n] = out->n_blocks;
    return NULL;
}

static CorpusFormat format_of(const CorpusSettings *s, const char *path)
{
    if (s->format != CORPUS_AUTO) return s->format;
    bool is_jsonl = text_matches("*.jsonl", path) || text_matches("*.jsonl.gz", path) ||
                    text_matches("*.jsonl.zst", path);
    return is_jsonl ? CORPUS_JSONL : CORPUS_LINES;
}

/* The first start of a line at or behind `at`. */
static size_t line_start(const Str *m, size_t at)
{
    if (at == 0 || at >= m->len) return at < m->len ? at : m->len;
    const char *end = memchr(m->ptr + at - 1, '\n', m->len - at + 1);
    return end ? (size_t)(end - m->ptr) + 1 : m->len;
}

static bool is_visible(char c)
{
    return c > ' ' && c <= '~';
}

/* The first single blank between visible ASCII characters at or behind `at`. No word of GPT-2's
 * pattern reaches over the place before it, whatever stands around. */
static size_t cut_start(const Str *m, size_t at)
{
    if (at == 0) return 0;
    for (; at + 1 < m->len; at++) {
        if (m->ptr[at] == ' ' && is_visible(m->ptr[at - 1]) && is_visible(m->ptr[at + 1]))
            return at;
    }
    return m->len;
}

typedef struct Reading {
    const CorpusSettings *settings;
    const char *path;
    const Str *map;
    void (*take)(void *arg, Str text);
    void *arg;
    CorpusBlock *block;
    Text *text; /* of a line of JSON */
} Reading;

static Error *take_checked(const Reading *r, Str text)
{
    if (text.len >= UINT32_MAX)
        return error_new("a text of %zu bytes is too long (at most %u)", text.len, UINT32_MAX - 1);
    size_t valid = utf8_valid_length(text);
    if (valid < text.len) {
        return error_new("byte %zu of the text (0x%02X) is no UTF-8", valid,
                         (unsigned char)text.ptr[valid]);
    }
    r->take(r->arg, text);
    r->block->n_texts++;
    return NULL;
}

static Error *take_json(const Reading *r, Str line)
{
    Str key = str_of(r->settings->key);
    JsonFound found;
    JsonFault fault;
    if (!json_find(line, &key, 1, r->text, &found, &fault)) {
        return error_new("no JSON: %s (byte %lld)", fault.reason, (long long)fault.offset);
    }
    if (found.depth == 1 && found.kind == JSON_STRING) {
        return take_checked(r, (Str){ r->text->len ? r->text->ptr : "", r->text->len });
    }
    return error_new("there is no text under the key \"%s\"", r->settings->key);
}

/* The number of the line that starts at this byte, from 1. */
static long long line_number(const Str *m, size_t start)
{
    long long n = 1;
    for (const char *p = m->ptr; (p = memchr(p, '\n', (size_t)(m->ptr + start - p))); p++) n++;
    return n;
}

static Error *read_lines(const Reading *r, size_t from, size_t to, bool is_json)
{
    for (size_t at = from, next; at < to; at = next) {
        next = line_start(r->map, at + 1);
        Str line = { r->map->ptr + at, next - at };
        Error *e = is_json ? take_json(r, line) : take_checked(r, line);
        if (!e) continue;
        if (!r->settings->skips_bad)
            return error_wrap(e, "%s line %lld", r->path, line_number(r->map, at));
        error_free(e);
        r->block->n_skipped++;
    }
    return NULL;
}

static Error *read_block(const Reading *r, size_t from, size_t to, CorpusFormat format)
{
    if (format != CORPUS_WHOLE) {
        return read_lines(r, line_start(r->map, from), line_start(r->map, to),
                          format == CORPUS_JSONL);
    }
    size_t start = cut_start(r->map, from), end = cut_start(r->map, to);
    if (start == end) return NULL;
    return error_wrap(take_checked(r, (Str){ r->map->ptr + start, end - start }),
                      "%s from byte %zu", r->path, start);
}

Error *corpus_read(const Corpus *c, int64_t block, void (*take)(void *arg, Str text), void *arg,
                   CorpusBlock *out)
{
    int64_t file = 0;
    while (c->first_block[file + 1] <= block) file++;
    const char *path = c->files.item[file];
    Str map = c->text[file];
    *out = (CorpusBlock){ 0 };
    size_t from = (size_t)(block - c->first_block[file]) * BLOCK_BYTES;
    size_t to = block + 1 == c->first_block[file + 1] ? map.len : from + BLOCK_BYTES;
    out->n_bytes = to > from ? (int64_t)(to - from) : 0;
    Text text = { 0 };
    Reading r = { c->settings, path, &map, take, arg, out, &text };
    Error *e = read_block(&r, from, to, format_of(c->settings, path));
    text_free(&text);
    return e;
}
