/* merge.c - the tokens of several files one behind the other, and their documents in one index. */
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

static void write_index(Merging *m, PbinWriter *w)
{
    IndexEntry document;
    for (int64_t i = 0; i < m->data.n; i++)
        while (pbin_documents_next(&m->documents[i], &document))
            pbin_add_length(w, document.length);
}

static Error *merge(Merging *m, const char *const *source, const char *target)
{
    PbinWriter w;
    TRY(open_sources(m, source));
    TRY(pbin_create_sized(target, m->file->token_bytes, m->summary->n_bytes, &w));
    Error *e = pieces_write(&m->data, fileno(w.file.stream), PBIN_HEADER, target, "merging");
    if (e) {
        pbin_abandon(&w);
        return e;
    }
    write_index(m, &w);
    return pbin_commit(&w);
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
