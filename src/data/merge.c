/* merge.c - the tokens of several files one after the other, and their documents in one index. */
#include "data/merge.h"
#include "data/pbin.h"

typedef struct Merging {
    Arena *arena;
    Pbin *file;
    PbinDocuments *documents;
    Pieces data; /* the tokens of each file */
    MergeSummary *summary;
} Merging;

static Error *open_sources(Merging *m, const char *const *source)
{
    for (int64_t i = 0; i < m->data.n; i++) {
        Pbin *f = &m->file[i], *first = m->file;
        TRY(pbin_open(m->arena, source[i], f));
        if (f->token_bytes != first->token_bytes)
            return error_new(
                "Found different token representation sizes. This could indicate the usage of "
                "different tokenizers. Not supported! (%s: %d bytes, %s: %d bytes)",
                first->path, first->token_bytes, f->path, f->token_bytes);
        TRY(pbin_documents_open(m->arena, f, &m->documents[i]));
        m->data.item[i] =
            (Str){ (const char *)f->tokens, (size_t)f->n_tokens * (size_t)f->token_bytes };
        m->summary->n_documents += m->documents[i].n;
    }
    m->summary->n_bytes = pieces_bytes(&m->data);
    return NULL;
}

static Error *write_index(Merging *m, PbinWriter *w)
{
    IndexEntry document;
    for (int64_t i = 0; i < m->data.n; i++)
        while (pbin_documents_next(&m->documents[i], &document))
            TRY(pbin_add_length(w, document.length));
    return NULL;
}

static Error *write(Merging *m, const char *target, const char *identity)
{
    PbinWriter w;
    TRY(pbin_continue(target, m->file->token_bytes, identity, NULL, 0, &w));
    Error *e = pieces_write(&m->data, w.file, "merging");
    if (!e) e = write_index(m, &w);
    return e ? pbin_abandon(&w, e) : pbin_commit(&w);
}

static Error *merge(Merging *m, const char *const *source, const char *target)
{
    Text identity = { 0 };
    TRY(open_sources(m, source));
    text_puts(&identity, "work: merging\n");
    Error *e = NULL;
    for (int64_t i = 0; !e && i < m->data.n; i++) e = identify_path(&identity, "input", source[i]);
    if (!e) e = write(m, target, identity.ptr);
    text_free(&identity);
    return e;
}

Error *merge_pbin(const char *const *source, int64_t n, const char *target, MergeSummary *out)
{
    CHECK(n > 0);
    *out = (MergeSummary){ 0 };
    Arena *a = arena_new();
    Merging m = { .arena = a,
                  .file = NEW_N(a, Pbin, n),
                  .documents = NEW_N(a, PbinDocuments, n),
                  .data = { NEW_N(a, Str, n), n },
                  .summary = out };
    Error *e = merge(&m, source, target);
    arena_free(a);
    return e;
}
