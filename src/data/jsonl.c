/* jsonl.c - opens a file of JSON lines by its index. */
#include "data/jsonl.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/log.h"
#include <string.h>

/* Lines after those of the index are left out. Bad lines, which were left out on purpose, do not
 * count unless a good one stands before them. */
static void tell_appended(const Jsonl *j)
{
    int64_t from = index_end_offset(j->index), n = 0;
    const char *end = j->text.ptr + j->text.len;
    const char *p = from < (int64_t)j->text.len ? j->text.ptr + from : end;
    for (p += p < end && *p == '\r', p += p < end && *p == '\n'; p < end; p++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        JsonFault fault;
        n += n || json_check((Str){ p, (size_t)(stop - p) }, SURROGATES_PASS, &fault);
        p = stop;
    }
    if (n)
        log_warning("%s: %lld line%s after the last one in %s, which was made before, %s left "
                    "out; `modalities data create_raw_index %s` makes the index anew",
                    j->path, (long long)n, n == 1 ? "" : "s", j->index_path, n == 1 ? "is" : "are",
                    j->path);
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
    TRY(index_open(a, index, index_path, 0, &out->index));
    tell_appended(out);
    return NULL;
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
