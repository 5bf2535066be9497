/* data_chunk.c - writes one chunk of the files of a list as two commands ask for it. */
#include "data_chunk.h"
#include "base/signal.h"
#include "data/shuffle.h"
#include <ctype.h>
#include <string.h>

static Str strip(Str s)
{
    while (s.len && isspace((uint8_t)*s.ptr)) s = (Str){ s.ptr + 1, s.len - 1 };
    while (s.len && isspace((uint8_t)s.ptr[s.len - 1])) s.len--;
    return s;
}

static Error *read_list(Arena *a, const ChunkOptions *o, PieceFormat format, PathList *out)
{
    const char *suffix = format == PIECES_PBIN ? ".pbin" : ".jsonl";
    Str text;
    TRY(file_read(a, o->input_file_list_path, &text));
    int64_t number = 1;
    for (const char *p = text.ptr, *end = p + text.len; p < end; number++) {
        size_t n = strcspn(p, "\n");
        Str name = strip((Str){ p, n });
        if (!name.len)
            return error_new("%s:%lld: an empty line; every line names a file",
                             o->input_file_list_path, (long long)number);
        const char *path = path_with_suffix(a, arena_string_n(a, name.ptr, name.len), suffix);
        out->item = arena_grow(a, out->item, out->n, &out->cap, sizeof *out->item);
        out->item[out->n++] = path_join(a, o->input_data_root_path, path);
        p += n + 1;
    }
    return NULL;
}

Error *chunk_paths(Arena *a, const ChunkOptions *o, PieceFormat format, PathRoles *to)
{
    PathList sources = { 0 };
    TRY(read_list(a, o, format, &sources));
    for (int64_t i = 0; i < sources.n; i++)
        path_roles_add(to, PATH_READ, "a file of the list:", sources.item[i]);
    return NULL;
}

Error *run_chunk(Arena *a, const ChunkOptions *o, PieceFormat format)
{
    PathList sources = { 0 };
    ShuffleSummary done;
    bool write;
    TRY(read_list(a, o, format, &sources));
    TRY(prepare_output(a, o->output_chunk_file_path, o->file_existence_policy, &write));
    if (!write) return NULL;
    Chunk c = {
        .source = sources.item, .n_sources = sources.n, .id = o->chunk_id, .n_chunks = o->num_chunks
    };
    int64_t found;
    if (!o->global_seed && find_drawn_seed(a, o->output_chunk_file_path, &found))
        c.seed = (uint64_t)found;
    else
        c.seed =
            chunk_seed(o->global_seed ? *o->global_seed : draw_seed("--global_seed"), o->chunk_id);
    signal_catch();
    double start = clock_seconds();
    BadLines bad;
    TRY(bad_lines_open((BadLinePolicy)o->on_bad_line, o->bad_line_report, &bad));
    bad.max_line_bytes = o->max_line_bytes;
    c.bad = &bad;
    Error *e = chunk_files(format, &c, o->output_chunk_file_path, &done);
    if (!e) bad_lines_tell(&bad, o->output_chunk_file_path, bad.n + done.n_pieces);
    TRY(error_join(e, bad_lines_close(&bad, !e)));
    tell_rewritten(o->output_chunk_file_path, done.n_pieces,
                   format == PIECES_PBIN ? "documents" : "lines", done.n_bytes, start);
    return NULL;
}
