/* pbin.c - reader and writer of packed token files. */
#include "data/pbin.h"
#include <errno.h>
#include <string.h>

enum { FIRST_BYTE_OF_PICKLE = 0x80, LAST_BYTE_OF_PICKLE = '.', COPY_BYTES = 1 << 20 };

static void unmap(void *map)
{
    file_unmap(map);
}

static bool is_token_size(int64_t n)
{
    return n == 1 || n == 2 || n == 4;
}

static Error *check_header(const char *path, int64_t file_bytes, uint64_t data_bytes,
                           int64_t token_bytes)
{
    if (!is_token_size(token_bytes))
        return error_new(
            "%s: token size %lld in the header, allowed are 1, 2 and 4 bytes; not a .pbin file?",
            path, (long long)token_bytes);
    if (data_bytes > (uint64_t)(file_bytes - PBIN_HEADER))
        return error_new(
            "%s: cut short: its header announces %llu bytes of tokens, the file has %lld behind it",
            path, (unsigned long long)data_bytes, (long long)(file_bytes - PBIN_HEADER));
    if (data_bytes % (uint64_t)token_bytes)
        return error_new("%s: %llu bytes of tokens are no multiple of the token size %lld; the "
                         "header is damaged",
                         path, (unsigned long long)data_bytes, (long long)token_bytes);
    return NULL;
}

Error *pbin_open(Arena *a, const char *path, Pbin *out)
{
    FileMap *map = NEW(a, FileMap);
    TRY(file_map(path, map));
    arena_on_free(a, unmap, map);
    if (map->len < PBIN_HEADER)
        return error_new("%s: not a .pbin file: %zu bytes, its header alone has %d", path, map->len,
                         PBIN_HEADER);
    uint64_t data_bytes;
    uint32_t token_bytes;
    memcpy(&data_bytes, map->ptr, 8);
    memcpy(&token_bytes, map->ptr + 8, 4);
    TRY(check_header(path, (int64_t)map->len, data_bytes, token_bytes));
    const char *index = map->ptr + PBIN_HEADER + data_bytes, *end = map->ptr + map->len;
    if (index == end || (uint8_t)*index != FIRST_BYTE_OF_PICKLE || end[-1] != LAST_BYTE_OF_PICKLE)
        return error_new(
            "%s: the index of documents behind the %llu bytes of tokens is missing or cut short",
            path, (unsigned long long)data_bytes);
    *out = (Pbin){ .path = arena_string(a, path),
                   .tokens = (const uint8_t *)map->ptr + PBIN_HEADER,
                   .n_tokens = (int64_t)data_bytes / token_bytes,
                   .token_bytes = (int)token_bytes,
                   .index = { index, (size_t)(end - index) } };
    return NULL;
}

Error *pbin_documents(Arena *a, const Pbin *p, IndexEntry **out, int64_t *n)
{
    int64_t data_bytes = p->n_tokens * p->token_bytes;
    IndexReader *r;
    TRY(index_open(a, p->index, p->path, PBIN_HEADER + data_bytes, &r));
    IndexEntry *document = index_read_all(a, r);
    *n = index_count(r);
    int64_t shift = *n && document[0].offset == PBIN_HEADER ? PBIN_HEADER : 0, end = 0;
    for (int64_t i = 0; i < *n; i++) {
        document[i].offset -= shift;
        if (document[i].offset != end || document[i].length > data_bytes - end ||
            document[i].length % p->token_bytes)
            return error_new(
                "%s: document %lld of the index is at bytes %lld to %lld of the data, but document "
                "%lld ends at %lld (of %lld, token size %d); the index is damaged, or the file was "
                "merged by a version that miscounted offsets",
                p->path, (long long)i, (long long)document[i].offset,
                (long long)document[i].offset + document[i].length, (long long)i - 1,
                (long long)end, (long long)data_bytes, p->token_bytes);
        end += document[i].length;
    }
    if (end != data_bytes)
        return error_new(
            "%s: the %lld documents of the index cover %lld of %lld bytes; the index is damaged",
            p->path, (long long)*n, (long long)end, (long long)data_bytes);
    *out = document;
    return NULL;
}

uint32_t pbin_token(const Pbin *p, int64_t i)
{
    uint32_t v = 0;
    memcpy(&v, p->tokens + i * p->token_bytes, (size_t)p->token_bytes);
    return v;
}

Error *pbin_check_ids(const Pbin *p, int64_t vocab_size)
{
    for (int64_t i = 0; i < p->n_tokens; i++)
        if (pbin_token(p, i) >= vocab_size)
            return error_new("%s: token %lld (byte %lld of the file) is %u, allowed are 0 to %lld",
                             p->path, (long long)i, (long long)PBIN_HEADER + i * p->token_bytes,
                             pbin_token(p, i), (long long)vocab_size - 1);
    return NULL;
}

Error *pbin_token_bytes(int64_t vocab_size, int *out)
{
    if (vocab_size < 1 || vocab_size > INT64_C(1) << 32)
        return error_new("a vocabulary of %lld tokens, allowed are 1 to 2^32",
                         (long long)vocab_size);
    *out = vocab_size == 1 ? 4 : vocab_size <= 1 << 8 ? 1 : vocab_size <= 1 << 16 ? 2 : 4;
    return NULL;
}

static Error *does_not_fit(const uint32_t *id, int64_t n, uint32_t largest, int token_bytes)
{
    int64_t i = 0;
    while (i < n && id[i] <= largest) i++;
    return error_new("token %u does not fit into the %d bytes per token that the size of the base "
                     "vocabulary gives",
                     id[i], token_bytes);
}

Error *pbin_encode(const uint32_t *id, int64_t n, int token_bytes, Text *out)
{
    uint32_t largest = UINT32_MAX >> (32 - 8 * token_bytes), all = 0;
    for (int64_t i = 0; i < n; i++) all |= id[i];
    if (all > largest) return does_not_fit(id, n, largest, token_bytes);
    uint16_t two[1024];
    uint8_t one[1024];
    if (token_bytes == 4) text_add(out, id, (size_t)n * 4);
    for (int64_t i = 0; token_bytes < 4 && i < n; i += 1024) {
        int64_t m = n - i < 1024 ? n - i : 1024;
        for (int64_t k = 0; k < m; k++) two[k] = (uint16_t)id[i + k];
        for (int64_t k = 0; k < m; k++) one[k] = (uint8_t)id[i + k];
        if (token_bytes == 2)
            text_add(out, two, (size_t)m * 2);
        else
            text_add(out, one, (size_t)m);
    }
    return NULL;
}

Error *pbin_create(const char *path, int token_bytes, PbinWriter *out)
{
    CHECK(is_token_size(token_bytes));
    *out = (PbinWriter){ 0 };
    TRY(file_create(path, &out->file));
    Error *e = file_temporary(path, &out->index_stream);
    if (e) {
        file_abandon(&out->file);
        return e;
    }
    uint64_t no_length_yet = 0;
    uint32_t size = (uint32_t)token_bytes;
    fwrite(&no_length_yet, 8, 1, out->file.stream);
    fwrite(&size, 4, 1, out->file.stream);
    index_begin(&out->index, out->index_stream);
    return NULL;
}

Error *pbin_add(PbinWriter *w, const void *document, size_t n_bytes)
{
    if (fwrite(document, 1, n_bytes, w->file.stream) != n_bytes)
        return error_new("cannot write %s: %s", w->file.path, strerror(errno));
    index_add(&w->index, w->data_bytes, (int64_t)n_bytes);
    if (ferror(w->index_stream))
        return error_new("cannot write the temporary file for the index of %s: %s", w->file.path,
                         strerror(errno));
    w->data_bytes += (int64_t)n_bytes;
    return NULL;
}

/* Appends the waiting index to the tokens. */
static Error *append_index(PbinWriter *w)
{
    index_end(&w->index);
    rewind(w->index_stream);
    Arena *a = arena_new();
    char *buffer = NEW_N(a, char, COPY_BYTES);
    for (size_t n; (n = fread(buffer, 1, COPY_BYTES, w->index_stream)) > 0;)
        fwrite(buffer, 1, n, w->file.stream);
    arena_free(a);
    return ferror(w->index_stream)
               ? error_new("cannot write the temporary file for the index of %s: %s", w->file.path,
                           strerror(errno))
               : NULL;
}

Error *pbin_commit(PbinWriter *w)
{
    Error *e = append_index(w);
    uint64_t length = (uint64_t)w->data_bytes;
    if (e || fseek(w->file.stream, 0, SEEK_SET) != 0 ||
        fwrite(&length, 8, 1, w->file.stream) != 1) {
        if (!e) e = error_new("cannot write %s: %s", w->file.path, strerror(errno));
        pbin_abandon(w);
        return e;
    }
    fclose(w->index_stream);
    return file_commit(&w->file);
}

void pbin_abandon(PbinWriter *w)
{
    index_abandon(&w->index);
    if (w->index_stream) fclose(w->index_stream);
    w->index_stream = NULL;
    file_abandon(&w->file);
}
