/* data_create_raw_index.c - `data create_raw_index`: where each line of a JSONL file lies. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/existing_file.h"
#include "data/jsonl.h"
#include <string.h>

typedef struct Options {
    const char *src_path, *index_path;
    int file_existence_policy, on_bad_line;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL, "file of JSON lines", .flags = FIELD_ARGUMENT),
    FIELD_PATH(Options, index_path, "null",
               "index to write; default: beside src_path, with the suffix .idx"),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the index is already there"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line that is no JSON is an error, or is named, counted and left out"),
    { 0 },
};

static void tell(const Options *o, const char *index_path, const IndexSummary *s)
{
    char bytes[32], rate[32], seconds[32];
    format_bytes((double)s->n_bytes, bytes);
    format_bytes((double)s->n_bytes / s->seconds, rate);
    format_seconds(s->seconds, seconds);
    log_info("%s: %lld lines of %s indexed (%s in %s, %s/s)", index_path,
             (long long)(s->n_lines - s->n_bad), o->src_path, bytes, seconds, rate);
    if (s->n_bad) log_warning("%s: %lld bad lines were left out", index_path, (long long)s->n_bad);
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    const char *index = o->index_path ? o->index_path : path_with_suffix(a, o->src_path, ".idx");
    if (!strcmp(path_absolute(a, index), path_absolute(a, o->src_path)))
        return error_new("Input and output index paths must be different. (%s)", index);
    bool write;
    TRY(existing_file(index, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    if (!file_exists(o->src_path))
        return error_new("cannot open %s: there is no such file", o->src_path);
    TRY(make_directories(path_folder(a, index)));
    signal_catch();
    IndexSummary summary;
    TRY(jsonl_write_index(o->src_path, index, (BadLinePolicy)o->on_bad_line, &summary));
    tell(o, index, &summary);
    return NULL;
}

const Command command_data_create_raw_index = {
    .group = "data",
    .name = "create_raw_index",
    .doc = "Writes the index of a JSONL file, which packing and random access need.",
    .details = "Every line is checked to be JSON. The index holds offset and length of each line.",
    .examples = "modalities data create_raw_index corpus.jsonl\n"
                "modalities data create_raw_index corpus.jsonl --index_path index/corpus.idx "
                "--file_existence_policy override",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
