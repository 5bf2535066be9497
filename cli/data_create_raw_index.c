/* data_create_raw_index.c - `data create_raw_index`: where each line of a JSONL file lies. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/existing_file.h"
#include "data/jsonl.h"
#include <string.h>

typedef struct Options {
    const char *src_path, *index_path, *bad_line_report;
    int file_existence_policy, on_bad_line;
    int64_t max_line_bytes;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL,
               "JSON lines: a file (plain, .gz or .zst), a folder, a pattern, or - for standard "
               "input",
               .flags = FIELD_ARGUMENT, .role = PATH_READ_TEXTS),
    FIELD_PATH(Options, index_path, "null",
               "index to write; default: beside each file, with the suffix .idx",
               .role = PATH_WRITTEN),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the index is already there"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line that is no JSON is an error, or is named, counted and left out"),
    FIELD_PATH(Options, bad_line_report, "null",
               "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN),
    FIELD_INT(Options, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),
    { 0 },
};

static const char *index_path_of(Arena *a, const Options *o, const char *source)
{
    return o->index_path ? o->index_path : path_with_suffix(a, source, ".idx");
}

static void tell(const char *source, const char *index_path, const IndexSummary *s)
{
    char bytes[32], rate[32], seconds[32];
    format_bytes((double)s->n_bytes, bytes);
    format_bytes((double)s->n_bytes / s->seconds, rate);
    format_seconds(s->seconds, seconds);
    log_info("%s: %lld lines of %s indexed (%s in %s, %s/s)", index_path,
             (long long)(s->n_lines - s->n_bad), source, bytes, seconds, rate);
}

static Error *index_one(Arena *a, const Options *o, const char *source, BadLines *bad,
                        int64_t *n_lines)
{
    const char *index = index_path_of(a, o, source);
    bool write;
    TRY(existing_file(index, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(make_directories(path_folder(a, index)));
    IndexSummary summary;
    TRY(jsonl_write_index(source, index, bad, &summary));
    tell(source, index, &summary);
    *n_lines += summary.n_lines;
    return NULL;
}

static Error *index_all(Arena *a, const Options *o, const PathList *files)
{
    BadLines bad;
    Error *e = NULL;
    int64_t n_lines = 0;
    TRY(bad_lines_open((BadLinePolicy)o->on_bad_line, o->bad_line_report, &bad));
    bad.max_line_bytes = o->max_line_bytes;
    for (int64_t i = 0; !e && i < files->n; i++)
        e = index_one(a, o, files->item[i], &bad, &n_lines);
    if (!e) bad_lines_tell(&bad, o->src_path, n_lines);
    return error_join(e, bad_lines_close(&bad, !e));
}

/* Each file of a folder or pattern, and its index. */
static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    const Options *o = given;
    PathList files = { 0 };
    if (o->index_path) return NULL;
    TRY(text_inputs_list(a, &o->src_path, 1, &files));
    for (int64_t i = 0; i < files.n; i++)
        path_roles_add(to, PATH_WRITTEN, arena_printf(a, "the index of %s:", files.item[i]),
                       index_path_of(a, o, files.item[i]));
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    PathList files = { 0 };
    bool is_standard_input = !strcmp(o->src_path, "-");
    if (is_standard_input && !o->index_path)
        return error_usage("--index_path is needed for standard input");
    TRY(text_inputs_list(a, &o->src_path, 1, &files));
    if (o->index_path && files.n > 1)
        return error_usage("--index_path is for one file, but %s stands for %lld", o->src_path,
                           (long long)files.n);
    signal_catch();
    return index_all(a, o, &files);
}

const Command command_data_create_raw_index = {
    .group = "data",
    .name = "create_raw_index",
    .doc = "Writes the index of a JSONL file, which packing and random access need.",
    .details =
        "Every line is checked to be JSON. The index holds offset and length of each line; "
        "for a compressed file and standard input, those in its text, which is kept in a "
        "temporary file beside the index meanwhile. Memory does not grow with the file. An "
        "index appears when it is complete; an interrupted one begins anew (it is read at "
        "the rate of the disk), and with --file_existence_policy skip those that are complete "
        "are not made again.",
    .examples = "modalities data create_raw_index corpus.jsonl\n"
                "modalities data create_raw_index corpus.jsonl --index_path index/corpus.idx "
                "--file_existence_policy override\n"
                "zcat corpus.gz | modalities data create_raw_index - --index_path corpus.idx",
    .options = options,
    .options_size = sizeof(Options),
    .paths = paths,
    .run = run,
};
