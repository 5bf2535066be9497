/* pbin.c - reader and writer of packed token files. */
#include "data/pbin.h"
#include "base/cpu.h"
#include "data/narrow.h"
#include <errno.h>
#include <string.h>

enum { FIRST_BYTE_OF_PICKLE = 0x80, LAST_BYTE_OF_PICKLE = '.' };

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
            "%s: cut short: its header announces %llu bytes of tokens, the file has %lld after it",
            path, (unsigned long long)data_bytes, (long long)(file_bytes - PBIN_HEADER));
    if (data_bytes % (uint64_t)token_bytes)
        return error_new("%s: %llu bytes of tokens are no multiple of the token size %lld; the "
                         "header is damaged",
                         path, (unsigned long long)data_bytes, (long long)token_bytes);
    return NULL;
}

Error *pbin_open(Arena *a, const char *path, Pbin *out)
{
    Str file;
    TRY(file_view(a, path, &file));
    if (file.len < PBIN_HEADER)
        return error_new("%s: not a .pbin file: %zu bytes, its header alone has %d", path, file.len,
                         PBIN_HEADER);
    uint64_t data_bytes;
    uint32_t token_bytes;
    memcpy(&data_bytes, file.ptr, 8);
    memcpy(&token_bytes, file.ptr + 8, 4);
    TRY(check_header(path, (int64_t)file.len, data_bytes, token_bytes));
    const char *index = file.ptr + PBIN_HEADER + data_bytes, *end = file.ptr + file.len;
    if (index == end || (uint8_t)*index != FIRST_BYTE_OF_PICKLE || end[-1] != LAST_BYTE_OF_PICKLE)
        return error_new(
            "%s: the index of documents after the %llu bytes of tokens is missing or cut short",
            path, (unsigned long long)data_bytes);
    *out = (Pbin){ .path = arena_string(a, path),
                   .tokens = (const uint8_t *)file.ptr + PBIN_HEADER,
                   .n_tokens = (int64_t)data_bytes / token_bytes,
                   .token_bytes = (int)token_bytes,
                   .index = { index, (size_t)(end - index) } };
    return NULL;
}

Error *pbin_check_length(const Pbin *p)
{
    const volatile char *last = p->index.ptr + p->index.len - 1;
    return *last == LAST_BYTE_OF_PICKLE
               ? NULL
               : error_new("cannot read %s: the file became shorter while it was read", p->path);
}

/* The bytes by which an entry's offset is off: a constant of old versions, or what the original's
 * merging forgot. The latter is a header per file, so it only grows. */
static int64_t offset_fault(IndexEntry e, int64_t end, int64_t last_fault)
{
    int64_t fault = end - e.offset;
    return fault % PBIN_HEADER == 0 && fault >= last_fault ? fault : last_fault;
}

static Error *misplaced(const Pbin *p, int64_t i, IndexEntry e, int64_t end)
{
    char due[64] = "the data begin at 0";
    if (i)
        snprintf(due, sizeof due, "document %lld ends at %lld", (long long)i - 1, (long long)end);
    return error_new("%s: document %lld of the index is at bytes %lld to %lld of the data, but %s "
                     "(of %lld, token size %d); the index is damaged",
                     p->path, (long long)i, (long long)e.offset, (long long)e.offset + e.length,
                     due, (long long)p->n_tokens * p->token_bytes, p->token_bytes);
}

/* Reads all entries once, so that a reader of documents cannot fail. */
static Error *check_documents(const Pbin *p, PbinDocuments *d)
{
    IndexEntry e;
    int64_t data_bytes = p->n_tokens * p->token_bytes, end = 0, fault = -PBIN_HEADER;
    for (int64_t i = 0; index_next(d->index, &e); i++, end += e.length) {
        fault = offset_fault(e, end, fault);
        if (e.offset + fault != end || e.length > data_bytes - end || e.length % p->token_bytes)
            return misplaced(p, i, e, end);
        d->is_miscounted |= fault > 0;
    }
    if (end == data_bytes) return NULL;
    return error_new(
        "%s: the %lld documents of the index cover %lld of %lld bytes; the index is damaged",
        p->path, (long long)d->n, (long long)end, (long long)data_bytes);
}

Error *pbin_documents_open(Arena *a, const Pbin *p, PbinDocuments *out)
{
    *out = (PbinDocuments){ 0 };
    TRY(index_open(a, p->index, p->path, PBIN_HEADER + p->n_tokens * p->token_bytes, &out->index));
    out->n = index_count(out->index);
    TRY(check_documents(p, out));
    index_rewind(out->index);
    return NULL;
}

Error *pbin_check_index(const Pbin *p)
{
    Arena *a = arena_new();
    PbinDocuments documents;
    Error *e = pbin_documents_open(a, p, &documents);
    arena_free(a);
    return e;
}

bool pbin_documents_next(PbinDocuments *d, IndexEntry *out)
{
    if (!index_next(d->index, out)) return false;
    out->offset = d->end;
    d->end += out->length;
    return true;
}

void pbin_documents_get(const Pbin *p, PbinDocuments *d, int64_t from, int64_t to, Str *out)
{
    IndexEntry e;
    for (int64_t i = 0; i < to && pbin_documents_next(d, &e); i++)
        if (i >= from)
            out[i - from] = (Str){ (const char *)p->tokens + e.offset, (size_t)e.length };
}

Error *pbin_documents(Arena *a, const Pbin *p, IndexEntry **out, int64_t *n)
{
    PbinDocuments d;
    TRY(pbin_documents_open(a, p, &d));
    *n = d.n;
    *out = NEW_N(a, IndexEntry, d.n ? d.n : 1);
    for (int64_t i = 0; i < d.n; i++) CHECK(pbin_documents_next(&d, &(*out)[i]));
    return NULL;
}

void pbin_decode(Str tokens, int token_bytes, uint32_t *out)
{
    const uint8_t *bytes = (const uint8_t *)tokens.ptr;
    int64_t n = (int64_t)tokens.len / token_bytes;
    if (token_bytes == 4 && n) memcpy(out, bytes, tokens.len);
    for (int64_t i = 0; token_bytes == 1 && i < n; i++) out[i] = bytes[i];
    for (int64_t i = 0; token_bytes == 2 && i < n; i++)
        out[i] = bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
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

static const Narrow *narrow(void)
{
#if defined(__x86_64__)
    if (cpu_level_in_use() >= CPU_AVX512) return &narrow_avx512;
    if (cpu_level_in_use() == CPU_AVX2) return &narrow_avx2;
#endif
    return &narrow_scalar;
}

Error *pbin_encode(const uint32_t *id, int64_t n, int token_bytes, Text *out)
{
    uint32_t largest = UINT32_MAX >> (32 - 8 * token_bytes), all = 0;
    char *to = text_reserve(out, (size_t)n * (size_t)token_bytes);
    if (token_bytes == 4 && n) memcpy(to, id, (size_t)n * 4);
    if (token_bytes == 2) all = narrow()->to_two_bytes(id, n, to);
    for (int64_t i = 0; token_bytes == 1 && i < n; i++) {
        all |= id[i];
        to[i] = (char)id[i];
    }
    if (all > largest) return does_not_fit(id, n, largest, token_bytes);
    text_extend(out, (size_t)n * (size_t)token_bytes);
    return NULL;
}

enum { TOKENS, LENGTHS };

Error *pbin_create(const char *path, int token_bytes, PbinWriter *out)
{
    return pbin_continue(path, token_bytes, NULL, NULL, 0, out);
}

Error *pbin_continue(const char *path, int token_bytes, const char *identity,
                     const OutputStream *more, int n_more, PbinWriter *out)
{
    CHECK(is_token_size(token_bytes) && PBIN_STREAMS + n_more <= MOST_STREAMS);
    OutputStream stream[MOST_STREAMS] = {
        [TOKENS] = { .path = path, .header = PBIN_HEADER }, [LENGTHS] = { .suffix = ".lengths" }
    };
    for (int i = 0; i < n_more; i++) stream[PBIN_STREAMS + i] = more[i];
    *out = (PbinWriter){ .token_bytes = token_bytes };
    return resumable_open(path, identity, stream, PBIN_STREAMS + n_more, &out->file);
}

Error *pbin_add(PbinWriter *w, const void *document, size_t n_bytes)
{
    const int64_t length = (int64_t)n_bytes;
    TRY(resumable_add(w->file, TOKENS, document, n_bytes));
    return resumable_add(w->file, LENGTHS, &length, sizeof length);
}

Error *pbin_reserve(PbinWriter *w, const void *tokens, const int64_t *n_bytes, int64_t n,
                    int64_t *place)
{
    size_t all = 0;
    for (int64_t i = 0; i < n; i++) all += (size_t)n_bytes[i];
    *place = resumable_reserve(w->file, TOKENS, tokens, all);
    return resumable_add(w->file, LENGTHS, n_bytes, sizeof *n_bytes * (size_t)n);
}

Error *pbin_write_reserved(const PbinWriter *w, const void *tokens, size_t n_bytes, int64_t place)
{
    return resumable_write(w->file, TOKENS, tokens, n_bytes, place);
}

static Error *begin_index(PbinWriter *w)
{
    if (w->tail) return NULL;
    TRY(resumable_tail(w->file, &w->tail));
    index_begin(&w->index, w->tail);
    return NULL;
}

Error *pbin_add_length(PbinWriter *w, int64_t n_bytes)
{
    TRY(begin_index(w));
    index_add(&w->index, w->indexed_bytes, n_bytes);
    w->indexed_bytes += n_bytes;
    return NULL;
}

/* The index of what came with pbin_add, read back. */
static Error *add_lengths(PbinWriter *w)
{
    Arena *a = arena_new();
    Str lengths;
    Error *e = resumable_view(w->file, LENGTHS, a, &lengths);
    for (size_t at = 0; !e && at < lengths.len; at += 8) {
        int64_t length;
        memcpy(&length, lengths.ptr + at, 8);
        e = pbin_add_length(w, length);
    }
    arena_free(a);
    return e;
}

static Error *write_header(const PbinWriter *w)
{
    uint64_t length = (uint64_t)resumable_bytes(w->file, TOKENS);
    uint32_t size = (uint32_t)w->token_bytes;
    char header[PBIN_HEADER];
    memcpy(header, &length, 8);
    memcpy(header + 8, &size, 4);
    return resumable_write_header(w->file, TOKENS, header, sizeof header);
}

static Error *finish(PbinWriter *w)
{
    TRY(add_lengths(w));
    TRY(begin_index(w)); /* of no documents */
    CHECK(w->indexed_bytes == resumable_bytes(w->file, TOKENS));
    index_end(&w->index);
    FILE *tail = w->tail;
    w->tail = NULL;
    bool is_written = !ferror(tail) && fflush(tail) == 0;
    if (fclose(tail) != 0 || !is_written)
        return error_new("cannot write the index of %s: %s", resumable_output(w->file),
                         strerror(errno));
    return write_header(w);
}

Error *pbin_commit(PbinWriter *w)
{
    Error *e = finish(w);
    return e ? pbin_abandon(w, e) : resumable_commit(w->file);
}

Error *pbin_abandon(PbinWriter *w, Error *e)
{
    if (w->tail) {
        index_abandon(&w->index);
        fclose(w->tail);
        w->tail = NULL;
    }
    return resumable_abandon(w->file, e);
}

Error *pbin_write(const char *path, int token_bytes, const char *identity, const Pieces *document,
                  const char *what)
{
    PbinWriter w;
    TRY(pbin_continue(path, token_bytes, identity, NULL, 0, &w));
    Error *e = pieces_write(document, w.file, what);
    for (int64_t i = 0; !e && i < document->n; i++)
        e = pbin_add_length(&w, (int64_t)document->item[i].len);
    return e ? pbin_abandon(&w, e) : pbin_commit(&w);
}
