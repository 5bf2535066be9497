/* jsonl.c - writes the index of a file of JSON lines, and opens such a file by its index. */
#include "data/jsonl.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/signal.h"
#include "data/progress.h"
#include <string.h>

typedef struct Indexing {
    const char *source;
    Str text;
    BadLines *bad;
    IndexWriter writer;
    IndexSummary summary;
} Indexing;

static bool is_blank(Str line)
{
    size_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t' || line.ptr[n] == '\r')) n++;
    return n == line.len;
}

static Error *index_line(Indexing *x, int64_t number, Str line)
{
    int64_t offset = line.ptr - x->text.ptr;
    JsonFault fault;
    if (json_check(line, SURROGATES_PASS, &fault)) {
        index_add(&x->writer, offset, (int64_t)line.len);
        return NULL;
    }
    Error *reason = error_new("%s", is_blank(line) ? "an empty line is not JSON" : fault.reason);
    x->summary.n_bad++;
    return bad_lines_add(x->bad, x->source, number, offset, line, fault.offset, reason);
}

static Error *index_lines(Indexing *x)
{
    const char *p = x->text.ptr, *end = p + x->text.len;
    Progress progress = progress_start("indexing", (int64_t)x->text.len, PROGRESS_BYTES);
    do {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        TRY(index_line(x, ++x->summary.n_lines, (Str){ p, (size_t)(stop - p) }));
        p = newline ? newline + 1 : end;
        if (x->summary.n_lines % 256 == 0) progress_update(&progress, p - x->text.ptr);
        if (signal_stop_requested()) return error_new("stopped by a signal; no index was written");
    } while (p < end);
    progress_end(&progress);
    return NULL;
}

static Error *write_index(Indexing *x, const char *index_path)
{
    NewFile file;
    TRY(file_create(index_path, &file));
    index_begin(&x->writer, file.stream);
    Error *e = index_lines(x);
    if (e) {
        index_abandon(&x->writer);
        file_abandon(&file);
        return e;
    }
    index_end(&x->writer);
    return file_commit(&file);
}

Error *jsonl_write_index(const char *source, const char *index_path, BadLines *bad,
                         IndexSummary *out)
{
    double start = clock_seconds();
    Arena *a = arena_new();
    TextInput input = { 0 };
    Error *e = text_input_open(a, source, index_path, &input);
    BadLines stop = { .policy = BAD_LINE_STOP };
    Indexing x = { .source = source, .text = input.text, .bad = bad ? bad : &stop };
    if (!e) e = write_index(&x, index_path);
    arena_free(a);
    *out = x.summary;
    out->n_bytes = (int64_t)x.text.len;
    out->seconds = clock_seconds() - start;
    return e;
}

Error *jsonl_open_text(Arena *a, const TextInput *input, const char *index_path, Jsonl *out)
{
    Str index;
    *out = (Jsonl){ .path = input->path, .index_path = index_path, .text = input->text };
    if (!index_path) return NULL;
    if (!file_exists(index_path))
        return error_new(
            "%s: there is no index %s; `modalities data create_raw_index %s` creates one",
            input->path, index_path, input->path);
    TRY(file_view(a, index_path, &index));
    return index_open(a, index, index_path, 0, &out->index);
}

Error *jsonl_open(Arena *a, const char *path, const char *index_path, Jsonl *out)
{
    TextInput file = { .path = arena_string(a, path) };
    TRY(file_view(a, path, &file.text));
    const char *index =
        index_path ? arena_string(a, index_path) : path_with_suffix(a, path, ".idx");
    return jsonl_open_text(a, &file, index, out);
}

bool jsonl_next(Jsonl *j, IndexEntry *out)
{
    if (j->index) return index_next(j->index, out);
    int64_t left = (int64_t)j->text.len - j->at;
    if (!left) return false;
    const char *line = j->text.ptr + j->at, *end = memchr(line, '\n', (size_t)left);
    *out = (IndexEntry){ j->at, end ? end - line : left };
    j->at += out->length + (end != NULL);
    return true;
}

Error *jsonl_line(const Jsonl *j, IndexEntry entry, Str *out)
{
    int64_t size = (int64_t)j->text.len;
    if (entry.offset > size || entry.length > size - entry.offset)
        return error_new("%s has an entry for bytes %lld to %lld of %s, which has %lld bytes: "
                         "the index was made from another file",
                         j->index_path, (long long)entry.offset,
                         (long long)entry.offset + entry.length, j->path, (long long)size);
    *out = (Str){ j->text.ptr + entry.offset, (size_t)entry.length };
    return NULL;
}
