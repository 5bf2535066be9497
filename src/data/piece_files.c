/* piece_files.c - documents of .pbin files and lines of text files, by one interface. */
#include "data/piece_files.h"
#include "data/lines.h"
#include "data/pbin.h"
#include <string.h>

typedef struct PieceFile {
    Pbin pbin; /* PIECES_PBIN */
    PbinDocuments documents;
    Lines lines; /* PIECES_JSONL */
} PieceFile;

struct PieceFiles {
    Arena *arena;
    PieceFormat format;
    const char *const *path;
    PieceFile *file;
    int64_t n;
    BadLines *bad, stop; /* `stop` when none is given */
};

static Error *open_lines(Arena *a, const char *path, Lines *out)
{
    Str text;
    TRY(file_view(a, path, &text));
    lines_count(a, text, out);
    return NULL;
}

static Error *open_documents(Arena *a, const char *path, const PieceFile *first, PieceFile *out)
{
    TRY(pbin_open(a, path, &out->pbin));
    if (out->pbin.token_bytes != first->pbin.token_bytes)
        return error_new("All datasets must have the same token size in bytes. (%s: %d, %s: %d)",
                         first->pbin.path, first->pbin.token_bytes, path, out->pbin.token_bytes);
    return pbin_documents_open(a, &out->pbin, &out->documents);
}

Error *piece_files_open(Arena *a, PieceFormat format, const char *const *path, int64_t n,
                        BadLines *bad, PieceFiles **out)
{
    PieceFiles *f = NEW(a, PieceFiles);
    *f = (PieceFiles){ .arena = a,
                       .format = format,
                       .path = path,
                       .file = NEW_N(a, PieceFile, n ? n : 1),
                       .n = n,
                       .bad = bad ? bad : &f->stop,
                       .stop = { .policy = BAD_LINE_STOP,
                                 .max_line_bytes = DEFAULT_MAX_LINE_BYTES } };
    for (int64_t i = 0; i < n; i++) {
        if (format == PIECES_JSONL)
            TRY(open_lines(a, path[i], &f->file[i].lines));
        else
            TRY(open_documents(a, path[i], f->file, &f->file[i]));
    }
    *out = f;
    return NULL;
}

int64_t piece_file_count(const PieceFiles *f, int64_t i)
{
    return f->format == PIECES_JSONL ? f->file[i].lines.n : f->file[i].documents.n;
}

/* A line that was the last one may come before others. */
static void end_line(Arena *a, Str *line)
{
    if (line->len && line->ptr[line->len - 1] == '\n') return;
    char *copy = arena_alloc(a, line->len + 1);
    if (line->len) memcpy(copy, line->ptr, line->len);
    copy[line->len] = '\n';
    *line = (Str){ copy, line->len + 1 };
}

/* Refuses lines that are too long. */
static Error *leave_out_long(const PieceFiles *f, int64_t i, Str *line, int64_t *n)
{
    Str text = f->file[i].lines.text;
    LineCounter counter = { .text = text };
    int64_t n_kept = 0;
    for (int64_t k = 0; k < *n; k++) {
        Str bare = { line[k].ptr, line[k].len - (line[k].ptr[line[k].len - 1] == '\n') };
        int64_t offset = bare.ptr - text.ptr;
        Error *reason = line_too_long((int64_t)bare.len, f->bad->max_line_bytes);
        if (reason)
            TRY(bad_lines_add(f->bad, f->path[i], line_at(&counter, offset), offset, bare, -1,
                              reason));
        else
            line[n_kept++] = line[k];
    }
    *n = n_kept;
    return NULL;
}

Error *piece_file_get(PieceFiles *f, int64_t i, int64_t from, int64_t to, Str *out, int64_t *n)
{
    PieceFile *file = &f->file[i];
    *n = to > from ? to - from : 0;
    if (!*n) return NULL;
    if (f->format == PIECES_PBIN) {
        pbin_documents_get(&file->pbin, &file->documents, from, to, out);
        return NULL;
    }
    lines_get(&file->lines, from, to, out);
    TRY(leave_out_long(f, i, out, n));
    if (*n) end_line(f->arena, &out[*n - 1]);
    return NULL;
}

static Error *write_lines(const char *target, const char *identity, const Pieces *p,
                          const char *what)
{
    Resumable *file;
    TRY(resumable_open(target, identity, &(OutputStream){ .path = target }, 1, &file));
    Error *e = pieces_write(p, file, what);
    return e ? resumable_abandon(file, e) : resumable_commit(file);
}

Error *piece_files_write(const PieceFiles *f, const char *target, const char *order,
                         const Pieces *p, const char *what)
{
    Text identity = { 0 };
    Error *e = NULL;
    text_printf(&identity, "work: %s\n%s", what, order);
    if (f->format == PIECES_JSONL)
        text_printf(&identity, "max_line_bytes: %lld\n", (long long)f->bad->max_line_bytes);
    for (int64_t i = 0; !e && i < f->n; i++) e = identify_path(&identity, "input", f->path[i]);
    if (!e && f->format == PIECES_JSONL)
        e = write_lines(target, identity.ptr, p, what);
    else if (!e)
        e = pbin_write(target, f->file[0].pbin.token_bytes, identity.ptr, p, what);
    text_free(&identity);
    return e;
}
