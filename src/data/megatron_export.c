/* megatron_export.c - .pbin files to .bin and .idx files. */
#include "data/megatron.h"
#include "data/pbin.h"
#include <limits.h>
#include <string.h>

const char *megatron_prefix(Arena *a, const char *path)
{
    size_t n = strlen(path);
    bool has_suffix = n > 4 && (!strcmp(path + n - 4, ".bin") || !strcmp(path + n - 4, ".idx"));
    return has_suffix ? arena_string_n(a, path, n - 4) : path;
}

typedef struct Export {
    Arena *arena;
    Pbin file;
    MegatronForm form;
    const char *bin_path, *idx_path;
} Export;

static void put(FILE *f, int64_t number, int n_bytes)
{
    fwrite(&number, 1, (size_t)n_bytes, f);
}

/* The three arrays, each from the documents read anew: nothing is kept in memory. */
static Error *write_index(const Export *x, FILE *f, int64_t *n)
{
    PbinDocuments d;
    IndexEntry e;
    TRY(pbin_documents_open(x->arena, &x->file, &d));
    *n = d.n;
    fwrite(megatron_magic, 1, sizeof megatron_magic, f);
    put(f, 1, 8);
    put(f, megatron_type(x->file.token_bytes), 1);
    put(f, d.n, 8);
    if (x->form == MEGATRON_INDEX) put(f, d.n + 1, 8);
    for (int64_t i = 0; pbin_documents_next(&d, &e); i++) {
        if (e.length / x->file.token_bytes > INT32_MAX)
            return error_new("%s: document %lld has %lld tokens; Megatron's index holds at most %d",
                             x->file.path, (long long)i, (long long)e.length / x->file.token_bytes,
                             INT32_MAX);
        put(f, e.length / x->file.token_bytes, 4);
    }
    TRY(pbin_documents_open(x->arena, &x->file, &d));
    while (pbin_documents_next(&d, &e)) put(f, e.offset, 8);
    for (int64_t i = 0; x->form == MEGATRON_INDEX && i <= d.n; i++) put(f, i, 8);
    return NULL;
}

static Error *write_data(const Export *x, Resumable *bin)
{
    Str all = { (const char *)x->file.tokens,
                (size_t)x->file.n_tokens * (size_t)x->file.token_bytes };
    return pieces_write(&(Pieces){ &all, 1 }, bin, "exporting");
}

static Error *open_data(const Export *x, Resumable **out)
{
    Text identity = { 0 };
    text_puts(&identity, "work: exporting\n");
    Error *e = identify_path(&identity, "input", x->file.path);
    if (!e)
        e = resumable_open(x->bin_path, identity.ptr, &(OutputStream){ .path = x->bin_path }, 1,
                           out);
    text_free(&identity);
    return e;
}

/* Both files complete under their temporary names, then both in place. An index that was there goes
 * first: it must never stand beside other data. */
static Error *write_files(const Export *x, int64_t *n_documents)
{
    Resumable *bin;
    NewFile idx;
    TRY(open_data(x, &bin));
    Error *e = file_create(x->idx_path, &idx);
    if (e) return resumable_abandon(bin, e);
    e = write_index(x, idx.stream, n_documents);
    if (!e) e = write_data(x, bin);
    if (!e) e = remove_tree(x->idx_path);
    e = e ? resumable_abandon(bin, e) : resumable_commit(bin);
    if (!e) e = file_commit(&idx);
    file_abandon(&idx);
    return e;
}

/* Megatron's tokens of four bytes are signed. */
static Error *check_ids(const Export *x)
{
    uint32_t largest;
    if (x->file.token_bytes < 4) return NULL;
    TRY(pbin_largest_id(&x->file, (Share){ 0 }, &largest));
    return largest > INT32_MAX ? pbin_check_ids(&x->file, (int64_t)INT32_MAX + 1) : NULL;
}

static Error *export(Export *x, const char *source, MegatronSummary *out)
{
    TRY(pbin_open(x->arena, source, &x->file));
    TRY(check_ids(x));
    *out = (MegatronSummary){ .n_bytes = x->file.n_tokens * x->file.token_bytes, .form = x->form };
    TRY(write_files(x, &out->n_documents));
    out->n_sequences = out->n_documents;
    return NULL;
}

Error *export_megatron(const char *source, const char *bin_path, const char *idx_path,
                       MegatronForm form, MegatronSummary *out)
{
    Export x = { .arena = arena_new(), .form = form, .bin_path = bin_path, .idx_path = idx_path };
    Error *e = export(&x, source, out);
    arena_free(x.arena);
    return e;
}
