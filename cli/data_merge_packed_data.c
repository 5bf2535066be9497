/* data_merge_packed_data.c - `data merge_packed_data`: several .pbin files as one. */
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/merge.h"
#include "data_rewriting.h"

typedef struct Options {
    StringList src_paths;
    const char *target_path;
} Options;

static const Field source_item = { .type = FIELD_PATH, .flags = FIELD_EXISTS_ANY };

static const Field options[] = {
    FIELD_LIST(Options, src_paths, StringList, &source_item, NULL, 1, INFINITY,
               "files of packed tokens, or folders, which stand for all .pbin files below them",
               .flags = FIELD_ARGUMENT),
    FIELD_PATH(Options, target_path, NULL, "file to write; must not exist", .flags = FIELD_ARGUMENT,
               .role = PATH_WRITTEN),
    { 0 },
};

static Error *list_sources(Arena *a, const StringList *given, PathList *out)
{
    for (int64_t i = 0; i < given->n; i++) {
        if (is_directory(given->item[i])) {
            TRY(files_below(a, given->item[i], ".pbin", out));
        } else {
            out->item = arena_grow(a, out->item, out->n, &out->cap, sizeof *out->item);
            out->item[out->n++] = given->item[i];
        }
    }
    return out->n ? NULL : error_new("there is no .pbin file below %s", given->item[0]);
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    PathList sources = { 0 };
    MergeSummary done;
    if (file_exists(o->target_path))
        return error_usage("argument target_path: %s exists already; a new file is written",
                           o->target_path);
    TRY(list_sources(a, &o->src_paths, &sources));
    TRY(make_directories(path_folder(a, o->target_path)));
    signal_catch();
    double start = clock_seconds();
    TRY(merge_pbin(sources.item, sources.n, o->target_path, &done));
    tell_rewritten(o->target_path, done.n_documents, "documents", done.n_bytes, start);
    return NULL;
}

const Command command_data_merge_packed_data = {
    .group = "data",
    .name = "merge_packed_data",
    .doc = "Writes the documents of several .pbin files to one.",
    .details = "The files keep their order; those of a folder are sorted by name. All must have "
               "the same token size. The index of a file that the original merged, whose offsets "
               "are wrong, is written right. " REWRITING_DETAILS,
    .examples = "modalities data merge_packed_data part_0.pbin part_1.pbin all.pbin\n"
                "modalities data merge_packed_data parts/ all.pbin",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
